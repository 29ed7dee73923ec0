/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicts what numbers of GPUs, measured or not, would give, from the measured step of the
 * smallest number, the size of the gradients, and published figures of the links between GPUs.
 *
 *   step(N) = compute (1 + jitter (s(N) - s(base))) + exposed communication
 *   s(n) = sqrt(2 ln n); base is the smallest measured number, whose step has its own jitter
 *   within a node of g GPUs   2 (g - 1) / g M / bandwidth + messages x latency
 *   between P nodes           2 (P - 1) / P M / bandwidth + messages x latency
 *   each sum of batch norm    2 log2 g x latency + 2 log2 P x latency, never hidden
 *
 * for gradients of M bytes; each log2 is rounded up. compute is the measured step without its own
 * exposed communication, but at least half that step; strong scaling multiplies it by base / N. The
 * factors are those of a reduce-scatter and an all-gather, the least that any all-reduce transfers.
 * There are three cases:
 *
 *               bandwidth   messages per slice       slices   hidden behind the backward pass
 *   low         published   2 log2 (a tree)          1        2/3 of compute, not the last MiB
 *   expected    80 %        2 log2                   1        nothing
 *   high        50 %        2 (n - 1) (a ring)       M / 1 MiB   nothing
 *
 * All GPUs wait for the slowest, and the largest of N normal values is expected about sqrt(2 ln N)
 * standard deviations above the mean. If several numbers of GPUs were measured, the jitter is what
 * their steps take beyond computation and communication (half of the smallest, the median, twice
 * the largest); otherwise it is assumed to be 0, 1 % and 3 %. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_PREDICTION_H
#define UNETCTL_LAUNCHER_ANALYSIS_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/series.h"
#include "src/err.h"

/* A link between GPUs, with published figures. */
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

/* Of times, low is the case "low" above; of speed-up and efficiency, it is the case "high". */
struct bounds {
    double low, expected, high;
};

struct prediction_point {
    int gpus, nodes;
    /* step_s and comm_s are of one step; comm_s includes communication that is hidden */
    struct bounds step_s, comm_s, epoch_s, speedup, efficiency;
    double measured_epoch_s; /* NaN if it was not measured */
    bool extrapolated;       /* more than twice the largest measured number */
};

struct prediction {
    int base, largest;       /* the smallest and the largest measured number */
    int gpus_per_node;
    double bytes;            /* size of a gradient, M */
    /* of the base case: measured time of a step, images of an epoch and of a step */
    double step_s, images, batch;
    struct bounds jitter;
    /* how many measured numbers the jitter is taken from; 0: it is assumed */
    size_t njitter;
    struct prediction_point *points; /* in the order of gpus */
    size_t npoints;
};

/* Computes the prediction for gpus[0..n). Returns 0, or -1: memory ran out, or, with ERR_STATS,
 * images, batch, parameters or nodes of the series are unknown, or it has no steady epoch. The text
 * names the option that supplies the missing value. */
int prediction_compute(struct prediction *p, const struct series *s,
                       const struct prediction_network *network, const int *gpus, size_t n,
                       struct err *e);
void prediction_destroy(struct prediction *p);

#endif
