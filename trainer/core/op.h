/* SPDX-License-Identifier: BSD-3-Clause */
/* What an op means, apart from how a backend does it (kernel.h).
 *
 * The gradient of an op consists of ops as well: kind->grad appends them. By convention the inputs
 * of such an op begin with the gradient of the forward op's output, and out[0] of an inplace kind
 * may take the memory of in[0]. */
#ifndef UNETCTL_TRAINER_CORE_OP_H
#define UNETCTL_TRAINER_CORE_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/tensor.h"

/* Places of inputs and outputs. The first are the kind's own, by position; the others, which fusion
 * fills (fuse.h), mean the same for every kind. What an op does without is NULL. */
#define OP_OWN 6
enum op_in {
    /* Channels of the source of a convolution behind those of its first tensor: the
     * concatenation of both is never written. */
    OP_SECOND = OP_OWN,
    /* [2][C]: the source is read as max(0, coef0 x + coef1), the result of a norm and its ReLU,
     * which is never written; and that of the second source. */
    OP_COEF,
    OP_SECOND_COEF,
    OP_MOMENTS, /* [2][C] of in[0]: each channel's mean and biased variance over all pixels */
    /* [2][C] of the gradient g = in[0] where the ReLU behind a norm let x through: of g, of g x. */
    OP_SUMS,
    /* in[0] is the gradient g of what a norm and its ReLU made of this x; in its place is read
     * (coef0 x + coef1 > 0 ? coef2 g : 0) + coef3 x + coef4, the norm's gradient, of coef[5][C]. */
    OP_LATE_X,
    OP_LATE_COEF,
    /* w[P][O][1][1], b[P] of a convolution behind the ReLU, whose result is out[0], at
     * inference. */
    OP_HEAD_W,
    OP_HEAD_B,
    /* w, b of a convolution that makes the source of in[0] at inference, and is never written: with
     * ReLU and of the same attr, or, where there is a second source, transposed. */
    OP_FRONT_W,
    OP_FRONT_B,
    OP_ADDED, /* of the shape of out[0], which may take its memory: added to that */
    OP_MAX_IN
};
enum op_out {
    OP_OUT_SECOND = OP_OWN, /* the gradient of the second source */
    OP_OUT_MOMENTS,         /* as OP_MOMENTS, of out[0] */
    OP_OUT_SUMS,            /* as OP_SUMS, of out[0] and the source with OP_COEF */
    OP_OUT_POOLED,          /* max_pool2d of out[0], at inference */
    OP_MAX_OUT
};

/* What an op does besides what its kind says, which a kernel has to know (kernel.h). */
enum op_form {
    OP_BARE = 1 << 0, /* attr.bare */
    OP_HAS_COEF = 1 << 1, OP_HAS_SECOND_COEF = 1 << 2,
    OP_TAKES_MOMENTS = 1 << 3, OP_GIVES_MOMENTS = 1 << 4,
    OP_TAKES_SUMS = 1 << 5, OP_GIVES_SUMS = 1 << 6,
    OP_TAKES_LATE = 1 << 7,
    OP_RELU = 1 << 8, OP_AS_COEF = 1 << 9, /* attr.relu, attr.coef */
    OP_HAS_HEAD = 1 << 10, OP_HAS_FRONT = 1 << 11, OP_GIVES_POOLED = 1 << 12,
    OP_HAS_ADDED = 1 << 13,
    OP_HAS_SECOND = 1 << 14,   /* OP_SECOND or OP_OUT_SECOND */
    OP_INPUT_ONLY = 1 << 15,   /* of the gradients of a convolution that of its input, */
    OP_WEIGHTS_ONLY = 1 << 16, /* or those of weights and bias */
};

struct graph;
struct kernel;
struct op;

struct op_attr {
    int kernel;           /* convolutions: side of the window, 1 or 3 */
    int stride;           /* conv2d: 1 or 2; 0 is 1 */
    int64_t height, width, channels; /* of the result, where the inputs do not determine it */
    double rate;          /* dropout: share of the numbers that become 0 */
    uint64_t stream;      /* dropout: differs between those of one graph */
    int64_t split;        /* gradients of a concatenation: channels of the first part; or 0 */
    double eps, momentum; /* batch norm; momentum is the weight of the new value, as in PyTorch */
    bool sync;            /* batch norm: statistics of all replicas together */
    const float *class_weights; /* losses: by class, two for one logit; NULL: 1. Not owned. */
    bool relu; /* in front of max_pool2d; behind a convolution, norm or add; so in gradients */
    bool coef; /* norms: out[0] is the coefficients of the result, not the result (below) */
    bool bare; /* a convolution without bias: the kind's last input, or its gradient, is missing */
    bool counts;   /* a loss, the first of its graph: adds to device_counts.score, too */
    bool measures; /* losses: no gradient, adds to device_counts.losses. On a device. */
};

struct op_kind {
    const char *name;
    int nin, nout;
    bool inplace; /* out[0] may take the memory of in[0] */
    bool is_loss; /* begins the gradients: depends on none */
    bool partial; /* gradients (dy, w, x) -> dx, dw, db of which w or x may be missing, with the
                   * results that depend on it */
    int source;   /* the input that OP_COEF belongs to */
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
    void *priv;              /* the kernel's own */
    /* Set by kernel.prepare: the input, from 1 on, whose memory out[0], or OP_OUT_SECOND, may take;
     * 0: none. */
    int over, over_second;
    size_t workspace_size;   /* bytes, asked for by the kernel; contents last one run of the op */
    size_t workspace_offset; /* bytes into the arena */
    void *workspace;         /* 64-byte aligned */
    size_t ready;            /* weights.grad[0..ready) is final once this op has run */
    double seconds;          /* of all runs with graph.timed: processor time, or a device's */
};

/* Moves *k to the next place where the op has an input, or output. Begin with -1. Returns false
 * behind the last one. */
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

/* Returns whether input i of the kind's own may be missing, with the results that depend on it. */
bool op_may_lack(const struct op *op, int i);

/* Returns the op's form, of enum op_form. */
unsigned op_form(const struct op *op);

/* Returns the input whose memory out[k] may take, if that has the same size and no later reader; or
 * NULL. */
static inline struct tensor *op_over(const struct op *op, int k)
{
    int from = k == 0 ? op->over : k == OP_OUT_SECOND ? op->over_second : 0;

    if (from)
        return op->in[from - 1];
    if (k == 0 && op->in[OP_ADDED])
        return op->in[OP_ADDED];
    return k == 0 && op->kind->inplace ? op->in[0] : NULL;
}

/* y = x * w + b, with attr.relu at least 0 (fuse.h), K / 2 zeros around x, H and W divided by the
 * stride and rounded up.   (x, w[O][I][K][K], b[O]) -> y
 * grad: (dy, w, x) -> dx, dw, db. Without x it gives dx only, which is a transposed convolution;
 * without w dw and db only. */
extern const struct op_kind conv2d_kind;
extern const struct op_kind conv2d_grad_kind;

/* Transposed convolution, 2x2 window, stride 2.   (x, w[I][O][2][2], b[O]) -> y of twice the size
 * grad: as that of conv2d */
extern const struct op_kind conv_transpose2d_kind;
extern const struct op_kind conv_transpose2d_grad_kind;

/* Normalise by the statistics of the batch and update the running ones (var: unbiased). With
 * attr.relu, which fusion sets, a ReLU is behind it, and the gradient computes y again.
 * With attr.coef as well out[0] is [2][C] as OP_COEF, or of the gradient [5][C] as OP_LATE_COEF.
 * (x, gamma, beta, running mean, running var) -> y, saved[2][C] = mean, 1 / sqrt(var + eps)
 * grad: (dy, x, gamma, saved, beta) -> dx, dgamma, dbeta */
extern const struct op_kind batch_norm_kind;
extern const struct op_kind batch_norm_grad_kind;
extern const struct op_kind batch_norm_infer_kind; /* as batch_norm with the running ones -> y */

/* batch_norm_infer done to the weights and the bias, if any, of the convolution in front of it
 * (fuse.h).
 * (w, gamma, beta, running mean, running var, b) -> w of the same shape, b[O] */
extern const struct op_kind fold_norm_kind;

extern const struct op_kind relu_kind;      /* (x) -> y */
extern const struct op_kind relu_grad_kind; /* (dy, y) -> dx */

/* 2x2, stride 2; an odd last row or column is left out. The gradient goes to the first largest
 * value in reading order, as in PyTorch. With attr.relu (fuse.h) a ReLU is in front, and which
 * of four numbers was the largest, 0 to 3 in reading order, takes two bits. places[i]: of the
 * numbers of y from OP_PLACES i on, the first in the lowest bits; in all less than 2^16, so a
 * float holds it exactly.
 * (x) -> y, places; grad, attr has the size of dx: (dy, y, places) -> dx */
#define OP_PLACES 8
extern const struct op_kind max_pool2d_kind;      /* (x) -> y */
extern const struct op_kind max_pool2d_grad_kind; /* (dy, x) -> dx */

extern const struct op_kind avg_pool2d_kind;      /* the mean of 2x2, stride 2; likewise */
extern const struct op_kind avg_pool2d_grad_kind; /* (dy) -> dx */

extern const struct op_kind bias_kind;      /* (x, b[C]) -> x + b */
extern const struct op_kind bias_grad_kind; /* (dy) -> db */

/* The same numbers in the order n, h, w, c as attr.height x width x channels.   (x) -> y */
extern const struct op_kind reshape_kind;

/* Each number becomes 0 with probability attr.rate, or is divided by 1 - rate: a function of
 * exec.noise, attr.stream and its place in the epoch. Its own gradient, on dy.   (x) -> y */
extern const struct op_kind dropout_kind;

extern const struct op_kind concat_kind;      /* (a, b) -> y, channels of a first */
extern const struct op_kind concat_grad_kind; /* (dy) -> da, db */

/* With OP_COEF and attr.relu, which fusion sets together: max(0, coef0 a + coef1 + b).
 * (a, b) -> a + b */
extern const struct op_kind add_kind;

extern const struct op_kind cast_kind; /* (x) -> y, one of them of floats and one of 16 bits */

/* Mean over all places.   (x) -> y[n][1][1][c] */
extern const struct op_kind global_avg_pool_kind;
extern const struct op_kind global_avg_pool_grad_kind; /* (dy) -> dx */

/* The parameter-free shortcut of a residual block that halves the size: every second row and
 * column, attr.channels channels, x's in the middle between zeros.   (x) -> y */
extern const struct op_kind subsample_kind;
extern const struct op_kind subsample_grad_kind; /* (dy) -> dx */

/* Losses of logits z[n][h][w][classes] and targets t[n][h][w][1]: the number of the class, or
 * for one logit anything in 0..1; a pixel with t < 0 does not count. Each adds to exec.loss_sum,
 * and the gradient comes out at once.   (z, t) -> dz */
extern const struct op_kind bce_kind;        /* binary cross entropy of one logit */
extern const struct op_kind softmax_ce_kind; /* cross entropy of several */
extern const struct op_kind dice_kind;       /* 1 - soft Dice, for each image, mean over classes */

/* All of them, NULL-terminated. */
extern const struct op_kind *const op_kinds[];

/* Writes the kind's name, with words for what fusion has added, to dst, and returns it. */
#define OP_NAME_SIZE 64
const char *op_name(const struct op *op, char dst[OP_NAME_SIZE]);

#endif
