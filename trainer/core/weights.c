/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries are padded to 64 bytes; the arrays are on the device if there is one. */
#include "config.h"
#include "trainer/core/weights.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

#define WEIGHTS_ALIGN 64 /* bytes */
#define WEIGHTS_ALIGN_COUNT (WEIGHTS_ALIGN / sizeof(float))

struct weights *weights_create(struct err *e)
{
    return mem_zero(1, sizeof(struct weights), e);
}

void weights_destroy(struct weights *w)
{
    if (!w)
        return;
    weights_free_slot(w->ops, w->device, w->value);
    if (!w->grad_is_lent)
        weights_free_slot(w->ops, w->device, w->grad);
    weights_free_slot(w->ops, w->device, w->state);
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
    *end += (entry->count + WEIGHTS_ALIGN_COUNT - 1) / WEIGHTS_ALIGN_COUNT * WEIGHTS_ALIGN_COUNT;
    return 0;
}

static float *alloc_zeroed(const struct weights *w, size_t count, struct err *e)
{
    size_t nbytes = (count ? count : WEIGHTS_ALIGN_COUNT) * sizeof(float);

    if (w->ops)
        return w->ops->alloc(w->device, DEVICE_SHARED, nbytes, e);
    float *p = aligned_alloc(WEIGHTS_ALIGN, nbytes);
    if (p)
        memset(p, 0, nbytes);
    else
        err_set(e, ERR_INTERNAL, "weights: out of memory for %zu numbers", count);
    return p;
}

float *weights_alloc_slot(const struct weights *w, struct err *e)
{
    return alloc_zeroed(w, w->nparams, e);
}

void weights_free_slot(const struct device_ops *ops, struct device *device, float *p)
{
    if (ops)
        ops->free(device, DEVICE_SHARED, p);
    else
        free(p);
}

int weights_alloc(struct weights *w, struct err *e)
{
    return (w->value = alloc_zeroed(w, w->nparams, e)) &&
                   (w->grad = alloc_zeroed(w, w->nparams, e)) &&
                   (w->state = alloc_zeroed(w, w->nstate, e))
               ? 0
               : -1;
}

void weights_place_grad(struct weights *w, float *grad)
{
    if (!w->grad_is_lent)
        weights_free_slot(w->ops, w->device, w->grad);
    w->grad = grad;
    w->grad_is_lent = true;
}

size_t weights_trainable(const struct weights *w)
{
    size_t count = 0;

    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM)
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
