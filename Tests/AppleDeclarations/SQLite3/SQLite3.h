// The C interface of SQLite is the same on every system.
#include "/usr/include/sqlite3.h"
