/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory planner assigns offsets in the arena to tensors, workspaces of ops and what ops keep,
 * such that those with overlapping lifetimes never overlap in memory, except a result in the memory
 * of an input (op_is_inplace). The largest are placed first, each into the smallest gap that is
 * free for its lifetime (offline dynamic storage allocation, best fit in order of decreasing
 * size). */
#ifndef UNETCTL_TRAINER_CORE_PLAN_H
#define UNETCTL_TRAINER_CORE_PLAN_H

#include "src/err.h"
#include "trainer/core/graph.h"

#define PLAN_ALIGN 64 /* bytes */

/* Sets first, last and offset of the tensors in the arena, workspace_offset and kept_offset of the
 * ops, and g->arena_size. 0, or -1 if out of memory. */
int plan_arena(struct graph *g, struct err *e);

#endif
