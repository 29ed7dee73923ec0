/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph: ops in the order in which they run. It is built once, compiled once and run many times.
 *
 *   graph_create -> model appends ops -> graph_backward -> graph_compile -> graph_bind -> graph_run
 *
 * Tensors and ops belong to the graph. Functions that append an op to a NULL tensor (the result of
 * a failed call) return NULL and leave the error as it is, so that a model checks only the last
 * result. */
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
    double l2;        /* the loss has a penalty of l2 |w|^2 */
    double low, high; /* initial values are uniform in low..high, or constant if both are equal */
};

struct graph {
    bool training;
    bool measures; /* inference with losses at the end that only measure (op_attr.measures) */
    struct op **ops;
    size_t nops, nforward; /* ops[0..nforward) are forward, the rest backward */
    struct tensor **tensors;
    size_t ntensors;
    struct graph_param *params; /* in the order of their first use */
    size_t nparams;
    struct tensor *input, *target, *logits; /* set by the model */
    uint64_t layers;   /* set by the model: the FNV-1a hash of its layers and their arguments */
    size_t arena_size; /* bytes, set by graph_compile */
    bool timed;        /* graph_run adds to nruns and to op.seconds */
    size_t nruns;
};

struct graph *graph_create(bool training, struct err *e);
void graph_destroy(struct graph *g);

/* Adds a pinned activation of floats that no op writes: the images or the targets. */
struct tensor *graph_input(struct graph *g, const char *name, struct shape shape, struct err *e);

/* Adds an activation of floats, to be passed as `out` to an op. */
struct tensor *graph_tensor(struct graph *g, const char *name, struct shape shape, struct err *e);

/* Adds a parameter, or state that training updates (role), named LAYER.WHAT in checkpoints. Only
 * one op may use it. low, high: as in struct graph_param. */
struct tensor *graph_param(struct graph *g, const char *layer, const char *what,
                           enum weights_role role, struct shape shape, double low, double high,
                           struct err *e);

/* Appends an op with kind->nin inputs; those of kind->may_lack_in may be NULL. out: kind->nout
 * tensors to write to. Where an entry (or out) is NULL, the result is created in the arena, unless
 * kind->may_lack_out has it. attr may be NULL. Returns the op, or NULL with the error set. */
struct op *graph_append(struct graph *g, const struct op_kind *kind, const struct op_attr *attr,
                        struct tensor *const *in, struct tensor *const *out, struct err *e);

/* The same, without out. Returns the op's first result, or NULL with the error set. */
struct tensor *graph_append_result(struct graph *g, const struct op_kind *kind,
                                   const struct op_attr *attr, struct tensor *const *in,
                                   struct err *e);

/* Returns whether writer->out[0] is in the arena, not pinned, and read by no op but `reader`.
 * Entries of g->ops may be NULL. */
bool graph_is_private(const struct graph *g, const struct op *writer, const struct op *reader);

/* Removes the entries of g->ops that are NULL, and adjusts nops and nforward. */
void graph_close_up(struct graph *g);

/* Appends the gradient ops of the losses, and of each forward op whose result has received a
 * gradient from later ops, last op first. 0, or -1 with ERR_INTERNAL. */
int graph_backward(struct graph *g, struct err *e);

/* Gives every parameter and its gradient the offset that w has for it; part of graph_compile. -1
 * with ERR_INTERNAL if w has no entry of its name, role and size. */
int graph_place(struct graph *g, const struct weights *w, struct err *e);

/* Chooses and prepares a kernel for each op and plans the memory. -1 with ERR_CONFIG if the
 * backend has no kernel for an op; then the graph can only be destroyed. */
int graph_compile(struct graph *g, const struct backend *backend, const struct weights *w,
                  struct err *e);

/* Points the tensors into w and into an arena of at least arena_size bytes, aligned to 64 bytes;
 * both must outlive the graph's runs. */
void graph_bind(struct graph *g, const struct weights *w, void *arena);

/* Calls the begin of the ops that have one, in order. graph_run does so first, for all,
 * unless x->kept is set. */
int graph_begin_ops(struct op *const *ops, size_t n, struct exec *x, struct err *e);

/* Runs all ops. ready: see network_ready_f; may be NULL. -1 with the error of a kernel or ready. */
int graph_run(struct graph *g, struct exec *x, int (*ready)(void *arg, size_t upto, struct err *e),
              void *arg, struct err *e);

/* Returns the FNV-1a hash of the plan that checkpoints contain and all replicas must have in
 * common: layers, and the parameters' names, shapes and penalties, but not how ops compute them. */
uint64_t graph_hash(const struct graph *g);

#endif
