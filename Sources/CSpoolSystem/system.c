#include "CSpoolSystem.h"
