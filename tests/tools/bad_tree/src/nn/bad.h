#include "kernels/cpu/dispatch.h"
