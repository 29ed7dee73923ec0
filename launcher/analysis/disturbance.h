/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the times of a series depend on when and where its runs were executed: a drift over the
 * study, and a node that is slower than the others.
 *
 * Both are tested on the residuals r of the steady epoch's logarithm from its mean over the runs of
 * the same count, so that no model of scaling is assumed. With x the covariate less its mean over
 * the runs of the same count, the estimate is exp(sum r x / sum x^2). p-values are those of a
 * permutation test within counts (Good, Permutation Tests, chapter 3), whose only assumption is
 * that the runs of a count are exchangeable if nothing disturbs them; over the nodes the largest
 * statistic is compared (Westfall and Young 1993), so that p holds for all nodes together. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_DISTURBANCE_H
#define UNETCTL_LAUNCHER_ANALYSIS_DISTURBANCE_H

#include <stdbool.h>

#include "launcher/analysis/series.h"

#define DISTURBANCE_ALPHA 0.01 /* a larger p is not reported */
#define DISTURBANCE_EFFECT 0.01 /* nor is a smaller relative change */

struct disturbance {
    /* T of the last start over T of the first; the covariate is the rank of the start, 0 to 1 */
    double drift, drift_p;
    /* T of runs on the node that slows down the most, over T of the others */
    double slow, slow_p;
    char node[128]; /* its name */
    size_t on_node; /* runs on it */
};

/* Fills dst. Estimates and p-values are NaN where starts or hosts are unknown, or no count has runs
 * that differ in them. Returns 0, or -1 if memory ran out. */
int disturbance_compute(struct disturbance *dst, const struct series *s, struct err *e);

/* Returns whether the slow node is to be reported. */
bool disturbance_is_slow(const struct disturbance *d);

#endif
