/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of bf16 activations in the order that AMX tiles read in place: all channels of a pixel side
 * by side, also if two tensors are concatenated, and rows of pixels with zeros between them. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_ROWS_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_AMX_AMX_ROWS_H

#include "trainer/backends/cpu/conv/conv_operands.h"
#include "trainer/backends/cpu/isa/float_rows.h"

#define AMX_ROWS_CHANNELS 8 /* each tensor's number of channels is a multiple of this */
#define AMX_ROWS_LINE 32    /* bf16 values per cache line; each buffer begins on a new line */

/* Returns whether the tensors, one or two that are concatenated, are bf16 and their numbers of
 * channels are multiples of AMX_ROWS_CHANNELS. */
bool amx_rows_supports(const struct tensor *const *tensors);

/* Writes rows `first` - `border` to `first` + n - 1 - `border` of an image as n rows of dst:
 * `border` pixels of zeros, the pixels, zeros up to `pitch` pixels. Rows outside the image are
 * zeros. If norm and norm[k] are not NULL, norm[k] is applied to tensor k, which must be the only
 * tensor. */
void amx_rows_read(const struct tensor *const *tensors, const struct batch_norm_map *const *norm,
                   size_t image, size_t first, size_t n, size_t border, size_t pitch,
                   uint16_t *dst);

/* Writes a row of pixels, with the channels of all tensors, to row y of an image of each tensor;
 * copy: room for such a row. */
void amx_rows_write(const struct tensor *const *tensors, size_t image, size_t y, const float *row,
                    float *copy, float_rows_encode_f *encode);

/* Interleaves: dst[i] has src[i] in its low half and src[i + distance] in its high half. */
void amx_rows_pair(const uint16_t *src, size_t distance, size_t n, uint32_t *dst);

/* Writes a row of `width` pixels as one plane per channel; planes are `plane` values apart. May
 * write zeros behind a row, up to a multiple of AMX_ROWS_LINE. */
void amx_rows_split(const uint16_t *src, size_t channels, size_t width, uint16_t *planes,
                    size_t plane);

#endif
