/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of time that every prediction is made with. N is a number of GPUs, also called a
 * count.
 *
 *   T(N) = a D(N) + links(N) + sum of c_i phi_i(N)        a, c_i >= 0
 *
 * D is 1 / N, or, where the GPUs share a step's images, the share of the one that has most of
 * them: 16 images on 14 GPUs are 2 of 16. links is known (analysis.h) or 0. The losses phi_i
 * (model_law_kind) are learnt: a serial part, trees of messages, contention, the first step from 1
 * to 2 GPUs and steps at other counts, stragglers, node boundaries, and limits of the throughput
 * that set in at some count. N phi_i(N) never falls, so no efficiency is predicted to rise.
 *
 * Counts of 1 to 8 rarely show which losses there are, so all sets of at most three are fitted
 * by least squares of relative errors and averaged by the evidence for each: exp(-BIC / 2)
 * (Schwarz 1978; Raftery 1995), times the part of its posterior distribution whose
 * coefficients are possible over that of its prior (Klugkist, Laudy and Hoijtink 2005), times a
 * prior that is halved by each further loss and divided among their kinds (as Chen and Chen 2008).
 * A prediction is a quantile of draws from that average. Beyond the largest count a draw also
 * varies, for what no set describes: with the distance, with the acceleration of the loss, where no
 * measured count crosses a node boundary, and by the scatter of a run, which may grow with N.
 * doc/STATISTICS.md has the constants, the published tables that they are fitted to, and
 * simulations.
 *
 * Fitted by prediction_fit (analysis.h) and read by advice, decisions, designs and reports. The
 * room knows neither runs nor series, and the same samples give the same draws. Read here
 * model_law_term and struct model first, then model.c from model_fit. */
#pragma once

#include "src/base.h"

#define MODEL_LAW_MOST 4   /* the most terms of a law: computation and three losses */
#define MODEL_LAW_TERMS 64 /* the most terms to choose from */

/* What is known of the times before any is measured. */
struct model_law_known {
    int gpus_per_node; /* 0: unknown */
    double batch;      /* images of a step that the GPUs share; 0: unknown, or each has its own */
    /* Returns seconds at a count in one of ncases equally probable cases; NULL: links cost
     * nothing. */
    double (*links)(const void *arg, double gpus, int which);
    const void *arg;
    int ncases;
};

enum model_law_kind {
    MODEL_LAW_COMPUTE,     /* D; in every set */
    MODEL_LAW_SERIAL,      /* 1 */
    MODEL_LAW_LOG,         /* log2 N: a tree of messages */
    MODEL_LAW_LINEAR,      /* N - 1: coherency, a ring of messages */
    MODEL_LAW_FIRST,       /* 1 from 2 GPUs on */
    MODEL_LAW_FIRST_SHARE, /* D from 2 GPUs on: the computation itself becomes slower */
    MODEL_LAW_RING_SHARE,  /* D (N - 1) / N: a ring of messages in steps that add up to an epoch */
    MODEL_LAW_JITTER,      /* D sqrt(2 ln N): the slowest of N computations */
    MODEL_LAW_LOG_SHARE,   /* D log2 N */
    MODEL_LAW_NODES,       /* 1 from 2 nodes on */
    MODEL_LAW_NODES_SHARE, /* D from 2 nodes on */
    MODEL_LAW_NODES_RING,  /* (P - 1) / P on P nodes */
    MODEL_LAW_NODES_LOG,   /* log2 P */
    MODEL_LAW_NODES_LINEAR, /* P - 1 */
    MODEL_LAW_LIMIT,       /* max(0, 1 / at - D): a limit of the throughput */
    MODEL_LAW_STEP,        /* 1 above `at` GPUs */
    MODEL_LAW_SATURATION,  /* D ((1 + (N / at)^6)^(1/6) - 1): a limit at `at` that shows */
    MODEL_LAW_NKINDS
};

struct model_law_term {
    enum model_law_kind kind;
    double at;
};

/* A set of terms; of those with the same kinds, the one with most evidence. */
struct model_law {
    struct model_law_term terms[MODEL_LAW_MOST];
    double coefficient[MODEL_LAW_MOST];
    int nterms;
    double evidence; /* probability of all sets with these kinds */
};

/* "Amdahl's law", or a list of the losses. */
void model_law_name(const struct model_law *law, struct buf *b);
/* Adds the formula: "12.1 / N + 0.31 + 0.002 (N - 1)". */
void model_law_describe(const struct model_law *law, struct buf *b);

#define MODEL_LEVEL 0.9 /* of intervals */
#define MODEL_SURE 0.975 /* by which the first of many counts is chosen: some are low by chance */
#define MODEL_FURTHEST 2 /* times the largest measured count: beyond it lie extrapolations */
#define MODEL_DRAWS 1024
#define MODEL_LAWS 6
/* A model is not used whose error, or leave-one-out error, is greater. */
#define MODEL_POOR_FIT 0.1
#define MODEL_POOR_LEFT_OUT 0.25

/* The measurement of one run. */
struct model_sample {
    double gpus, value; /* in seconds */
    double step;        /* in which it was recorded, in seconds; 0: exact */
};

struct bounds {
    double low, expected, high; /* expected is a median, the others an interval of MODEL_LEVEL */
};

struct model_draw {
    double coefficient[MODEL_LAW_MOST], z;
    unsigned char term[MODEL_LAW_MOST];
    int nterms, which; /* which: the case of the links */
};

struct model {
    bool fitted; /* false with fewer than two counts, or no times above 0 */
    size_t ncounts;
    double smallest, largest; /* counts of the samples */
    struct model_law_known known;
    struct model_law_term terms[MODEL_LAW_TERMS];
    int nterms;
    struct model_draw draws[MODEL_DRAWS];
    struct model_law laws[MODEL_LAWS]; /* with most evidence, the first has most */
    size_t nlaws;
    /* The standard deviation of what no set describes, for each doubling beyond the largest
     * count. */
    double beyond;
    /* By how much the loss of the last doubling exceeds that of the one before; loss is the
     * logarithm of the time over the ideal one. */
    double acceleration;
    double scatter, exponent; /* runs scatter by scatter N^exponent; 0: not known */
    double error; /* root mean square of the relative errors at the measured counts */
    /* The same, with each count but the smallest predicted from the others, and of the largest
     * count alone; NaN with fewer than three counts. */
    double loo_error, largest_error;
};

/* Fits the model to samples, in any order; those that are not above 0 are left out. known->arg must
 * live as long as the model. Returns 0, also if it could not be fitted, or -1 if memory ran out. */
int model_fit(struct model *m, const struct model_sample *samples, size_t n,
              const struct model_law_known *known, struct err *e);

/* Returns the time at a count. */
struct bounds model_predict(const struct model *m, double gpus);
/* Returns the time at a count that a run exceeds with a probability of 1 - MODEL_SURE. */
double model_latest(const struct model *m, double gpus);
/* Returns the speed-up over base GPUs. */
struct bounds model_speedup(const struct model *m, double base, double gpus);

/* Returns whether gpus is more than MODEL_FURTHEST times the largest measured count. */
bool model_is_extrapolation(const struct model *m, double gpus);

/* Returns a count to measure if gpus are on several nodes and those of all measured counts were on
 * one, so that what a node boundary costs is only known from elsewhere; otherwise 0. */
int model_boundary(const struct model *m, double gpus);

/* Returns whether measured counts contradict the model (MODEL_POOR_FIT). */
bool model_misfits(const struct model *m);

/* Returns whether the model may be shown and relied on. It must be fitted to three counts or more,
 * so that left-out counts check it, and not misfit. */
bool model_is_usable(const struct model *m);

/* Adds what a prediction at a count assumes, as clauses that follow it: ", if no limit begins ...".
 * Every printed prediction has them. */
void model_assume(const struct model *m, double gpus, struct buf *b);
