/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions by Winograd's transforms (winograd_rows.h), a band of rows of tiles at a time,
 * or a part of a long one, so that what is transformed stays in the cache of a core. The products
 * are those of conv_rows.h. winograd_conv.c computes results and gradients of inputs,
 * winograd_weights.c those of weights, winograd_grad.c both gradients in one pass. A batch norm and
 * its ReLU in front of a convolution (norm_prologue.h) are applied to rows on their way to the
 * transforms, so the tensor in between is never written; so at inference what is in front of a
 * convolution (winograd_producer.c) or behind it and its ReLU (winograd_epilogue.c). */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_WINOGRAD_WINOGRAD_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_WINOGRAD_WINOGRAD_H

#include "trainer/backends/cpu/norm/batch_norm.h"
#include "trainer/backends/cpu/conv/conv_rows.h"
#include "trainer/backends/cpu/isa/float_rows.h"
#include "trainer/backends/cpu/norm/norm_moments.h"
#include "trainer/backends/cpu/norm/norm_prologue.h"
#include "trainer/backends/cpu/conv/conv_operands.h"
#include "trainer/backends/cpu/conv/winograd/winograd_rows.h"
#include "trainer/core/kernel.h"

#define WINOGRAD_KERNEL 3
#define WINOGRAD_WIDE 2  /* vectors of results computed at once, where there are as many */
#define WINOGRAD_LINE 16 /* floats of a line of the cache; what is in scratch begins with one */

/* op->priv of both files' kernels */
struct winograd {
    const struct conv_rows *products;
    const struct winograd_rows *rows;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;           /* of all parts */
    size_t src_channels_of[CONV_CONCAT], dst_channels_of[CONV_CONCAT];     /* of each */
    size_t places;
    size_t nvectors, wide;   /* vectors and channels of results computed at once */
    size_t across, down;     /* tiles of a row; rows of tiles of an image */
    size_t band;             /* rows of tiles of a band, of all images counted through */
    /* Pixels of a row that are computed at once: all, or a band is of one row of tiles; tiles. */
    size_t section, ntiles;
    /* Floats from one place to the next of what is transformed, weights first: never a multiple of
     * a page, whose lines would all meet in the same few of the cache. */
    size_t place, src_place, dst_place;
    size_t nthreads, nchunks; /* no chunks: the threads share places */
    size_t run;              /* neighbouring bands of a thread */
    size_t weights, scratch; /* floats: transformed weights, with a bias when they are summed; of
                              * one thread */
    size_t bias, zeros;
    size_t lines;            /* floats of one thread's copy of the rows of a row of tiles; 0: all
                              * activations are floats that are taken as they are */
    float_rows_encode_f *encode;
    struct norm_moments moments; /* of each band */
    size_t moments_at;                /* floats of the workspace before the partial moments */
    bool relu;                   /* results are at least 0 */
    size_t coef; /* floats of the coefficients of a norm in front (norm_prologue.h) */
};

/* A band, and where the next one ends, in rows of tiles; of its rows the part that is computed now,
 * in pixels. */
struct winograd_band {
    size_t from, to, next;
    size_t x, width;
};

bool winograd_supports(const struct op *op);

/* What all need; copied: rows of a part go through a norm, or are computed on the way. */
struct winograd winograd_of(const struct conv_operands *r, bool copied);

/* The same to keep; NULL: no memory. */
struct winograd *winograd_create(const struct conv_operands *r, bool copied);

/* Bands of about so many tiles, or parts of longer rows unless rows are to be whole; and the
 * scratch that they take. */
void winograd_set_band(struct winograd *g, size_t tiles, bool whole);

/* Which of the rows under row of tiles r, counted through all images, are not under the one above:
 * the others, where they are copies, are still there if that was the last one (winograd_copy). */
size_t winograd_first_new(const struct winograd *g, size_t r);

/* Where a copy of row i of those is, of n numbers. */
static inline float *winograd_copy(const struct winograd *g, float *copies, size_t r, size_t i,
                                   size_t n)
{
    return copies + (g->rows->tile * r + i) % g->rows->side * n;
}

/* A band of the source to scratch d. zeros: a row of them; lines: of this thread; continues: the
 * last row of tiles that it transformed was that before. Parts come from left to right. */
void winograd_transform_source(const struct winograd *g, const struct conv_operands *operands,
                               const float *zeros, const struct winograd_band *b, bool continues,
                               float *lines, float *d);

/* The same pixels without those around them, transformed as a gradient is (winograd_rows.h). */
void winograd_spread_source(const struct winograd *g, const struct conv_operands *operands,
                            const struct winograd_band *b, float *lines, float *d);

/* The band that begins with row of tiles `from` of those up to end, at its first part; and its next
 * part, or x is the width. */
struct winograd_band winograd_band_of(const struct winograd *g, size_t from, size_t end);
void winograd_band_on(const struct winograd *g, struct winograd_band *b);

/* Tiles of a part. */
static inline size_t winograd_band_tiles(const struct winograd *g, const struct winograd_band *b)
{
    return (b->to - b->from) * (b->width / g->rows->tile);
}

/* What is beside a part (rows->source). */
static inline unsigned winograd_band_beside(const struct winograd *g, const struct winograd_band *b)
{
    return (b->x > 0 ? WINOGRAD_LEFT : 0) | (b->x + b->width < g->width ? WINOGRAD_RIGHT : 0);
}

/* Asks for a share of n numbers of t from `at` on, while the products of place p of a part are
 * computed: what waits for memory is a third of the time if nothing is asked for before. */
void winograd_fetch(const struct winograd *g, const struct tensor *t, size_t at, size_t n,
                    const struct winograd_band *b, size_t p);

/* Of what the next band reads: a row of pixels above was read by this one, that below is not its
 * own. */
void winograd_fetch_source(const struct winograd *g, const struct tensor *t,
                           const struct winograd_band *b, size_t p);

/* Results, or gradients of inputs (winograd_conv.c). Packs the weights; shares the work among the
 * threads of the parallel region. turned: for the gradient of the input. packed[g->weights] */
void winograd_conv_pack(const struct winograd *g, const float *w, bool turned, float *packed);

/* m = d weights of place p; all places of a tensor's d, m and packed. */
void winograd_conv_multiply(const struct winograd *g, size_t p, const float *packed,
                            const float *zeros, size_t ntiles, const float *d, float *m);

/* Asks for what a band writes, as winograd_fetch_source does for what is read. */
void winograd_conv_fetch(const struct winograd *g, const struct tensor *t,
                            const struct winograd_band *b, size_t p);

/* A part of a band from its products. bias[dst_channels]; lines as above. */
void winograd_conv_write(const struct winograd *g, const struct conv_operands *operands,
                         const float *m, const float *bias, const struct winograd_band *b,
                         float *lines);

/* What comes in front of a convolution and behind it on the way (winograd_producer.c,
 * winograd_epilogue.c): where its first part of the source is from, and what is done with a part of
 * a band of results in place of winograd_conv_write, for op; NULL: nothing else. Tensors that are
 * only made on the way have no data. */
typedef void winograd_conv_epilogue_f(const struct op *op, const struct winograd *g,
                                      const struct conv_operands *operands, const float *m,
                                      const float *bias, const struct winograd_band *b,
                                      float *lines);
struct winograd_conv_fusion {
    const struct conv_producer *producer;
    winograd_conv_epilogue_f *epilogue;
    const struct op *op;
};
winograd_conv_epilogue_f winograd_epilogue_pool; /* out[0] of op, and its maxima to OP_OUT_POOLED */

/* In place of what simd_winograd does for an op that it has prepared, or, where rows are made or
 * results only written to lines, winograd_conv_prepare_copied; released by simd_release. */
void winograd_conv_run_fused(struct op *conv, const struct winograd_conv_fusion *fusion);
int winograd_conv_prepare_copied(struct op *op, struct err *e);

/* The gradient of the weights (winograd_weights.c): in how many chunks it is summed; 0: threads
 * share places. */
size_t winograd_weights_chunks(const struct winograd *g);

/* u of place p += the products of transformed source d and gradient y; all places of each.
 * u[g->weights] */
void winograd_weights_add(const struct winograd *g, size_t p, size_t ntiles, const float *d,
                           const float *y, float *u);

/* dw from the sums; turned: of d and y each transformed as the other is otherwise. Shares the work
 * among the threads of the parallel region. */
void winograd_weights_gather(const struct winograd *g, const float *sums, bool turned, float *dw);

#endif
