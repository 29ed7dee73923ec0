/* SPDX-License-Identifier: BSD-3-Clause */
/* The optimizer: weights and gradients to weights, with state of its own in slots laid out like the
 * weights. g: the gradient, w: the weights, wd: weight decay, t: steps from 1.
 *
 * SGD, with the meaning of PyTorch's torch.optim.SGD:
 *     g += wd w,  v = momentum v + g,  w -= lr v  (Nesterov: w -= lr (g + momentum v))
 * Adam (Kingma and Ba, ICLR 2015, algorithm 1), AdamW (Loshchilov and Hutter, ICLR 2019), with that
 * of torch.optim.Adam and AdamW; b1 = 0.9, b2 = 0.999, eps = 1e-8:
 *     Adam: g += wd w,  AdamW: w -= lr wd w
 *     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
 *     w -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps)
 * LARS (You, Gitman, Ginsburg, arXiv 1708.03888), per tensor, with norms over the tensor:
 *     g = (g + wd w) 0.001 |w| / (|g| + wd |w|),  v = momentum v + g,  w -= lr v
 * LAMB (You et al., ICLR 2020), eps = 1e-6, per tensor:
 *     u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w,  w -= lr |w| / |u| u
 * In LARS and LAMB biases and the scales of batch norm (tensors of one dimension) have neither
 * weight decay nor the factor of the norms, nor has a tensor one of whose norms is 0.
 *
 * Momentum here does not contain the rate, so a step with a new rate is right as it is (what others
 * call momentum correction). uncorrected: as where the velocity contains the rate and is left
 * alone: v = momentum (previous rate / rate) v + g. */
#ifndef UNETCTL_TRAINER_OPTIM_OPTIM_H
#define UNETCTL_TRAINER_OPTIM_OPTIM_H

#include <stdbool.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/weights.h"

#define OPTIM_MAX_SLOTS 2

enum optim_kind { OPTIM_ADAM, OPTIM_ADAMW, OPTIM_SGD, OPTIM_LARS, OPTIM_LAMB };

struct optim_config {
    enum optim_kind kind;
    double momentum;     /* of SGD and LARS */
    bool nesterov, uncorrected; /* of SGD */
    double weight_decay;
    bool scaled;         /* the loss has a factor that is found on the way (device.h) */
};

struct optim {
    struct optim_config config;
    int64_t steps;  /* taken so far, or planned */
    double rate;    /* of the last step */
    int nslots;
    const char *slot_names[OPTIM_MAX_SLOTS];
    float *slots[OPTIM_MAX_SLOTS]; /* w->nparams each, zero at first; part of a training's state */
    size_t n;
    const struct device_ops *ops; /* of the weights */
    struct device *device;         /* NULL: the host's */
    struct device_layout layout;   /* on a device */
    struct device_scaling *scaling; /* likewise, with config.scaled; part of a training's state */
};

struct optim *optim_create(const struct optim_config *config, const struct weights *w,
                           struct err *e);
void optim_destroy(struct optim *o);

/* A step of weights on a device, as part of a run (network_step.update) or by itself
 * (network_update): penalties of the weights, then gradients clipped to that norm (0: as they are),
 * then the values. It counts as taken. */
void optim_plan(struct optim *o, struct weights *w, double lr, double clip, struct device_update *u);

/* With a scaled loss the device leaves steps out, and counts those that it takes. When all that was
 * planned is done: o->steps and o->rate are theirs. */
void optim_settle(struct optim *o);

/* One step of the host's w->value with w->grad, which may be changed. The result does not depend on
 * threads or ranks. */
void optim_step(struct optim *o, struct weights *w, double lr);

/* The gradients' global norm; where it is above most (and most above 0) they are scaled to it. */
double optim_clip(struct weights *w, double most);

#endif
