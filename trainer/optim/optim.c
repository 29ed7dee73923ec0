/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/optim/optim.h"

#include <math.h>
#include <stdlib.h>

#define BETA1 0.9
#define BETA2 0.999
#define ADAM_EPS 1e-8
#define LAMB_EPS 1e-6
#define LARS_TRUST 0.001

struct optim *optim_create(const struct optim_config *config, const struct weights *w,
                           struct err *e)
{
    struct optim *o = calloc(1, sizeof *o);
    bool momentum = config->kind == OPTIM_SGD || config->kind == OPTIM_LARS;

    if (!o)
        goto fail;
    o->config = *config;
    o->n = w->nparams;
    o->nslots = momentum ? 1 : 2;
    o->slot_names[0] = momentum ? "v" : "m";
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

static void step_sgd(struct optim *o, float *restrict value, const float *restrict grad, double lr)
{
    const struct optim_config *c = &o->config;
    double old = c->uncorrected && o->steps > 1 ? o->rate / lr : 1;
    const float wd = (float)c->weight_decay, momentum = (float)(c->momentum * old);
    const float look = (float)c->momentum, rate = (float)lr;
    float *restrict v = o->slots[0];

    for (size_t i = 0; i < o->n; i++) {
        float g = grad[i] + wd * value[i];
        v[i] = momentum * v[i] + g;
        value[i] -= rate * (c->nesterov ? g + look * v[i] : v[i]);
    }
}

static void step_adam(struct optim *o, float *restrict value, const float *restrict grad, double lr)
{
    const float keep2 = (float)BETA2, add1 = (float)(1 - BETA1), add2 = (float)(1 - BETA2);
    const float eps = (float)ADAM_EPS;
    const bool decoupled = o->config.kind == OPTIM_ADAMW;
    const float wd = decoupled ? 0 : (float)o->config.weight_decay;
    const float keep = decoupled ? (float)(1 - lr * o->config.weight_decay) : 1;
    float *restrict m = o->slots[0], *restrict v = o->slots[1];
    const float step = (float)(lr / (1 - pow(BETA1, (double)o->steps)));
    const float root = (float)sqrt(1 - pow(BETA2, (double)o->steps));

    for (size_t i = 0; i < o->n; i++) {
        float g = grad[i] + wd * value[i];
        m[i] += add1 * (g - m[i]);
        v[i] = keep2 * v[i] + add2 * g * g;
        value[i] = keep * value[i] - step * m[i] / (sqrtf(v[i]) / root + eps);
    }
}

static double norm(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static void step_lars(const struct optim *o, const struct weights_entry *entry, float *value,
                      const float *grad, double lr)
{
    double wd = entry->ndim > 1 ? o->config.weight_decay : 0, factor = 1;
    float *v = o->slots[0] + entry->offset;

    if (entry->ndim > 1) {
        double w = norm(value, entry->count), g = norm(grad, entry->count);
        if (w > 0 && g > 0)
            factor = LARS_TRUST * w / (g + wd * w);
    }
    for (size_t i = 0; i < entry->count; i++) {
        float g = (float)(((double)grad[i] + wd * (double)value[i]) * factor);
        v[i] = (float)o->config.momentum * v[i] + g;
        value[i] -= (float)lr * v[i];
    }
}

/* u takes the place of the gradient. */
static void step_lamb(const struct optim *o, const struct weights_entry *entry, float *value,
                      float *grad, double lr)
{
    double wd = entry->ndim > 1 ? o->config.weight_decay : 0, factor = 1;
    double debias1 = 1 - pow(BETA1, (double)o->steps), debias2 = 1 - pow(BETA2, (double)o->steps);
    float *m = o->slots[0] + entry->offset, *v = o->slots[1] + entry->offset;

    for (size_t i = 0; i < entry->count; i++) {
        double g = (double)grad[i];
        m[i] = (float)(BETA1 * (double)m[i] + (1 - BETA1) * g);
        v[i] = (float)(BETA2 * (double)v[i] + (1 - BETA2) * g * g);
        grad[i] = (float)((double)m[i] / debias1 / (sqrt((double)v[i] / debias2) + LAMB_EPS) +
                          wd * (double)value[i]);
    }
    if (entry->ndim > 1) {
        double w = norm(value, entry->count), u = norm(grad, entry->count);
        if (w > 0 && u > 0)
            factor = w / u;
    }
    for (size_t i = 0; i < entry->count; i++)
        value[i] -= (float)(lr * factor) * grad[i];
}

static void step_tensors(struct optim *o, struct weights *w, double lr)
{
    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        if (entry->role != WEIGHTS_PARAM)
            continue;
        if (o->config.kind == OPTIM_LARS)
            step_lars(o, entry, w->value + entry->offset, w->grad + entry->offset, lr);
        else
            step_lamb(o, entry, w->value + entry->offset, w->grad + entry->offset, lr);
    }
}

void optim_step(struct optim *o, struct weights *w, double lr)
{
    o->steps++;
    switch (o->config.kind) {
    case OPTIM_SGD: step_sgd(o, w->value, w->grad, lr); break;
    case OPTIM_ADAM:
    case OPTIM_ADAMW: step_adam(o, w->value, w->grad, lr); break;
    case OPTIM_LARS:
    case OPTIM_LAMB: step_tensors(o, w, lr); break;
    }
    o->rate = lr;
}

double optim_clip(struct weights *w, double most)
{
    double n = norm(w->grad, w->nparams);

    if (most > 0 && n > most)
        for (size_t i = 0; i < w->nparams; i++)
            w->grad[i] *= (float)(most / n);
    return n;
}
