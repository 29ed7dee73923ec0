/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: the rows of a series before they are compared (completed by
 * what the user knows, and with times that are those of the same work), and the parts that a
 * series, a decision and an analysis are computed from. */
#pragma once

#include "launcher/analysis/analysis.h"

/* Completes a row with facts that its log lacks, and sets its work to its epochs. If the user chose
 * the epoch of QUANTITY_ONE_EPOCH, its time, or NaN if that is unknown, replaces second_epoch_s. A
 * run that ended at its limit loses quality, loss, energy and the times of a whole run. */
void series_rows_complete(struct result *r, const struct series_facts *facts);

/* Sets what quality and work are in the series, by the first run that has them. All rows then have
 * one measure of quality: a run of which only another is known has none. */
void series_rows_measure(struct series *s, const struct series_facts *facts);

/* An interval longer than so many steady ones is exceptional if few are. */
#define SERIES_GAP 20

/* Scales times and work of runs whose intervals are steps (result.stepped) to the work of an epoch
 * of the same count, or, if no run has epochs, to that of an interval of the first run; with weak
 * they are in proportion to the GPUs. Where some runs have epochs and the work is unknown, times
 * become NaN. Sets `work` of the whole runs of steps. With weak and without any count
 * of work, that of a GPU is 1. */
void series_rows_scale(struct result *rows, size_t n, bool weak);
#define SERIES_WORK_STEPS 10

/* Fills d->caveats, the facts that weaken a verdict, the most severe first, from the other members
 * of d, from s, and from table, which has all rows of the source, also those without a result. */
void caveats_compute(struct decision *d, const struct series *s, const struct results *table);

/* Finds the series of an engine in the sorted table; there may be two if batches mix strong and
 * weak scaling. Fills at most SERIES_MAX series, and *n with their number, 0 without a good run.
 * Rows that fit no mode are in no series. notes (may be NULL) gets at most two lines: one if there
 * are two series, and one if rows are in none, with their number, the reason and the first of them.
 * Returns 0, or -1 if memory ran out. */
#define SERIES_MAX 2
int series_compute(struct series dst[SERIES_MAX], size_t *n, const char *source,
                   const struct results *table, const char *engine,
                   const struct series_facts *facts, struct buf *notes, struct err *e);
void series_destroy(struct series *s);

/* Returns T(a) / T(b) of two points of any series, with its interval of this level. It is above 1
 * if b is faster. */
struct ratio series_compare(const struct series_point *a, const struct series_point *b,
                            enum quantity q, double level);
/* Returns r, with its interval, in proportion to another value. */
struct ratio series_scale(struct ratio r, double value);

/* Compares the quality of the rows a[0..na) and b[0..nb), which are sorted by seed, by the
 * difference of the means, as one of nfamily comparisons that are made together. The interval is
 * widened by resolution, the error of a difference of two rounded values, and its standard error
 * is at least that of rounding. Returns 0, or -1 if memory ran out. */
int compare_quality(struct comparison *c, const struct result *a, size_t na,
                    const struct result *b, size_t nb, double resolution, double margin,
                    size_t nfamily, struct err *e);

/* Gives the interval and p of a comparison of quality, made with a family of 1, another two-sided
 * level: that of a look of a group-sequential test (hypothesis.h) at one of nfamily counts, or 0
 * before the first look, which has neither. How many runs are needed becomes unknown. */
void compare_set_level(struct comparison *c, double alpha, size_t nfamily);

/* Compares a time likewise, by the ratio a / b of the medians. margin is relative. */
int compare_times(struct comparison *c, const struct result *a, size_t na, const struct result *b,
                  size_t nb, enum quantity q, double resolution, double margin, size_t nfamily,
                  struct err *e);

/* Returns the interval of a ratio of times, if it is known, widened by the relative error by their
 * rounding and to hold the ratio of the medians, which need not lie in the interval of another. */
struct interval compare_widen(struct interval i, double ratio, double rounding);

/* Returns how many of the rows, sorted by seed, a comparison of quality counts: a row that equals
 * an earlier one in its final and all other losses, and in every score, is the same run again,
 * because the engine ignores the seed. Without losses none is. kept (may be NULL) gets them. */
size_t compare_distinct(const struct result *rows, size_t n, struct result *kept);

/* Returns the runs per count that find a difference of distance among nfamily comparisons, if the
 * standard deviation sd was estimated with df degrees of freedom (INFINITY: it is known); 0 if that
 * is unknown or too large (student_needed). paired: of pairs. */
size_t compare_needed(double sd, double df, double distance, size_t nfamily, bool paired);

/* Returns whether r is at most as good as predicting one class everywhere, which is called blind;
 * false if that is unknown. */
bool quality_is_blind(const struct result *r);

/* Returns whether IoU or accuracy were recorded, and those of no count reach QUALITY_LEARNT. */
bool quality_is_unlearnt(const struct series *s);

/* Judges the quality of all points; dst has one element per point. looks: of a sequential design,
 * whose counts are compared over pairs of equal seeds by repeated confidence intervals, and whose
 * other counts are undecided; NULL: the sample is fixed. Returns 0, or -1 if memory ran out. */
int quality_compute(struct quality *dst, const struct series *s, double margin,
                    const struct quality_looks *looks, struct err *e);

/* Fills dst. Estimates and p-values are NaN where starts or hosts are unknown, or no count has runs
 * that differ in them. Returns 0, or -1 if memory ran out. */
int disturbance_compute(struct disturbance *dst, const struct series *s, struct err *e);

/* Returns the margin for the quality of a series. */
double decision_margin(const struct decision_rule *rule, const struct series *s);

/* Computes the convergence of a series. A target that is NaN is not the user's. The metric is the
 * score if all runs have scores and loss_target is NaN; otherwise it is the loss, and score_target
 * is ignored. If there is no target, as there are no curves and the user chose none, the metric is
 * CONVERGENCE_NONE, and there are no points. Returns 0, or -1 if memory ran out. */
int convergence_compute(struct convergence *c, const struct series *s, double score_target,
                        double loss_target, struct err *e);
void convergence_destroy(struct convergence *c);

void noise_scale_compute(struct noise_scale *n, const struct series *s);

/* whole is the model of the whole run; it is ignored unless model_is_usable. A deadline is met
 * where model_latest meets it. deadline_s is 0 for none. */
void advice_compute(struct advice *a, const struct series *s, const struct model *whole,
                    double deadline_s);
