/* SPDX-License-Identifier: BSD-3-Clause */
/* Both gradients of a convolution of few channels in one pass over its tensors: reads the gradient
 * d of its result (with the norm's gradient on the way in) and its input, writes the gradient of
 * the input and what the blocks have added up for that of the weights. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_BACK_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CONV_NARROW_BACK_H

#include <stdbool.h>

#include "trainer/backends/cuda/conv/narrow.h"

#ifdef __CUDACC__
extern "C" {
#endif

struct narrow_back_args {
    /* As a convolution of d to the input's gradient: flipped, w_out and w_in exchanged; first.y is
     * NULL: not computed. */
    struct narrow_args input;
    struct narrow_source act; /* the convolution's input; never NARROW_NORM_GRAD */
    float *partials;          /* of narrow_back_bytes() */
    bool with_bias;
};

/* As narrow_conv_resident, of a convolution of `in` channels to `out`. with_input: of 64 to 64
 * there is one for the weights only. */
unsigned narrow_back_resident(unsigned in, unsigned out, bool with_input);

/* Bytes of narrow_back_args.partials; taps: NARROW_TAPS or NARROW_UP_TAPS. */
size_t narrow_back_bytes(unsigned in, unsigned out, unsigned nblocks, bool with_bias,
                         unsigned taps);

/* Queue one that there is, then the sums of the blocks' parts, in a fixed order. dw[out][in][3][3];
 * db[out], NULL if not with_bias. */
void narrow_back_run(const struct narrow_back_args *k, unsigned nblocks, float *dw, float *db,
                     cudaStream_t stream);

/* The same of a transposed convolution 2x2, stride 2, of `in` channels to half as many, 16 to 64: d
 * is the larger side, NARROW_PLAIN and in one part; the field is that of the input.
 * dw[in][out][2][2], NULL: the input's gradient alone, for which act has to say its channels
 * only. */
unsigned narrow_back_up_resident(unsigned in, unsigned out);
void narrow_back_up_run(const struct narrow_back_args *k, unsigned nblocks, float *dw, float *db,
                        cudaStream_t stream);

#ifdef __CUDACC__
}
#endif

#endif
