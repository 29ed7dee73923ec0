/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/conv/amx/amx_check.h"

#include <stdio.h>

#include "src/log.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"
#include "trainer/backends/trial/verdicts.h"

/* The size of the images that the trial computes. A row has more pixels than two tiles have rows,
 * and an odd number of them; it is shorter if the op has so many channels that the reference would
 * take long. */
#define HEIGHT 3
#define WIDTH 35
#define WIDTH_OF_MANY 5

static bool is_activation(const struct tensor *t)
{
    return t->dtype == DTYPE_BF16;
}

/* The numbers are small integers, so that tiles compute the sums of the reference exactly. */
static bool try_kernel(const struct trial_problem *p, const struct kernel *kernel,
                       const struct op *op, char fault[VERDICTS_FAULT])
{
    static const struct trial_rule exact = {.tolerance = 0};
    struct err why;
    bool tried;
    const char *what = trial_find_fault(p, &exact, kernel, op, &tried, &why);

    if (!what)
        return tried;
    snprintf(fault, VERDICTS_FAULT, "%s by tiles (AMX), of %d and %d channels, %s", op->kind->name,
             (int)trial_tensor(op, 0)->shape.dim[DIM_C],
             (int)op->in[op->in[1] ? 1 : 2]->shape.dim[op->in[1] ? 0 : 3], what);
    log_warn("%s; one without them, which is slower, is used", fault);
    return true;
}

bool amx_check(const struct kernel *kernel, const struct op *op)
{
    static struct verdicts verdicts = VERDICTS_NONE;
    bool many = trial_has_many_channels(op, is_activation);
    struct trial_size size = {is_activation, HEIGHT, many ? WIDTH_OF_MANY : WIDTH, 0};
    struct trial_problem p;

    trial_describe(&p, amx_tiles_best(), op, &size);
    return verdicts_ask(&verdicts, &p, try_kernel, kernel, op);
}
