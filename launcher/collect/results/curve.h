/* SPDX-License-Identifier: BSD-3-Clause */
/* The intervals of a run that its log or its record has a time for: its epochs or, of a program
 * that does not count epochs, the steps between two rows. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_CURVE_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_CURVE_H

#include <stddef.h>

#include "src/err.h"

struct curve {
    size_t n;
    double *seconds; /* NaN if the log has no times */
    double *loss;
    /* validation IoU or accuracy; NaN in epochs without validation; NULL if there was none */
    double *score;
    double *val_loss;    /* as score */
    double *train_score; /* IoU of the training images; NULL if it was not counted */
    /* |G|^2 and tr(Sigma) of the gradient (analysis.h); NaN in epochs without them; NULL if
     * there were none */
    double *grad_sq, *grad_var;
    double *joules; /* of the GPUs in each interval, measured; NaN: unknown */
    double *units; /* work done by all ranks (result.unit) in each interval; NULL: unknown */
};

/* Creates a curve of n epochs, all NaN, with the values whose bits are in columns. NULL if memory
 * ran out. */
enum { CURVE_SCORE = 1, CURVE_GRADIENT = 2, CURVE_VAL_LOSS = 4, CURVE_TRAIN_SCORE = 8,
       CURVE_UNITS = 16 };
struct curve *curve_create(size_t n, int columns, struct err *e);
void curve_destroy(struct curve *c);

/* A longer time of an epoch, or of a training or evaluation, in seconds, is an error. So is the
 * time of an epoch that is not positive. */
#define CURVE_LONGEST_S 1e9

/* Checks the times of all epochs. Returns 0, or -1 with ERR_DATA "NAME: epoch I takes ...",
 * where name is that of the log. */
int curve_check(const struct curve *c, const char *name, struct err *e);

/* Returns the number of intervals at the beginning that pay for warming up, at least 1: the first
 * and those after it, up to half of all, over which the sum of
 *   log of the time per unit of work - its median over the second half - t
 * is the largest, each term limited to -t .. t, so that one slow interval outweighs one other.
 * t = CURVE_SLOW (1 + CURVE_FEW / m) s for the m intervals of the second half, where s is their
 * deviation, 1.4826 x the median absolute one, and at least CURVE_NOISE. */
size_t curve_warmup(const struct curve *c);
#define CURVE_SLOW 3.
#define CURVE_FEW 6
#define CURVE_NOISE 0.01

/* Fills dst, which has room for c->n, with the values (seconds or joules) of the intervals after
 * those, each scaled to their median work where that is known. Returns their number. */
size_t curve_steady(const struct curve *c, const double *values, double *dst);

struct result;
/* Sets r's epochs, first_epoch_s, second_epoch_s, median_epoch_s (of the steady intervals) and loss
 * and, if c has units, images and images_per_s. c has at least one epoch; with one epoch,
 * second_epoch_s, median_epoch_s and images_per_s are NaN. */
void curve_measure(const struct curve *c, struct result *r);

/* Returns the first epoch (from 0) whose value is at least the target, or with rising 0 at most
 * the target; -1 if there is none. */
long curve_reach(const double *values, size_t n, double target, int rising);

#endif
