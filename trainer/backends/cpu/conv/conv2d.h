/* SPDX-License-Identifier: BSD-3-Clause */
/* 3x3 convolutions with few channels, a band of rows at a time. conv_rows.h has the arithmetic;
 * conv2d.c and conv2d_weights.c handle borders, the order of the weights, and threads. */
#ifndef UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV2D_H
#define UNETCTL_TRAINER_BACKENDS_CPU_CONV_CONV2D_H

#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/backends/cpu/conv/conv_rows.h"

#define CONV2D_KERNEL CONV_ROWS

/* op->priv: one convolution in the terms of conv_rows.h, which defines nk, ngroups and dst_step;
 * for the gradient of the input the source is dy. */
struct conv2d {
    const struct conv_rows *rows;
    size_t n, h, w, src_channels, dst_channels;
    size_t group;            /* pixels whose results share a vector */
    size_t nvectors, nblocks; /* vectors of channels computed at once; how many times */
    size_t nk, ngroups, dst_step;
    size_t width;            /* floats of a row of the source with its border */
    size_t nthreads, nchunks;
    /* Floats of the packed weights, the bias, the sums of one chunk, a row of results. */
    size_t packed, bias, sums, zeros;
    size_t room; /* floats of one thread's rows of the source */
    bool relu;   /* a ReLU is applied to the results */
};

bool conv2d_supports(const struct op *op, const struct tensor *src, const struct tensor *dst);

/* Returns the plan of a convolution. wide: it computes two vectors of channels at once if the
 * number of vectors is even. */
struct conv2d conv2d_of(const struct tensor *src, const struct tensor *dst, bool wide);

/* Copies row y, counted over all images, with a border of zeros. */
void conv2d_copy_row(const struct conv2d *c, const struct tensor *src, size_t y, float *row);

/* Returns the index of the packed weight of tap (i, j), source channel s and result channel d, for
 * pixel p of a group. */
size_t conv2d_packed_at(const struct conv2d *c, size_t i, size_t j, size_t s, size_t d, size_t p);

#endif
