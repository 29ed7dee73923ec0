/* SPDX-License-Identifier: BSD-3-Clause */
/* Mixed precision: activations and their gradients as 16-bit numbers; weights and their gradients,
 * statistics of batch norm, images, targets, logits and losses stay floats (Micikevicius et al.,
 * Mixed Precision Training, ICLR 2018). Where a backend has no kernel for that, the op's kernel for
 * floats runs between two casts. */
#ifndef UNETCTL_TRAINER_PASSES_PRECISION_H
#define UNETCTL_TRAINER_PASSES_PRECISION_H

#include "trainer/core/graph.h"

/* "f32", "bf16", "fp16"; "tf32": floats, which a device's convolutions may multiply with 10 bits
 * behind the point. ERR_USAGE: none of these. */
const char *precision_name(enum dtype t);
int precision_parse(const char *name, enum dtype *t, bool *tf32, struct err *e);

/* Give the results of ops their type. DTYPE_F32 changes nothing. */
void precision_mark(struct graph *g, enum dtype t);

/* Put casts around the ops for which the backend has no kernel as they are. After precision_mark
 * and fuse_graph, before graph_compile. */
int precision_lower(struct graph *g, const struct backend *backend, struct err *e);

#endif
