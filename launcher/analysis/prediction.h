/* SPDX-License-Identifier: BSD-3-Clause */
/* What numbers of GPUs that were not measured would give, from the measured step of the smallest
 * number, the bytes of the gradients and published figures of the links between GPUs.
 *
 *   step(N) = compute (1 + jitter sqrt(2 ln N)) + exposed communication
 *   within a node of g GPUs   2 (g - 1) / g M / bandwidth + messages x latency
 *   between P nodes           2 (P - 1) / P M / bandwidth + messages x latency
 *   each sum of batch norm    2 log2 g x latency + 2 log2 P x latency, never hidden
 *
 * of M bytes: reduce-scatter and all-gather, the least that any all-reduce moves. Three cases:
 *
 *               bandwidth   messages per slice       slices   hidden behind backward
 *   low         published   2 log2 (a tree)          1        2/3 of the step, not the last slice
 *   expected    80 %        2 log2                   1        nothing
 *   high        50 %        2 (n - 1) (a ring)       M / 1 MiB   nothing
 *
 * sqrt(2 ln N) standard deviations is about where the largest of N normal values lies: all wait for
 * the slowest. The jitter is taken from the measured numbers of GPUs, where there are several: what
 * their steps take beyond compute and communication (half the least, median, twice the largest),
 * else assumed (0, 1 %, 3 %). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_PREDICTION_H
#define UNETCTL_LAUNCHER_ANALYSIS_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/series.h"
#include "src/err.h"

/* A link between GPUs, with published figures. */
struct prediction_link {
    char name[24];
    double bytes_per_s; /* in each direction, of one GPU (within a node) or one node's adapter */
    double latency_s;   /* of a message, including the software's */
    const char *what;
};

/* text: "nvlink2", or GB/s:us, such as 12.5:5. ERR_USAGE with the known names. */
int prediction_link_decode(const char *text, struct prediction_link *dst, struct err *e);

struct prediction_network {
    struct prediction_link within, between;
    int gpus_per_node;       /* 0: as in the series */
    double parameters;       /* elements of the gradient; 0: as in the series */
    int sums;                /* of synchronised batch norm in a step */
};

struct bounds {
    double low, expected, high;
};

struct prediction_point {
    int gpus, nodes;
    struct bounds step_s, comm_s, epoch_s, speedup, efficiency; /* comm_s: before any is hidden */
    double measured_epoch_s; /* NaN: it was not */
    bool extrapolated;       /* more than twice the largest measured number */
};

struct prediction {
    int base, largest;       /* smallest and largest measured number */
    int gpus_per_node;
    double bytes;            /* of a gradient, M */
    double step_s, images, batch; /* of the base: measured step; of its epoch, of its step */
    struct bounds jitter;
    size_t njitter;          /* measured numbers that it was taken from; 0: assumed */
    struct prediction_point *points; /* as asked for */
    size_t npoints;
};

/* ERR_STATS: the series does not know images, batch, parameters or nodes, or has no steady epoch;
 * the text names the option that supplies it. */
int prediction_compute(struct prediction *p, const struct series *s,
                       const struct prediction_network *network, const int *gpus, size_t n,
                       struct err *e);
void prediction_destroy(struct prediction *p);

#endif
