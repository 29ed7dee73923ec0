/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights, and the arrays behind them on the host and on a device. */
#include "src/base.h"
#include "trainer/core/graph.h"

#define ALIGN 64 /* bytes, to which arrays are aligned and entries padded */

int mirror_open(struct mirror *m, const struct device_ops *ops, struct device *device,
                size_t nbytes, struct err *e)
{
    size_t whole = (nbytes / ALIGN + 1) * ALIGN;

    *m = (struct mirror){.ops = ops, .device = device, .nbytes = nbytes};
    m->host = aligned_alloc(ALIGN, whole);
    if (!m->host)
        return err_set(e, ERR_INTERNAL, "out of memory for %zu bytes", nbytes);
    m->there = ops ? ops->alloc(device, DEVICE_LOCAL, whole, e) : m->host;
    return !m->there || mirror_clear(m, e) || (ops && ops->drain(device, e)) ? -1 : 0;
}

void mirror_close(struct mirror *m)
{
    if (m->ops)
        m->ops->free(m->device, DEVICE_LOCAL, m->there);
    free(m->host);
    *m = (struct mirror){0};
}

int mirror_pull(const struct mirror *m, struct err *e)
{
    return m->ops && (m->ops->copy(m->device, m->host, m->there, m->nbytes, e) ||
                      m->ops->drain(m->device, e)) ? -1 : 0;
}

/* The host may change its memory on return. */
int mirror_push(const struct mirror *m, struct err *e)
{
    return m->ops && (m->ops->copy(m->device, m->there, m->host, m->nbytes, e) ||
                      m->ops->drain(m->device, e)) ? -1 : 0;
}

int mirror_clear(const struct mirror *m, struct err *e)
{
    memset(m->host, 0, m->nbytes);
    return m->ops ? m->ops->clear(m->device, m->there, m->nbytes, e) : 0;
}

struct weights *weights_create(struct err *e)
{
    return mem_zero(1, sizeof(struct weights), e);
}

void weights_destroy(struct weights *w)
{
    if (!w)
        return;
    mirror_close(&w->values);
    mirror_close(&w->states);
    mirror_close(&w->grads);
    free(w->entries);
    free(w);
}

int weights_add(struct weights *w, const char *name, enum weights_role role, int ndim,
                const int64_t *shape, struct err *e)
{
    size_t *end = role == WEIGHTS_PARAM ? &w->nparams : &w->nstate;
    struct weights_entry *entry, *entries;

    if (strlen(name) >= sizeof entry->name)
        return err_set(e, ERR_INTERNAL, "weights: the name %s is too long", name);
    if (weights_find(w, name))
        return err_set(e, ERR_INTERNAL, "weights: %s is there twice", name);
    entries = realloc(w->entries, (w->nentries + 1) * sizeof *entries);
    if (!entries)
        return mem_fail(e);
    w->entries = entries;
    entry = &entries[w->nentries++];
    memset(entry, 0, sizeof *entry);
    strcpy(entry->name, name);
    entry->role = role;
    entry->ndim = ndim;
    entry->count = 1;
    for (int i = 0; i < ndim; i++) {
        entry->shape[i] = shape[i];
        entry->count *= (size_t)shape[i];
    }
    entry->offset = *end;
    *end += round_up(entry->count, ALIGN / sizeof(float));
    return 0;
}

int weights_alloc(struct weights *w, struct err *e)
{
    size_t nbytes = w->nparams * sizeof(float);

    if (mirror_open(&w->values, w->ops, w->device, nbytes, e) ||
        mirror_open(&w->grads, w->ops, w->device, nbytes, e) ||
        mirror_open(&w->states, w->ops, w->device, w->nstate * sizeof(float), e))
        return err_prefix(e, "weights");
    w->value = w->values.host;
    w->grad = w->grads.there;
    w->state = w->states.host;
    return 0;
}

int weights_pull(const struct weights *w, struct err *e)
{
    return mirror_pull(&w->values, e) || mirror_pull(&w->states, e) ? -1 : 0;
}

int weights_push(const struct weights *w, struct err *e)
{
    return mirror_push(&w->values, e) || mirror_push(&w->states, e) ? -1 : 0;
}

void weights_place_grad(struct weights *w, float *grad)
{
    mirror_close(&w->grads);
    w->grad = grad;
}

size_t weights_trainable(const struct weights *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM)
            count += w->entries[i].count;
    return count;
}

size_t weights_frozen(const struct weights *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].frozen)
            count += w->entries[i].count;
    return count;
}

const struct weights_entry *weights_find(const struct weights *w, const char *name)
{
    for (size_t i = 0; i < w->nentries; i++)
        if (strcmp(w->entries[i].name, name) == 0)
            return &w->entries[i];
    return NULL;
}

bool weights_have_penalty(const struct weights *w)
{
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].l2 > 0)
            return true;
    return false;
}

void weights_penalize(struct weights *w)
{
    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        float *restrict grad = w->grad + entry->offset;
        const float *value = w->value + entry->offset;
        float factor = (float)(2 * entry->l2);

        for (size_t k = 0; entry->l2 > 0 && k < entry->count; k++)
            grad[k] += factor * value[k];
    }
}
