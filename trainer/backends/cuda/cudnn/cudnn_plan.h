/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines that cuDNN has for a graph, and what runs one. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_PLAN_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/backends/cuda/cudnn/cudnn_graph.h"

/* Which engine: of a graph with that tail the place in one list of cuDNN's, and what stands
 * there. */
struct cudnn_engine {
    int mode; /* DNN_HEUR_MODE_... */
    int64_t place, id;
    enum cudnn_tail tail;
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

/* Queue it in the handle's stream. By CUDNN_X.., the bias only with a tail; all of them and the
 * workspace on 16 bytes; the latter has what was the most. */
int cudnn_plan_run(const struct cudnn_plan *p, void *const pointers[4], void *workspace,
                   struct err *e);

#endif
