/* SPDX-License-Identifier: BSD-3-Clause */
/* The profile of a graph's runs: for each op its time (processor time of all threads, or the
 * device's time), beside the two numbers that bound it, arithmetic operations and bytes. Rates are
 * per core, or of the device. */
#ifndef UNETCTL_TRAINER_NETWORK_PROFILE_H
#define UNETCTL_TRAINER_NETWORK_PROFILE_H

#include <stdio.h>

#include "trainer/core/graph.h"

/* Returns the multiplications and additions of one run: 2 per weight and pixel for convolutions, or
 * 4 for both gradients; 0 for other kinds, which are bound by memory. */
double profile_flop(const struct op *op);

/* Returns the bytes of the inputs that the op reads and of its outputs, each counted once. */
double profile_bytes(const struct op *op);

/* Sets both sums over one run of all ops. */
void profile_sum(const struct graph *g, double *flop, double *bytes);

/* The largest rates per second of a core, or of the device; 0: unknown. */
struct profile_peak {
    double flop, bytes;
    const char *of; /* "a core" */
};

/* Prints one line per op of a graph that ran with g->timed, in order; then the peak, one line per
 * kind, the one with the longest time first, and one for all ops. The last column, if the peak is
 * known, is the least time that the peak allows for the operations and bytes, divided by the time
 * taken; it exceeds 100 % if the bytes came from a cache. */
void profile_print(const struct graph *g, const struct profile_peak *peak, FILE *out);

#endif
