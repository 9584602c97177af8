#pragma once
#include <stdint.h>
#include "spool_atomic.h"
#include "spool_crc32c.h"
#include "spool_event.h"
#include "spool_file.h"
#include "spool_socket.h"
#include "spool_thread.h"
