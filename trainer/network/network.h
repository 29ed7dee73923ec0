/* SPDX-License-Identifier: BSD-3-Clause */
/* A network: the weights of one replica, and a compiled graph for each mode and batch size, which
 * is built on first use and kept. Graphs share one arena of activations.
 *
 * step/ trains with it, evaluate/ infers, and run/ and cmd/ create and inspect it. It knows models,
 * passes and backends, but neither samples nor other replicas: batches are written to its input,
 * and sums over replicas are callbacks. After the first run with a mode and batch size (on a device
 * the first two, and one more when the arena has moved), runs allocate nothing. A network is used
 * by one thread only (kernels may use OpenMP threads). Functions that return int return 0, or -1
 * with *e set.
 *
 * To read: this file and network.c, in which a run on the host is a call of graph_run; compiled.c
 * for the way from a model to a graph that can run; runner.c for runs on a device. */
#pragma once

#include "trainer/models/model.h"

/* The largest rates per second of a core, or of the device; 0: unknown. */
struct profile_peak {
    double flop, bytes;
    const char *of; /* "a core" */
};

struct network;

/* Sums n doubles over all replicas, in place, for synchronised batch norm and, on a device, for
 * network_step.sums_loss_divisor. Collective: every replica calls it the same number of times in
 * the same order. */
typedef int (*network_sum_f)(void *arg, double *values, size_t n, struct err *e);

/* Called when grad[0..upto) is final on this replica, so that it can be all-reduced while backward
 * continues. upto increases; in the last call it is nparams. */
typedef int (*network_ready_f)(void *arg, size_t upto, struct err *e);

/* Copies the configuration and sets the initial weights. NULL with ERR_CONFIG for an unknown model
 * or backend, or a configuration that it does not support; the caller destroys the result. */
struct network *network_create(const struct network_config *config, struct err *e);
void network_destroy(struct network *n);

/* Discards the captured runs, also those in flight, before their sums over replicas are aborted.
 * Nothing else of the network may be used or destroyed then, as its device may never be idle. n may
 * be NULL. */
void network_abandon(struct network *n);

/* Waits until the device is idle; called before memory is freed that an update may still use. n may
 * be NULL. */
void network_stop(struct network *n);

/* The weights live as long as the network. Call it again before each change of them, as inference
 * keeps what it has computed from them until then. */
struct weights *network_weights(struct network *n);
const char *network_backend(const struct network *n); /* its name */
uint64_t network_device(const struct network *n); /* device_ops.id; 0: no device */

/* Returns the number of targets of an image ("pixels" below): height * width, or 1 for
 * classification. */
size_t network_targets(const struct network *n);

/* For networks without a device. */
void network_set_sum(struct network *n, network_sum_f sum, void *arg);

/* How replicas with a device compute a step without the host.
 *
 * A run on a device is queued op by op, or it is captured once as a device graph and launched from
 * then on (runner.c). While network_train queues or captures a run, it calls its callback ready
 * first with 0, which means that a new run begins, and then with the number of gradients that are
 * final at that point of the queue; the callback queues their sums there. When it launches a graph
 * it does not call ready, as the graph contains the sums. When a capture fails, what was captured
 * is gone: network_train queues the run anew, and ready is called again, with 0 first.
 *
 * NCCL requires of each sum that all replicas queue it, that all capture it, or that all launch the
 * same graph. Therefore network_step.shares identifies a run's graph on all replicas, and all
 * capture and discard graphs in the same step. */
struct network_link {
    network_sum_f sum;    /* queues a sum of values in device memory; NULL: a single replica */
    device_watch_f watch; /* or NULL */
    /* Called with the results of each training run, such as network_step.votes, in order: once the
     * run has been waited for, at the latest when DEVICE_SLOTS more are queued. */
    void (*done)(void *arg, const struct device_sums *sums);
    void *arg;
    /* With sum: sets *value to the largest of all replicas, on the host; collective. NULL: sums are
     * not captured. */
    int (*largest)(void *arg, double *value, struct err *e);
    int rank; /* of this replica */
};

/* All replicas with devices call network_begin_epoch between steps and network_begin_step before
 * each, with network_step.shares of its runs; without largest they do nothing. */
int network_begin_epoch(struct network *n, struct err *e);
int network_begin_step(struct network *n, const uint64_t *shares, size_t nruns, struct err *e);

/* Both functions are for networks with a device. network_device_ops returns the functions and sets
 * *device. */
void network_set_link(struct network *n, const struct network_link *link);
const struct device_ops *network_device_ops(const struct network *n, struct device **device);

/* Makes the batch that of the next run in this mode, with batch->count images. On a device its
 * records are read while the run is in flight; network_await waits until at most one run is, and
 * for nothing on the host. */
int network_place(struct network *n, bool training, const struct record_batch *batch,
                  struct err *e);
int network_await(struct network *n, struct err *e);

/* Return the buffers of the next run with this batch size, to be filled instead of network_place;
 * valid until that run or a call with another batch size or mode; NULL on error. Input:
 * [batch][height][width][channels], 0..1. Target: [batch][network_targets], 0..1 for one class,
 * otherwise the class's index; a pixel with a target below 0 is ignored. On the host network_place
 * fills them. */
float *network_input(struct network *n, bool training, int batch, struct err *e);
float *network_target(struct network *n, bool training, int batch, struct err *e);

/* Returns the sum of the class weights over the targets of the batch that are not ignored; without
 * class weights, their number. */
double network_loss_divisor(const struct network *n, const struct record_batch *batch);

/* A step over all replicas. */
struct network_step {
    double images;
    uint64_t shares; /* with network_link.sum: a number for the batches of all replicas in this run,
                      * equal on each, different for other batches, and not 0 */
    double loss_divisor; /* sum of network_loss_divisor */
    bool sums_loss_divisor; /* on a device: loss_divisor is this replica's; the devices sum it */
    uint64_t noise; /* seed of dropout in this epoch */
    uint64_t first; /* index of this batch's first image in the epoch: dropout depends on it, not on
                     * the replica */
    /* On a device: the update after the gradients and their sums over replicas, or NULL. */
    const struct device_update *update;
    struct device_scaling *scaling; /* on a device: loss scaling, or NULL */
    int64_t *score; /* on a device: struct device_counts.score, or NULL */
    float votes[2]; /* on a device: summed over replicas and passed to network_link.done */
};

/* Runs one forward and backward pass over `batch` images. The gradients are those of the step's
 * loss,
 *     sum of cross entropies / loss_divisor + sum of the images' Dice losses / images
 * (the terms that config.loss names), so that a plain sum over replicas gives the gradient of
 * the step. Adds this replica's share of that loss times the pixels of the whole step to
 * *loss_sum. batch 0: this replica has no images in this step, and its gradients are zero. Batch
 * norm uses the statistics of this batch (with BATCH_NORM_SYNC of all replicas' batches) and
 * updates the running ones. */
int network_train(struct network *n, int batch, struct network_step step, double *loss_sum,
                  network_ready_f ready, void *arg, struct err *e);

/* On a device network_train may return before the step is complete, and add its loss in a later
 * call. Waits for all steps and adds their losses to *loss_sum, which is required before the host
 * accesses weights or gradients. */
int network_wait(struct network *n, double *loss_sum, struct err *e);

/* Makes the kernels of a training step, or of an evaluation, choose their algorithms now instead
 * of in the first run. For networks with a device. */
int network_choose(struct network *n, bool training, int batch, struct err *e);

/* Checks that memory suffices for training with this batch: the host's, shared by `sharers`
 * networks, with `beside` more bytes per image, or the device's for activations alone. Reserves
 * nothing. ERR_CONFIG with the reason and the largest batch that fits, if one does. */
int network_check_room(const struct network *n, int batch, size_t beside, int sharers,
                       struct err *e);

/* Runs the network with the running statistics. *logits: [batch][network_targets][classes], valid
 * until the next run or a call with another batch size or mode. */
int network_infer(struct network *n, int batch, const float **logits, struct err *e);

/* Queues an inference on a device that only adds to counts, complete after network_wait. Input and
 * target are those of mode training = false. */
int network_measure(struct network *n, int batch, struct device_counts counts, struct err *e);

/* Returns graph_hash. It is equal on every rank of a run, whatever its backend, batch and size of
 * images. */
uint64_t network_plan_hash(const struct network *n);

/* Counts the work of a run with this batch, without the optimizer: floating-point operations of
 * convolutions, and bytes of every op's inputs and outputs. */
int network_count(struct network *n, bool training, int batch, double *flop, double *bytes,
                  struct err *e);

/* Starts timing each op of the graphs compiled so far (on a device each op is waited for), and
 * prints for each graph one line per op, in order; then the peak, one line per kind, the one with
 * the longest time first, and one for all ops. The last column, if the peak is known, is the least
 * time that the peak allows for the operations and bytes, divided by the time taken; it exceeds
 * 100 % if the bytes came from a cache. */
void network_time_ops(struct network *n);
void network_print_times(const struct network *n, const struct profile_peak *peak, FILE *out);
