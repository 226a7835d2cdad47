#include "base/check.h"
