/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/optim/adam.h"

#include <math.h>
#include <stdlib.h>

#define BETA1 0.9
#define BETA2 0.999
#define EPS 1e-8

struct adam {
    size_t n;
    int64_t t;
    float *m, *v;
};

struct adam *adam_create(size_t n, struct err *e)
{
    struct adam *a = calloc(1, sizeof *a);

    if (!a)
        goto fail;
    a->n = n;
    a->m = calloc(n ? n : 1, sizeof *a->m);
    a->v = calloc(n ? n : 1, sizeof *a->v);
    if (a->m && a->v)
        return a;
fail:
    err_set(e, ERR_INTERNAL, "out of memory for the optimizer's state of %zu weights", n);
    adam_destroy(a);
    return NULL;
}

void adam_destroy(struct adam *a)
{
    if (!a)
        return;
    free(a->m);
    free(a->v);
    free(a);
}

void adam_step(struct adam *a, float *restrict value, const float *restrict grad, double lr)
{
    const float keep2 = (float)BETA2, add1 = (float)(1 - BETA1), add2 = (float)(1 - BETA2);
    const float eps = (float)EPS;
    float *restrict m = a->m, *restrict v = a->v;

    a->t++;
    const float step = (float)(lr / (1 - pow(BETA1, (double)a->t)));
    const float root = (float)sqrt(1 - pow(BETA2, (double)a->t));
    for (size_t i = 0; i < a->n; i++) {
        float g = grad[i];
        m[i] += add1 * (g - m[i]);
        v[i] = keep2 * v[i] + add2 * g * g;
        value[i] -= step * m[i] / (sqrtf(v[i]) / root + eps);
    }
}
