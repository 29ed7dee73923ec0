/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, tensors and ops: the data of a graph (graph.h), of which kernel.h brings this part to
 * other rooms. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

/* With GCC on x86-64 Linux, a function marked VECTOR_CLONES is compiled for several instruction
 * sets, of which the loader chooses one. It must not contain an OpenMP region, whose body would not
 * be cloned. */

/* The loader's resolvers would run before a sanitizer is set up, so such builds have no clones. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "arch=x86-64-v3", "default")))
#else /* older compilers do not accept x86-64-v3; avx2 does not include FMA */
#define VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define VECTOR_CLONES
#endif

/* Returns the least multiple of `to` that is n at least. */
static inline size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Types of numbers in memory: float, and two of 16 bits. bfloat16 has 8 bits of precision and the
 * range of a float. IEEE 754 binary16 has 11 bits of precision and a maximum of 65504; numbers
 * below 6.1e-5 are subnormal, and below 3e-8 they become 0. Conversions round to nearest, ties to
 * even. Too large values become infinite and NaN stays NaN, so that a diverged training is
 * noticed. */

enum dtype { DTYPE_F32, DTYPE_BF16, DTYPE_F16 };

static inline size_t dtype_size(enum dtype t)
{
    return t == DTYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* Convert n numbers from float to t, or from t to float; t is not DTYPE_F32. */
void dtype_encode(enum dtype t, const float *src, uint16_t *dst, size_t n);
void dtype_decode(enum dtype t, const uint16_t *src, float *dst, size_t n);

/* Returns the largest relative rounding error of a normal number: 2^-8 for bf16, 2^-11 for f16, 0
 * for floats. */
double dtype_error(enum dtype t);

/* Tensors: row-major arrays of floats, or of 16-bit numbers. Activations are [n][h][w][c] (NHWC);
 * parameters have PyTorch's shapes (struct weights_entry). */

#define TENSOR_MAX_NDIM 4
#define TENSOR_NAME_SIZE 64

struct shape {
    int ndim;
    int64_t dim[TENSOR_MAX_NDIM];
};

/* Indices into shape.dim of an activation. */
enum { DIM_N, DIM_H, DIM_W, DIM_C };

enum tensor_place {
    TENSOR_ARENA, /* activations and their gradients; plan_arena sets the offset */
    TENSOR_VALUE, /* weights.value */
    TENSOR_GRAD,  /* weights.grad */
    TENSOR_STATE  /* weights.state */
};

struct tensor {
    char name[TENSOR_NAME_SIZE];
    struct shape shape;
    enum dtype dtype;    /* outside the arena always DTYPE_F32 */
    enum tensor_place place;
    bool pinned;         /* in the arena: has its memory from the first to the last op, for all runs
                          * of the graph */
    bool is_weight;      /* in the arena: of the shape of weights, computed from them (fold_norm) */
    bool needs_grad;     /* in training: it is a parameter or depends on one */
    struct tensor *grad; /* gradient of the loss, of the same shape; NULL until it is appended */
    int first, last;     /* set by plan_arena: indices of the first and last op that use it; -1:
                          * none does. Pinned: 0 and the number of ops */
    size_t offset;       /* elements, within its place */
    union {              /* set by graph_bind */
        float *data;     /* DTYPE_F32 */
        uint16_t *half;  /* types of 16 bits */
        char *bytes;     /* any type */
    };
};

static inline size_t shape_count(const struct shape *s)
{
    size_t count = 1;

    for (int i = 0; i < s->ndim; i++)
        count *= (size_t)s->dim[i];
    return count;
}

static inline bool shape_equal(const struct shape *a, const struct shape *b)
{
    for (int i = 0; i < a->ndim; i++)
        if (a->ndim != b->ndim || a->dim[i] != b->dim[i])
            return false;
    return a->ndim == b->ndim;
}

static inline struct shape shape_nhwc(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return (struct shape){4, {n, h, w, c}};
}

static inline size_t tensor_count(const struct tensor *t)
{
    return shape_count(&t->shape);
}

static inline size_t tensor_nbytes(const struct tensor *t)
{
    return tensor_count(t) * dtype_size(t->dtype);
}

/* Returns n * h * w of an activation. */
static inline size_t tensor_pixels(const struct tensor *t)
{
    return (size_t)(t->shape.dim[DIM_N] * t->shape.dim[DIM_H] * t->shape.dim[DIM_W]);
}

/* Returns the first of the two rows of t that become row `row` of a result that has `height` rows
 * per image, half as many as t, rounded down or up; both rows are counted over all images. */
static inline size_t tensor_halved_row(const struct tensor *t, size_t row, size_t height)
{
    return row / height * (size_t)t->shape.dim[DIM_H] + row % height * 2;
}

static inline size_t tensor_channels(const struct tensor *t)
{
    return (size_t)t->shape.dim[DIM_C];
}

/* What an op computes; how a backend computes it is in kernel.h. A graph (graph.h) owns its ops.
 *
 * The gradient of an op consists of ops, too: kind->grad appends them. By convention the inputs of
 * a gradient op begin with the gradient of the forward op's output. */

/* Inputs and outputs of an op, at most; ops.def has their order. One that an op does not have is
 * NULL. */
#define OP_MAX_IN 6
#define OP_MAX_OUT 3

struct exec;
struct graph;
struct kernel;
struct op;

struct op_attr {
    int kernel;           /* conv2d: side of the window, 1, 3, 5 or 7; max_pool2d: 3, or 0 for 2 */
    int stride;           /* conv2d: 1 or 2; 0 is 1 */
    int dilation;         /* conv2d: 0 is 1 */
    bool bilinear;        /* upsample2d: not the nearest */
    int64_t height, width, channels; /* the result's, where the inputs do not determine them */
    double rate;          /* dropout: the probability that a number becomes 0 */
    uint64_t stream;      /* dropout: a different number for each such op of a graph */
    int64_t split;        /* gradient of a concatenation: channels of the first tensor */
    double eps, momentum; /* batch norm; momentum is the weight of the new value, as in PyTorch */
    bool sync;            /* batch norm: statistics of all replicas together */
    int64_t groups;       /* group norm: of channels; 0: each channel is one */
    double slope;         /* relu: of negative numbers, 0 or more */
    /* Losses: by class; 2 for the cross entropy of one logit, whose Dice has none. NULL: 1. Not
     * owned. */
    const float *class_weights;
    double gamma;       /* cross entropy: the power of its focal factor; 0: none */
    double alpha, beta; /* dice: weights of false positives and negatives; 0.5 each: Dice */
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
    const struct op_kind *grad_kind; /* what ops_grad_first() appends */
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

/* Returns input k of the op, or output k - OP_MAX_IN, as a place to change it. */
static inline struct tensor **op_slot(struct op *op, int k)
{
    return k < OP_MAX_IN ? &op->in[k] : &op->out[k - OP_MAX_IN];
}

/* Returns the next one, of the inputs and then of the outputs, that is not NULL; NULL after the
 * last one. */
static inline struct tensor *op_next(const struct op *op, int *k)
{
    while (++*k < OP_MAX_IN + OP_MAX_OUT) {
        struct tensor *t = *k < OP_MAX_IN ? op->in[*k] : op->out[*k - OP_MAX_IN];

        if (t)
            return t;
    }
    return NULL;
}

/* Returns the type of 16 bits that inputs or outputs have; DTYPE_F32: all are floats. */
static inline enum dtype op_half(const struct op *op)
{
    const struct tensor *t;

    for (int k = -1; (t = op_next(op, &k));)
        if (t->dtype != DTYPE_F32)
            return t->dtype;
    return DTYPE_F32;
}

/* Returns whether out[0] may take the memory of in[0], if both have the same size and type and no
 * later op reads the input. */
static inline bool op_is_inplace(const struct op *op)
{
    return op->kind->inplace || op->inplace;
}

/* Returns the pixels from one number of a convolution's window to the next. */
static inline int op_dilation(const struct op *op)
{
    return op->attr.dilation > 1 ? op->attr.dilation : 1;
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
