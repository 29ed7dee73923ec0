/* SPDX-License-Identifier: BSD-3-Clause */
/* An op in memory of its own, on which a kernel is tried once before it is used. All of the memory
 * is marked first, so that what is written beside a result, or left out of it, shows. Memory is the
 * host's, or what host and device both reach (DEVICE_SHARED). */
#ifndef UNETCTL_TRAINER_BACKENDS_TRIAL_TRIAL_H
#define UNETCTL_TRAINER_BACKENDS_TRIAL_TRIAL_H

#include "trainer/core/kernel.h"

#define TRIAL_TENSORS (OP_MAX_IN + OP_MAX_OUT) /* inputs, and outputs behind OP_MAX_IN */

struct trial {
    struct op op;
    const struct device_ops *ops; /* with device */
    struct device *device;        /* NULL: on the host */
    struct err why;               /* trial_run was false: its reason */
    struct tensor tensors[TRIAL_TENSORS];
    char *blocks[TRIAL_TENSORS + 1]; /* guards and all; the last is the workspace */
    size_t nbytes[TRIAL_TENSORS + 1]; /* between the guards */
};

/* Tensor i of an op; NULL: it has none there. */
const struct tensor *trial_tensor(const struct op *op, int i);

/* Lines of the smallest of the op's activations, one at least; the others have as many, or a
 * multiple. */
int64_t trial_least_height(const struct op *op, bool (*is_activation)(const struct tensor *t));

/* Begins a trial of op without its tensors. trial_destroy frees, also after a failure. */
void trial_create(struct trial *t, const struct op *op);
void trial_destroy(struct trial *t);

/* Before tensors: on a device that has nothing to do, and outlives the trial. */
void trial_place(struct trial *t, const struct device_ops *ops, struct device *device);

/* Gives the trial's op tensor i, of that shape and type, with the same numbers for any type: an
 * input holds whole ones from -2 to 2, one of less than three dimensions, as biases and what norms
 * take, odd eighths from 5/8 to 11/8. false: no memory. */
bool trial_add(struct trial *t, int i, struct tensor like);

/* prepare, run, on a device until it is done, and release; the first and the last may be NULL.
 * false: one of them failed. */
bool trial_run(struct trial *t, const struct kernel *kernel);

/* Was nothing written beside the tensors and the workspace? */
bool trial_is_clean(const struct trial *t);

/* Were all results of floats written? */
bool trial_is_complete(const struct trial *t);

#endif
