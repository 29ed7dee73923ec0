/* SPDX-License-Identifier: BSD-3-Clause */
/* The optimizer: weights and gradients to weights, with state of its own in slots laid out like the
 * weights.
 *
 * Adam (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1), with
 * the meaning of PyTorch's torch.optim.Adam without weight decay:
 *     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
 *     w -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps),  b1 = 0.9, b2 = 0.999, eps = 1e-8 */
#ifndef UNETCTL_TRAINER_OPTIM_OPTIM_H
#define UNETCTL_TRAINER_OPTIM_OPTIM_H

#include <stdint.h>

#include "src/err.h"
#include "trainer/core/weights.h"

#define OPTIM_MAX_SLOTS 2

struct optim {
    int64_t steps; /* taken so far */
    int nslots;
    const char *slot_names[OPTIM_MAX_SLOTS];
    float *slots[OPTIM_MAX_SLOTS]; /* w->nparams each, zero at first; part of a training's state */
    size_t n;
};

struct optim *optim_create(const struct weights *w, struct err *e);
void optim_destroy(struct optim *o);

/* One step on w->value with w->grad. Element by element: the result does not depend on threads or
 * ranks. */
void optim_step(struct optim *o, struct weights *w, double lr);

#endif
