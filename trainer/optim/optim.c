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

    if (!o) {
        err_set(e, ERR_INTERNAL, "out of memory for the optimizer");
        return NULL;
    }
    o->config = *config;
    o->n = w->nparams;
    o->ops = w->ops;
    o->device = w->device;
    o->nslots = momentum ? 1 : 2;
    o->slot_names[0] = momentum ? "v" : "m";
    o->slot_names[1] = "v";
    for (int i = 0; i < o->nslots; i++) {
        o->slots[i] = weights_alloc_slot(w, e);
        if (!o->slots[i]) {
            err_prefix(e, "state of the optimizer");
            optim_destroy(o);
            return NULL;
        }
    }
    return o;
}

void optim_destroy(struct optim *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->nslots; i++)
        weights_free_slot(o->ops, o->device, o->slots[i]);
    free(o);
}

static struct device_sgd plan_sgd(struct optim *o, struct weights *w, double lr)
{
    const struct optim_config *c = &o->config;
    double old = c->uncorrected && o->steps > 1 ? o->rate / lr : 1;

    return (struct device_sgd){.value = w->value, .v = o->slots[0], .grad = w->grad, .n = o->n,
                               .momentum = (float)(c->momentum * old), .look = (float)c->momentum,
                               .decay = (float)c->weight_decay, .rate = (float)lr,
                               .nesterov = c->nesterov};
}

static void step_sgd(const struct device_sgd *s)
{
    float *restrict value = s->value, *restrict v = s->v;
    const float *restrict grad = s->grad;

    for (size_t i = 0; i < s->n; i++) {
        float g = grad[i] + s->decay * value[i];
        v[i] = s->momentum * v[i] + g;
        value[i] -= s->rate * (s->nesterov ? g + s->look * v[i] : v[i]);
    }
}

static struct device_adam plan_adam(struct optim *o, struct weights *w, double lr)
{
    double decay = o->config.weight_decay;
    bool decoupled = o->config.kind == OPTIM_ADAMW;

    return (struct device_adam){.value = w->value, .m = o->slots[0], .v = o->slots[1],
                                .grad = w->grad, .n = o->n, .add1 = (float)(1 - BETA1),
                                .keep2 = (float)BETA2, .add2 = (float)(1 - BETA2),
                                .eps = (float)ADAM_EPS, .decay = decoupled ? 0 : (float)decay,
                                .keep = decoupled ? (float)(1 - lr * decay) : 1,
                                .rate = (float)(lr / (1 - pow(BETA1, (double)o->steps))),
                                .root = (float)sqrt(1 - pow(BETA2, (double)o->steps))};
}

static void step_adam(const struct device_adam *a)
{
    float *restrict value = a->value, *restrict m = a->m, *restrict v = a->v;
    const float *restrict grad = a->grad;
    const float add1 = a->add1, keep2 = a->keep2, add2 = a->add2, eps = a->eps, root = a->root;
    const float decay = a->decay, keep = a->keep, rate = a->rate;

    for (size_t i = 0; i < a->n; i++) {
        float g = grad[i] + decay * value[i];
        m[i] += add1 * (g - m[i]);
        v[i] = keep2 * v[i] + add2 * g * g;
        value[i] = keep * value[i] - rate * m[i] / (sqrtf(v[i]) / root + eps);
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

bool optim_needs_host(const struct optim *o)
{
    return o->device && (o->config.kind == OPTIM_LARS || o->config.kind == OPTIM_LAMB);
}

static void update_adam(struct optim *o, struct weights *w, double lr)
{
    struct device_adam a = plan_adam(o, w, lr);

    if (o->device)
        o->ops->adam(o->device, &a);
    else
        step_adam(&a);
}

static void update_sgd(struct optim *o, struct weights *w, double lr)
{
    struct device_sgd s = plan_sgd(o, w, lr);

    if (o->device)
        o->ops->sgd(o->device, &s);
    else
        step_sgd(&s);
}

bool optim_plan(struct optim *o, struct weights *w, double lr, struct device_update *u)
{
    bool sgd = o->config.kind == OPTIM_SGD;

    if (!o->device || optim_needs_host(o))
        return false;
    o->steps++;
    *u = (struct device_update){.kind = sgd ? DEVICE_SGD : DEVICE_ADAM};
    if (sgd)
        u->sgd = plan_sgd(o, w, lr);
    else
        u->adam = plan_adam(o, w, lr);
    o->rate = lr;
    return true;
}

void optim_step(struct optim *o, struct weights *w, double lr)
{
    o->steps++;
    switch (o->config.kind) {
    case OPTIM_SGD: update_sgd(o, w, lr); break;
    case OPTIM_ADAM:
    case OPTIM_ADAMW: update_adam(o, w, lr); break;
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
