/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes everything that a report shows from one or several sources of results.
 *
 *   source (a study, a folder of logs) -> results -> series (one engine, settings, mode of scaling)
 *     -> model, advice, convergence, noise scale -> decision
 *   pairs of series -> differences; all of it -> the twelve rules
 *
 * A count is a number of GPUs that runs were measured on. The room accesses no files and writes no
 * document. The same results give the same numbers, because the random numbers have a fixed seed.
 *
 * The report calls analysis_create once and then reads struct analysis, which owns all below it
 * but the tables of results; they must live as long. What --predict prints is prediction_compute's.
 * Designs of studies (launcher/analysis/design) call what is in decision.h and series.h directly.
 *
 * In reading order: series.h (what runs are compared with what; series_list.c, series.c),
 * decision.h (quality.c, decision.c, and what weakens a verdict in caveats.c), then this header:
 * convergence.c has the time to a quality and the gradient noise scale, prediction.c the choice of
 * a count and predictions of others, analysis.c the twelve rules and all of it together. The
 * numbers are computed in statistics/ and model/. doc/STATISTICS.md gives the reasons. */
#pragma once

#include "src/base.h"

#include "launcher/analysis/decision.h"
#include "launcher/analysis/model/model.h"
#include "launcher/analysis/series.h"
#include "launcher/collect/results/results.h"

/* Time to accuracy = epochs to the target x seconds per epoch. The two factors separate what a
 * larger batch costs (more epochs) from what the hardware gains (fewer seconds). */

#define CONVERGENCE_SCATTER 3

enum convergence_metric { CONVERGENCE_NONE, CONVERGENCE_SCORE, CONVERGENCE_LOSS };

struct convergence_point {
    int gpus;
    /* nruns: runs with a curve, or 0 if a curve that reaches the target has no times; nreached:
     * runs with a curve that reach the target */
    size_t nruns, nreached;
    /* Epochs until one and one of the next two reach the target: one by luck does not count. Median
     * over runs; NaN unless more than half do. */
    double epochs;
    double epoch_s;          /* seconds per epoch until the target: seconds / epochs */
    double seconds;          /* median time to target */
    double energy_kwh;       /* median energy to target, measured; NaN: of some run unknown */
    /* The seconds and epochs that a run may need, by the scatter of its epochs: until one reaches
     * the target, and until three in a row do; where a count has one run until the epoch before
     * that one, and the one behind the first of five in a row. Of all runs the least and the most,
     * which is INFINITY if one never reaches it. */
    double least_s, most_s, least, most;
    double epochs_ratio;     /* epochs(N) / epochs(base); above 1, more epochs are needed */
    double epoch_s_ratio;    /* epoch_s(base) / epoch_s(N); above 1, epochs are faster */
    double speedup;          /* seconds(base) / seconds(N) */
    /* The smallest and the largest ratio by `least` and `most` of both sides, that of the epochs
     * with half an epoch more, and of single runs 1.1x wider on each side, as seeds may differ. NaN
     * unless all their runs reach the target. It is not an interval of known level: the target is
     * chosen from these runs. Epochs differ only where 1 is outside (doc/STATISTICS.md, "Time to
     * accuracy"). */
    double epochs_ratio_least, epochs_ratio_most, speedup_least, speedup_most;
};

struct convergence {
    /* SCORE: of the validation after each epoch; LOSS: of the training */
    enum convergence_metric metric;
    double target;
    bool scored;  /* every whole run has a validation score of some epoch */
    /* The user chose the target. Otherwise noise shall not decide it: of each count the median of
     * the last quarters of the epochs of its runs, worse by CONVERGENCE_SCATTER times their
     * standard deviation, and of these the worst. */
    bool chosen;
    struct convergence_point *points; /* one per point of the series; none without a metric */
    size_t npoints;
};

/* The gradient noise scale: the global batch beyond which a larger one brings little (McCandlish,
 * Kaplan, Amodei: "An empirical model of large-batch training", arXiv 1812.06162).
 *
 * It is computed from the mean squared norms of gradients, g_b over b images (one device) and g_B
 * over B images (all devices):
 *
 *   |G|^2 = (B g_B - b g_b) / (B - b),  tr(Sigma) = (g_b - g_B) / (1/b - 1/B),
 *   B_simple = tr(Sigma) / |G|^2,
 *
 * where numerator and denominator are averaged separately over steps, epochs (without the first),
 * and runs. With a batch of B, the same progress takes 1 + B / B_simple times the images that the
 * smallest batches would take. */

struct noise_scale {
    bool measured;
    double critical_batch;    /* B_simple, in images */
    /* over runs, or, with fewer than three, over blocks of their epochs */
    struct interval interval;
    bool over_epochs;         /* the interval is over blocks of epochs */
    /* critical_batch / batch per GPU of the base case; NaN if either is unknown */
    double gpus;
    size_t nruns;             /* runs whose gradients were recorded */
    char why_not[160];        /* if it is not measured */
};

/* Returns how many times as many images the same progress takes with a global batch of `to` images
 * as with one of `from` images, or NaN if the scale was not measured or a batch is unknown (0). */
double noise_scale_images(const struct noise_scale *n, long from, long to);

/* The best number of GPUs for time, for GPU-hours, for energy and for a deadline, each chosen
 * separately. */

/* A chosen number of GPUs (a count). gpus is 0 if none qualifies. why has the reason for the choice
 * or for its absence. */
struct advice_choice {
    int gpus;
    bool measured;     /* false: the model predicts it, or gpus is 0 */
    bool extrapolated; /* the count is above twice the largest one that the model was fitted to */
    double value;      /* seconds, GPU-hours or kWh of a whole run; NaN if gpus is 0 */
    char why[160];
};

struct advice {
    struct advice_choice time, gpu_hours, energy, deadline;
    bool time_overlaps, hours_overlap; /* the interval of a ratio to another count includes 1 */
    enum quantity energy_by; /* QUANTITY_ENERGY, or where no run has that QUANTITY_NODE_ENERGY */
    bool energy_estimated; /* by series_facts.watts_per_gpu, not measured */
    /* The interval of its ratio to each other count of known energy is below 1. */
    bool energy_separated;
};

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

/* A link between GPUs, with published or measured figures. */
struct prediction_link {
    char name[24];
    /* per direction: of one GPU within a node, or of one node's network adapter */
    double bytes_per_s; /* 0: the link is unknown */
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
    const struct prediction_network *network;
    enum series_mode mode;
    int base, largest;       /* the smallest and the largest measured number */
    int gpus_per_node;
    double bytes;            /* size of a gradient, M */
    /* of the base case: measured time of a step, units of work of an epoch and of a step */
    double step_s, units, batch;
    bool drops; /* a last, shorter step is left out, as a measured count shows */
    const char *unit, *interval; /* what units and epochs are called in the series */
    /* One number was measured: bounds are the scenarios, and the model is not fitted. */
    bool scenarios;
    /* Links, gradients, batch and nodes are known: bytes, step_s, and of points nodes, step_s and
     * comm_s are, too. Otherwise what GPUs lose is learnt from the measured numbers alone. */
    bool linked;
    bool fake_gpus; /* some of its GPUs were CPU cores */
    struct model model;
    struct prediction_point *points; /* in the order of gpus */
    size_t npoints;
};

/* Fits the model to the steady epochs of a series, scaled to the images of the base case if all are
 * known, or to its whole runs, which are not used if the work differs. No links are known. Returns
 * as model_fit. */
int prediction_fit(struct model *m, const struct series *s, enum quantity q, struct err *e);

/* Computes the prediction for gpus[0..n). network must live as long. Returns 0, or -1: memory ran
 * out, or, with ERR_STATS, the series has no steady epoch, the model misfits, or one number was
 * measured and links, images, batch, parameters or nodes are unknown. The text names the option
 * that supplies a missing value. */
int prediction_compute(struct prediction *p, const struct series *s,
                       const struct prediction_network *network, const int *gpus, size_t n,
                       struct err *e);
void prediction_destroy(struct prediction *p);

/* The twelve rules of Hoefler and Belli ("Scientific benchmarking of parallel computing systems",
 * SC 2015), each with whether and how this report meets it. */

enum rule_state { RULE_MET, RULE_NOT_MET, RULE_NOT_APPLICABLE };

#define RULES_COUNT 12

struct rule {
    int number;
    const char *text; /* what it asks for, in this project's words */
    enum rule_state state;
    char why[400];
};

extern const char *const rule_state_names[];

struct analysis_options {
    struct series_facts facts;
    struct decision_rule rule;
    const char *left_out;            /* lines on counts that are known not to run, or NULL */
    const char *design;              /* what the report says behind the rule, or NULL */
    double deadline_s;               /* 0: no deadline */
    double score_target, loss_target; /* NaN: chosen automatically */
    /* ascending qualities for analysis_series.levels; NULL: the default ones */
    const double *levels;
    size_t nlevels;
};
#define ANALYSIS_OPTIONS_INIT \
    {.rule = DECISION_RULE_INIT, .score_target = NAN, .loss_target = NAN}

/* What is known of a study and its site beside its results; 0 or "": unknown. */
struct source_site {
    char study_dir[PATH_MAX];
    char cluster[64];  /* the name of the site, if that is of one cluster */
    int gpus_per_node;
    int cpus_per_gpu;  /* that the study's jobs ask for */
    double mem_gb;     /* the same, of each node */
    char billing[256]; /* the formula of what an hour of a job costs */
};

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
    enum quantity quantity;    /* STEADY_EPOCH or QUALITY */
    struct comparison compare;
    /* Of times, a / b: above 1 if b is faster; NaN for QUALITY. Its interval is that of
     * compare, or, of single runs, of their epochs. */
    struct ratio ratio;
    const char *why_not;       /* why they are not compared; NULL if they are */
};

struct analysis_pair {
    size_t a, b; /* indices of series */
    /* At all common counts, first of the steady epoch, then of the quality if a series has it, each
     * by ascending count. Intervals and p-values hold simultaneously over all pairs and counts
     * of a quantity. */
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
