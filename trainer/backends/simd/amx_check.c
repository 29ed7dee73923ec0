/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/amx_check.h"

#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "trainer/backends/simd/amx_tiles.h"
#include "trainer/backends/verdicts.h"

#define ALIGN 64
#define GUARD 64  /* bytes before and behind each result and the workspace */
#define UNTOUCHED 0xff
#define IMAGES 2
#define HEIGHT 3
#define WIDTH 35  /* more than two tiles of pixels, and odd ... */
#define NARROW 5  /* ... where there are so many channels that the reference would take long */
#define FEW 4096  /* pairs of channels */
#define NTENSORS (OP_MAX_IN + OP_MAX_OUT)
#define WORKSPACE NTENSORS

/* What tells a problem. */
struct problem {
    const struct op_kind *kind;
    const struct amx_tiles *tiles;
    int64_t channels[NTENSORS];
    bool narrow;
};

/* The op on few pixels, in memory of its own. */
struct trial {
    struct op op;
    struct tensor tensors[NTENSORS];
    char *blocks[NTENSORS + 1];
    size_t nbytes[NTENSORS + 1]; /* between the guards */
};

static const struct tensor *tensor_of(const struct op *op, int i)
{
    if (i < OP_MAX_IN)
        return i < op->kind->nin ? op->in[i] : NULL;
    return i - OP_MAX_IN < op->kind->nout ? op->out[i - OP_MAX_IN] : NULL;
}

static bool is_activation(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16;
}

static struct problem problem_of(const struct op *op)
{
    struct problem p;

    memset(&p, 0, sizeof p); /* compared as bytes */
    p.kind = op->kind;
    p.tiles = amx_tiles_best();
    for (int i = 0; i < NTENSORS; i++) {
        const struct tensor *t = tensor_of(op, i);

        if (!t)
            continue;
        if (is_activation(t))
            p.channels[i] = t->shape.dim[DIM_C];
        else if (t->shape.ndim == 4)
            p.narrow = t->shape.dim[0] * t->shape.dim[1] > FEW;
    }
    return p;
}

/* Lines of the op's smallest activation: the others have as many, or a multiple. */
static int64_t least_height(const struct op *op)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < NTENSORS; i++) {
        const struct tensor *t = tensor_of(op, i);

        if (t && is_activation(t) && t->shape.dim[DIM_H] < least)
            least = t->shape.dim[DIM_H];
    }
    return least;
}

/* Block i, all of it marked; NULL: no memory. */
static char *reserve(struct trial *t, int i, size_t nbytes)
{
    size_t all = (nbytes + 2 * GUARD + ALIGN - 1) / ALIGN * ALIGN;

    t->nbytes[i] = nbytes;
    t->blocks[i] = aligned_alloc(ALIGN, all);
    if (!t->blocks[i])
        return NULL;
    memset(t->blocks[i], UNTOUCHED, all);
    return t->blocks[i] + GUARD;
}

/* -2 .. 2 */
static void fill(struct tensor *t, uint64_t seed)
{
    for (size_t i = 0; i < tensor_count(t); i++) {
        float v;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        v = (float)((int)((seed >> 33) % 5) - 2);
        if (t->dtype == DTYPE_F32)
            t->data[i] = v;
        else
            dtype_encode(t->dtype, &v, t->half + i, 1);
    }
}

/* wide: all tensors of floats, with the same numbers. */
static bool create(struct trial *t, const struct op *op, const struct problem *p, bool wide)
{
    int64_t least = least_height(op);

    memset(t, 0, sizeof *t);
    t->op.kind = op->kind;
    t->op.attr = op->attr;
    for (int i = 0; i < NTENSORS; i++) {
        const struct tensor *theirs = tensor_of(op, i);
        struct tensor *mine = &t->tensors[i];

        if (!theirs)
            continue;
        *mine = *theirs;
        if (is_activation(theirs)) {
            int64_t times = theirs->shape.dim[DIM_H] / least;

            mine->shape = shape_nhwc(IMAGES, HEIGHT * times, (p->narrow ? NARROW : WIDTH) * times,
                                     theirs->shape.dim[DIM_C]);
        }
        mine->dtype = wide ? DTYPE_F32 : mine->dtype;
        mine->bytes = reserve(t, i, tensor_nbytes(mine));
        if (!mine->bytes)
            return false;
        if (i < OP_MAX_IN)
            fill(mine, (uint64_t)i);
        *(i < OP_MAX_IN ? &t->op.in[i] : &t->op.out[i - OP_MAX_IN]) = mine;
    }
    return true;
}

static void destroy(struct trial *t)
{
    for (int i = 0; i <= WORKSPACE; i++)
        free(t->blocks[i]);
}

static bool run(struct trial *t, const struct kernel *kernel)
{
    struct exec x = {0};
    struct err e;
    bool done;

    if (kernel->prepare && kernel->prepare(&t->op, &e) < 0)
        return false;
    t->op.workspace = reserve(t, WORKSPACE, t->op.workspace_size);
    done = t->op.workspace && kernel->run(&t->op, &x, &e) == 0;
    if (kernel->release)
        kernel->release(&t->op);
    return done;
}

static bool is_same(const struct tensor *got, const struct tensor *want)
{
    for (size_t i = 0; i < tensor_count(want); i++) {
        uint16_t half;

        if (got->dtype == DTYPE_F32 && got->data[i] == want->data[i])
            continue;
        dtype_encode(DTYPE_BF16, want->data + i, &half, 1);
        if (got->dtype == DTYPE_F32 || got->half[i] != half)
            return false;
    }
    return true;
}

static bool is_clean(const struct trial *t)
{
    for (int i = 0; i <= WORKSPACE; i++)
        for (size_t k = 0; t->blocks[i] && k < GUARD; k++)
            if ((unsigned char)t->blocks[i][k] != UNTOUCHED ||
                (unsigned char)t->blocks[i][GUARD + t->nbytes[i] + k] != UNTOUCHED)
                return false;
    return true;
}

/* NULL: it works, or there is no memory to tell, as what needs it will say. */
static const char *fault_of(const struct kernel *kernel, const struct op *op, const struct problem *p)
{
    struct trial mine, reference = {.blocks = {0}};
    const char *fault = NULL;
    bool ready = create(&mine, op, p, false) && create(&reference, op, p, true);

    if (ready && run(&reference, backend_kernel(backend_find("ref"), &reference.op))) {
        if (!run(&mine, kernel))
            fault = "fails";
        else if (!is_clean(&mine))
            fault = "writes beside its results";
        for (int i = 0; !fault && i < op->kind->nout; i++)
            if (!is_same(mine.op.out[i], reference.op.out[i]))
                fault = "gives wrong results";
    }
    destroy(&mine);
    destroy(&reference);
    return fault;
}

static bool try(const struct kernel *kernel, const struct op *op, const void *problem)
{
    const char *fault = fault_of(kernel, op, problem);

    if (fault)
        log_warn("%s by tiles (AMX), of %d and %d channels, %s; one without them, which is slower, is used",
                 op->kind->name, (int)tensor_of(op, 0)->shape.dim[DIM_C],
                 (int)op->out[0]->shape.dim[op->out[0]->shape.ndim > 1 ? 3 : 0], fault);
    return !fault;
}

bool amx_check(const struct kernel *kernel, const struct op *op)
{
    static struct verdicts verdicts = VERDICTS_NONE;
    struct problem p = problem_of(op);

    return verdicts_ask(&verdicts, &p, sizeof p, try, kernel, op);
}
