/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference backend: a plain kernel for every kind of op. The tests compare the other backends
 * with it, and the CPU backend "simd" falls back to it.
 *
 * Its table has one kernel ref_NAME for each OP(NAME) of core/ops.def; only backends/ reads the
 * table, and the CPU's backend uses what is declared below it too. A kernel's data are the tensors
 * of its op, which a graph has planned and bound. It promises that sums have a fixed order, which
 * does not depend on the number of threads, so that a training gives the same numbers on any
 * machine with the same kind of processor.
 *
 * To read: elementwise.c has the table and the simplest kernels; then pool.c, norm.c, loss.c and
 * conv.c, each with its formulas at the top. */
#pragma once

#include "trainer/core/kernel.h"

#define OP(name) extern const struct kernel ref_##name;
#include "trainer/core/ops.def"
#undef OP

extern const struct backend ref_backend;

/* Defines ref_NAME, the kernel of NAME for floats; prepare may be NULL. */
#define REF_KERNEL(name, prepare_, run_)                                                  \
    const struct kernel ref_##name = {.kind = &name##_kind, .prepare = (prepare_), .run = (run_)}

/* In loops that the compiler vectorizes, coefficients of channels are repeated to a period that is
 * a multiple of the channels, and long enough for vector instructions however few channels there
 * are. */
#define VECTOR_MIN_PERIOD 64

static inline size_t vector_period(size_t nchannels)
{
    return nchannels >= VECTOR_MIN_PERIOD ? nchannels : VECTOR_MIN_PERIOD / nchannels * nchannels;
}

/* Sums per channel over all pixels, in parallel and in a fixed order: the pixels are cut into a
 * number of chunks that does not depend on the number of threads, each chunk has partial sums of
 * its own, and these are added in order. */
#define CHUNKS 64

/* Returns the first pixel of chunk i; its last one is before the first of chunk i + 1. */
static inline size_t chunk_begin(size_t npixels, size_t i)
{
    return npixels / CHUNKS * i + (i < npixels % CHUNKS ? i : npixels % CHUNKS);
}

/* Returns the number of doubles that chunks_sum() needs. */
size_t chunks_workspace(size_t nchannels);

/* workspace[c] = the sum over pixels of a[pixel][c], workspace[nchannels + c] = that of a * b, or 0
 * if b is NULL. */
void chunks_sum(const float *a, const float *b, size_t npixels, size_t nchannels,
                double *workspace);

/* db[c] = the sum of dy's channel c over all pixels. */
void chunks_bias(const struct tensor *dy, double *workspace, float *db);

/* What backends share of batch norm, whose y is a x + shift; sums[2C + 1] has two for each channel.
 * norm_sum_replicas() completes them with the number of pixels, or sets all to 0 if this replica
 * has no image, and with attr.sync adds up those of all replicas; -1 if that fails. From sums of x
 * and x^2 norm_finish_statistics() makes the saved and the running statistics, a and shift;
 * norm_running_map() sets these from the running statistics. */
int norm_sum_replicas(const struct op *op, struct exec *x, double *sums, struct err *e);
void norm_finish_statistics(const struct op *op, const double *sums, float *a, float *shift);
void norm_running_map(const struct op *op, float *a, float *shift);
