/* SPDX-License-Identifier: BSD-3-Clause */
/* Optimizers: they update weights by gradients. Their state is in slots, which have the layout of
 * the weights. g: the gradient, w: the weights, wd: the weight decay, t: the step, from 1.
 *
 * SGD as PyTorch's torch.optim.SGD:
 *     g += wd w,  v = momentum v + g,  w -= lr v  (Nesterov: w -= lr (g + momentum v))
 * Adam (Kingma and Ba, ICLR 2015, algorithm 1) and AdamW (Loshchilov and Hutter, ICLR 2019) as
 * torch.optim.Adam and AdamW; b1 = 0.9, b2 = 0.999, eps = 1e-8:
 *     Adam: g += wd w,  AdamW: w -= lr wd w
 *     m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
 *     w -= lr / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps)
 * LARS (You, Gitman, Ginsburg, arXiv 1708.03888), per tensor, with norms over the tensor:
 *     g = (g + wd w) 0.001 |w| / (|g| + wd |w|),  v = momentum v + g,  w -= lr v
 * LAMB (You et al., ICLR 2020), eps = 1e-6, per tensor:
 *     u = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w,  w -= lr |w| / |u| u
 * In LARS and LAMB tensors of one dimension (biases, scales of batch norm) have neither weight
 * decay nor the factor of the norms; tensors with a norm of 0 do not have that factor.
 *
 * The velocity v of SGD does not contain the rate, so a change of rate needs no momentum
 * correction. With `uncorrected` SGD computes as if v contained the rate without such a correction:
 * v = momentum (previous rate / rate) v + g. */
#pragma once

#include "trainer/core/graph.h"

#define OPTIM_MAX_SLOTS 2

enum optim_kind { OPTIM_ADAM, OPTIM_ADAMW, OPTIM_SGD, OPTIM_LARS, OPTIM_LAMB };

struct optim_config {
    enum optim_kind kind;
    double momentum;     /* of SGD and LARS */
    bool nesterov, uncorrected; /* of SGD */
    double weight_decay;
    bool scaled;         /* dynamic loss scaling (core/kernel.h), on a device */
};

struct optim {
    struct optim_config config;
    int64_t steps;  /* taken, or planned on a device, so far */
    double rate;    /* of the last step */
    int nslots;
    const char *slot_names[OPTIM_MAX_SLOTS];
    /* [n] each, 0 at first, in the host's memory (optim_pull); checkpoints contain them */
    float *slots[OPTIM_MAX_SLOTS];
    size_t n;                      /* w->nparams */
    const struct device_ops *ops;  /* those of the weights */
    struct device *device;         /* NULL: the weights are in the host's memory */
    struct device_layout layout;   /* on a device */
    /* With config.scaled: on the device, for network_step.scaling, and in the host's memory;
     * checkpoints contain it. */
    struct device_scaling *scaling, *scaled;
    struct mirror slot_memory[OPTIM_MAX_SLOTS], scaling_memory, tensors, pieces;
};

/* Creates an optimizer for w, whose device, if any, must outlive it. NULL on error. */
struct optim *optim_create(const struct optim_config *config, const struct weights *w,
                           struct err *e);
void optim_destroy(struct optim *o);

/* Sets *u to a step on a device, for network_step.update: adding the penalties of the weights,
 * clipping the norm of the gradients to `clip` (0: no clipping), and the update. The step is
 * counted as taken. */
void optim_plan(struct optim *o, struct weights *w, double lr, double clip,
                struct device_update *u);

/* With a device, copy slots and scaling from it, and to it, as weights_pull and weights_push. */
int optim_pull(struct optim *o, struct err *e);
int optim_push(struct optim *o, struct err *e);

/* With a scaled loss the device may have skipped planned steps. Called when all planned steps are
 * complete; sets o->scaled, and o->steps and o->rate to those that were taken. */
int optim_settle(struct optim *o, struct err *e);

/* Takes the same step on the host; w->grad may be changed. The result does not depend on the number
 * of threads or ranks. */
void optim_step(struct optim *o, struct weights *w, double lr, double clip);
