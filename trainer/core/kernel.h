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

/* The arguments of one run of a graph, besides its tensors. */
struct exec {
    struct device *device; /* where the tensors are; NULL: in the host's memory */
    const struct device_ops *device_ops; /* the device's; NULL on the host */
    double grad_scale;  /* factor of a pixel's loss in the gradients: 1 / the sum of the class
                         * weights of the pixels of the global batch */
    /* Whether grad_scale and loss_per_weight are only the numerators: the device then divides both
     * by the sum of loss_divisor over the replicas, before the loss. */
    bool divides_loss;
    double loss_divisor; /* the sum of the class weights of this replica's pixels */
    double image_scale; /* factor of an image's loss (Dice) in the gradients: 1 / the images of the
                         * global batch */
    double loss_per_weight, loss_per_image; /* factors in loss_sum of the pixels' weighted losses,
                                             * and of the images' losses */
    uint64_t noise, first; /* dropout: seed; index of the batch's first image in the epoch */
    const struct device_update *update; /* applied by the device after the gradients, or NULL */
    struct device_counts counts;    /* on a device */
    struct device_scaling *scaling; /* of the loss on a device, or NULL */
    float votes[2];     /* this replica's part of device_sums.votes */
    double loss_sum;    /* out: on the host the loss ops add to it */
    bool empty; /* this replica has no image in this step: it adds zeros to sums over replicas */
    /* Sums over replicas, see network_sum_f; for ops with attr.sync. On a device it queues a sum of
     * values in the device's memory. NULL: there is one replica. */
    int (*sum)(void *arg, double *values, size_t n, struct err *e);
    void *sum_arg;
    bool kept; /* graph_run does not call the ops' begin, as what they keep is valid */
};

/* Types of an op's tensors: floats only, some of 16 bits, or either. */
enum kernel_types { KERNEL_FLOATS, KERNEL_HALVES, KERNEL_ANY };

struct kernel {
    const struct op_kind *kind;
    /* (optional) Returns whether the kernel supports the shapes and attributes of an op whose kind
     * and types are right. */
    bool (*supports)(const struct op *op);
    /* (optional) May allocate op->priv and set op->workspace_size, op->inplace, op->begin and
     * op->kept_size. On failure nothing stays allocated. */
    int (*prepare)(struct op *op, struct err *e);
    /* Reads op->in[]->data and writes op->out[]->data. The addresses may change between runs. On
     * the host it allocates nothing. Uses as many OpenMP threads as the calling thread has, or as
     * the thread had that prepared the op. */
    int (*run)(struct op *op, struct exec *x, struct err *e);
    void (*release)(struct op *op); /* (optional) frees what prepare has allocated */
    enum kernel_types types;
};

#endif
