/* SPDX-License-Identifier: BSD-3-Clause */
/* Optimizers: they update weights by gradients, with state in slots laid out like the weights. g:
 * the gradient, w: the weights, wd: weight decay, t: steps from 1.
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
 * In LARS and LAMB biases and scales of batch norm (tensors of one dimension), and tensors with a
 * norm of 0, have neither weight decay nor the factor of the norms.
 *
 * The velocity does not contain the rate, so a new rate needs no momentum correction. uncorrected:
 * as if the velocity contained the rate and were not corrected: v = momentum (previous rate / rate)
 * v + g. / */
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
    bool scaled;         /* dynamic loss scaling (device.h) */
};

struct optim {
    struct optim_config config;
    int64_t steps;  /* taken so far, or planned */
    double rate;    /* of the last step */
    int nslots;
    const char *slot_names[OPTIM_MAX_SLOTS];
    float *slots[OPTIM_MAX_SLOTS]; /* w->nparams each, zero at first; in checkpoints */
    size_t n;
    const struct device_ops *ops; /* of the weights */
    struct device *device;         /* NULL: the host's */
    struct device_layout layout;   /* on a device */
    struct device_scaling *scaling; /* on a device, with config.scaled; in checkpoints */
};

struct optim *optim_create(const struct optim_config *config, const struct weights *w,
                           struct err *e);
void optim_destroy(struct optim *o);

/* Plans a step on a device, as part of a run (network_step.update) or by itself (network_update):
 * penalties of the weights, clipping of gradients to that norm (0: none), update. Counts as a
 * step. */
void optim_plan(struct optim *o, struct weights *w, double lr, double clip,
                struct device_update *u);

/* With a scaled loss the device skips steps. When all planned steps are done, sets o->steps and
 * o->rate to those of the steps taken. */
void optim_settle(struct optim *o);

/* A step on the host, which may change w->grad. The result does not depend on threads or ranks. */
void optim_step(struct optim *o, struct weights *w, double lr);

/* Returns the global norm of the gradients, which are scaled to most if it is larger (and most >
 * 0). */
double optim_clip(struct weights *w, double most);

#endif
