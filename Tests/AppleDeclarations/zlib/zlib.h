// The C interface of zlib is the same on every system. The parts that need a C library are left out.
#define Z_SOLO
#include "/usr/include/zlib.h"
