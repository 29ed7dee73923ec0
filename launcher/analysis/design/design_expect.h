/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates sequential designs (design.h) on assumed times, noise and scatter: what they cost, and,
 * where the truth is known, how often they are right. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_DESIGN_DESIGN_EXPECT_H
#define UNETCTL_LAUNCHER_ANALYSIS_DESIGN_DESIGN_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/analysis/design/design.h"

struct design_truth {
    double (*time)(const void *arg, int gpus); /* seconds of a steady epoch */
    const void *arg;                           /* of time and loss */
    long epochs;         /* of a whole run */
    double noise;        /* relative standard deviation of a run's times */
    int nodes, per_node; /* of the cluster: runs begin on a random node; 0: all nodes are alike */
    double slow;         /* relative: a run that has the first node takes longer by this */
    double scatter;      /* standard deviation of a run's quality, in margins */
    double scatter_seed; /* the same of a term that runs of equal seeds share */
    double (*loss)(const void *arg, int gpus); /* margins by which quality is lower; NULL: none */
};

/* Adds a run to table: with a quality of 1, less what falls, where a margin counts as
 * DESIGN_EXPECT_MARGIN. study: the number of the random draws. */
#define DESIGN_EXPECT_MARGIN 0.01
int design_expect_run(const struct design_truth *t, const struct design *d, int gpus, long seed,
                      bool limited, uint64_t study, struct results *table, struct err *e);

/* Makes a whole study. Its verdict has the GPU-hours. Returns the number of rounds, or -1 if memory
 * ran out. */
int design_expect_study(const struct design_truth *t, const struct design *d, uint64_t study,
                        struct design_verdict *verdict, struct err *e);

struct design_cost {
    double median, most; /* GPU-hours, without the limit; 90 % of studies take at most the second */
    double decided;      /* share of the studies that decide within max_gpu_hours */
    double rounds;       /* median */
};

/* Simulates studies with d->whole_s or, if that is 0, a whole run of 1 s (so hours are multiples of
 * its own): serial parts of 0 to 5 % of the time, noise DECISION_TIME_SCATTER, and unchanged
 * quality, whose pairs of seeds scatter by a margin. Returns 0, or -1 if memory ran out. */
#define DESIGN_EXPECT_STUDIES 60
int design_expect(const struct design *d, struct design_cost *dst, struct err *e);

#endif
