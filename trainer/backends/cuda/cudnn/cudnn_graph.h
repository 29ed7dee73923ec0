/* SPDX-License-Identifier: BSD-3-Clause */
/* One convolution, and what is done at once with its result, as cuDNN's graph API describes it.
 *
 * x [n][h][w][c] and y [n][oh][ow][k] are activations as everywhere (NHWC); the weights are
 * [k][side][side][c], which is what its engines take beside these. The bias is floats [k]. All
 * begin at a multiple of CUDNN_GRAPH_ALIGN bytes. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_GRAPH_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/backends/cuda/cudnn/cudnn_library.h"
#include "trainer/core/dtype.h"

#define CUDNN_GRAPH_ALIGN 16

/* Ids of what a caller has in memory. */
enum { CUDNN_X, CUDNN_Y, CUDNN_W, CUDNN_B };

enum cudnn_way {
    CUDNN_FORWARD, /* y of x and the weights */
    CUDNN_DATA,    /* x of y and the weights */
    CUDNN_WEIGHTS  /* the weights of x and y */
};

/* Behind a convolution forward, before anything is written. */
enum cudnn_tail {
    CUDNN_ALONE,    /* nothing: there is no bias */
    CUDNN_BIAS,     /* + bias */
    CUDNN_BIAS_RELU /* max(0, + bias) */
};

struct cudnn_problem {
    enum cudnn_way way;
    enum cudnn_tail tail;
    int64_t n, h, w, c, oh, ow, k, side, stride, pad;
    enum dtype dtype;   /* of x, y and weights; sums are floats */
    bool tf32;          /* floats may be multiplied with 10 bits behind the point */
    bool deterministic; /* no engine whose result depends on the order of threads */
};

struct cudnn_graph;

/* handle: NULL where there is no device; then it can be judged, but has no engines. NULL on error:
 * what cuDNN said. */
struct cudnn_graph *cudnn_graph_create(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e);
void cudnn_graph_destroy(struct cudnn_graph *g); /* NULL is fine */

/* For attributes of others. */
void **cudnn_graph_descriptor(struct cudnn_graph *g);

/* A descriptor, and an attribute of it. */
int cudnn_graph_make(const struct cudnn_calls *c, int type, void **d, struct err *e);
int cudnn_graph_set(const struct cudnn_calls *c, void *d, int name, int type, int64_t count,
                    const void *elements, struct err *e);

#endif
