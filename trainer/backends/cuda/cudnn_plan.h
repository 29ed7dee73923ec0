/* SPDX-License-Identifier: BSD-3-Clause */
/* One convolution as cuDNN's graph API describes it, and the engines that it has for it.
 *
 * x [n][h][w][c] and y [n][oh][ow][k] are activations as everywhere (NHWC); the weights are
 * [k][side][side][c], which is what its engines take beside these. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_PLAN_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/backends/cuda/cudnn_library.h"
#include "trainer/core/dtype.h"

enum cudnn_way {
    CUDNN_FORWARD, /* y of x and the weights */
    CUDNN_DATA,    /* x of y and the weights */
    CUDNN_WEIGHTS  /* the weights of x and y */
};

struct cudnn_problem {
    enum cudnn_way way;
    int64_t n, h, w, c, oh, ow, k, side, stride, pad;
    enum dtype dtype;   /* of all three; sums are floats */
    bool tf32;          /* floats may be multiplied with 10 bits behind the point */
    bool deterministic; /* no engine whose result depends on the order of threads */
};

/* Which engine: the place in one list of cuDNN's, and what stands there. */
struct cudnn_engine {
    int mode; /* DNN_HEUR_MODE_... */
    int64_t place, id;
};

struct cudnn_plan;

/* The engines of a problem, as cuDNN thinks best first. NULL on error: what cuDNN said. */
struct cudnn_search *cudnn_plan_search(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e);
void cudnn_plan_end(struct cudnn_search *s); /* after its plans; NULL is fine */

/* The next engine that computes as the problem asks, with at most that much workspace. NULL: there
 * is no other. */
struct cudnn_plan *cudnn_plan_next(struct cudnn_search *s, size_t most);

/* That engine. NULL: it is not there, or not fit. */
struct cudnn_plan *cudnn_plan_find(struct cudnn_search *s, const struct cudnn_engine *engine,
                                     size_t most);

void cudnn_plan_close(struct cudnn_plan *p); /* NULL is fine */
const struct cudnn_engine *cudnn_plan_engine(const struct cudnn_plan *p);

/* Queue it in the handle's stream. All four on 16 bytes; the workspace has what was the most. */
int cudnn_plan_run(const struct cudnn_plan *p, void *x, void *y, void *weights, void *workspace,
                   struct err *e);

#endif
