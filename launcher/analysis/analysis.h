/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes everything that a report shows, from one or several sources of results.
 *
 *   source (a study, a folder of logs) -> results -> series (one engine, settings, mode of scaling)
 *     -> models, advice, convergence, noise scale -> decision
 *   pairs of series -> differences; all of it -> the twelve rules
 *
 * It reads and writes no file. The same results give the same numbers: the random numbers have a
 * fixed seed. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_ANALYSIS_H
#define UNETCTL_LAUNCHER_ANALYSIS_ANALYSIS_H

#include <stddef.h>

#include "launcher/analysis/advice.h"
#include "launcher/analysis/compare.h"
#include "launcher/analysis/convergence.h"
#include "launcher/analysis/decision.h"
#include "launcher/analysis/model.h"
#include "launcher/analysis/noise_scale.h"
#include "launcher/analysis/rules.h"
#include "launcher/analysis/series.h"
#include "launcher/collect/results/results.h"
#include "src/err.h"

struct analysis_options {
    struct series_facts facts;
    double deadline_s;               /* 0: none */
    double score_target, loss_target; /* NaN: chosen (convergence.h) */
    const double *levels; /* qualities; of analysis_series.levels, ascending; none: the usual */
    size_t nlevels;
};
#define ANALYSIS_OPTIONS_INIT {.score_target = NAN, .loss_target = NAN}

/* A study, or a folder of logs. */
struct analysis_source {
    char title[128];        /* the study's name or the folder's */
    struct results results; /* sorted, with curves and scores */
};

struct analysis_series {
    struct series series;
    size_t source;                     /* index */
    struct model steady[MODEL_NLAWS];  /* of the steady epoch, corrected for images */
    struct model whole[MODEL_NLAWS];   /* of start-up + training + evaluation */
    const struct model *steady_choice, *whole_choice; /* into those; NULL: none could be fitted */
    struct advice advice;
    struct convergence convergence;
    struct convergence *levels; /* time to each of the qualities that some run reached */
    size_t nlevels;
    struct noise_scale noise;
    struct decision decision; /* only with two points or more */
};

/* Two series at one count: b against a, in one quantity. */
struct analysis_difference {
    int gpus;
    enum quantity quantity;    /* STEADY_EPOCH or IOU */
    struct comparison compare;
    struct ratio ratio;        /* times: a / b, above 1 when b is faster */
};

struct analysis_pair {
    size_t a, b; /* indices of series */
    struct analysis_difference *differences; /* by count, then quantity; Holm over a quantity's */
    size_t ndifferences;
};

struct analysis {
    const struct analysis_source *sources;
    size_t nsources;
    struct analysis_series *series;
    size_t nseries;
    struct analysis_pair *pairs; /* all pairs of up to ANALYSIS_PAIRED series */
    size_t npairs;
    struct rule rules[RULES_COUNT];
    char *notes; /* what was left out and why, one a line; "" when nothing was */
};
#define ANALYSIS_PAIRED 6

/* Does some run have a result, and some run on base GPUs (0: any)? 0; -1 with ERR_DATA when none
 * has a result, with ERR_STATS, which names the counts that have, when none on base GPUs has. */
int analysis_check_base(const struct analysis_source *sources, size_t nsources, int base,
                        struct err *e);

/* sources, and what they point to, must live as long as the analysis. 0; -1 as above, and with
 * ERR_STATS when no series has the base case and a larger count to compare, or no steady epoch. */
int analysis_create(struct analysis *a, const struct analysis_source *sources, size_t nsources,
                    const struct analysis_options *options, struct err *e);
void analysis_destroy(struct analysis *a);

#endif
