/* SPDX-License-Identifier: BSD-3-Clause */
/* Searches cuDNN's engines for a problem, and runs one. An engine is acceptable if by its numerical
 * notes it does not reduce precision further than the problem's type and tf32 allow, and is
 * deterministic if the problem asks for that. A plan must be closed before its search ends. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_PLAN_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_CUDNN_CUDNN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/backends/cuda/cudnn/cudnn_graph.h"

/* Identifies an engine: the tail of the graph that it computes, the list and the index there in
 * which cuDNN offers it, and its id, which is compared when the engine is looked up. */
struct cudnn_engine {
    int mode; /* DNN_HEUR_MODE_... */
    int64_t index, id;
    enum cudnn_tail tail;
};

struct cudnn_plan;

/* Begins a search through the engines of cuDNN's heuristic, from the most promising, then through
 * its fallbacks. Returns NULL with the reason of cuDNN, or "out of memory", in *e. */
struct cudnn_search *cudnn_plan_search(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e);
void cudnn_plan_end(struct cudnn_search *s); /* after its plans are closed; s may be NULL */

/* Returns a plan for the next acceptable engine that needs at most `most` bytes of workspace; NULL:
 * there is none left. */
struct cudnn_plan *cudnn_plan_next(struct cudnn_search *s, size_t most);

/* Returns a plan for that engine; NULL: it is missing, not acceptable or needs more workspace. */
struct cudnn_plan *cudnn_plan_find(struct cudnn_search *s, const struct cudnn_engine *engine,
                                     size_t most);

void cudnn_plan_close(struct cudnn_plan *p); /* p may be NULL */
const struct cudnn_engine *cudnn_plan_engine(const struct cudnn_plan *p);

/* Queues the plan in the handle's stream. pointers: by CUDNN_X to CUDNN_B, the bias only with a
 * tail that has one. They and the workspace are aligned to 16 bytes; the workspace has the size
 * given to cudnn_plan_next or cudnn_plan_find. */
int cudnn_plan_run(const struct cudnn_plan *p, void *const pointers[4], void *workspace,
                   struct err *e);

#endif
