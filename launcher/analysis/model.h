/* SPDX-License-Identifier: BSD-3-Clause */
/* Models of scaling fitted to measured times, or rates, by least squares of relative errors.
 *
 * Each is linear in its coefficients, which are kept at 0 or above:
 *   ideal        T(N) = a / N
 *   Amdahl       T(N) = a / N + b                  serial share f = b / (a + b)
 *   USL          T(N) = a / N + b + c (N - 1)      sigma = b / (a + b), kappa = c / (a + b)
 *   logarithmic  T(N) = a / N + c log2 N           a tree of messages
 *   Gustafson    R(N) = p + q N                    serial share f = p / (p + q); R in images/s, for
 *                                                  weak scaling only
 * which is N. Gunther's S = N / (1 + sigma (N - 1) + kappa N (N - 1)) and the others with T(1)
 * free, so that no model is forced through the one noisy run with 1 GPU. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_MODEL_H
#define UNETCTL_LAUNCHER_ANALYSIS_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"
#include "src/buf.h"
#include "src/err.h"

enum model_law { MODEL_IDEAL, MODEL_AMDAHL, MODEL_USL, MODEL_LOG, MODEL_GUSTAFSON, MODEL_NLAWS };

#define MODEL_TERMS 3
#define MODEL_REPEATS 999 /* of the bootstrap */
#define MODEL_POOR_FIT 0.2 /* leave-one-out error above which a model predicts nothing */

/* One run. */
struct model_sample {
    double gpus, value; /* seconds; images/s for Gustafson */
};

struct model {
    enum model_law law;
    bool fitted; /* false: too few counts (fewer than the model has coefficients + 1) */
    double coefficient[MODEL_TERMS];
    double serial;    /* f or sigma; NaN where the law has none */
    double coherency; /* kappa; NaN where the law has none */
    struct interval serial_interval, coherency_interval;
    double error;     /* root mean square of relative errors */
    double loo_error; /* the same, of each count predicted from the others; NaN with too few */
    double aicc;      /* corrected Akaike information criterion; NaN with too few */
    double peak;      /* count with the least time, at least 1; INFINITY: none */
    struct interval peak_interval; /* high may be INFINITY */
    double largest;   /* measured count */
};

const char *model_name(enum model_law law);
/* "T(N) = 12.1/N + 0.31 + 0.002 (N - 1)" */
void model_describe(const struct model *m, struct buf *b);

/* samples, any order, all values above 0. seed: of the bootstrap. 0, also when not fitted; -1
 * without memory. */
int model_fit(struct model *m, enum model_law law, const struct model_sample *samples, size_t n,
              unsigned long seed, struct err *e);

double model_predict(const struct model *m, double gpus);
/* Speed-up over a count. */
double model_speedup(const struct model *m, double base, double gpus);

/* More than twice the largest measured count, where a prediction is not reliable. */
bool model_is_extrapolation(const struct model *m, double gpus);

/* Its leave-one-out error is small enough to use it for prediction. */
bool model_predicts(const struct model *m);

/* The fitted model with the least leave-one-out error; a model with more coefficients must be
 * better by a tenth. NULL when none is fitted. */
const struct model *model_choose(const struct model *models, size_t n);

#endif
