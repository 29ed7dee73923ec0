/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of one replica: values, gradients and batch-norm state, one array for each.
 *
 * Parameters are in the order in which backward finishes their gradients, last layer first. So a
 * prefix of `grad` is final while backward still runs, and the buckets of the all-reduce are
 * slices of it. Checkpoints identify parameters by name, never by offset. */
#ifndef UNETCTL_TRAINER_CORE_WEIGHTS_H
#define UNETCTL_TRAINER_CORE_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/mirror.h"

enum weights_role { WEIGHTS_PARAM, WEIGHTS_STATE };

struct weights_entry {
    char name[64]; /* "enc1.conv1.weight", "enc1.bn1.running_mean": checkpoint key */
    enum weights_role role;
    int ndim;
    int64_t shape[4]; /* conv OIHW, transposed conv IOHW as PyTorch has them, vectors [C] */
    size_t offset;    /* in elements, into value/grad (PARAM) or state (STATE) */
    size_t count;
    double l2;     /* the loss has a penalty of l2 |w|^2 */
};

struct weights {
    /* The device on which kernels use the arrays, or NULL. Set before weights_alloc, not owned. */
    const struct device_ops *ops;
    struct device *device;
    size_t nparams, nstate; /* elements, with the padding between entries, which is always 0 */
    float *value;  /* [nparams], in the host's memory; on a device as of the last pull or push */
    float *state;  /* [nstate]: running means and variances, as value */
    float *grad;   /* [nparams], where kernels use it */
    struct mirror values, states, grads; /* of these arrays */
    struct weights_entry *entries;
    size_t nentries;
};

/* Returns weights without entries, or NULL if out of memory. */
struct weights *weights_create(struct err *e);
void weights_destroy(struct weights *w);

/* Appends an entry; only before weights_alloc. -1 with ERR_INTERNAL if the name is too long or
 * already used, or if out of memory. */
int weights_add(struct weights *w, const char *name, enum weights_role role, int ndim,
                const int64_t *shape, struct err *e);

/* Allocates zeroed arrays for all entries. Called once, after all entries are added. */
int weights_alloc(struct weights *w, struct err *e);

/* With a device, copy value and state from it, and to it: before the host reads what steps have
 * made of them, and after it has changed them. */
int weights_pull(const struct weights *w, struct err *e);
int weights_push(const struct weights *w, struct err *e);

/* Makes grad the caller's array of nparams zeros, which must outlive w. Only before a graph is
 * bound to w. */
void weights_place_grad(struct weights *w, float *grad);

/* Adds the gradients of the penalties to grad, which holds the sum over all replicas. */
void weights_penalize(struct weights *w);
bool weights_have_penalty(const struct weights *w);

/* Returns the number of trainable parameters, without padding. */
size_t weights_trainable(const struct weights *w);

/* Returns the entry of that name, or NULL. */
const struct weights_entry *weights_find(const struct weights *w, const char *name);

#endif
