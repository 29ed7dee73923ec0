/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph: ops in the order in which they run, built once, compiled once, run many times.
 *
 *   graph_create -> model appends ops -> graph_backward -> graph_compile -> graph_bind -> graph_run
 *
 * Tensors and ops belong to the graph. The functions that append take NULL tensors (the result of
 * a call that failed) and return NULL without touching the error, so that a model checks once, at
 * the end. */
#ifndef UNETCTL_TRAINER_CORE_GRAPH_H
#define UNETCTL_TRAINER_CORE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/err.h"
#include "trainer/core/backend.h"
#include "trainer/core/op.h"
#include "trainer/core/weights.h"

struct graph_param {
    struct tensor *tensor;
    enum weights_role role;
    double l2;        /* its penalty of the loss: l2 |w|^2 */
    double low, high; /* initial values: uniform between them; equal: that constant */
};

struct graph {
    bool training;
    bool measures; /* as without training, with losses behind it that only measure */
    struct op **ops;
    size_t nops, nforward; /* ops[0..nforward) forward, the rest backward */
    struct tensor **tensors;
    size_t ntensors;
    struct graph_param *params; /* in the order of their first use */
    size_t nparams;
    struct tensor *input, *target, *logits;
    size_t arena_size; /* bytes, set by graph_compile */
    bool timed;        /* runs add to op.seconds and nruns */
    size_t nruns;
};

struct graph *graph_create(bool training, struct err *e);
void graph_destroy(struct graph *g);

/* A pinned activation that is not the result of an op: image or target. */
struct tensor *graph_input(struct graph *g, const char *name, struct shape shape, struct err *e);

/* An activation of floats for ops to write to. */
struct tensor *graph_tensor(struct graph *g, const char *name, struct shape shape, struct err *e);

/* A parameter, or state that training updates: LAYER.WHAT in checkpoints. Each belongs to one
 * op. */
struct tensor *graph_param(struct graph *g, const char *layer, const char *what,
                           enum weights_role role, struct shape shape, double low, double high,
                           struct err *e);

/* Append an op; kind->nin inputs, of which those that op_may_lack allows may be NULL. out:
 * kind->nout tensors to write to; a NULL among them (or out == NULL) is created in the arena, if
 * the op has such a result. attr may be NULL. Returns the op, or NULL with the error set. */
struct op *graph_append(struct graph *g, const struct op_kind *kind, const struct op_attr *attr,
                        struct tensor *const *in, struct tensor *const *out, struct err *e);

/* Appends a copy of the op `like`, with inputs and outputs at places beyond its kind's own, too. */
struct op *graph_append_op(struct graph *g, const struct op *like, struct err *e);

/* Returns whether no op but `reader` reads writer->out[0], nor the caller later. Entries of
 * g->ops may be NULL. */
bool graph_is_private(const struct graph *g, const struct op *writer, const struct op *reader);

/* Removes the entries of g->ops that are NULL. */
void graph_close_up(struct graph *g);

/* Append the backward ops of all forward ops, last first. */
int graph_backward(struct graph *g, struct err *e);

/* Give every parameter and its gradient the offset that w has for it. Part of graph_compile. */
int graph_place(struct graph *g, const struct weights *w, struct err *e);

/* Choose and prepare kernels, give parameters and activations their offsets. */
int graph_compile(struct graph *g, const struct backend *backend, const struct weights *w,
                  struct err *e);

/* Point the tensors into w and into an arena of at least arena_size bytes (64-byte aligned). */
void graph_bind(struct graph *g, const struct weights *w, void *arena);

/* Run all ops. ready: see network_ready_f; may be NULL. */
int graph_run(struct graph *g, struct exec *x, int (*ready)(void *arg, size_t upto, struct err *e),
              void *arg, struct err *e);

/* FNV-1a over ops, shapes and the parameters' offsets: what replicas must agree on. Offsets in
 * the arena are left out, they may differ between processors. */
uint64_t graph_hash(const struct graph *g);

/* The plan as a table: one line per op with its kernel's memory, then the totals. */
void graph_print_plan(const struct graph *g, FILE *out);

#endif
