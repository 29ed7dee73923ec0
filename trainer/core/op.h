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

/* Indices of an op's inputs and outputs. The first OP_OWN belong to the kind, in the order that the
 * kind's comment below gives. Fusion (passes/fuse.h) fills the others, which mean the same for
 * every kind. An input or output that an op does not have is NULL. */
#define OP_OWN 6
enum op_in {
    /* A second tensor whose channels follow those of a convolution's first source, so that the
     * concatenation of both is never written. */
    OP_SECOND = OP_OWN,
    /* [2][C]: the source, in[kind->source], is read as max(0, scale x + shift), the result of a
     * batch norm and its ReLU, which is never written. OP_SECOND_SCALE_SHIFT does the same for the
     * second source, and OP_NORM_SCALE_SHIFT, without the ReLU, for in[0]. */
    OP_SCALE_SHIFT,
    OP_SECOND_SCALE_SHIFT,
    OP_NORM_SCALE_SHIFT,
    OP_MOMENTS, /* [2][C]: each channel's mean and biased variance over all pixels of in[0] */
    /* [2][C]: each channel's sums of g and of g x over the pixels where the ReLU behind the norm
     * was positive; g is the gradient in[0], x the norm's input. */
    OP_SUMS,
    /* A deferred norm gradient: in[0] is the gradient g of the result of a batch norm and its ReLU,
     * and x the norm's input. The op reads the gradient of x instead of g:
     * (coef0 x + coef1 > 0 ? coef2 g : 0) + coef3 x + coef4, with coef[5][C]. */
    OP_NORM_GRAD_X,
    OP_NORM_GRAD_COEF,
    /* w and b of a convolution that computes the source from in[0] at inference; the source is
     * never written. That convolution is one with a ReLU and the same attr or, if the op has a
     * second source, a transposed one. */
    OP_PRODUCER_W,
    OP_PRODUCER_B,
    OP_ADDED, /* a tensor of out[0]'s shape that the op adds to its result; out[0] may take its
               * memory */
    OP_MAX_IN
};
enum op_out {
    OP_OUT_SECOND = OP_OWN, /* the gradient of the second source */
    OP_OUT_MOMENTS,         /* OP_MOMENTS of out[0] */
    OP_OUT_SUMS,            /* OP_SUMS with g = out[0] and x = the source that has OP_SCALE_SHIFT */
    OP_OUT_POOLED,          /* max_pool2d of out[0], which is written, too */
    OP_MAX_OUT
};

/* The form of an op: what it computes in addition to its kind. A kernel lists the forms that it
 * supports (kernel.h). Their numbers are part of graph_hash, which checkpoints contain. */
enum op_form {
    OP_NO_BIAS = 1 << 0, /* attr.no_bias */
    OP_HAS_SCALE_SHIFT = 1 << 1, OP_HAS_SECOND_SCALE_SHIFT = 1 << 2,
    OP_TAKES_MOMENTS = 1 << 3, OP_GIVES_MOMENTS = 1 << 4,
    OP_TAKES_SUMS = 1 << 5, OP_GIVES_SUMS = 1 << 6,
    OP_HAS_NORM_GRAD = 1 << 7,
    OP_RELU = 1 << 8, OP_AS_SCALE_SHIFT = 1 << 9, /* attr.relu, attr.scale_shift */
    OP_HAS_NORM_SCALE_SHIFT = 1 << 10,
    OP_HAS_PRODUCER = 1 << 11, OP_GIVES_POOLED = 1 << 12,
    OP_HAS_ADDED = 1 << 13,
    OP_HAS_SECOND = 1 << 14,   /* OP_SECOND or OP_OUT_SECOND */
    OP_INPUT_ONLY = 1 << 15,   /* a convolution's gradient computes only that of its input, */
    OP_WEIGHTS_ONLY = 1 << 16, /* or only those of its weights and bias */
};

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
    int64_t split;        /* gradients of a concatenation: channels of the first tensor; or 0 */
    double eps, momentum; /* batch norm; momentum is the weight of the new value, as in PyTorch */
    bool sync;            /* batch norm: statistics of all replicas together */
    /* Losses: by class; 2 for the cross entropy of one logit, whose Dice has none. NULL: 1. Not
     * owned. */
    const float *class_weights;
    bool relu;     /* a ReLU follows a convolution, norm or add */
    bool scale_shift; /* norms: out[0] is not the result, but what computes it (batch_norm_kind) */
    bool no_bias;  /* convolutions, fold_norm: the last input, a bias, or its gradient is missing */
    bool counts;   /* the first loss of a graph: on a device it adds to device_counts.score */
    bool measures; /* losses on a device: add to device_counts.losses and give no gradient */
};

struct op_kind {
    const char *name;
    int nin, nout;
    bool inplace; /* out[0] may take the memory of in[0] */
    bool is_loss; /* its gradient is computed from no other gradient */
    bool partial; /* gradients (dy, w, x) -> dx, dw, db: w may be missing, and with it dx; or x, and
                   * with it dw and db */
    int source;   /* the input that OP_SCALE_SHIFT applies to */
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
    /* Set by kernel.prepare: 1 + the index of the input whose memory out[0], or OP_OUT_SECOND, may
     * take; 0: only what kind->inplace and OP_ADDED allow. */
    int over, over_second;
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

/* Returns whether input i < kind->nin may be missing, with the results that depend on it. */
bool op_may_lack(const struct op *op, int i);

/* Returns the op's form: flags of enum op_form. */
unsigned op_form(const struct op *op);

/* Returns whether all inputs and outputs are DTYPE_F32. */
bool op_is_float(const struct op *op);

/* Returns the input whose memory out[k] may take if both have the same size and type and no later
 * op reads the input; or NULL. */
static inline struct tensor *op_over(const struct op *op, int k)
{
    int from = k == 0 ? op->over : k == OP_OUT_SECOND ? op->over_second : 0;

    if (from)
        return op->in[from - 1];
    if (k == 0 && op->in[OP_ADDED])
        return op->in[OP_ADDED];
    return k == 0 && op->kind->inplace ? op->in[0] : NULL;
}

/* Convolution y = x * w + b, followed by a ReLU with attr.relu. K / 2 zeros surround x; H and W of
 * y are those of x divided by the stride and rounded up.
 *   (x, w[O][I][K][K], b[O]) -> y
 *   grad: (dy, w, x) -> dx, dw, db
 * Without x the gradient op computes only dx, a transposed convolution; without w only dw, db. */
extern const struct op_kind conv2d_kind;
extern const struct op_kind conv2d_grad_kind;

/* Transposed convolution, 2x2 window, stride 2; y has twice the height and width of x.
 *   (x, w[I][O][2][2], b[O]) -> y
 *   grad: like that of conv2d */
extern const struct op_kind conv_transpose2d_kind;
extern const struct op_kind conv_transpose2d_grad_kind;

/* Batch norm (Ioffe and Szegedy, ICML 2015): normalises by the statistics of the batch and updates
 * the running ones, whose variance is unbiased. The first batch sets them (op_is_fresh), so that
 * they are not biased towards their initial values. With attr.relu, which fusion sets, a ReLU
 * follows, and the gradient computes y again. With attr.scale_shift as well, out[0] is the
 * OP_SCALE_SHIFT, [2][C], of the next op, and out[0] of the gradient is OP_NORM_GRAD_COEF, [5][C].
 *   (x, gamma, beta, running mean, running var) -> y, saved[2][C] = mean, 1 / sqrt(var + eps)
 *   grad: (dy, x, gamma, saved, beta) -> dx, dgamma, dbeta */
extern const struct op_kind batch_norm_kind;
extern const struct op_kind batch_norm_grad_kind;
extern const struct op_kind batch_norm_infer_kind; /* batch norm by the running statistics -> y */

/* Returns whether running statistics of a channel still have their initial values, which no batch
 * leaves behind: in floats, a mean of 0 and a variance of 1. */
static inline bool op_is_fresh(float running_mean, float running_var)
{
    return running_mean == 0 && running_var == 1;
}

/* Applies batch_norm_infer to the weights, and the bias if there is one, of the convolution before
 * it, which then computes both (passes/fuse.h).
 * (w, gamma, beta, running mean, running var, b) -> w of the same shape, b[O] */
extern const struct op_kind fold_norm_kind;

extern const struct op_kind relu_kind;      /* (x) -> y */
extern const struct op_kind relu_grad_kind; /* (dy, y) -> dx */

/* Max pooling of 2x2 pixels with stride 2; an odd last row or column is ignored. The gradient goes
 * to the first of the largest values in reading order, as in PyTorch. */
extern const struct op_kind max_pool2d_kind;      /* (x) -> y */
extern const struct op_kind max_pool2d_grad_kind; /* (dy, x) -> dx */

/* A ReLU and the max pooling after it (passes/fuse.h). `places` records which of the four values
 * was the largest: a number from 0 to 3 in reading order, two bits. places[i] has these of
 * OP_PLACES values of y, from y[OP_PLACES * i] on, the first in the lowest bits. It is less than
 * 2^16, so a float holds it exactly. */
#define OP_PLACES 8
extern const struct op_kind relu_max_pool2d_kind; /* (x) -> y, places */
/* (dy, y, places) -> dx; attr has the size of dx */
extern const struct op_kind relu_max_pool2d_grad_kind;

/* The mean of 2x2 pixels with stride 2; an odd last row or column is ignored. */
extern const struct op_kind avg_pool2d_kind;      /* (x) -> y */
extern const struct op_kind avg_pool2d_grad_kind; /* (dy) -> dx; attr has the size of dx */

extern const struct op_kind bias_kind;      /* (x, b[C]) -> x + b */
extern const struct op_kind bias_grad_kind; /* (dy) -> db */

/* The numbers of x in the same order, with the shape attr.height x width x channels.  (x) -> y */
extern const struct op_kind reshape_kind;

/* Each number becomes 0 with probability attr.rate, or else is divided by 1 - rate. The choice is a
 * function of exec.noise, attr.stream and the number's index in the epoch. The gradient is the same
 * op, applied to dy.   (x) -> y */
extern const struct op_kind dropout_kind;

extern const struct op_kind concat_kind;      /* (a, b) -> y, channels of a first */
extern const struct op_kind concat_grad_kind; /* (dy) -> da, db */

/* Fusion sets OP_NORM_SCALE_SHIFT and attr.relu together.   (a, b) -> a + b */
extern const struct op_kind add_kind;

extern const struct op_kind cast_kind; /* (x) -> y, one of them of floats and one of 16 bits */

/* The mean over all pixels.   (x) -> y[n][1][1][c] */
extern const struct op_kind global_avg_pool_kind;
extern const struct op_kind global_avg_pool_grad_kind; /* (dy) -> dx */

/* The parameter-free shortcut of a residual block that halves the size: every second row and column
 * of x, with channels of zeros before and behind those of x up to attr.channels.   (x) -> y */
extern const struct op_kind subsample_kind;
extern const struct op_kind subsample_grad_kind; /* (dy) -> dx */

/* Losses of logits z[n][h][w][classes] and targets t[n][h][w][1]. A target is the number of a
 * class, or for one logit a number from 0 to 1; a pixel with t < 0 is ignored. Each loss adds its
 * value to exec.loss_sum, or on a device to device_sums.loss, and computes its gradient at the same
 * time. With attr.measures it computes no gradient, and on a device also adds its value to
 * device_counts.losses. (z, t) -> dz */
extern const struct op_kind bce_kind;        /* binary cross entropy of one logit */
extern const struct op_kind softmax_ce_kind; /* cross entropy of several */
extern const struct op_kind dice_kind;       /* 1 - soft Dice, for each image, mean over classes */

/* All kinds, NULL-terminated. */
extern const struct op_kind *const op_kinds[];

/* Writes the kind's name, with words for most flags of its form, to dst, and returns dst. Moments,
 * sums and deferred norm gradients are not named. */
#define OP_NAME_SIZE 64
const char *op_name(const struct op *op, char dst[OP_NAME_SIZE]);

#endif
