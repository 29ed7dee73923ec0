/* SPDX-License-Identifier: BSD-3-Clause */
/* Counter-based random numbers: value = f(seed, stream, index), without state. Any value can be
 * computed without its predecessors, so results do not depend on the number of threads or ranks.
 *
 * The function is Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011): key = seed, counter = (index, stream). A stream is one use of randomness: the
 * shuffle of one epoch, the initial values of one layer. */
#pragma once

#include "src/base.h"

/* Returns the four words of one block, numbered as in the paper. */
void rng_block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t dst[4]);

/* Returns 64 random bits: words 0 (low) and 1 (high) of the block. */
uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index);

/* Returns a uniform number in [0, 1) with 53 random bits. */
double rng_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* Returns a normal number of mean 0 and standard deviation 1 (Box-Muller; both uniforms come
 * from one block). */
double rng_normal(uint64_t seed, uint64_t stream, uint64_t index);

/* Fills dst[0..n) with a permutation of 0..n-1 (Fisher-Yates). The bias of one draw is below n /
 * 2^64. */
void rng_permutation(uint64_t seed, uint64_t stream, size_t n, size_t *dst);
