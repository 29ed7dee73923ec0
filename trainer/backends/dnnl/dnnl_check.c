/* SPDX-License-Identifier: BSD-3-Clause */
/* A convolution and a transposed one are the same relation of two tensors: (y, x) of the coarse one
 * and place (i, j) of the window belong to (y stride + i - pad, x stride + j - pad) of the fine one,
 * with w[channel of the coarse one][channel of the fine one][i][j] between them. Each of the six ops
 * sums over two of the three. */
#include "config.h"
#include "trainer/backends/dnnl/dnnl_check.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/log.h"
#include "trainer/backends/trial.h"
#include "trainer/backends/verdicts.h"

#define NSAMPLES 24 /* results that are computed again */

enum sum { FINE, COARSE, WEIGHTS };

/* What an op's tensors are to the relation; indices into its inputs, or outputs behind OP_MAX_IN. */
struct roles {
    enum sum sum; /* the one that it computes */
    int fine, coarse, weights, bias;
};

/* What tells a problem. */
struct problem {
    const struct op_kind *kind;
    bool bare;
    int side, stride, nthreads;
    struct shape fine, coarse, weights;
};

static bool is_transposed(const struct op_kind *kind)
{
    return kind == &conv_transpose2d_kind || kind == &conv_transpose2d_grad_input_kind ||
           kind == &conv_transpose2d_grad_weights_kind;
}

static struct roles roles_of(const struct op_kind *kind, bool bare)
{
    bool transposed = is_transposed(kind);
    bool back = kind == &conv2d_grad_input_kind || kind == &conv_transpose2d_grad_input_kind;

    if (kind == &conv2d_grad_weights_kind || kind == &conv_transpose2d_grad_weights_kind)
        return (struct roles){WEIGHTS, transposed ? 0 : 1, transposed ? 1 : 0, OP_MAX_IN, -1};
    if (back == transposed)
        return (struct roles){COARSE, 0, OP_MAX_IN, 1, kind->nin > 2 && !bare ? 2 : -1};
    return (struct roles){FINE, OP_MAX_IN, 0, 1, kind->nin > 2 && !bare ? 2 : -1};
}

static int count_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

static struct problem problem_of(const struct op *op)
{
    struct roles r = roles_of(op->kind, op->attr.bare);
    struct problem p;

    memset(&p, 0, sizeof p); /* compared as bytes */
    p.kind = op->kind;
    p.bare = op->attr.bare;
    p.side = (int)trial_tensor(op, r.weights)->shape.dim[2];
    p.stride = is_transposed(op->kind) ? 2 : op->attr.stride > 1 ? op->attr.stride : 1;
    p.nthreads = count_threads();
    p.fine = trial_tensor(op, r.fine)->shape;
    p.coarse = trial_tensor(op, r.coarse)->shape;
    p.weights = trial_tensor(op, r.weights)->shape;
    if (p.fine.dim[DIM_N] > p.nthreads)
        p.fine.dim[DIM_N] = p.coarse.dim[DIM_N] = p.nthreads;
    return p;
}

/* With few images. */
static bool create(struct trial *t, const struct op *op, const struct problem *p)
{
    struct roles r = roles_of(op->kind, op->attr.bare);

    trial_create(t, op);
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *theirs = trial_tensor(op, i);

        if (!theirs)
            continue;
        struct tensor mine = *theirs;
        if (i == r.fine || i == r.coarse)
            mine.shape.dim[DIM_N] = p->fine.dim[DIM_N];
        if (!trial_add(t, i, mine))
            return false;
    }
    return true;
}

/* Value (n, y, x, c), 0 outside. */
static double value_at(const struct tensor *t, int64_t n, int64_t y, int64_t x, int64_t c)
{
    const int64_t *d = t->shape.dim;

    if (y < 0 || y >= d[DIM_H] || x < 0 || x >= d[DIM_W])
        return 0;
    return (double)t->data[((n * d[DIM_H] + y) * d[DIM_W] + x) * d[DIM_C] + c];
}

static double weight_at(const struct tensor *w, int64_t coarse, int64_t fine, int64_t i, int64_t j)
{
    const int64_t *d = w->shape.dim;

    return (double)w->data[((coarse * d[1] + fine) * d[2] + i) * d[3] + j];
}

/* One place of the window's share of value (n, y, x, c) of the coarse or the fine tensor. */
static double place_sum(const struct trial *t, const struct problem *p, const int64_t at[4],
                        int64_t i, int64_t j)
{
    const struct roles r = roles_of(p->kind, p->bare);
    const struct tensor *w = &t->tensors[r.weights];
    int64_t pad = is_transposed(p->kind) ? 0 : p->side / 2, s = p->stride;
    int64_t y = at[DIM_H], x = at[DIM_W], c = at[DIM_C];
    double sum = 0;

    if (r.sum == COARSE) {
        for (int64_t k = 0; k < p->fine.dim[DIM_C]; k++)
            sum += weight_at(w, c, k, i, j) * value_at(&t->tensors[r.fine], at[DIM_N],
                                                       y * s + i - pad, x * s + j - pad, k);
        return sum;
    }
    if (y + pad < i || x + pad < j || (y + pad - i) % s || (x + pad - j) % s)
        return 0;
    for (int64_t k = 0; k < p->coarse.dim[DIM_C]; k++)
        sum += weight_at(w, k, c, i, j) * value_at(&t->tensors[r.coarse], at[DIM_N],
                                                   (y + pad - i) / s, (x + pad - j) / s, k);
    return sum;
}

/* Of a weight: at[] is its place. */
static double weight_sum(const struct trial *t, const struct problem *p, const int64_t at[4])
{
    const struct roles r = roles_of(p->kind, p->bare);
    const struct tensor *coarse = &t->tensors[r.coarse];
    int64_t pad = is_transposed(p->kind) ? 0 : p->side / 2, s = p->stride;
    double sum = 0;

    for (int64_t n = 0; n < p->coarse.dim[DIM_N]; n++)
        for (int64_t y = 0; y < p->coarse.dim[DIM_H]; y++)
            for (int64_t x = 0; x < p->coarse.dim[DIM_W]; x++)
                sum += value_at(coarse, n, y, x, at[0]) *
                       value_at(&t->tensors[r.fine], n, y * s + at[2] - pad,
                                x * s + at[3] - pad, at[1]);
    return sum;
}

static double expected(const struct trial *t, const struct problem *p, size_t index)
{
    const struct roles r = roles_of(p->kind, p->bare);
    const struct tensor *result = t->op.out[0];
    int64_t at[4];
    double sum = 0;

    for (int k = 3; k >= 0; k--) {
        at[k] = (int64_t)index % result->shape.dim[k];
        index /= (size_t)result->shape.dim[k];
    }
    if (r.sum == WEIGHTS)
        return weight_sum(t, p, at);
    if (r.bias >= 0)
        sum = (double)t->tensors[r.bias].data[at[DIM_C]];
    for (int64_t i = 0; i < p->side; i++)
        for (int64_t j = 0; j < p->side; j++)
            sum += place_sum(t, p, at, i, j);
    return sum;
}

/* The first result, the last, and some between. */
static bool is_right(const struct trial *t, const struct problem *p)
{
    size_t n = tensor_count(t->op.out[0]), stride = n / NSAMPLES | 1;

    for (size_t k = 0; k < NSAMPLES; k++) {
        size_t i = k + 1 == NSAMPLES ? n - 1 : k * stride % n;

        if ((double)t->op.out[0]->data[i] != expected(t, p, i))
            return false;
    }
    return true;
}

static bool try(const struct kernel *kernel, const struct op *op, const void *problem)
{
    const struct problem *p = problem;
    struct trial t;
    const char *fault = NULL;

    if (!create(&t, op, p)) { /* nobody can tell: what needs the memory will say so */
        trial_destroy(&t);
        return true;
    }
    if (!trial_run(&t, kernel))
        fault = "fails";
    else if (!trial_is_clean(&t) || !trial_is_complete(&t))
        fault = "leaves results out or writes beside them";
    else if (!is_right(&t, p))
        fault = "gives wrong results";
    trial_destroy(&t);
    if (fault)
        log_warn("a library's %s of %dx%d pixels, %d to %d channels, %s; our own, which may be slower, "
                 "is used", op->kind->name, (int)p->fine.dim[DIM_H], (int)p->fine.dim[DIM_W],
                 (int)p->fine.dim[DIM_C], (int)p->coarse.dim[DIM_C], fault);
    return !fault;
}

bool dnnl_check(const struct kernel *kernel, const struct op *op)
{
    static struct verdicts verdicts = VERDICTS_NONE;
    struct problem p = problem_of(op);

    return verdicts_ask(&verdicts, &p, sizeof p, try, kernel, op);
}
