/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros for the table of opcheck. Each is the initializer of a struct test_case: an
 * op on tensors of these sizes (n h w, channels in and out, side of the window). */
#pragma once

#include "trainer/ops/test/rig.h"

#define NHWC(n, h, w, c) {4, {n, h, w, c}}
#define VECTOR(c) {1, {c}}

#define CONV(n, h, w, ci, co, k) \
    {&conv2d_kind, {.kernel = k}, {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, 0}
#define CONV_RELU(n, h, w, ci, co, k) \
    {&conv2d_relu_kind, {.kernel = k}, {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0, 0, false, 0}
#define CONV_NOBIAS_RELU(n, h, w, ci, co, k) \
    {&conv2d_relu_kind, {.kernel = k}, {NHWC(n, h, w, ci), NHWC(co, ci, k, k)}, \
     {VALUES_NORMAL}, 0x1, 0, 0, false, 0}
#define FOLD_NORM(ci, co, k) \
    {&fold_norm_kind, {.eps = 1e-5}, \
     {NHWC(co, ci, k, k), VECTOR(co), VECTOR(co), VECTOR(co), VECTOR(co), VECTOR(co)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, \
     0, 0, 0, false, 0}
#define FOLD_NORM_NOBIAS(ci, co, k) \
    {&fold_norm_kind, {.eps = 1e-5}, \
     {NHWC(co, ci, k, k), VECTOR(co), VECTOR(co), VECTOR(co), VECTOR(co)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, \
     0, 0, 0, false, 0}
#define HEAD(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 1}, {NHWC(n, h, w, ci), NHWC(co, ci, 1, 1), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.5, true, 0}
#define CONV_STRIDED(n, h, w, ci, co, k) \
    {&conv2d_kind, {.kernel = k, .stride = 2}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, \
     0}
#define CONV_NOBIAS(n, h, w, ci, co, k, s) \
    {&conv2d_kind, {.kernel = k, .stride = s}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, k, k)}, \
     {VALUES_NORMAL}, 0x1, 0x2, 0.5, false, 0}
#define CONV_DILATED(n, h, w, ci, co, k, s, d) \
    {&conv2d_kind, {.kernel = k, .stride = s, .dilation = d}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, \
     0}
#define CONV_TRANSPOSE(n, h, w, ci, co) \
    {&conv_transpose2d_kind, {0}, {NHWC(n, h, w, ci), NHWC(ci, co, 2, 2), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, 0}
#define BATCH_NORM(kind, n, h, w, c, step) \
    {&kind, {.eps = 1e-5, .momentum = 0.1}, \
     {NHWC(n, h, w, c), VECTOR(c), VECTOR(c), VECTOR(c), VECTOR(c)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, 0x1, 0x6, \
     step, false, 0}
/* Both gradients of a convolution in one op. */
#define CONV_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci)}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 6}
#define CONV_NOBIAS_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci)}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 2}
#define GROUP_NORM(n, h, w, c, g) \
    {&group_norm_kind, {.eps = 1e-5, .groups = g}, {NHWC(n, h, w, c), VECTOR(c), VECTOR(c)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.02, false, 0}
#define LEAKY_RELU(n, h, w, c, a) \
    {&relu_kind, {.slope = a}, {NHWC(n, h, w, c)}, {VALUES_APART}, 0x1, 0, 0.008, false, 0}
#define UNARY(kind, n, h, w, c) \
    {&kind, {0}, {NHWC(n, h, w, c)}, {VALUES_APART}, 0x1, 0, 0.008, false, 0}
#define MAX_POOL3(n, h, w, c) \
    {&max_pool2d_kind, {.kernel = 3}, {NHWC(n, h, w, c)}, {VALUES_APART}, 0x1, 0, 0.008, false, 0}
#define AVG_POOL(n, h, w, c) \
    {&avg_pool2d_kind, {0}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0}
/* The input is an image, which always has floats: with results of 16 bits the backend needs a
 * cast. */
#define IMAGE_POOL(n, h, w, c) \
    {&avg_pool2d_kind, {0}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0, 0, 0, false, 0}
#define BIAS(n, h, w, c) \
    {&bias_kind, {0}, {NHWC(n, h, w, c), VECTOR(c)}, {VALUES_NORMAL}, 0x1, 0x2, 0.5, false, 0}
#define RESHAPE(n, h, w, c) \
    {&reshape_kind, {.height = 1, .width = 1, .channels = h * w * c}, {NHWC(n, h, w, c)}, \
     {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0}
#define DROPOUT(n, h, w, c, r) \
    {&dropout_kind, {.rate = r, .stream = (UINT64_C(13) << 32) + 3}, {NHWC(n, h, w, c)}, \
     {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0}
#define CONV_TRANSPOSE3(n, h, w, ci, co) \
    {&conv2d_grad_input_kind, {.kernel = 3, .stride = 2, .height = 2 * h, .width = 2 * w}, \
     {NHWC(n, h, w, ci), NHWC(ci, co, 3, 3)}, {VALUES_NORMAL}, 0x1, 0x2, 0.5, false, 0}
#define CONCAT(n, h, w, a, b) \
    {&concat_kind, {0}, {NHWC(n, h, w, a), NHWC(n, h, w, b)}, {VALUES_NORMAL}, 0x3, 0, 0.5, \
     false, 0}
#define ADD(n, h, w, c) \
    {&add_kind, {0}, {NHWC(n, h, w, c), NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0x3, 0, 0.5, false, \
     0}
/* h w: of the pooled tensor, whose pixels are half of the large one's, or of one more. */
#define POOL_ADD(n, h, w, c, more) \
    {&max_pool2d_grad_add_kind, {0}, \
     {NHWC(n, 2 * h + more, 2 * w + more, c), NHWC(n, h, w, c), \
      NHWC(n, 2 * h + more, 2 * w + more, c)}, \
     {VALUES_NORMAL}, 0x7, 0, 0, false, 0}
/* h w: of the large tensor. */
#define POOL3_ADD(n, h, w, c) \
    {&max_pool2d_grad_add_kind, {.kernel = 3}, \
     {NHWC(n, h, w, c), NHWC(n, (h + 1) / 2, (w + 1) / 2, c), NHWC(n, h, w, c)}, \
     {VALUES_NORMAL}, 0x7, 0, 0, false, 0}
#define UPSAMPLE(n, h, w, c, b) \
    {&upsample2d_kind, {.bilinear = b}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0}
#define GLOBAL_AVG_POOL(n, h, w, c) \
    {&global_avg_pool_kind, {0}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0}
#define SUBSAMPLE(n, h, w, a, b) \
    {&subsample_kind, {.channels = b}, {NHWC(n, h, w, a)}, {VALUES_NORMAL}, 0x1, 0, 0.5, false, \
     0}
#define BCE(n, h, w) \
    {&bce_kind, {0}, {NHWC(n, h, w, 1), NHWC(n, h, w, 1)}, {VALUES_NORMAL, VALUES_UNIT}, 0x1, 0, \
     0.02, false, 0}
#define LOSS(kind, n, h, w, c, values, weights) \
    LOSS_SHAPED(kind, n, h, w, c, values, weights, 0, 0.5, 0.5)
/* g: gamma; a, b: alpha and beta. */
#define LOSS_SHAPED(kind, n, h, w, c, values, weights, g, a, b) \
    {&kind, {.class_weights = weights, .gamma = g, .alpha = a, .beta = b}, \
     {NHWC(n, h, w, c), NHWC(n, h, w, 1)}, {VALUES_NORMAL, values}, 0x1, 0, 0.04, false, 0}
/* Logits whose exponentials overflow unless the largest is taken off before. */
#define LOSS_FAR(kind, n, h, w, c, values, g) \
    {&kind, {.gamma = g, .alpha = 0.5, .beta = 0.5}, {NHWC(n, h, w, c), NHWC(n, h, w, 1)}, \
     {VALUES_FAR, values}, 0, 0, 0, false, 0}
