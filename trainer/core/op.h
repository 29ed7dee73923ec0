/* SPDX-License-Identifier: BSD-3-Clause */
/* What an op computes; how a backend computes it is in kernel.h. A graph (graph.h) owns its ops.
 *
 * The gradient of an op consists of ops, too: kind->grad appends them. By convention the inputs of
 * a gradient op begin with the gradient of the forward op's output. */
#ifndef UNETCTL_TRAINER_CORE_OP_H
#define UNETCTL_TRAINER_CORE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/tensor.h"

/* Inputs and outputs of an op, at most; ops.def has their order. One that an op does not have is
 * NULL. */
#define OP_MAX_IN 6
#define OP_MAX_OUT 3

struct exec;
struct graph;
struct kernel;
struct op;

struct op_attr {
    int kernel;           /* conv2d: side of the window, 1 or 3 */
    int stride;           /* conv2d: 1 or 2; 0 is 1 */
    int64_t height, width, channels; /* the result's, where the inputs do not determine them */
    double rate;          /* dropout: the probability that a number becomes 0 */
    uint64_t stream;      /* dropout: a different number for each such op of a graph */
    int64_t split;        /* gradient of a concatenation: channels of the first tensor */
    double eps, momentum; /* batch norm; momentum is the weight of the new value, as in PyTorch */
    bool sync;            /* batch norm: statistics of all replicas together */
    /* Losses: by class; 2 for the cross entropy of one logit, whose Dice has none. NULL: 1. Not
     * owned. */
    const float *class_weights;
    bool counts;   /* the first loss of a graph: on a device it adds to device_counts.score */
    bool measures; /* losses on a device: add to device_counts.losses and give no gradient */
};

struct op_kind {
    const char *name;
    int nin, nout;
    unsigned may_lack_in, may_lack_out; /* bit i: input, or output, i may be missing */
    bool inplace; /* out[0] may take the memory of in[0] */
    bool is_loss; /* its gradient is computed from no other gradient */
    /* Shapes of the outputs from the inputs; ERR_INTERNAL if they do not fit together. */
    int (*infer)(const struct op_attr *attr, struct tensor *const *in, struct shape *out,
                 struct err *e);
    /* Append the ops that compute in[i]->grad from out[0]->grad. NULL: not differentiable. */
    int (*grad)(struct graph *g, const struct op *op, struct err *e);
};

struct op {
    const struct op_kind *kind;
    struct op_attr attr;
    struct tensor *in[OP_MAX_IN], *out[OP_MAX_OUT];
    /* Filled when the graph is compiled: */
    const struct kernel *kernel;
    void *priv;              /* owned by the kernel, from prepare to release */
    bool inplace;            /* set by kernel.prepare: as kind->inplace, for this kernel */
    size_t workspace_size;   /* bytes, set by kernel.prepare; contents last for one run of the op */
    size_t workspace_offset; /* bytes into the arena */
    void *workspace;         /* 64-byte aligned */
    /* (optional) Set by kernel.prepare: computes from the op's weights what its runs need, such as
     * another order of them, into kept; on a device it may leave that to device_ops.flush. Called
     * by graph_begin_ops before the first op of each run of the graph, except
     * of runs with exec.kept, for which what it wrote is still valid. */
    int (*begin)(struct op *op, struct exec *x, struct err *e);
    size_t kept_size, kept_offset; /* as those of the workspace, for all runs of the graph */
    void *kept;                    /* 64-byte aligned */
    size_t ready;            /* weights.grad[0..ready) is final once this op has run */
    double seconds;          /* sum over all runs with graph.timed, of processor or device time */
};

/* Moves *k to the index of the op's next input, or output, that is not NULL; *k begins with -1.
 * Returns false after the last one. */
static inline bool op_next_in(const struct op *op, int *k)
{
    while (++*k < OP_MAX_IN)
        if (op->in[*k])
            return true;
    return false;
}

static inline bool op_next_out(const struct op *op, int *k)
{
    while (++*k < OP_MAX_OUT)
        if (op->out[*k])
            return true;
    return false;
}

/* Returns whether all inputs and outputs are DTYPE_F32. */
static inline bool op_is_float(const struct op *op)
{
    for (int k = -1; op_next_in(op, &k);)
        if (op->in[k]->dtype != DTYPE_F32)
            return false;
    for (int k = -1; op_next_out(op, &k);)
        if (op->out[k]->dtype != DTYPE_F32)
            return false;
    return true;
}

/* Returns whether out[0] may take the memory of in[0], if both have the same size and type and no
 * later op reads the input. */
static inline bool op_is_inplace(const struct op *op)
{
    return op->kind->inplace || op->inplace;
}

/* The kinds (ops.def), and all of them, NULL-terminated. */
#define OP(name) extern const struct op_kind name##_kind;
#include "trainer/core/ops.def"
#undef OP
extern const struct op_kind *const op_kinds[];

/* Returns whether running statistics of a channel still have their initial values, which no batch
 * leaves behind: in floats, a mean of 0 and a variance of 1. */
static inline bool op_is_fresh(float running_mean, float running_var)
{
    return running_mean == 0 && running_var == 1;
}

#endif
