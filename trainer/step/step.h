/* SPDX-License-Identifier: BSD-3-Clause */
/* One training step of a replica: load its images, forward and backward, sum the gradients over the
 * replicas (while backward, of the last of several batches, runs, if the communicator can), update.
 *
 * run/session.c calls step_train for every step. The step is computed on the host, or queued as a
 * whole on a device, whose communicator has queue_sum if there are several replicas; step.c has
 * what both kinds share, and step_internal.h the interface of a kind. The network, optimizer,
 * communicator and loader belong to the caller. Every replica takes the same steps in the same
 * order, also those in which it has no images. After an error only step_wait and step_destroy may
 * be called.
 *
 * To read: this file, step.c, step_host.c, step_device.c. */
#pragma once

#include "trainer/comm/comm.h"
#include "trainer/data/set/loader.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"

/* The noise of gradients, from norms that a step of several batches has anyway (McCandlish, Kaplan,
 * Amodei, arXiv 1812.06162, appendix A.1). With G the true gradient and Sigma the covariance of an
 * image's gradient, the mean gradient over b images has the expectation
 *     E |g_b|^2 = |G|^2 + tr(Sigma) / b.
 * A step of B images in batches of b_i (one per replica, or per replica and train.accumulate) gives
 *     E (sum_i b_i / B |g_i|^2) = |G|^2 + tr(Sigma) K / B   with K batches that are not empty,
 *     E |g|^2                   = |G|^2 + tr(Sigma) / B     of their sum,
 * so means over steps belong to batches of steps / sum(K / B) and steps / sum(1 / B) images, for
 * steps of any sizes. */

/* Sums over steps. The caller sums those of shares over the replicas; global is equal on all. */
struct gradient_noise {
    struct {
        double square, inverse_batch;
    } shares, global;
    double steps;
};

/* Means over steps: squared norms of the gradients of a batch and of a step, and the harmonic means
 * of their sizes in images. All are 0 without steps or without batches. */
struct gradient_norms {
    double sq_local, batch_local, sq_global, batch_global;
};

/* Returns the squared norm, with the same bits for the same values. */
double gradient_noise_square(const float *grad, size_t n);

/* Adds a batch of this replica: `images` of the `items` images of the step, and the squared norm of
 * its contribution to the gradient (the sum over its images, divided by items). */
void gradient_noise_add_batch(struct gradient_noise *g, double square, size_t images, size_t items);

/* Adds a step of so many images: the squared norm of its gradient. */
void gradient_noise_add_step(struct gradient_noise *g, double square, size_t items);

struct gradient_norms gradient_noise_norms(const struct gradient_noise *g);

/* The timeline of a replica: the file trace-RANK.json in the run's folder, in the Trace Event
 * Format of chrome://tracing and Perfetto, which can open the files of several ranks together. The
 * file is valid JSON after every write. */

struct trace;

/* Rows of the timeline. */
enum trace_row { TRACE_STEPS, TRACE_GRADIENTS, TRACE_BATCH_NORM };

/* Replaces an earlier file of that name. NULL on error: ERR_CONFIG if the file cannot be
 * created. */
struct trace *trace_open(const char *dir, int rank, const char *host, struct err *e);
void trace_close(struct trace *t); /* NULL is fine */

/* Adds an event from begin to end, times of clock_now(). name must not need escaping in JSON. t may
 * be NULL. If the file cannot be written, the trace ends with a warning. */
void trace_span(struct trace *t, enum trace_row row, const char *name, double begin, double end);

/* Votes are summed over the replicas in each step: to leave, or to write a checkpoint. */
enum step_vote { STEP_LEAVE, STEP_CHECKPOINT, STEP_VOTES };

/* All pointers must outlive the step. */
struct step_config {
    struct network *network;
    const struct network_config *network_config;
    struct optim *optim;
    struct comm *comm;
    struct trace *trace; /* may be NULL */
    uint64_t seed;
    int accumulate;      /* batches per step, whose gradients are summed */
    bool ignores;        /* the loss ignores some pixels */
    double clip_norm;    /* 0: none */
    size_t bucket; /* gradients are summed in buckets of so many elements, each as soon as backward
                    * has completed it or later (comm.h); a multiple of 16; the same on every
                    * rank */
};

struct step_work {
    struct loader *loader;    /* positioned at this step */
    int epoch;
    struct shard_range range; /* this replica's images */
    size_t items;             /* of all replicas */
    double rate;
    float votes[STEP_VOTES];
};

/* Sums over the steps of an epoch on this replica. */
struct step_totals {
    double loss; /* sum over pixels */
    double data_s, compute_s, comm_s; /* seconds */
};

/* What the step gathers from step_begin_epoch on. */
struct step_epoch {
    struct gradient_noise noise; /* shares: of this replica */
    int64_t *score; /* of the training images (metric/metric.h), by a device; else NULL */
};

struct step;

/* Collective. Before the network's first run, as it moves the gradients to where sums cost
 * least. */
struct step *step_create(const struct step_config *config, struct err *e);

/* NULL is fine. Called after network_stop and before network_destroy. */
void step_destroy(struct step *s);

/* Resets and returns the sums of the epoch, which belong to s; NULL on error. Collective. */
struct step_epoch *step_begin_epoch(struct step *s, struct err *e);

/* Trains a step; collective. On a device it may return before the step is complete; step_wait waits
 * for all steps and adds the rest of their losses to t. */
int step_train(struct step *s, const struct step_work *w, struct step_totals *t, struct err *e);
int step_wait(struct step *s, struct step_totals *t, struct err *e);

/* Returns [STEP_VOTES], the sums of the votes of the latest step that is complete on every replica;
 * on a device they are DEVICE_SLOTS steps old. step_drop_votes sets the votes of all complete steps
 * to 0. */
const float *step_votes(const struct step *s);
void step_drop_votes(struct step *s);

/* All replicas use the kernels that are fastest on rank 0. Different kernels would round the
 * gradient of an image differently on each replica. */

/* Collective. Chooses kernels on rank 0 and broadcasts the choice, for the batch sizes that occur:
 * those of the plan's steps, each divided into `parts` batches, at most 16 different ones, and 1
 * for validation. Does nothing without a device or with one replica. */
int kernel_choice_share(struct network *n, struct comm *c, const struct shard_plan *plan, int parts,
                        struct err *e);
