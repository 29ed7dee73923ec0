/* SPDX-License-Identifier: BSD-3-Clause */
/* Mixed precision (Micikevicius et al., Mixed Precision Training, ICLR 2018): activations and their
 * gradients have 16 bits; weights and their gradients, statistics of batch norm, images, targets,
 * logits with their gradients, and losses remain floats. Where a backend has no kernel for an op of
 * both types, that for 16 bits runs behind casts of the floats, which are images, logits and their
 * gradients; where there is none either, that for floats runs between casts. */
#ifndef UNETCTL_TRAINER_PASSES_PRECISION_H
#define UNETCTL_TRAINER_PASSES_PRECISION_H

#include "trainer/core/graph.h"

/* The names are "f32", "bf16" and "fp16". precision_parse also accepts "tf32": floats, which the
 * convolutions of a device may multiply with 10 bits of mantissa. -1 with ERR_USAGE for another
 * name. */
const char *precision_name(enum dtype t);
int precision_parse(const char *name, enum dtype *t, bool *tf32, struct err *e);

/* Sets the type of the activations and their gradients to t. DTYPE_F32 changes nothing. */
void precision_mark(struct graph *g, enum dtype t);

/* precision_narrow, called after precision_mark and before fuse_graph, inserts casts of images,
 * logits and their gradients to 16 bits, and back, around the ops that read or write them together
 * with tensors of 16 bits, where the backend has kernels for that. precision_lower, called after
 * fuse_graph and before graph_compile, inserts casts to floats around the ops for whose types the
 * backend still has no kernel. 0, or -1 if out of memory. */
int precision_narrow(struct graph *g, const struct backend *backend, struct err *e);
int precision_lower(struct graph *g, const struct backend *backend, struct err *e);

#endif
