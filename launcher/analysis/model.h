/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of scaling fitted to measured times, or rates, by least squares of relative errors. N is a
 * number of GPUs, also called a count.
 *
 * Each is linear in its coefficients, which are kept at 0 or above:
 *   ideal        T(N) = a / N
 *   Amdahl       T(N) = a / N + b                  serial share f = b / (a + b)
 *   USL (universal scalability law)
 *                T(N) = a / N + b + c (N - 1)      sigma = b / (a + b), kappa = c / (a + b)
 *   logarithmic  T(N) = a / N + c log2 N           a tree of messages
 *   Gustafson    R(N) = p + q N                    serial share f = p / (p + q); R in images/s, for
 *                                                  weak scaling only
 * The USL is N. Gunther's S = N / (1 + sigma (N - 1) + kappa N (N - 1)). T(1) is free in all of
 * them, so that no model is forced through the noisy runs with 1 GPU. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_MODEL_H
#define UNETCTL_LAUNCHER_ANALYSIS_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"
#include "src/buf.h"
#include "src/err.h"

enum model_law { MODEL_IDEAL, MODEL_AMDAHL, MODEL_USL, MODEL_LOG, MODEL_GUSTAFSON, MODEL_NLAWS };

#define MODEL_TERMS 3
#define MODEL_REPEATS 999 /* replicates of the bootstrap */
/* a model with a larger leave-one-out error is not used for prediction */
#define MODEL_POOR_FIT 0.2

/* The measurement of one run. */
struct model_sample {
    double gpus, value; /* in seconds; in images/s for Gustafson */
};

struct model {
    enum model_law law;
    bool fitted; /* false if there are too few counts: fewer than coefficients + 1 */
    double coefficient[MODEL_TERMS];
    double serial;    /* f or sigma; NaN if the law has neither */
    double coherency; /* kappa; NaN if the law has none */
    struct interval serial_interval, coherency_interval;
    double error;     /* root mean square of the relative errors */
    /* the same, of predicting each count from the others; NaN with too few counts */
    double loo_error;
    /* the corrected Akaike information criterion; NaN with fewer runs than coefficients + 3 */
    double aicc;
    /* the count with the shortest time, at least 1; INFINITY if more is always faster */
    double peak;
    struct interval peak_interval; /* high may be INFINITY */
    double largest;   /* the largest count of the samples */
};

const char *model_name(enum model_law law);
/* Adds the formula: "T(N) = 12.1 / N + 0.31 + 0.002 (N - 1)". */
void model_describe(const struct model *m, struct buf *b);

/* Fits a model to samples, in any order, whose values are all above 0. seed is that of the
 * bootstrap. Returns 0, also if the model could not be fitted, or -1 if memory ran out. */
int model_fit(struct model *m, enum model_law law, const struct model_sample *samples, size_t n,
              unsigned long seed, struct err *e);

double model_predict(const struct model *m, double gpus);
/* Returns the predicted speed-up with gpus GPUs over base GPUs. */
double model_speedup(const struct model *m, double base, double gpus);

/* Is gpus more than twice the largest measured count, where a prediction is not reliable? */
bool model_is_extrapolation(const struct model *m, double gpus);

/* Is the leave-one-out error small enough to use the model for prediction? */
bool model_predicts(const struct model *m);

/* Returns the fitted model with the smallest leave-one-out error, or NULL if none is fitted. A
 * model with more coefficients than another must be better by a tenth. */
const struct model *model_choose(const struct model *models, size_t n);

#endif
