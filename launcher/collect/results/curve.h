/* SPDX-License-Identifier: BSD-3-Clause */
/* The epochs of a run's log. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_CURVE_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_CURVE_H

#include <stddef.h>

#include "src/err.h"

struct curve {
    size_t n;
    double *seconds; /* NaN where the log has no times */
    double *loss;
    double *score; /* validation IoU or accuracy; NaN where not measured, NULL where never */
    double *grad_sq, *grad_var; /* |G|^2 and tr(Sigma) of the gradient (noise_scale.h); the same */
};

/* n epochs of NaN, with the columns that may be missing. NULL without memory. */
enum { CURVE_SCORE = 1, CURVE_GRADIENT = 2 };
struct curve *curve_create(size_t n, int columns, struct err *e);
void curve_destroy(struct curve *c);

/* No epoch takes no time, and none takes longer. */
#define CURVE_LONGEST_S 1e9

/* -1, ERR_DATA "NAME: epoch I takes ...": a time is none that a computer trains. name: of the
 * log. */
int curve_check(const struct curve *c, const char *name, struct err *e);

struct result;
/* Set r's epochs, first_epoch_s, second_epoch_s, median_epoch_s and loss. */
void curve_measure(const struct curve *c, struct result *r);

/* The first epoch (from 0) whose value is at least (rising) or at most the target; -1: none. */
long curve_reach(const double *values, size_t n, double target, int rising);

#endif
