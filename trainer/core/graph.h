/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights, graphs, and the memory that a graph needs. */
#pragma once

#include "src/base.h"

#include "trainer/core/kernel.h"

/* An array of the host's memory, with a copy on a device if there is one. The two are copied to
 * each other explicitly. Functions that return int return 0, or -1 with *e set. */

struct mirror {
    const struct device_ops *ops; /* NULL: no device */
    struct device *device;
    void *host;  /* 64-byte aligned */
    void *there; /* what kernels work on: DEVICE_LOCAL memory, or without a device host */
    size_t nbytes;
};

/* Allocates both, zeroed. */
int mirror_open(struct mirror *m, const struct device_ops *ops, struct device *device,
                size_t nbytes, struct err *e);
void mirror_close(struct mirror *m); /* a zeroed one is allowed */

/* Copy from the device, once its queue is empty, and to it. Do nothing without a device. */
int mirror_pull(const struct mirror *m, struct err *e);
int mirror_push(const struct mirror *m, struct err *e);

/* Zeroes both. */
int mirror_clear(const struct mirror *m, struct err *e);

/* The parameters of one replica: values, gradients and batch-norm state, one array for each.
 *
 * Parameters are in the order in which backward finishes their gradients, last layer first. So a
 * prefix of `grad` is final while backward still runs, and the buckets of the all-reduce are
 * slices of it. Checkpoints identify parameters by name, never by offset. */

enum weights_role { WEIGHTS_PARAM, WEIGHTS_STATE };

struct weights_entry {
    char name[64]; /* "enc1.conv1.weight", "enc1.bn1.running_mean": checkpoint key */
    enum weights_role role;
    int ndim;
    int64_t shape[4]; /* conv OIHW, transposed conv IOHW as PyTorch has them, vectors [C] */
    size_t offset;    /* in elements, into value/grad (PARAM) or state (STATE) */
    size_t count;
    double l2;     /* the loss has a penalty of l2 |w|^2; 0 for frozen ones */
    bool frozen;   /* a parameter that is not trained, and therefore has the role of state */
    /* The layer's names in PyTorch's weights, separated by spaces, without the last part; or "". */
    char torch[64];
};

struct weights {
    /* The device on which kernels use the arrays, or NULL. Set before weights_alloc, not owned. */
    const struct device_ops *ops;
    struct device *device;
    size_t nparams, nstate; /* elements, with the padding between entries, which is always 0 */
    float *value;  /* [nparams], in the host's memory; on a device as of the last pull or push */
    float *state;  /* [nstate]: running means and variances, as value */
    float *grad;   /* [nparams], where kernels use it */
    struct mirror values, states, grads; /* of these arrays */
    struct weights_entry *entries;
    size_t nentries;
};

/* Returns weights without entries, or NULL if out of memory. */
struct weights *weights_create(struct err *e);
void weights_destroy(struct weights *w);

/* Appends an entry; only before weights_alloc. -1 with ERR_INTERNAL if the name is too long or
 * already used, or if out of memory. */
int weights_add(struct weights *w, const char *name, enum weights_role role, int ndim,
                const int64_t *shape, struct err *e);

/* Allocates zeroed arrays for all entries. Called once, after all entries are added. */
int weights_alloc(struct weights *w, struct err *e);

/* With a device, copy value and state from it, and to it: before the host reads what steps have
 * made of them, and after it has changed them. */
int weights_pull(const struct weights *w, struct err *e);
int weights_push(const struct weights *w, struct err *e);

/* Makes grad the caller's array of nparams zeros, which must outlive w. Only before a graph is
 * bound to w. */
void weights_place_grad(struct weights *w, float *grad);

/* Adds the gradients of the penalties to grad, which holds the sum over all replicas. */
void weights_penalize(struct weights *w);
bool weights_have_penalty(const struct weights *w);

/* Return the number of trainable parameters, and that of frozen ones, without padding. */
size_t weights_trainable(const struct weights *w);
size_t weights_frozen(const struct weights *w);

const struct weights_entry *weights_find(const struct weights *w, const char *name);

/* A graph: ops in the order in which they run. It is built once, compiled once and run many times.
 *
 *   graph_create -> model appends ops -> graph_backward -> graph_compile -> graph_bind -> graph_run
 *
 * Tensors and ops belong to the graph. Functions that append an op to a NULL tensor (the result of
 * a failed call) return NULL and leave the error as it is, so that a model checks only the last
 * result. */

struct graph_param {
    struct tensor *tensor;
    enum weights_role role;
    bool frozen;      /* as in struct weights_entry */
    double l2;        /* the loss has a penalty of l2 |w|^2 */
    char torch[TENSOR_NAME_SIZE]; /* as in struct weights_entry */
    double low, high; /* initial values are uniform in low..high, or constant if both are equal */
};

struct graph {
    bool training;
    bool measures; /* inference with losses at the end that only measure (op_attr.measures) */
    /* Patterns of names, as of files (fnmatch), separated by commas: parameters that are not
     * trained. NULL: none. */
    const char *frozen;
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

/* Copies the first pattern of *frozen, which may be NULL, to dst and moves *frozen behind it;
 * returns false after the last one. */
bool graph_next_pattern(const char **frozen, char dst[TENSOR_NAME_SIZE]);

/* Adds a parameter, or state that training updates (role), named LAYER.WHAT in checkpoints. Only
 * one op may use it. low, high: as in struct graph_param. A parameter that a pattern of g->frozen
 * matches becomes state, which has no gradient. */
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

/* A growing block of host memory, in huge pages where the system has them: the activations of a
 * network. The owner calls arena_release. */

struct arena {
    void *base; /* aligned to a huge page; NULL while size is 0 */
    size_t size;
    void *mapping;
    size_t mapping_size;
};

/* Grows a zeroed or reserved arena to at least nbytes. If *moved is set, base has changed, the old
 * contents are lost and the new memory is zeroed. 0, or -1 with ERR_INTERNAL; then nothing has
 * changed. */
int arena_reserve(struct arena *a, size_t nbytes, bool *moved, struct err *e);
void arena_release(struct arena *a);

/* The memory planner assigns offsets in the arena to tensors, workspaces of ops and what ops keep,
 * such that those with overlapping lifetimes never overlap in memory, except a result in the memory
 * of an input (op_is_inplace). The largest are placed first, each into the smallest gap that is
 * free for its lifetime (offline dynamic storage allocation, best fit in order of decreasing
 * size). */

#define PLAN_ALIGN 64 /* bytes */

/* Sets first, last and offset of the tensors in the arena, workspace_offset and kept_offset of the
 * ops, and g->arena_size. 0, or -1 if out of memory. */
int plan_arena(struct graph *g, struct err *e);
