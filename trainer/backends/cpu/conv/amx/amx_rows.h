/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of activations in bf16 as tiles take them: all channels of a pixel side by side, also where
 * they are of two tensors, rows of pixels behind each other with zeros between. Tiles read them in
 * place: a row of a tile is a pixel with its neighbours to the right. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_ROWS_H

#include "trainer/backends/cpu/conv/conv_operands.h"
#include "trainer/backends/cpu/isa/float_rows.h"

#define AMX_ROWS_CHANNELS 8 /* the channels of every part are a multiple of this */
#define AMX_ROWS_LINE 32    /* bf16 values per cache line; each buffer begins on a new line */

/* Are all tensors bf16, of a fitting number of channels? */
bool amx_rows_supports(const struct tensor *const *tensors);

/* Row `first` + i - `border` of an image, for each i < n, as row i of dst: `border` zeros, the
 * pixels, zeros up to `pitch` pixels. Rows outside the image are zeros. norm: NULL, or norm[k] is
 * applied to part k, if it is not NULL, and the only part. */
void amx_rows_read(const struct tensor *const *tensors, const struct batch_norm_map *const *norm,
                   size_t image, size_t first, size_t n, size_t border, size_t pitch,
                   uint16_t *dst);

/* A row of pixels, of as many channels as all tensors have, into row y of an image; copy: room for
 * it. */
void amx_rows_write(const struct tensor *const *tensors, size_t image, size_t y, const float *row,
                    float *copy, float_rows_encode_f *encode);

/* dst[i] = numbers i and i + distance, the first one below. */
void amx_rows_pair(const uint16_t *src, size_t distance, size_t n, uint32_t *dst);

/* A row of `width` pixels as one plane for each channel, `plane` numbers apart. May write zeros
 * behind a row, up to a multiple of AMX_ROWS_LINE. */
void amx_rows_split(const uint16_t *src, size_t channels, size_t width, uint16_t *planes,
                    size_t plane);

#endif
