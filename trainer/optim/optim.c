/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/optim/optim.h"

#include <math.h>
#include <stdlib.h>

#define BETA1 0.9
#define BETA2 0.999
#define EPS 1e-8

struct optim *optim_create(const struct weights *w, struct err *e)
{
    struct optim *o = calloc(1, sizeof *o);

    if (!o)
        goto fail;
    o->n = w->nparams;
    o->nslots = 2;
    o->slot_names[0] = "m";
    o->slot_names[1] = "v";
    for (int i = 0; i < o->nslots; i++) {
        o->slots[i] = calloc(o->n ? o->n : 1, sizeof **o->slots);
        if (!o->slots[i])
            goto fail;
    }
    return o;
fail:
    err_set(e, ERR_INTERNAL, "out of memory for the optimizer's state of %zu weights", w->nparams);
    optim_destroy(o);
    return NULL;
}

void optim_destroy(struct optim *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->nslots; i++)
        free(o->slots[i]);
    free(o);
}

static void step_adam(struct optim *o, float *restrict value, const float *restrict grad, double lr)
{
    const float keep2 = (float)BETA2, add1 = (float)(1 - BETA1), add2 = (float)(1 - BETA2);
    const float eps = (float)EPS;
    float *restrict m = o->slots[0], *restrict v = o->slots[1];
    const float step = (float)(lr / (1 - pow(BETA1, (double)o->steps)));
    const float root = (float)sqrt(1 - pow(BETA2, (double)o->steps));

    for (size_t i = 0; i < o->n; i++) {
        float g = grad[i];
        m[i] += add1 * (g - m[i]);
        v[i] = keep2 * v[i] + add2 * g * g;
        value[i] -= step * m[i] / (sqrtf(v[i]) / root + eps);
    }
}

void optim_step(struct optim *o, struct weights *w, double lr)
{
    o->steps++;
    step_adam(o, w->value, w->grad, lr);
}
