/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the time of a graph's runs goes: the two numbers that bound an op, arithmetic operations
 * and bytes, beside the seconds of processor time it took (of all
 * threads; the rates are per core), or those of its device. */
#ifndef UNETCTL_TRAINER_NETWORK_PROFILE_H
#define UNETCTL_TRAINER_NETWORK_PROFILE_H

#include <stdio.h>

#include "trainer/core/graph.h"

/* Multiplications and additions of one run: 2 per weight and place for convolutions; other kinds
 * are bound by memory and count as 0. */
double profile_flop(const struct op *op);

/* Bytes of the op's inputs and outputs, each counted once. */
double profile_bytes(const struct op *op);

/* Of one run of all ops. */
void profile_sum(const struct graph *g, double *flop, double *bytes);

/* What one core, or the device, can do at most in a second; 0: not known. */
struct profile_peak {
    double flop, bytes;
    const char *of; /* "a core" */
};

/* One line per op of a graph that ran with g->timed, then one per kind, longest first. The last
 * column: the least time that the peak allows for its operations and bytes, over the time taken:
 * above 100 % its bytes came from a cache. */
void profile_print(const struct graph *g, const struct profile_peak *peak, FILE *out);

#endif
