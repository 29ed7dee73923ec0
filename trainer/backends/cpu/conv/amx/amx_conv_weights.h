/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of the gradient of a 3x3 convolution's weights by AMX tiles, for amx_conv_weights.c and
 * for amx_conv_grad.c, which has already read the gradient of the result. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_WEIGHTS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_WEIGHTS_H

#include "trainer/backends/cpu/conv/amx/amx_rows.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"
#include "trainer/core/op.h"

/* ns and nd are the channels of the source and of dy. */
struct amx_conv_weights {
    const struct amx_tiles *tiles;
    struct amx_shape shape;
    size_t nimages, height, width, ns, nd;
    size_t pitch, band, nbands; /* pixels from row to row; rows of a band; bands of an image */
    /* Of one thread: source counts the bf16 values of its source, pairs the 32-bit pairs of such
     * values, plane the bf16 values of each of its nd planes, and room the bf16 values of all. */
    size_t source, pairs, plane, room;
    size_t nsums, nchunks, nthreads;   /* floats of a chunk's sums: of weights, then bias */
};

/* A band: rows [from, from + nlines) of an image; npixels: its pixels and those between its rows,
 * rounded up to whole tiles. The pointers are into one thread's room. */
struct amx_conv_band {
    size_t image, from, nlines, npixels;
    uint16_t *source, *planes;
    uint32_t *pairs;
};

/* Returns the plan; share: bf16 values that a band may take, unless a single row takes more. */
struct amx_conv_weights amx_conv_weights_of(const struct conv_operands *r, size_t share);

/* Returns the first band of chunk i, counted over all images; for i = nchunks, the number of
 * bands. */
size_t amx_conv_weights_first(const struct amx_conv_weights *c, size_t i);

/* Returns band number `task`, counted over all images; room: c->room bf16 values. */
struct amx_conv_band amx_conv_weights_band(const struct amx_conv_weights *c, size_t task,
                                           uint16_t *room);

/* Adds to sums[c->nsums] the products of a band's source and gradient, and for a bias the sums of
 * the gradient. dy points to the band's first row; rows are `distance` values apart. Call it
 * between begin() and end() of c->shape. */
void amx_conv_weights_add(const struct amx_conv_weights *c, const struct conv_operands *operands,
                          const struct amx_conv_band *b, const uint16_t *dy, size_t distance,
                          float *sums);

/* Writes the gradients of operands->weights and bias from sums[c->nsums], the sums of all chunks
 * added up. Uses all threads. */
void amx_conv_weights_finish(const struct amx_conv_weights *c, const struct conv_operands *operands,
                             const float *sums);

#endif
