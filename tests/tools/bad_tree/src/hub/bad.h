#include "tensor/view.h"
