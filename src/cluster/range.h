/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of counts, and Slurm's time limits. */
#pragma once

#include "src/base.h"

/* Lists of counts: N, N..M, N..M:STEP, joined by commas: "1,2,4..14:2". */

/* Lists of more values, repeated ones included, are refused before anything is allocated. */
#define RANGE_COUNT_MAX 65536

struct range {
    int *values; /* ascending, each once */
    size_t count;
};

/* Decodes text, whose values must be in min..max (min >= 0). Returns 0, or -1 with ERR_USAGE:
 * the text (shortened if long), the position (from 1) and what is wrong there, or that there are
 * too many values. The caller frees dst with range_destroy. */
int range_decode(const char *text, int min, int max, struct range *dst, struct err *e);

void range_destroy(struct range *r);

/* Returns the number whose digits begin at *text, and advances *text past them. Returns -1 if
 * there are no digits or the number is larger than max. */
long number_take(const char **text, long max);

/* Returns the minutes, rounded up, of a Slurm time limit (M, M:S, H:M:S, D-H, D-H:M, D-H:M:S), 0 of
 * UNLIMITED, or -1 if text is not one, or is one of no time. */
int time_limit_decode(const char *text);
