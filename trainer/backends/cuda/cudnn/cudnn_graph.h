/* SPDX-License-Identifier: BSD-3-Clause */
/* One convolution, with the operations on its result before it is written, as a graph of cuDNN's
 * graph API.
 *
 * x [n][h][w][c] and y [n][oh][ow][k] are activations (NHWC); the weights are [k][side][side][c],
 * as cuDNN's engines expect with NHWC. The bias is floats [k]. All are aligned to CUDNN_GRAPH_ALIGN
 * bytes. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_GRAPH_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/backends/cuda/runtime/cudnn_library.h"
#include "trainer/core/kernel.h"

#define CUDNN_GRAPH_ALIGN 16

/* Ids of the tensors in memory. */
enum { CUDNN_X, CUDNN_Y, CUDNN_W, CUDNN_B };

/* What a graph computes. x and y are the images on both sides of a convolution from x to y; in the
 * gradients of an op one of them, or the weights, is a gradient. */
enum cudnn_direction {
    CUDNN_FORWARD, /* y from x and the weights */
    CUDNN_DATA,    /* the gradient of x from that of y and the weights */
    CUDNN_WEIGHTS  /* the gradient of the weights from x and the gradient of y */
};

/* The operations on a forward convolution's result. */
enum cudnn_tail {
    CUDNN_ALONE,    /* none */
    CUDNN_BIAS,     /* + bias */
    CUDNN_BIAS_RELU /* max(0, + bias) */
};

struct cudnn_problem {
    enum cudnn_direction direction;
    enum cudnn_tail tail;
    int64_t n, h, w, c, oh, ow, k, side, stride, pad;
    enum dtype dtype;   /* of x, y and weights; sums are floats */
    bool tf32;          /* TF32: floats may be multiplied with 10 bits of mantissa */
    bool deterministic; /* only engines whose results have the same bits in every run */
};

struct cudnn_graph;

/* Creates a graph. handle may be NULL where there is no device: cuDNN checks the graph, but has no
 * engines for it. Returns NULL with the reason of cuDNN, or "out of memory", in *e. */
struct cudnn_graph *cudnn_graph_create(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e);
void cudnn_graph_destroy(struct cudnn_graph *g); /* g may be NULL */

/* Returns the address of the graph's descriptor, as an attribute of another descriptor takes it. */
void **cudnn_graph_descriptor(struct cudnn_graph *g);

/* Create a descriptor, and set an attribute of one. */
int cudnn_graph_make(const struct cudnn_calls *c, int type, void **d, struct err *e);
int cudnn_graph_set(const struct cudnn_calls *c, void *d, int name, int type, int64_t count,
                    const void *elements, struct err *e);

#endif
