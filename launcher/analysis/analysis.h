/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes everything that a report shows, except what --predict prints (prediction.h), from one or
 * several sources of results.
 *
 *   source (a study, a folder of logs) -> results -> series (one engine, settings, mode of scaling)
 *     -> model, advice, convergence, noise scale -> decision
 *   pairs of series -> differences; all of it -> the twelve rules
 *
 * A count is a number of GPUs that runs were measured on. The analysis accesses no files. The same
 * results give the same numbers, because the random numbers have a fixed seed. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_ANALYSIS_H
#define UNETCTL_LAUNCHER_ANALYSIS_ANALYSIS_H

#include <stddef.h>

#include "launcher/analysis/advice.h"
#include "launcher/analysis/compare.h"
#include "launcher/analysis/convergence.h"
#include "launcher/analysis/decision.h"
#include "launcher/analysis/model/model.h"
#include "launcher/analysis/noise_scale.h"
#include "launcher/analysis/rules.h"
#include "launcher/analysis/series.h"
#include "launcher/collect/results/results.h"
#include "src/err.h"

struct analysis_options {
    struct series_facts facts;
    struct decision_rule rule;
    const char *design;              /* what the report says behind the rule, or NULL */
    double deadline_s;               /* 0: no deadline */
    double score_target, loss_target; /* NaN: chosen automatically (convergence.h) */
    /* ascending qualities for analysis_series.levels; NULL: the default ones */
    const double *levels;
    size_t nlevels;
};
#define ANALYSIS_OPTIONS_INIT \
    {.rule = DECISION_RULE_INIT, .score_target = NAN, .loss_target = NAN}

/* A study or a folder of logs. */
struct analysis_source {
    char title[128];        /* the name of the study or the folder */
    struct results results; /* sorted, with curves and scores */
};

struct analysis_series {
    struct series series;
    size_t source;                     /* index in analysis.sources */
    /* of the steady epoch, and of start-up + training + evaluation (prediction_fit) */
    struct model steady, whole;
    struct advice advice;
    struct convergence convergence;
    /* time to each level (analysis_options) that some run reached; none unless every run has
     * validation scores */
    struct convergence *levels;
    size_t nlevels;
    struct noise_scale noise;
    struct decision decision; /* set only if the series has two points or more */
};

/* The difference of series b from series a at one number of GPUs, in one quantity. */
struct analysis_difference {
    int gpus;
    enum quantity quantity;    /* STEADY_EPOCH or IOU */
    struct comparison compare;
    /* Of times, a / b: above 1 if b is faster; NaN for IOU. Its interval is that of compare, or, of
     * single runs, of their epochs. */
    struct ratio ratio;
    const char *why_not;       /* why they are not compared; NULL if they are */
};

struct analysis_pair {
    size_t a, b; /* indices of series */
    /* At all common counts, first of the steady epoch, then of the quality if a series has it, each
     * by ascending count. Intervals and p-values hold simultaneously over all pairs
     * and counts of a quantity. */
    struct analysis_difference *differences;
    size_t ndifferences;
};

struct analysis {
    const struct analysis_source *sources;
    size_t nsources;
    struct analysis_series *series;
    size_t nseries;
    struct analysis_pair *pairs; /* comparable pairs of the first ANALYSIS_PAIRED series */
    size_t npairs;
    struct rule rules[RULES_COUNT];
    char *notes; /* the notes of series_compute for all series, one per line, or "" */
};
#define ANALYSIS_PAIRED 6
/* a smaller relative difference of epoch times between series does not matter */
#define ANALYSIS_TIME_MARGIN 0.02

/* Checks that some run has a result, and some run on base GPUs (0: on any number). Returns 0, or
 * -1: ERR_DATA if no run has a result, ERR_STATS, which names the counts with results, if none
 * on base GPUs has. */
int analysis_check_base(const struct analysis_source *sources, size_t nsources, int base,
                        struct err *e);

/* Computes the analysis. sources and what they point to must live as long. Returns 0, or -1 as
 * above, if memory ran out, and with ERR_STATS if no series has the base case (facts.base GPUs, or
 * 1) and a larger count to compare, or if no series of two counts or more has a steady epoch at its
 * smallest count. */
int analysis_create(struct analysis *a, const struct analysis_source *sources, size_t nsources,
                    const struct analysis_options *options, struct err *e);
void analysis_destroy(struct analysis *a);

#endif
