/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_check.h"

#include <string.h>

#include "src/log.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"
#include "trainer/backends/ref/ref.h"
#include "trainer/backends/trial/trial.h"
#include "trainer/backends/trial/verdicts.h"

#define IMAGES 2
#define HEIGHT 3
#define WIDTH 35  /* more than two tiles of pixels, and odd ... */
#define NARROW 5  /* ... where there are so many channels that the reference would take long */
#define FEW 4096  /* pairs of channels */

/* What distinguishes a problem. */
struct problem {
    const struct op_kind *kind;
    bool no_bias;
    const struct amx_tiles *tiles;
    int64_t channels[TRIAL_TENSORS];
    bool narrow;
};

static bool is_activation(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16;
}

static struct problem problem_of(const struct op *op)
{
    struct problem p;

    memset(&p, 0, sizeof p); /* compared as bytes */
    p.kind = op->kind;
    p.no_bias = op->attr.no_bias;
    p.tiles = amx_tiles_best();
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *t = trial_tensor(op, i);

        if (!t)
            continue;
        if (is_activation(t))
            p.channels[i] = t->shape.dim[DIM_C];
        else if (t->shape.ndim == 4)
            p.narrow = t->shape.dim[0] * t->shape.dim[1] > FEW;
    }
    return p;
}

/* wide: all tensors of floats, with the same numbers. */
static bool create(struct trial *t, const struct op *op, const struct problem *p, bool wide)
{
    int64_t least = trial_least_height(op, is_activation);

    trial_create(t, op);
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *theirs = trial_tensor(op, i);

        if (!theirs)
            continue;
        struct tensor mine = *theirs;
        if (is_activation(theirs)) {
            int64_t times = theirs->shape.dim[DIM_H] / least;

            mine.shape = shape_nhwc(IMAGES, HEIGHT * times, (p->narrow ? NARROW : WIDTH) * times,
                                    theirs->shape.dim[DIM_C]);
        }
        mine.dtype = wide ? DTYPE_F32 : mine.dtype;
        if (!trial_add(t, i, mine))
            return false;
    }
    return true;
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

/* NULL: it works, or there is no memory to try it. */
static const char *fault_of(const struct kernel *kernel, const struct op *op,
                            const struct problem *p)
{
    struct trial mine, reference = {.blocks = {0}};
    const char *fault = NULL;
    bool ready = create(&mine, op, p, false) && create(&reference, op, p, true);

    if (ready && trial_run(&reference, backend_kernel(&ref_backend, &reference.op))) {
        if (!trial_run(&mine, kernel))
            fault = "fails";
        else if (!trial_is_clean(&mine))
            fault = "writes beside its results";
        for (int i = -1; op_next_out(op, &i);)
            if (!fault && !is_same(mine.op.out[i], reference.op.out[i]))
                fault = "gives wrong results";
    }
    trial_destroy(&mine);
    trial_destroy(&reference);
    return fault;
}

static bool try(const struct kernel *kernel, const struct op *op, const void *problem)
{
    const char *fault = fault_of(kernel, op, problem);

    if (fault)
        log_warn("%s by tiles (AMX), of %d and %d channels, %s; one without them, which is slower, "
                 "is used",
                 op->kind->name, (int)trial_tensor(op, 0)->shape.dim[DIM_C],
                 (int)op->in[op->in[1] ? 1 : 2]->shape.dim[op->in[1] ? 0 : 3], fault);
    return !fault;
}

bool amx_check(const struct kernel *kernel, const struct op *op)
{
    static struct verdicts verdicts = VERDICTS_NONE;
    struct problem p = problem_of(op);

    return verdicts_ask(&verdicts, &p, sizeof p, try, kernel, op);
}
