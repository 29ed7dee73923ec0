/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions of bf16 by tiles, in parts, for kernels that do more with what they read and
 * write. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_CONV_H

#include "trainer/backends/cpu/conv/amx/amx_rows.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"

#define AMX_CONV_BORDER 2 /* lines and pixels of a window beside its own */

/* For the gradient of the input src is dy. */
struct amx_conv {
    const struct amx_tiles *tiles;
    struct amx_shape shape;
    float_rows_encode_f *encode;
    size_t nimages, height, width, ns, nd;
    size_t group;          /* pixels of a row of a tile */
    size_t pitch;          /* pixels from a line of the source to the next */
    /* Lines whose results are computed at once; lines of a task; tasks of an image. */
    size_t slice, band, nbands;
    size_t nsteps, ntiles; /* of a row of the window; of results across */
    size_t line;           /* pixels from a line of results to the next */
    size_t source, results; /* a thread's: numbers, floats */
    size_t packed, bias;    /* numbers, floats */
    size_t nthreads;
};

/* With bands of so many lines; 0: as is best, whatever the number of threads. */
struct amx_conv amx_conv_of(const struct conv_operands *r, size_t band);

/* w[O][I][3][3] in the order of tiles; turned: for the gradient of the input. All threads. */
void amx_conv_pack(const struct amx_conv *c, const float *w, bool turned, uint16_t *packed);

/* bias[c->bias] */
void amx_conv_repeat(const struct amx_conv *c, const struct tensor *bias, float *repeated);

/* Lines [from, from + nlines) of the results of an image. source: the lines of c->pitch pixels from
 * `from` - 1 on, AMX_CONV_BORDER more, each after a pixel of zeros; results: room. Between begin()
 * and end() of c->shape. */
void amx_conv_lines(const struct amx_conv *c, const struct tensor *const *dst, size_t image,
                    size_t from, size_t nlines, const uint16_t *source, const uint16_t *packed,
                    const float *bias, float *results);

#endif
