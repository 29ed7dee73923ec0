/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a 3x3 convolution of bf16 by AMX tiles, for amx_conv.c (forward, or the gradient of
 * the input alone) and for amx_conv_grad.c, which computes the gradients of the input and of the
 * weights from the same rows of dy. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_H

#include "trainer/backends/cpu/conv/amx/amx_rows.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"

#define AMX_CONV_BORDER 2 /* rows, or columns, of the window in addition to the pixel's own */

/* One convolution; for the gradient of the input the source is dy. ns and nd are the channels of
 * the source and of the results. */
struct amx_conv {
    const struct amx_tiles *tiles;
    struct amx_shape shape;
    float_rows_encode_f *encode;
    size_t nimages, height, width, ns, nd;
    size_t group;          /* pixels that a row of a tile computes: 1 or 2 */
    size_t pitch;          /* pixels from a row of the source to the next */
    /* Rows of results that are computed at once; rows of a task; tasks of an image. */
    size_t slice, band, nbands;
    size_t nsteps, ntiles; /* products for a row of the window; tiles across the output channels */
    size_t line;           /* pixels from a row of results to the next */
    size_t source, results; /* of one thread: bf16 values of the source; floats of results */
    size_t packed, bias;    /* bf16 values of the packed weights; floats of the bias */
    size_t nthreads;
};

/* Returns the plan of a convolution whose tasks have `band` rows; 0 chooses a number that does not
 * depend on the number of threads. */
struct amx_conv amx_conv_of(const struct conv_operands *r, size_t band);

/* Packs w[O][I][3][3] into the order of tiles; turned: for the gradient of the input. Uses all
 * threads. */
void amx_conv_pack(const struct amx_conv *c, const float *w, bool turned, uint16_t *packed);

/* Writes repeated[c->bias], the bias of each pixel that a row of a tile computes; NULL: zeros. */
void amx_conv_repeat(const struct amx_conv *c, const struct tensor *bias, float *repeated);

/* Computes rows [from, from + nlines) of an image's results. source: rows of c->pitch pixels from
 * row from - 1 on, nlines + AMX_CONV_BORDER of them, each after a pixel of zeros; packed and bias:
 * from amx_conv_pack() and amx_conv_repeat(); results: c->results floats. Call it between begin()
 * and end() of c->shape. */
void amx_conv_lines(const struct amx_conv *c, const struct tensor *const *dst, size_t image,
                    size_t from, size_t nlines, const uint16_t *source, const uint16_t *packed,
                    const float *bias, float *results);

#endif
