/* SPDX-License-Identifier: BSD-3-Clause */
/* Macros for the tables of opcheck and opspeed. Each is the initializer of a struct test_case: an
 * op on tensors of these sizes (n h w, channels in and out, side of the window). */
#ifndef UNETCTL_TRAINER_OPS_TEST_CASES_H
#define UNETCTL_TRAINER_OPS_TEST_CASES_H

#include "trainer/ops/test/rig.h"

#define NHWC(n, h, w, c) {4, {n, h, w, c}}
#define VECTOR(c) {1, {c}}
#define SECOND (1U << OP_SECOND) /* bit of test_case.data */

#define CONV(n, h, w, ci, co, k) \
    {&conv2d_kind, {.kernel = k}, {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, 0, 0}
#define CONV_RELU(n, h, w, ci, co, k) \
    {&conv2d_kind, {.kernel = k, .relu = true}, {NHWC(n, h, w, ci), NHWC(co, ci, k, k), \
                                                 VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0, 0, false, 0, 0}
#define CONV_RELU_POOL(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 3, .relu = true}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, 3, 3), VECTOR(co)}, {VALUES_NORMAL}, 0, 0, 0, false, \
     OP_OUT_POOLED, 0}
#define CONV_RELU_TWICE_POOL(n, h, w, ci, c, co) \
    {&conv2d_kind, {.kernel = 3, .relu = true}, \
     {NHWC(n, h, w, ci), NHWC(co, c, 3, 3), VECTOR(co), \
      [OP_PRODUCER_W] = NHWC(c, ci, 3, 3), [OP_PRODUCER_B] = VECTOR(c)}, \
     {VALUES_NORMAL}, 0, 0, 0, false, OP_OUT_POOLED, 0}
#define UP_CONCAT_CONV_RELU(n, h, w, ci, c, skip, co) \
    {&conv2d_kind, {.kernel = 3, .relu = true}, \
     {NHWC(n, h, w, ci), NHWC(co, c + skip, 3, 3), VECTOR(co), \
      [OP_SECOND] = NHWC(n, 2 * h, 2 * w, skip), \
      [OP_PRODUCER_W] = NHWC(ci, c, 2, 2), [OP_PRODUCER_B] = VECTOR(c)}, \
     {VALUES_NORMAL}, 0, 0, 0, false, 0, 0}
#define CONCAT_CONV_RELU(n, h, w, a, b, co) \
    {&conv2d_kind, {.kernel = 3, .relu = true}, \
     {NHWC(n, h, w, a), NHWC(co, a + b, 3, 3), VECTOR(co), \
      [OP_SECOND] = NHWC(n, h, w, b)}, \
     {VALUES_NORMAL}, 0, 0, 0, false, 0, 0}
#define FOLD_NORM(ci, co, k) \
    {&fold_norm_kind, {.eps = 1e-5}, \
     {NHWC(co, ci, k, k), VECTOR(co), VECTOR(co), VECTOR(co), VECTOR(co), VECTOR(co)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, \
     0, 0, 0, false, 0, 0}
#define FOLD_NORM_NOBIAS(ci, co, k) \
    {&fold_norm_kind, {.eps = 1e-5, .no_bias = true}, \
     {NHWC(co, ci, k, k), VECTOR(co), VECTOR(co), VECTOR(co), VECTOR(co)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, \
     0, 0, 0, false, 0, 0}
#define HEAD(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 1}, {NHWC(n, h, w, ci), NHWC(co, ci, 1, 1), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.5, true, 0, 0}
#define CONV_STRIDED(n, h, w, ci, co, k) \
    {&conv2d_kind, {.kernel = k, .stride = 2}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, k, k), VECTOR(co)}, {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, \
         0, 0}
#define CONV_NOBIAS(n, h, w, ci, co, k, s) \
    {&conv2d_kind, {.kernel = k, .stride = s, .no_bias = true}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, k, k)}, \
     {VALUES_NORMAL}, 0x1, 0x2, 0.5, false, 0, 0}
#define CONV_TRANSPOSE(n, h, w, ci, co) \
    {&conv_transpose2d_kind, {0}, {NHWC(n, h, w, ci), NHWC(ci, co, 2, 2), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, 0, 0}
#define BATCH_NORM(kind, n, h, w, c, step) BATCH_NORM_AS(kind, false, n, h, w, c, step)
#define BATCH_NORM_RELU(kind, n, h, w, c, step) BATCH_NORM_AS(kind, true, n, h, w, c, step)
#define BATCH_NORM_AS(kind, _relu, n, h, w, c, step) \
    {&kind, {.eps = 1e-5, .momentum = 0.1, .relu = _relu}, \
     {NHWC(n, h, w, c), VECTOR(c), VECTOR(c), VECTOR(c), VECTOR(c)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, 0x1, 0x6, \
         step, false, 0, 0}
/* Ops whose source is the result of a norm and its ReLU that is never written (op.h). */
#define NORM_CONV(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 3}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, 3, 3), VECTOR(co), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x1, 0, 0, false, 0, 0}
#define NORM_CONV_NOBIAS(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 3, .no_bias = true}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, 3, 3), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x1, 0, 0, false, 0, 0}
/* A convolution to logits with a norm in front, and both gradients of one without and with a
 * norm. */
#define NORM_HEAD(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 1}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, 1, 1), VECTOR(co), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x1, 0, 0, true, 0, 0}
#define HEAD_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 1}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 1, 1), NHWC(n, h, w, ci)}, \
     {VALUES_NORMAL}, 0x4, 0, 0, false, 0, 6}
#define NORM_HEAD_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 1}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 1, 1), NHWC(n, h, w, ci), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x4, 0, 0, false, OP_OUT_SUMS, 6}
/* Ops that give or take the moments that fusion adds (op.h). */
#define CONV_MOMENTS(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 3}, {NHWC(n, h, w, ci), NHWC(co, ci, 3, 3), VECTOR(co)}, \
     {VALUES_NORMAL}, 0x1, 0x6, 0.5, false, OP_OUT_MOMENTS, 0}
#define CONV_NOBIAS_MOMENTS(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 3, .no_bias = true}, {NHWC(n, h, w, ci), NHWC(co, ci, 3, 3)}, \
     {VALUES_NORMAL}, 0x1, 0x2, 0.5, false, OP_OUT_MOMENTS, 0}
#define CONCAT_CONV_MOMENTS(n, h, w, a, b, co) \
    {&conv2d_kind, {.kernel = 3}, \
     {NHWC(n, h, w, a), NHWC(co, a + b, 3, 3), VECTOR(co), \
      [OP_SECOND] = NHWC(n, h, w, b)}, \
     {VALUES_NORMAL}, 0x1 | SECOND, 0x6, 0.5, false, OP_OUT_MOMENTS, 0}
#define BATCH_NORM_MOMENTS(_relu, _scale_shift, n, h, w, c) \
    {&batch_norm_kind, {.eps = 1e-5, .momentum = 0.1, .relu = _relu, .scale_shift = _scale_shift}, \
     {NHWC(n, h, w, c), VECTOR(c), VECTOR(c), VECTOR(c), VECTOR(c), [OP_MOMENTS] = {2, {2, c}}}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE, \
      [OP_MOMENTS] = VALUES_POSITIVE}, 0x1, 0, 0, false, 0, 0}
#define NORM_CONV_MOMENTS(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 3}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, 3, 3), VECTOR(co), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x1, 0, 0, false, OP_OUT_MOMENTS, 0}
#define NORM_CONV_NOBIAS_MOMENTS(n, h, w, ci, co) \
    {&conv2d_kind, {.kernel = 3, .no_bias = true}, \
     {NHWC(n, h, w, ci), NHWC(co, ci, 3, 3), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x1, 0, 0, false, OP_OUT_MOMENTS, 0}
/* Gradients of convolutions, also with a deferred norm gradient or a norm in front (op.h), and the
 * norm's gradient that is deferred. */
#define CONV_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci)}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 0, 6}
#define CONV_GRAD_DEFERRED(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci), \
      [OP_NORM_GRAD_X] = NHWC(n, h, w, co), [OP_NORM_GRAD_COEF] = {2, {5, co}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 0, 6}
#define CONV_NOBIAS_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3, .no_bias = true}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci)}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 0, 2}
#define CONV_NOBIAS_GRAD_DEFERRED(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3, .no_bias = true}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci), \
      [OP_NORM_GRAD_X] = NHWC(n, h, w, co), [OP_NORM_GRAD_COEF] = {2, {5, co}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 0, 2}
#define CONV_WEIGHTS_DEFERRED(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), [2] = NHWC(n, h, w, ci), \
      [OP_NORM_GRAD_X] = NHWC(n, h, w, co), [OP_NORM_GRAD_COEF] = {2, {5, co}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 0, 6}
#define CONV_TRANSPOSE_GRAD(n, h, w, ci, co) \
    {&conv_transpose2d_grad_kind, {0}, \
     {NHWC(n, 2 * h, 2 * w, co), NHWC(ci, co, 2, 2), NHWC(n, h, w, ci)}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 0, 6}
#define CONCAT_CONV_GRAD(n, h, w, a, b, co) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), NHWC(co, a + b, 3, 3), NHWC(n, h, w, a), \
      [OP_SECOND] = NHWC(n, h, w, b)}, \
     {VALUES_NORMAL}, 0x5 | SECOND, 0, 0, false, 0, 6}
#define CONCAT_CONV_GRAD_DEFERRED(n, h, w, a, b, co) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), NHWC(co, a + b, 3, 3), NHWC(n, h, w, a), \
      [OP_SECOND] = NHWC(n, h, w, b), \
      [OP_NORM_GRAD_X] = NHWC(n, h, w, co), [OP_NORM_GRAD_COEF] = {2, {5, co}}}, \
     {VALUES_NORMAL}, 0x5 | SECOND, 0, 0, false, 0, 6}
#define NORM_GRAD_COEF(n, h, w, c) \
    {&batch_norm_grad_kind, {.eps = 1e-5, .relu = true, .scale_shift = true}, \
     {NHWC(n, h, w, c), NHWC(n, h, w, c), VECTOR(c), {2, {2, c}}, VECTOR(c)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, 0x3, 0, 0, false, 0, 6}
#define NORM_CONV_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, OP_OUT_SUMS, 6}
#define NORM_CONV_GRAD_DEFERRED(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci), [OP_SCALE_SHIFT] = {2, {2, ci}}, \
      [OP_NORM_GRAD_X] = NHWC(n, h, w, co), [OP_NORM_GRAD_COEF] = {2, {5, co}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, OP_OUT_SUMS, 6}
#define NORM_CONV_NOBIAS_GRAD(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3, .no_bias = true}, \
     {NHWC(n, h, w, co), NHWC(co, ci, 3, 3), NHWC(n, h, w, ci), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, OP_OUT_SUMS, 2}
#define NORM_CONV_WEIGHTS(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), [2] = NHWC(n, h, w, ci), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, 0, 6}
#define NORM_CONCAT_CONV_WEIGHTS(n, h, w, a, b, co, place) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), [2] = NHWC(n, h, w, a), [OP_SECOND] = NHWC(n, h, w, b), \
      [place] = {2, {2, (place) == OP_SCALE_SHIFT ? a : b}}}, \
     {VALUES_NORMAL}, 0x5 | SECOND, 0, 0, false, 0, 6}
/* Poolings and convolutions that apply a batch norm and its ReLU to a source while they read it
 * (OP_SCALE_SHIFT in op.h); some gradients also compute the sums for that norm's gradient
 * (OP_OUT_SUMS). */
#define NORM_POOL(n, h, w, c) \
    {&max_pool2d_kind, {0}, {NHWC(n, h, w, c), [OP_SCALE_SHIFT] = {2, {2, c}}}, \
     {VALUES_NORMAL}, 0x1, 0, \
     0, false, 0, 0}
#define NORM_POOL_ADD(n, h, w, c) \
    {&max_pool2d_grad_kind, {0}, \
     {NHWC(n, (h) / 2, (w) / 2, c), NHWC(n, h, w, c), [OP_SCALE_SHIFT] = {2, {2, c}}, \
      [OP_ADDED] = NHWC(n, h, w, c)}, \
     {VALUES_NORMAL}, 0x3, 0, 0, false, OP_OUT_SUMS, 0}
#define NORM_POOL_GRAD(n, h, w, c) \
    {&max_pool2d_grad_kind, {0}, \
     {NHWC(n, (h) / 2, (w) / 2, c), NHWC(n, h, w, c), [OP_SCALE_SHIFT] = {2, {2, c}}}, \
     {VALUES_NORMAL}, 0x3, 0, 0, false, OP_OUT_SUMS, 0}
#define NORM_CONV_TRANSPOSE(n, h, w, ci, co) \
    {&conv_transpose2d_kind, {0}, \
     {NHWC(n, h, w, ci), NHWC(ci, co, 2, 2), VECTOR(co), [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
         {VALUES_NORMAL}, 0x1, 0, 0, false, 0, 0}
#define NORM_CONV_TRANSPOSE_GRAD(n, h, w, ci, co) \
    {&conv_transpose2d_grad_kind, {0}, \
     {NHWC(n, 2 * h, 2 * w, co), NHWC(ci, co, 2, 2), NHWC(n, h, w, ci), \
      [OP_SCALE_SHIFT] = {2, {2, ci}}}, \
     {VALUES_NORMAL}, 0x5, 0, 0, false, OP_OUT_SUMS, 6}
#define NORM_CONCAT_CONV(n, h, w, a, b, co, which) \
    {&conv2d_kind, {.kernel = 3}, \
     {NHWC(n, h, w, a), NHWC(co, a + b, 3, 3), VECTOR(co), \
      [OP_SECOND] = NHWC(n, h, w, b), \
      [(which) == 1 ? OP_SCALE_SHIFT : OP_SECOND_SCALE_SHIFT] = {2, {2, (which) == 1 ? a : b}}}, \
     {VALUES_NORMAL}, 0x1 | SECOND, 0, 0, false, OP_OUT_MOMENTS, 0}
#define NORM_CONCAT_CONV_GRAD_DEFERRED(n, h, w, a, b, co, which) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), NHWC(co, a + b, 3, 3), NHWC(n, h, w, a), \
      [OP_SECOND] = NHWC(n, h, w, b), \
      [(which) == 2 ? OP_SCALE_SHIFT : OP_SECOND_SCALE_SHIFT] = {2, {2, (which) == 2 ? a : b}}, \
      [OP_NORM_GRAD_X] = NHWC(n, h, w, co), [OP_NORM_GRAD_COEF] = {2, {5, co}}}, \
     {VALUES_NORMAL}, 0x5 | SECOND, 0, 0, false, 0, 6}
#define NORM_CONCAT_CONV_GRAD(n, h, w, a, b, co, which) \
    {&conv2d_grad_kind, {.kernel = 3}, \
     {NHWC(n, h, w, co), NHWC(co, a + b, 3, 3), NHWC(n, h, w, a), \
      [OP_SECOND] = NHWC(n, h, w, b), \
      [(which) == 2 ? OP_SCALE_SHIFT : OP_SECOND_SCALE_SHIFT] = {2, {2, (which) == 2 ? a : b}}}, \
     {VALUES_NORMAL}, 0x5 | SECOND, 0, 0, false, 0, 6}
#define NORM_SCALE_SHIFT(n, h, w, c) \
    {&batch_norm_kind, {.eps = 1e-5, .momentum = 0.1, .relu = true, .scale_shift = true}, \
     {NHWC(n, h, w, c), VECTOR(c), VECTOR(c), VECTOR(c), VECTOR(c)}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, 0x1, 0, 0, \
         false, 0, 0}
#define NORM_GRAD_SUMS(_scale_shift, n, h, w, c) \
    {&batch_norm_grad_kind, {.eps = 1e-5, .relu = true, .scale_shift = _scale_shift}, \
     {NHWC(n, h, w, c), NHWC(n, h, w, c), VECTOR(c), {2, {2, c}}, VECTOR(c), \
      [OP_SUMS] = {2, {2, c}}}, \
     {VALUES_NORMAL, VALUES_NORMAL, VALUES_NORMAL, VALUES_POSITIVE}, 0x3, 0, 0, false, 0, 6}
#define UNARY(kind, n, h, w, c) \
    {&kind, {0}, {NHWC(n, h, w, c)}, {VALUES_APART}, 0x1, 0, 0.008, false, 0, 0}
#define AVG_POOL(n, h, w, c) \
    {&avg_pool2d_kind, {0}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0, 0}
/* The input is an image, which always has floats: with results of 16 bits the backend needs a
 * cast. */
#define IMAGE_POOL(n, h, w, c) \
    {&avg_pool2d_kind, {0}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0, 0, 0, false, 0, 0}
#define BIAS(n, h, w, c) \
    {&bias_kind, {0}, {NHWC(n, h, w, c), VECTOR(c)}, {VALUES_NORMAL}, 0x1, 0x2, 0.5, false, 0, 0}
#define RESHAPE(n, h, w, c) \
    {&reshape_kind, {.height = 1, .width = 1, .channels = h * w * c}, {NHWC(n, h, w, c)}, \
     {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0, 0}
#define DROPOUT(n, h, w, c, r) \
    {&dropout_kind, {.rate = r, .stream = (UINT64_C(13) << 32) + 3}, {NHWC(n, h, w, c)}, \
     {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0, 0}
#define CONV_TRANSPOSE3(n, h, w, ci, co) \
    {&conv2d_grad_kind, {.kernel = 3, .stride = 2, .height = 2 * h, .width = 2 * w}, \
     {NHWC(n, h, w, ci), NHWC(ci, co, 3, 3)}, {VALUES_NORMAL}, 0x1, 0x2, 0.5, false, 0, 0}
#define CONCAT(n, h, w, a, b) \
    {&concat_kind, {0}, {NHWC(n, h, w, a), NHWC(n, h, w, b)}, {VALUES_NORMAL}, 0x3, 0, 0.5, \
     false, 0, 0}
#define CONCAT_CONV(n, h, w, a, b, co) \
    {&conv2d_kind, {.kernel = 3}, \
     {NHWC(n, h, w, a), NHWC(co, a + b, 3, 3), VECTOR(co), \
      [OP_SECOND] = NHWC(n, h, w, b)}, \
     {VALUES_NORMAL}, 0x1 | SECOND, 0x6, 0.5, false, 0, 0}
#define ADD(n, h, w, c) \
    {&add_kind, {0}, {NHWC(n, h, w, c), NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0x3, 0, 0.5, false, \
     0, 0}
#define NORM_ADD_RELU(n, h, w, c) \
    {&add_kind, {.relu = true}, \
     {NHWC(n, h, w, c), NHWC(n, h, w, c), [OP_NORM_SCALE_SHIFT] = {2, {2, c}}}, \
     {VALUES_NORMAL}, 0x3, 0, 0, false, 0, 0}
#define POOL_ADD(n, h, w, c) \
    {&max_pool2d_grad_kind, {0}, \
     {NHWC(n, h, w, c), NHWC(n, 2 * h, 2 * w, c), [OP_ADDED] = NHWC(n, 2 * h, 2 * w, c)}, \
     {VALUES_NORMAL}, 0x3, 0, 0, false, 0, 0}
#define POOL_ADD_ODD(n, h, w, c) \
    {&max_pool2d_grad_kind, {0}, \
     {NHWC(n, h, w, c), NHWC(n, 2 * h + 1, 2 * w + 1, c), \
      [OP_ADDED] = NHWC(n, 2 * h + 1, 2 * w + 1, c)}, \
     {VALUES_NORMAL}, 0x3, 0, 0, false, 0, 0}
#define GLOBAL_AVG_POOL(n, h, w, c) \
    {&global_avg_pool_kind, {0}, {NHWC(n, h, w, c)}, {VALUES_NORMAL}, 0x1, 0, 0.5, false, 0, 0}
#define SUBSAMPLE(n, h, w, a, b) \
    {&subsample_kind, {.channels = b}, {NHWC(n, h, w, a)}, {VALUES_NORMAL}, 0x1, 0, 0.5, false, \
     0, 0}
#define BCE(n, h, w) \
    {&bce_kind, {0}, {NHWC(n, h, w, 1), NHWC(n, h, w, 1)}, {VALUES_NORMAL, VALUES_UNIT}, 0x1, 0, \
     0.02, false, 0, 0}
#define LOSS(kind, n, h, w, c, values, weights) \
    {&kind, {.class_weights = weights}, {NHWC(n, h, w, c), NHWC(n, h, w, 1)}, \
     {VALUES_NORMAL, values}, 0x1, 0, 0.04, false, 0, 0}
/* Logits whose exponentials overflow unless the largest is taken off before. */
#define LOSS_FAR(kind, n, h, w, c) \
    {&kind, {0}, {NHWC(n, h, w, c), NHWC(n, h, w, 1)}, {VALUES_FAR, VALUES_CLASS}, 0, 0, 0, false, \
     0, 0}

#endif
