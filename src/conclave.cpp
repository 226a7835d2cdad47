// The library has no code of its own: its symbols come from the engine room (src/CMakeLists.txt).
#include "conclave/conclave.h"
