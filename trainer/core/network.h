/* SPDX-License-Identifier: BSD-3-Clause */
/* What a training session sees of a network: compiled graphs behind one small interface.
 *
 * A network holds the weights of one replica and one compiled graph per (mode, batch size), built
 * on first use and kept; graphs share one activation arena. After the first run with a given
 * (mode, batch) a run allocates nothing. Not thread-safe: one replica, one thread (kernels may use
 * OpenMP threads inside). */
#ifndef UNETCTL_TRAINER_CORE_NETWORK_H
#define UNETCTL_TRAINER_CORE_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "src/err.h"
#include "trainer/core/device.h"
#include "trainer/core/dtype.h"
#include "trainer/core/weights.h"

enum batch_norm_mode { BATCH_NORM_NONE, BATCH_NORM_LOCAL, BATCH_NORM_SYNC };

/* Cross entropy, binary for one class; 1 - soft Dice of each image; their sum. */
enum loss { LOSS_CE, LOSS_DICE, LOSS_CE_DICE };

struct network_config {
    const char *model;   /* what model_open takes (model.h) */
    const char *backend; /* "simd", "ref" or "cuda" */
    enum dtype dtype;    /* of activations and their gradients (precision.h) */
    bool tf32;           /* "tf32" there; of a backend that has a device */
    bool deterministic;  /* a device gives the same bits every time */
    int base, depth;     /* 0: as the model has them */
    int channels;
    int classes;         /* logits per target; 0 is 1: foreground against background */
    int height, width;   /* unet: multiples of 2^depth */
    enum loss loss;
    const float *class_weights; /* of CE, one per class, two for one class; NULL: 1. Copied. */
    enum batch_norm_mode batch_norm;
    int threads;         /* >= 1 */
    int device;          /* of a backend that has one: the replica's number on its node */
    uint64_t seed;       /* of the initial weights: a pure function of it */
};

struct network;
struct profile_peak;

/* In-place sum over all replicas of n doubles: what synchronised batch norm needs. Collective:
 * every replica calls it the same number of times in the same order. */
typedef int (*network_sum_f)(void *arg, double *values, size_t n, struct err *e);

/* grad[0..upto) is final on this replica: it may be all-reduced while backward goes on. Called
 * with increasing upto; the last call has upto == nparams. */
typedef int (*network_ready_f)(void *arg, size_t upto, struct err *e);

/* Refuses (ERR_CONFIG) sizes that are not multiples of 2^depth, unknown models and backends. */
struct network *network_create(const struct network_config *config, struct err *e);
void network_destroy(struct network *n);

/* Until its device has nothing more to do: before memory is freed that an update may still use. NULL is
 * fine. */
void network_stop(struct network *n);

struct weights *network_weights(struct network *n); /* lives as long as the network */
const char *network_backend(const struct network *n); /* what "auto" became */
uint64_t network_device(const struct network *n); /* which device in the world; 0: none */

/* Targets of an image, "pixels" below: height * width; 1 for a model that gives an image one class
 * as a whole. */
size_t network_targets(const struct network *n);

void network_set_sum(struct network *n, network_sum_f sum, void *arg);

/* Replicas whose devices are connected: nothing of a step needs the host. sum takes the numbers in
 * the device's memory and queues their sum there. done is called with what each training run left
 * (network_step.votes among it), in their order, whenever one was waited for: at the latest when
 * DEVICE_SLOTS more are queued. watch as in device.h. network_train then calls ready while it queues
 * a run, with gradients that will be final at that point of the queue; not for later runs with the
 * same batch that have an update, or have none, as it had: they repeat what was queued. */
struct network_link {
    network_sum_f sum;    /* NULL: there is no other replica */
    device_watch_f watch; /* NULL: nobody */
    void (*done)(void *arg, const struct device_sums *sums);
    void *arg;
};

/* Of a network with a device. */
void network_set_link(struct network *n, const struct network_link *link);
const struct device_ops *network_device_ops(const struct network *n, struct device **device);

/* Input of the next run with this batch: [batch][height][width][channels], 0..1, NHWC.
 * Target: [batch][network_targets]: 0..1 for one class, else the number of the class; below 0 where
 * a pixel does not count. Valid until the next call with another batch or mode. */
float *network_input(struct network *n, bool training, int batch, struct err *e);
float *network_target(struct network *n, bool training, int batch, struct err *e);

/* The class weights of the pixels that count, summed over the targets of the next training run.
 * Without class weights that is their number. */
int network_weigh(struct network *n, int batch, double *weight, struct err *e);

/* The whole step, over all replicas. */
struct network_step {
    double images;
    double weight; /* sum of network_weigh */
    bool own_weight; /* weight is this replica's: that of linked ones is summed by their devices */
    uint64_t noise; /* seed of what is random in the epoch (dropout) */
    uint64_t first; /* place of this batch's first image in the epoch: what is dropped of an image
                     * depends on its place, not on the replica */
    /* On a device: behind the gradients, and their sums between linked replicas; NULL: none. */
    const struct device_update *update;
    struct device_scaling *scaling; /* of the loss, on a device; NULL: none */
    int64_t *score; /* on a device, counted in the pass of the loss (struct device_counts); NULL */
    float votes[2]; /* of replicas that are linked: to their device, and back to done */
};

/* One forward and backward pass over `batch` images. Gradients are of the step's loss,
 *     sum of cross entropies / weight + sum of the images' Dice losses / images
 * (the terms that config.loss names), so that a plain sum over replicas gives the gradient of the
 * whole. Adds this replica's share of that loss times the pixels of the whole step to *loss_sum.
 * batch 0: no images here in this step; gradients become zero. Batch norm normalises with the statistics of this batch (of all
 * replicas' batches with BATCH_NORM_SYNC) and updates the running ones. */
int network_train(struct network *n, int batch, struct network_step step, double *loss_sum,
                  network_ready_f ready, void *arg, struct err *e);

/* On a device network_train may return while the step is still computed, and leave its loss to a
 * later call. Until it is done, and its loss added to *loss_sum; before the host touches weights or
 * gradients, after steps that were trained with ready NULL and after an update on the device. */
int network_wait(struct network *n, double *loss_sum, struct err *e);

/* Kernels choose how they do a training's step, or an image's evaluation, now and not in its first run:
 * on whatever is in memory. Of a network with a device. */
int network_choose(struct network *n, bool training, int batch, struct err *e);

/* Is there memory for training with this batch, and for so many bytes of each image beside the
 * network, where so many networks share the host's memory? Nothing is reserved. ERR_CONFIG with the
 * reason and the batch that fits. */
int network_check_room(const struct network *n, int batch, size_t beside, int sharers,
                       struct err *e);

/* An update by itself, queued: where the host has summed the gradients. Of a network with a device. */
int network_update(struct network *n, const struct device_update *update, struct err *e);

/* Forward with running statistics. *logits: [batch][network_targets][classes], valid until the next
 * run. */
int network_infer(struct network *n, int batch, const float **logits, struct err *e);

/* The same of a network with a device, of which only the losses and what the logits say of the targets
 * are kept, in one pass over both. Queued: after network_wait it was added to counts. Input and target
 * are those without training. */
int network_measure(struct network *n, int batch, struct device_counts counts, struct err *e);

/* Hash over ops, shapes and the offsets of the parameters for a batch of one image: equal on
 * every rank of a run, whatever its backend and its batches are. */
uint64_t network_plan_hash(const struct network *n);

/* Memory plan of every graph compiled so far: ops, kernels, bytes. */
void network_print_plan(const struct network *n, FILE *out);

/* What the plan counts of a run with this batch, without the optimizer's step: multiplications and
 * additions of convolutions, bytes of every op's inputs and outputs. */
int network_count(struct network *n, bool training, int batch, double *flop, double *bytes,
                  struct err *e);

/* From now on runs of the graphs compiled so far take the time of each op (on a device one after the
 * other, each waited for); and what they took on average (profile.h). */
void network_time_ops(struct network *n);
void network_print_times(const struct network *n, const struct profile_peak *peak, FILE *out);

#endif
