/* SPDX-License-Identifier: BSD-3-Clause */
/* The number that a file of unetctl or unet-train carries as "schema" (doc/FORMATS.md). It changes
 * when readers of an earlier version would misunderstand a file. */
#ifndef UNETCTL_SRC_SCHEMA_H
#define UNETCTL_SRC_SCHEMA_H

#include "src/err.h"

#define SCHEMA 1

/* Checks the number found in a file (0: it has none). Returns 0 for SCHEMA; otherwise -1 with code
 * and a text that names a later version's number and what to do, without the file's name. */
int schema_check(double found, int code, struct err *e);

#endif
