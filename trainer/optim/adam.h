/* SPDX-License-Identifier: BSD-3-Clause */
/* Adam (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1) on
 * flat arrays, with the meaning of PyTorch's torch.optim.Adam without weight decay:
 *     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
 *     w -= lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps),  b1 = 0.9, b2 = 0.999, eps = 1e-8 */
#ifndef UNETCTL_TRAINER_OPTIM_ADAM_H
#define UNETCTL_TRAINER_OPTIM_ADAM_H

#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

struct adam;

/* For n weights, moments zero, t = 0. */
struct adam *adam_create(size_t n, struct err *e);
void adam_destroy(struct adam *a);

/* One step on value[0..n) with its gradient. Element by element: the result does not depend on
 * threads or ranks. */
void adam_step(struct adam *a, float *value, const float *grad, double lr);

#endif
