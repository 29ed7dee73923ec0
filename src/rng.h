/* SPDX-License-Identifier: BSD-3-Clause */
/* Counter-based random numbers: value = f(seed, stream, index), without state. Any value can be
 * computed without its predecessors, so results do not depend on the number of threads or ranks.
 *
 * The function is Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011): key = seed, counter = (index, stream). A stream is one use of randomness: the
 * shuffle of one epoch, the initial values of one layer. */
#ifndef UNETCTL_SRC_RNG_H
#define UNETCTL_SRC_RNG_H

#include <stddef.h>
#include <stdint.h>

/* The four words of one block, as the paper numbers them. */
void rng_block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t dst[4]);

/* 64 random bits: words 0 (low) and 1 (high) of the block. */
uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index);

/* Uniform in [0, 1), 53 bits. */
double rng_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* Normal, mean 0, deviation 1 (Box and Muller, both uniforms from one block). */
double rng_normal(uint64_t seed, uint64_t stream, uint64_t index);

/* dst[0..n) becomes a permutation of 0..n-1 (Fisher and Yates). The bias of one draw is below
 * n / 2^64. */
void rng_permutation(uint64_t seed, uint64_t stream, size_t n, size_t *dst);

#endif
