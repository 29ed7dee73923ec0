/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares a kernel with the reference before it is used: both compute a small version of an op,
 * on made-up numbers, in memory of their own with guards around each tensor. */
#ifndef UNETCTL_TRAINER_BACKENDS_TRIAL_TRIAL_H
#define UNETCTL_TRAINER_BACKENDS_TRIAL_TRIAL_H

#include "trainer/core/kernel.h"

#define TRIAL_TENSORS (OP_MAX_IN + OP_MAX_OUT) /* inputs, then outputs */

/* A small version of an op. Problems whose bytes are equal are the same problem. */
struct trial_problem {
    const struct kernel *kernel; /* what is tried */
    const struct op_kind *kind;
    int side, stride;
    unsigned form; /* enum op_form */
    enum dtype types[TRIAL_TENSORS];
    struct shape shapes[TRIAL_TENSORS]; /* ndim is 0 where the op has no tensor */
};

/* The size of a small version: the smallest activation has this height and width, the others keep
 * their ratio to it, rounded to a whole number. channels: at most, of each tensor; 0: no limit. */
struct trial_size {
    bool (*is_activation)(const struct tensor *t);
    int64_t height, width, channels;
};

/* How results are compared, and where the kernel runs. */
struct trial_rule {
    /* Largest difference from the reference's number, relative to its absolute value plus the mean
     * of all absolute values. */
    double tolerance;
    const struct device_ops *ops;
    struct device *device; /* NULL: on the host. The device's queue must be empty. */
};

/* Replaces, in the host's memory, partial sums of the op's moments and sums (tensor.nparts) by their
 * values. -1: out of memory. */
int trial_add_parts(const struct op *op);

/* Returns tensor i of an op, inputs before outputs, or NULL if it has none. */
const struct tensor *trial_tensor(const struct op *op, int i);

/* Returns whether one of the op's weights has so many pairs of channels that the reference takes
 * long. */
bool trial_has_many_channels(const struct op *op, bool (*is_activation)(const struct tensor *t));

/* Sets *p to a small version of op that has this size, on which the kernel is tried. */
void trial_describe(struct trial_problem *p, const struct kernel *kernel, const struct op *op,
                    const struct trial_size *size);

/* Runs the kernel (prepare, run and release; the first and the last may be NULL) and the reference.
 * Returns NULL if the kernel's results are right. Otherwise returns what is wrong as words behind
 * "the kernel ...", and in why->text more about it or "". Also returns NULL, with *tried false, if
 * the problem cannot be tried: its shapes do not fit together in that size, the reference cannot do
 * it, or there is no memory for its tensors. */
const char *trial_find_fault(const struct trial_problem *p, const struct trial_rule *rule,
                             const struct kernel *kernel, const struct op *op, bool *tried,
                             struct err *why);

#endif
