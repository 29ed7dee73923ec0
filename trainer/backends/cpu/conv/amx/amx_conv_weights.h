/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the weights of 3x3 convolutions of bf16 by tiles, in parts, for kernels that have
 * the gradient of the result at hand. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_WEIGHTS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_WEIGHTS_H

#include "trainer/backends/cpu/conv/amx/amx_rows.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"
#include "trainer/core/op.h"

struct amx_conv_weights {
    const struct amx_tiles *tiles;
    struct amx_shape shape;
    size_t nimages, height, width, ns, nd;
    size_t pitch, band, nbands; /* pixels from line to line; lines of a band; bands of an image */
    size_t source, pairs, plane, room; /* a thread's: numbers; pairs; numbers of a plane; of all */
    size_t nsums, nchunks, nthreads;   /* floats of a chunk: weights, bias */
};

/* What a task adds up: the lines of a band, and how many pixels that are, in whole tiles. */
struct amx_conv_band {
    size_t image, from, nlines, npixels;
    uint16_t *source, *planes;
    uint32_t *pairs;
};

/* share: of the second cache that its bands may take, numbers. */
struct amx_conv_weights amx_conv_weights_of(const struct conv_operands *r, size_t share);

/* Chunk i has tasks [first(i), first(i + 1)). */
size_t amx_conv_weights_first(const struct amx_conv_weights *c, size_t i);

/* room: c->room numbers. */
struct amx_conv_band amx_conv_weights_band(const struct amx_conv_weights *c, size_t task,
                                           uint16_t *room);

/* sums[c->nsums] += products of a band's lines of the source and of the gradient dy, whose lines
 * are `distance` numbers apart. Between begin() and end() of c->shape. */
void amx_conv_weights_add(const struct amx_conv_weights *c, const struct conv_operands *operands,
                          const struct amx_conv_band *b, const uint16_t *dy, size_t distance,
                          float *sums);

/* Into operands->weights and bias, from sums of all chunks in order. All threads. */
void amx_conv_weights_finish(const struct amx_conv_weights *c, const struct conv_operands *operands,
                             const float *sums);

#endif
