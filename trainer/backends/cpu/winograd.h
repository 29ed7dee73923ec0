/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions by Winograd's transforms (winograd_rows.h). A thread processes a band of rows of
 * tiles, or a section of one long row, so that what is transformed stays in its cache; the products
 * are those of conv_rows.h.
 *
 * winograd.c computes results and each gradient alone, winograd_grad.c both gradients in one
 * pass. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_WINOGRAD_H
#define UNETCTL_TRAINER_BACKENDS_CPU_WINOGRAD_H

#include "trainer/backends/cpu/conv_rows.h"
#include "trainer/backends/cpu/simd.h"
#include "trainer/backends/cpu/winograd_rows.h"

/* The operands of a convolution or of one of its gradients by their role: src * weights + bias =
 * dst. For the gradient of the input src is dy; for that of the weights dst is dy, and weights and
 * bias are where the gradients go. The graph owns all of them. */
struct conv_operands {
    const struct tensor *src, *dst, *weights, *bias; /* bias may be NULL */
};

/* Of a conv2d_grad, which has both gradients, it returns the operands of the input's, and
 * conv_operands_weights_grad() those of the weights'. */
struct conv_operands conv_operands_of(const struct op *op);
struct conv_operands conv_operands_weights_grad(const struct op *op);
#define WINOGRAD_LINE 16 /* floats of a cache line; the sections of scratch begin with one */

/* op->priv of these kernels, freed by simd_release: one convolution and how it is cut. For the
 * gradient of the input src is dy. A place is one of the side x side elements of a transformed
 * tile. */
struct winograd {
    const struct conv_rows *products;
    const struct winograd_rows *rows;
    size_t nimages, height, width;
    size_t src_channels, dst_channels;
    size_t places;
    size_t nvectors, wide;   /* vectors, and channels, of results computed at once */
    size_t across, down;     /* tiles of a row; rows of tiles of an image */
    size_t band;             /* rows of tiles of a band, counted over all images */
    /* Pixels of a row that are computed at once: all, or, in bands of one row of tiles, fewer; and
     * the number of tiles. */
    size_t section, ntiles;
    /* Floats from one place to the next of the transformed weights, source and results. A cache
     * line is added to the values, because distances that are multiples of a page would make all
     * places share a few sets of the cache. */
    size_t place, src_place, dst_place;
    size_t nthreads, nchunks; /* nchunks: chunks of the weights' gradient; 0: threads share one sum,
                               * each with places of its own */
    size_t run;              /* consecutive bands that a thread takes */
    size_t weights, scratch; /* floats: the transformed weights, or the sums of their gradients;
                              * scratch of one thread */
    size_t bias, zeros;      /* floats of the bias; of a row of zeros */
    bool relu;               /* a ReLU is applied to the results */
};

/* A band in rows of tiles, counted over all images: [from, to), and the end of the next band; and
 * the section of its rows that is computed now, in pixels. */
struct winograd_band {
    size_t from, to, next;
    size_t x, width;
};

bool winograd_supports(const struct op *op);

/* Returns how a convolution is cut. */
struct winograd winograd_of(const struct conv_operands *r);

/* Row of tiles r, counted over all images, reads rows->side rows of pixels. Returns the index of
 * the first of these that row of tiles r - 1 does not read. The rows before it are still in the
 * copies (winograd_copy) if row of tiles r - 1 was computed last. */
size_t winograd_first_new(const struct winograd *g, size_t r);

/* Transforms the pixels of a section of t, without those around them, as gradients are (spread in
 * winograd_rows.h), to scratch y, whose places are `place` floats apart. */
void winograd_spread(const struct winograd *g, const struct tensor *t,
                     const struct winograd_band *b, size_t place, float *y);

/* winograd_band_of() returns the first section of the band that begins with row of tiles `from` and
 * ends before `end`. winograd_band_on() moves to its next section; b->x is then g->width if there
 * is none. */
struct winograd_band winograd_band_of(const struct winograd *g, size_t from, size_t end);
void winograd_band_on(const struct winograd *g, struct winograd_band *b);

/* Returns the number of tiles of a section. */
static inline size_t winograd_band_tiles(const struct winograd *g, const struct winograd_band *b)
{
    return (b->to - b->from) * (b->width / g->rows->tile);
}

/* Returns on which sides a section has neighbours (rows->source). */
static inline unsigned winograd_band_beside(const struct winograd *g, const struct winograd_band *b)
{
    return (b->x > 0 ? WINOGRAD_LEFT : 0) | (b->x + b->width < g->width ? WINOGRAD_RIGHT : 0);
}

/* Prefetches a share of n values of t from value `at` on, to be called with the products of place p
 * of a section. Without any prefetching a third of the time is spent waiting for memory. */
void winograd_fetch(const struct winograd *g, const struct tensor *t, size_t at, size_t n,
                    const struct winograd_band *b, size_t p);

/* Prefetches a share of the rows of pixels that the next band reads and this one does not: from the
 * second row of its tiles to the row below them. */
void winograd_fetch_source(const struct winograd *g, const struct tensor *t,
                           const struct winograd_band *b, size_t p);

/* The steps of winograd.c follow. winograd_conv_pack() transforms and packs the weights to
 * packed[g->weights], sharing the work among the threads of the parallel region; turned: for the
 * gradient of the input. */
void winograd_conv_pack(const struct winograd *g, const float *w, bool turned, float *packed);

/* Computes m = d weights for place p; d, m and packed point to place 0. */
void winograd_conv_multiply(const struct winograd *g, size_t p, const float *packed,
                            const float *zeros, size_t ntiles, const float *d, float *m);

/* Prefetches a share of the results that a band writes (winograd_fetch). */
void winograd_conv_fetch(const struct winograd *g, const struct tensor *t,
                         const struct winograd_band *b, size_t p);

/* Writes a section of a band of results from its products m. bias[dst_channels] */
void winograd_conv_write(const struct winograd *g, const struct tensor *dst, const float *m,
                         const float *bias, const struct winograd_band *b);

/* The steps of the gradient of weights follow. winograd_weights_chunks() returns the number of
 * chunks that have their own sums; 0: all threads share one sum. */
size_t winograd_weights_chunks(const struct winograd *g);

/* Adds to place p of u[g->weights] the products of the transformed source d and gradient y; all
 * point to place 0. */
void winograd_weights_add(const struct winograd *g, size_t p, size_t ntiles, const float *d,
                          const float *y, float *u);

/* Writes dw from the sums. turned: the source was transformed as gradients are, and the gradient as
 * a source is. Shares the work among the threads of the parallel region. */
void winograd_weights_gather(const struct winograd *g, const float *sums, bool turned, float *dw);

#endif
