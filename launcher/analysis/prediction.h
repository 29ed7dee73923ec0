/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicts what numbers of GPUs, measured or not, would give: from two measured counts or more by
 * the model of time (model.h), to which the links between GPUs are known; from one count by
 * scenarios.
 *
 *   within a node of g GPUs   2 (g - 1) / g M / bandwidth + messages x latency
 *   between P nodes           2 (P - 1) / P M / bandwidth + messages x latency
 *   each sum of batch norm    2 log2 g x latency + 2 log2 P x latency, never hidden
 *
 * for gradients of M bytes; each log2 is rounded up. The factors are those of a reduce-scatter
 * and an all-gather, the least that any all-reduce transfers. compute, which hides a part, is
 * the measured step of the base case without its own exposed communication, but at least half
 * that step; strong scaling divides it. There are three cases, which the model takes to be
 * equally probable:
 *
 *               bandwidth   messages per slice       slices   hidden behind the backward pass
 *   low         100 %       2 log2 (a tree)          1        2/3 of compute, not the last MiB
 *   expected    80 %        2 log2                   1        nothing
 *   high        50 %        2 (n - 1) (a ring)       M / 1 MiB   nothing
 *
 * The scenarios are these cases with a serial part of 0, 2 and 5 % of the measured epoch, and with
 * GPUs that wait for the slowest: sqrt(2 ln N) standard deviations of 0, 1 and 3 % of a step. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_PREDICTION_H
#define UNETCTL_LAUNCHER_ANALYSIS_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/model/model.h"
#include "launcher/analysis/series.h"
#include "src/err.h"

/* A link between GPUs, with published or measured figures. */
struct prediction_link {
    char name[24];
    /* per direction: of one GPU within a node, or of one node's network adapter */
    double bytes_per_s;
    double latency_s;   /* of a message, including the software's part */
    const char *what;
};

/* Decodes the name of a link, such as "nvlink2", or GB/s:microseconds, such as 12.5:5. Returns
 * 0, or -1 with ERR_USAGE that lists the names. */
int prediction_link_decode(const char *text, struct prediction_link *dst, struct err *e);

struct prediction_network {
    struct prediction_link within, between;
    int gpus_per_node;       /* 0: that of the series */
    double parameters;       /* number of elements of the gradient; 0: that of the series */
    int sums;                /* sums of synchronised batch norm per step */
};

struct prediction_point {
    int gpus, nodes;
    /* step_s and comm_s are of one step; comm_s includes communication that is hidden */
    struct bounds step_s, comm_s, epoch_s, speedup, efficiency; /* comm_s: the cases */
    double measured_epoch_s; /* NaN if it was not measured */
    bool extrapolated;       /* more than twice the largest measured number */
};

struct prediction {
    int base, largest;       /* the smallest and the largest measured number */
    int gpus_per_node;
    double bytes;            /* size of a gradient, M */
    /* of the base case: measured time of a step, images of an epoch and of a step */
    double step_s, images, batch;
    const char *unit, *interval; /* what images and epochs are called in the series */
    /* One number was measured: bounds are the scenarios, and the model is not fitted. */
    bool scenarios;
    struct model model;
    struct prediction_point *points; /* in the order of gpus */
    size_t npoints;
};

/* Fits the model to the steady epochs of a series, scaled to the images of the base case if all are
 * known, or to its whole runs, which are not used if the work differs. No links are known. Returns
 * as model_fit. */
int prediction_fit(struct model *m, const struct series *s, enum quantity q, struct err *e);

/* Computes the prediction for gpus[0..n). Returns 0, or -1: memory ran out, or, with ERR_STATS,
 * images, batch, parameters or nodes of the series are unknown, it has no steady epoch, or the
 * model misfits. The text names the option that supplies a missing value. */
int prediction_compute(struct prediction *p, const struct series *s,
                       const struct prediction_network *network, const int *gpus, size_t n,
                       struct err *e);
void prediction_destroy(struct prediction *p);

#endif
