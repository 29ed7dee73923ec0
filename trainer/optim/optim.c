/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's updates, and the plans of the device's: both compute the formulas of optim.h. */
#include "src/base.h"
#include "trainer/optim/optim.h"

#include <math.h>

/* The arrays `tensors` and `pieces` are in memory that the host and the device can access. */

#define PIECE 8192u /* elements */

static unsigned pieces_of(const struct weights_entry *entry)
{
    return (unsigned)((entry->count + PIECE - 1) / PIECE);
}

static void add_tensor(struct device_layout *l, const struct weights_entry *entry, double decay)
{
    unsigned t = l->ntensors++;

    l->tensors[t] = (struct device_tensor){
        .offset = entry->offset, .count = entry->count, .penalty = (float)(2 * entry->l2),
        .decay = entry->ndim > 1 ? (float)decay : 0, .adapts = entry->ndim > 1,
        .first = l->npieces, .npieces = pieces_of(entry)};
    for (size_t at = 0; at < entry->count; at += PIECE) {
        size_t rest = entry->count - at;
        l->pieces[l->npieces++] = (struct device_piece){
            .tensor = t, .count = rest < PIECE ? (unsigned)rest : PIECE,
            .offset = entry->offset + at};
    }
}

/* Sets *l for weights on a device; the mirrors, to be closed by the caller, have its arrays. decay:
 * the weight decay of tensors with more than one dimension, which are the only ones whose steps
 * LARS and LAMB scale. */
static int device_layout_open(struct device_layout *l, struct mirror *tensors,
                              struct mirror *pieces, const struct weights *w, double decay,
                              struct err *e)
{
    size_t ntensors = 1, npieces = 1;

    *l = (struct device_layout){0};
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM) {
            ntensors++;
            npieces += pieces_of(&w->entries[i]);
        }
    if (mirror_open(tensors, w->ops, w->device, ntensors * sizeof *l->tensors, e) ||
        mirror_open(pieces, w->ops, w->device, npieces * sizeof *l->pieces, e))
        return -1;
    l->tensors = tensors->host;
    l->pieces = pieces->host;
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM)
            add_tensor(l, &w->entries[i], decay);
    l->tensors = tensors->there;
    l->pieces = pieces->there;
    return mirror_push(tensors, e) || mirror_push(pieces, e) ? -1 : 0;
}

#define BETA1 0.9
#define BETA2 0.999
#define ADAM_EPS 1e-8
#define LAMB_EPS 1e-6
#define LARS_TRUST 0.001

static int open_scaling(struct optim *o, struct err *e)
{
    if (!o->config.scaled)
        return 0;
    if (mirror_open(&o->scaling_memory, o->ops, o->device, sizeof *o->scaling, e))
        return -1;
    o->scaling = o->scaling_memory.there;
    o->scaled = o->scaling_memory.host;
    o->scaled->factor = DEVICE_SCALING_BEGIN;
    return mirror_push(&o->scaling_memory, e);
}

struct optim *optim_create(const struct optim_config *config, const struct weights *w,
                           struct err *e)
{
    struct optim *o = mem_zero(1, sizeof *o, e);
    bool momentum = config->kind == OPTIM_SGD || config->kind == OPTIM_LARS;

    if (!o)
        return NULL;
    o->config = *config;
    o->n = w->nparams;
    o->ops = w->ops;
    o->device = w->device;
    o->nslots = momentum ? 1 : 2;
    o->slot_names[0] = momentum ? "v" : "m";
    o->slot_names[1] = "v";
    for (int i = 0; i < o->nslots; i++) {
        int rc = mirror_open(&o->slot_memory[i], w->ops, w->device, o->n * sizeof **o->slots, e);
        o->slots[i] = o->slot_memory[i].host;
        if (rc) {
            err_prefix(e, "state of the optimizer");
            optim_destroy(o);
            return NULL;
        }
    }
    if (o->device &&
        (device_layout_open(&o->layout, &o->tensors, &o->pieces, w, config->weight_decay, e) ||
         open_scaling(o, e))) {
        optim_destroy(o);
        return NULL;
    }
    return o;
}

void optim_destroy(struct optim *o)
{
    if (!o)
        return;
    for (int i = 0; i < o->nslots; i++)
        mirror_close(&o->slot_memory[i]);
    mirror_close(&o->scaling_memory);
    mirror_close(&o->tensors);
    mirror_close(&o->pieces);
    free(o);
}

static struct device_sgd plan_sgd(const struct optim *o, double lr)
{
    const struct optim_config *c = &o->config;
    bool corrects = c->kind == OPTIM_SGD && c->uncorrected;
    double old = corrects && o->steps > 1 ? o->rate / lr : 1;

    return (struct device_sgd){.momentum = (float)(c->momentum * old), .look = (float)c->momentum,
                               .decay = (float)c->weight_decay, .rate = (float)lr,
                               .nesterov = c->nesterov, .corrects = corrects};
}

static void step_sgd(const struct optim *o, struct weights *w, double lr)
{
    const struct device_sgd s = plan_sgd(o, lr);
    float *restrict value = w->value, *restrict v = o->slots[0];
    const float *restrict grad = w->grad;

    for (size_t i = 0; i < o->n; i++) {
        float g = grad[i] + s.decay * value[i];
        v[i] = s.momentum * v[i] + g;
        value[i] -= s.rate * (s.nesterov ? g + s.look * v[i] : v[i]);
    }
}

static struct device_adam plan_adam(const struct optim *o, double lr)
{
    double decay = o->config.weight_decay;
    bool decoupled = o->config.kind == OPTIM_ADAMW;

    return (struct device_adam){.add1 = (float)(1 - BETA1), .keep2 = (float)BETA2,
                                .add2 = (float)(1 - BETA2), .eps = (float)ADAM_EPS,
                                .decay = decoupled ? 0 : (float)decay,
                                .keep = decoupled ? (float)(1 - lr * decay) : 1,
                                .rate = (float)(lr / (1 - pow(BETA1, (double)o->steps))),
                                .root = (float)sqrt(1 - pow(BETA2, (double)o->steps))};
}

static void step_adam(const struct optim *o, struct weights *w, double lr)
{
    const struct device_adam a = plan_adam(o, lr);
    float *restrict value = w->value, *restrict m = o->slots[0], *restrict v = o->slots[1];
    const float *restrict grad = w->grad;

    for (size_t i = 0; i < o->n; i++) {
        float g = grad[i] + a.decay * value[i];
        m[i] += a.add1 * (g - m[i]);
        v[i] = a.keep2 * v[i] + a.add2 * g * g;
        value[i] = a.keep * value[i] - a.rate * m[i] / (sqrtf(v[i]) / a.root + a.eps);
    }
}

static double find_norm(const float *x, size_t n)
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
        double w = find_norm(value, entry->count), g = find_norm(grad, entry->count);
        if (w > 0 && g > 0)
            factor = LARS_TRUST * w / (g + wd * w);
    }
    for (size_t i = 0; i < entry->count; i++) {
        float g = (float)(((double)grad[i] + wd * (double)value[i]) * factor);
        v[i] = (float)o->config.momentum * v[i] + g;
        value[i] -= (float)lr * v[i];
    }
}

/* Overwrites the gradient with u. */
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
        double w = find_norm(value, entry->count), u = find_norm(grad, entry->count);
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

void optim_plan(struct optim *o, struct weights *w, double lr, double clip, struct device_update *u)
{
    static const enum device_update_kind kinds[] = {
        [OPTIM_ADAM] = DEVICE_ADAM, [OPTIM_ADAMW] = DEVICE_ADAM, [OPTIM_SGD] = DEVICE_SGD,
        [OPTIM_LARS] = DEVICE_LARS, [OPTIM_LAMB] = DEVICE_LAMB};
    double steps = (double)++o->steps;

    *u = (struct device_update){
        .kind = kinds[o->config.kind], .value = w->values.there, .grad = w->grad,
        .slots = {o->slot_memory[0].there, o->slot_memory[1].there}, .n = o->n, .layout = o->layout,
        .penalizes = weights_have_penalty(w), .clip = clip, .beta1 = BETA1,
        .beta2 = BETA2, .rate = lr, .scaling = o->scaling,
        .adam = plan_adam(o, lr), .sgd = plan_sgd(o, lr),
        .lars = {.momentum = (float)o->config.momentum, .trust = LARS_TRUST},
        .lamb = {.debias1 = 1 - pow(BETA1, steps), .debias2 = 1 - pow(BETA2, steps),
                 .eps = LAMB_EPS}};
    o->rate = lr;
}

int optim_pull(struct optim *o, struct err *e)
{
    for (int i = 0; i < o->nslots; i++)
        if (mirror_pull(&o->slot_memory[i], e))
            return -1;
    return mirror_pull(&o->scaling_memory, e);
}

int optim_push(struct optim *o, struct err *e)
{
    for (int i = 0; i < o->nslots; i++)
        if (mirror_push(&o->slot_memory[i], e))
            return -1;
    return mirror_push(&o->scaling_memory, e);
}

int optim_settle(struct optim *o, struct err *e)
{
    if (!o->scaled)
        return 0;
    if (mirror_pull(&o->scaling_memory, e))
        return -1;
    o->steps = o->scaled->taken;
    o->rate = o->scaled->rate;
    return 0;
}

static void clip_grad(struct weights *w, double most)
{
    double norm = find_norm(w->grad, w->nparams);

    if (norm > most)
        for (size_t i = 0; i < w->nparams; i++)
            w->grad[i] *= (float)(most / norm);
}

void optim_step(struct optim *o, struct weights *w, double lr, double clip)
{
    weights_penalize(w);
    if (clip > 0)
        clip_grad(w, clip);
    o->steps++;
    switch (o->config.kind) {
    case OPTIM_SGD: step_sgd(o, w, lr); break;
    case OPTIM_ADAM:
    case OPTIM_ADAMW: step_adam(o, w, lr); break;
    case OPTIM_LARS:
    case OPTIM_LAMB: step_tensors(o, w, lr); break;
    }
    o->rate = lr;
}
