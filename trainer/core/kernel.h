/* SPDX-License-Identifier: BSD-3-Clause */
/* How a backend (backend.h) computes an op: prepared once when a graph is compiled, then run many
 * times. */
#ifndef UNETCTL_TRAINER_CORE_KERNEL_H
#define UNETCTL_TRAINER_CORE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"
#include "trainer/core/device.h"
#include "trainer/core/op.h"

/* What one run of a graph needs besides tensors. */
struct exec {
    struct device *device; /* where the tensors are; NULL: in the host's memory */
    const struct device_ops *device_ops; /* the device's, where its ops are timed; or NULL */
    double grad_scale;  /* factor of a pixel's loss in the gradients: 1 / the pixels of the global
                         * batch, times their class weights */
    bool weighs;        /* grad_scale and loss_per_weight are still to be divided by the sum of
                         * weight over replicas: on a device, in a queue, with sum */
    double weight;
    double image_scale; /* that of an image's loss: 1 / the images of the global batch */
    double loss_per_weight, loss_per_image; /* what a unit of either counts in loss_sum */
    uint64_t noise, first; /* seed of what is random; the number of the batch's first image */
    const struct device_update *update; /* what the device does with the gradients, or NULL */
    struct device_counts counts;     /* on a device */
    struct device_scaling *scaling; /* of gradients on a device; NULL: none */
    float votes[2];     /* device_sums.votes of this replica */
    double loss_sum;    /* out: the loss ops add to it */
    bool empty; /* this replica has no image of the step: its tensors must not reach a sum */
    /* Sum over replicas, see network_sum_f. Only for ops with attr.sync. */
    int (*sum)(void *arg, double *values, size_t n, struct err *e);
    void *sum_arg;
    bool queues; /* sum takes numbers in the device's memory, and queues their sum there */
};

/* Types of an op's tensors: floats only, some of 16 bits, or either. */
enum kernel_types { KERNEL_FLOATS, KERNEL_HALVES, KERNEL_ANY };

struct kernel {
    const struct op_kind *kind;
    /* (optional) Returns whether it can do this op, whose shapes and attributes are known. */
    bool (*supports)(const struct op *op);
    /* (optional) May allocate op->priv and ask for op->workspace_size bytes. On failure nothing
     * stays allocated. */
    int (*prepare)(struct op *op, struct err *e);
    /* Reads op->in[]->data, writes op->out[]->data (addresses may change between runs, never
     * within one). Allocates nothing. Uses the calling thread's OpenMP thread count. */
    int (*run)(struct op *op, struct exec *x, struct err *e);
    void (*release)(struct op *op); /* (optional) frees what prepare has allocated */
    unsigned may, must; /* forms (op.h) that an op may have, and those that it must have */
    enum kernel_types types;
};

#endif
