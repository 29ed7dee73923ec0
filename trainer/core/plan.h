/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory planner: tensors of the arena and workspaces of ops get offsets such that those with
 * overlapping lifetimes never overlap in memory. The largest are placed first, each into the
 * smallest gap that is free for its lifetime (the offline problem of dynamic storage
 * allocation). */
#ifndef UNETCTL_TRAINER_CORE_PLAN_H
#define UNETCTL_TRAINER_CORE_PLAN_H

#include "src/err.h"
#include "trainer/core/graph.h"

#define PLAN_ALIGN 64 /* bytes */

/* Sets first, last, offset of the tensors in the arena, workspace_offset of the ops, and
 * g->arena_size. */
int plan_arena(struct graph *g, struct err *e);

#endif
