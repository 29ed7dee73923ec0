/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What every file begins with: the results of configure, C's own library, and the errors, messages,
 * memory and texts of src/. The files that nvcc compiles include config.h instead. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/buf.h"
#include "src/err.h"
#include "src/log.h"
#include "src/map.h"
#include "src/mem.h"
#include "src/plural.h"
#include "src/text.h"
