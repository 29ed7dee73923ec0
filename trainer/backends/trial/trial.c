/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/trial/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/backends/ref/ref.h"
#include "trainer/core/graph.h"
#include "trainer/core/mirror.h"

#define IMAGES 2
#define MANY_PAIRS 4096
#define ALIGN 64
#define GUARD 256 /* bytes before and behind each block; a multiple of ALIGN */
#define MARK 0xff /* of each byte; a float of such bytes is NaN */
enum { WORKSPACE = TRIAL_TENSORS, KEPT, NBLOCKS };

/* An op with tensors of its own. */
struct trial {
    struct op op;
    const struct device_ops *ops;
    struct device *device; /* NULL: on the host */
    struct err why;        /* of a run that failed */
    struct tensor tensors[TRIAL_TENSORS];
    struct mirror blocks[NBLOCKS]; /* with their guards: tensors, workspace, what the op keeps */
    size_t nbytes[NBLOCKS];        /* between the guards */
};

/* ---- problems */

const struct tensor *trial_tensor(const struct op *op, int i)
{
    return i < OP_MAX_IN ? op->in[i] : op->out[i - OP_MAX_IN];
}

bool trial_has_many_channels(const struct op *op, bool (*is_activation)(const struct tensor *t))
{
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *t = trial_tensor(op, i);

        if (t && t->shape.ndim == 4 && !is_activation(t) &&
            t->shape.dim[0] * t->shape.dim[1] > MANY_PAIRS)
            return true;
    }
    return false;
}

static int64_t least_height(const struct op *op, bool (*is_activation)(const struct tensor *t))
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *t = trial_tensor(op, i);

        if (t && is_activation(t) && t->shape.dim[DIM_H] < least)
            least = t->shape.dim[DIM_H];
    }
    return least;
}

static void shrink(struct shape *dst, const struct tensor *t, int64_t least,
                   const struct trial_size *size)
{
    int ndim = t->shape.ndim;
    int first = ndim - 1, last = first; /* dimensions that are channels */

    dst->ndim = ndim; /* padding stays zero */
    for (int k = 0; k < ndim; k++)
        dst->dim[k] = t->shape.dim[k];
    if (size->is_activation(t)) {
        int64_t times = (t->shape.dim[DIM_H] + least / 2) / least;

        dst->dim[DIM_N] = IMAGES;
        dst->dim[DIM_H] = size->height * times;
        dst->dim[DIM_W] = size->width * times;
        first = last = DIM_C;
    } else if (ndim == 4) {
        first = 0;
        last = 1;
    }
    for (int k = first; k >= 0 && k <= last; k++)
        if (size->channels && dst->dim[k] > size->channels)
            dst->dim[k] = size->channels;
}

void trial_describe(struct trial_problem *p, const struct kernel *kernel, const struct op *op,
                    const struct trial_size *size)
{
    int64_t least = least_height(op, size->is_activation);

    memset(p, 0, sizeof *p); /* compared as bytes */
    p->kernel = kernel;
    p->kind = op->kind;
    p->side = op->attr.kernel;
    p->stride = op->attr.stride;
    p->form = op_form(op);
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *t = trial_tensor(op, i);

        if (!t)
            continue;
        p->types[i] = t->dtype;
        shrink(&p->shapes[i], t, least, size);
    }
}

/* ---- memory */

static char *host_bytes(const struct trial *t, int i)
{
    return (char *)t->blocks[i].host + GUARD;
}

static char *device_bytes(const struct trial *t, int i)
{
    return (char *)t->blocks[i].there + GUARD;
}

/* Allocates block i and marks all of it. */
static bool reserve(struct trial *t, int i, size_t nbytes)
{
    size_t all = (nbytes + 2 * GUARD + ALIGN - 1) / ALIGN * ALIGN;

    t->nbytes[i] = nbytes;
    if (mirror_open(&t->blocks[i], t->ops, t->device, all, &t->why))
        return false;
    memset(t->blocks[i].host, MARK, all);
    return true;
}

static bool move_blocks(struct trial *t, bool back)
{
    for (int i = 0; i < NBLOCKS; i++) {
        if (!t->blocks[i].host)
            continue;
        if (back ? mirror_pull(&t->blocks[i], &t->why) : mirror_push(&t->blocks[i], &t->why))
            return false;
        if (i < TRIAL_TENSORS)
            t->tensors[i].bytes = back ? host_bytes(t, i) : device_bytes(t, i);
    }
    return true;
}

static void destroy(struct trial *t)
{
    for (int i = 0; i < NBLOCKS; i++)
        mirror_close(&t->blocks[i]);
}

/* Whole numbers from -2 to 2; in tensors of less than three dimensions, as biases and what norms
 * take, odd eighths from 5/8 to 11/8. Sums of their products are exact in float. */
static void fill(struct tensor *t, uint64_t seed)
{
    for (size_t i = 0; i < tensor_count(t); i++) {
        float v;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        v = t->shape.ndim < 3 ? (float)(5 + 2 * ((seed >> 33) % 4)) / 8
                              : (float)((int)((seed >> 33) % 5) - 2);
        if (t->dtype == DTYPE_F32)
            t->data[i] = v;
        else
            dtype_encode(t->dtype, &v, t->half + i, 1);
    }
}

/* Gives the trial's tensors memory. An input gets the same numbers in any type. false: out of
 * memory. */
static bool reserve_tensors(struct trial *t)
{
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        struct tensor *own = &t->tensors[i];

        if (!trial_tensor(&t->op, i))
            continue;
        if (!reserve(t, i, tensor_nbytes(own)))
            return false;
        own->bytes = host_bytes(t, i);
        if (i < OP_MAX_IN)
            fill(own, (uint64_t)i);
    }
    return true;
}

/* Makes the kernel's trial, or with rule NULL the reference's: on the host, all of floats. */
static void create(struct trial *t, const struct op *op, const struct trial_problem *p,
                   const struct trial_rule *rule)
{
    const struct shape *result = &p->shapes[OP_MAX_IN];

    t->op.kind = op->kind;
    t->op.attr = op->attr;
    t->op.attr.sync = false;
    if (op->attr.height) {
        t->op.attr.height = result->dim[DIM_H];
        t->op.attr.width = result->dim[DIM_W];
    }
    if (rule) {
        t->ops = rule->device ? rule->ops : NULL;
        t->device = rule->device;
    }
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        if (!trial_tensor(op, i))
            continue;
        struct tensor *own = &t->tensors[i];
        *own = *trial_tensor(op, i);
        own->shape = p->shapes[i];
        own->dtype = rule ? own->dtype : DTYPE_F32;
        own->nparts = 0;
        *(i < OP_MAX_IN ? &t->op.in[i] : &t->op.out[i - OP_MAX_IN]) = own;
    }
}

/* Returns whether the shapes fit together: the small version may not keep the ratios of sizes that
 * an op of this kind needs. */
static bool shapes_fit(const struct trial *t)
{
    struct shape shapes[OP_MAX_OUT] = {0};
    struct err e;

    if (t->op.kind->infer(&t->op.attr, t->op.in, shapes, &e) < 0)
        return false;
    for (int i = -1; op_next_out(&t->op, &i);)
        if (shapes[i].ndim && !shape_equal(&shapes[i], &t->op.out[i]->shape))
            return false;
    return true;
}

/* ---- the comparison */

int trial_add_parts(const struct op *op)
{
    for (int k = -1; op_next_out(op, &k);) {
        struct tensor *t = op->out[k];
        size_t n = tensor_count(t), npixels = k == OP_OUT_MOMENTS ? tensor_pixels(op->out[0]) : 1;
        double *sums = t->nparts ? calloc(n, sizeof *sums) : NULL;

        if (!t->nparts)
            continue;
        if (!sums)
            return -1;
        for (size_t i = 0; i < t->nparts * n; i++)
            sums[i % n] += ((const double *)(const void *)t->bytes)[i] / (double)npixels;
        for (size_t c = 0; c < n; c++) {
            double mean = k == OP_OUT_MOMENTS && c >= n / 2 ? sums[c - n / 2] : 0;
            t->data[c] = (float)(sums[c] - mean * mean);
        }
        free(sums);
    }
    return 0;
}

/* Calls the op's begin and the kernel's run; on a device these only queue work, which
 * run_prepared() waits for. */
static bool begin_and_run(struct trial *t, struct exec *x)
{
    return graph_begin_ops(&(struct op *){&t->op}, 1, x, &t->why) == 0 &&
           t->op.kernel->run(&t->op, x, &t->why) == 0;
}

static bool run_prepared(struct trial *t)
{
    struct exec x = {.device = t->device, .device_ops = t->ops};
    struct device_sums sums;

    if (!t->device)
        return begin_and_run(t, &x);
    bool done = t->ops->begin(t->device, 0, &x, &t->why) == 0 &&
                begin_and_run(t, &x) &&
                t->ops->end(t->device, 0, &t->why) == 0 &&
                t->ops->wait(t->device, 0, &sums, &t->why) == 0;
    struct err ignored; /* the first one says why */
    if (!done)
        (void)t->ops->drain(t->device, &ignored); /* queued work uses memory that will be freed */
    return done;
}

static bool run_kernel(struct trial *t, const struct kernel *kernel)
{
    bool done;

    t->op.kernel = kernel;
    if (kernel->prepare && kernel->prepare(&t->op, &t->why) < 0)
        return false;
    done = reserve_tensors(t) && reserve(t, WORKSPACE, t->op.workspace_size) &&
           reserve(t, KEPT, t->op.kept_size);
    t->op.workspace = device_bytes(t, WORKSPACE);
    t->op.kept = device_bytes(t, KEPT);
    done = done && move_blocks(t, false) && run_prepared(t) && move_blocks(t, true) &&
           trial_add_parts(&t->op) == 0;
    if (kernel->release)
        kernel->release(&t->op);
    return done;
}

static bool is_marked(const char *bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        if ((unsigned char)bytes[i] != MARK)
            return false;
    return true;
}

static bool guards_are_whole(const struct trial *t)
{
    for (int i = 0; i < NBLOCKS; i++)
        if (t->blocks[i].host && !(is_marked(t->blocks[i].host) &&
                                   is_marked(host_bytes(t, i) + t->nbytes[i])))
            return false;
    return true;
}

static double number_at(const struct tensor *t, size_t i)
{
    float v;

    if (t->dtype == DTYPE_F32)
        return (double)t->data[i];
    dtype_decode(t->dtype, t->half + i, &v, 1);
    return (double)v;
}

static bool is_close(const struct tensor *got, const struct tensor *want, double tolerance)
{
    size_t n = tensor_count(want);
    double mean = 0;

    for (size_t i = 0; i < n; i++)
        mean += fabs(number_at(want, i)) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double v = number_at(want, i);

        if (!(fabs(number_at(got, i) - v) <= tolerance * (fabs(v) + mean)))
            return false;
    }
    return true;
}

/* Compares inputs as well: running statistics are inputs that an op changes. */
static bool tensors_are_close(const struct trial *got, const struct trial *want, double tolerance)
{
    for (int i = 0; i < TRIAL_TENSORS; i++)
        if (trial_tensor(&want->op, i) && !is_close(&got->tensors[i], &want->tensors[i], tolerance))
            return false;
    return true;
}

const char *trial_find_fault(const struct trial_problem *p, const struct trial_rule *rule,
                             const struct kernel *kernel, const struct op *op, bool *tried,
                             struct err *why)
{
    struct trial trial = {.ops = NULL}, reference = {.ops = NULL};
    const char *fault = NULL;

    create(&trial, op, p, rule);
    create(&reference, op, p, NULL);
    const struct kernel *plain =
        shapes_fit(&trial) ? backend_kernel(&ref_backend, &reference.op) : NULL;

    why->text[0] = 0;
    *tried = plain && run_kernel(&reference, plain);
    if (*tried) {
        if (!run_kernel(&trial, kernel)) {
            fault = "fails";
            *why = trial.why;
        } else if (!guards_are_whole(&trial)) {
            fault = "writes beside its results";
        } else if (!tensors_are_close(&trial, &reference, rule->tolerance)) {
            fault = "gives wrong results";
        }
    }
    destroy(&trial);
    destroy(&reference);
    return fault;
}
