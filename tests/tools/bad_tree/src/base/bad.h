#include <cuda_runtime.h>

#include "moe/select.h"
