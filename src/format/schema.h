/* SPDX-License-Identifier: BSD-3-Clause */
/* The number that a file of unetctl or unet-train carries as "schema" (doc/FORMATS.md). It changes
 * when readers of an earlier version would misunderstand a file. */
#pragma once

#include "src/base.h"

#define SCHEMA 1

/* Checks the number found in a file (0: it has none). Returns 0 for SCHEMA; otherwise -1 with code
 * and a text, without the file's name, that says what the number must be or, if it is larger, that
 * a later version wrote the file, and what to do. */
int schema_check(double found, int code, struct err *e);
