/* SPDX-License-Identifier: BSD-3-Clause */
/* The good runs of one engine in one mode of scaling, by the count of GPUs: every quantity with its
 * spread, speed-up and efficiency with intervals.
 *
 *   S(N) = T(base) / T(N)        E(N) = S(N) base / N        base: the smallest count
 *
 * Times of several runs are summarized first (by their median), then divided: ratios are never
 * averaged. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_SERIES_H
#define UNETCTL_LAUNCHER_ANALYSIS_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/statistics/interval.h"
#include "launcher/collect/results/quantity.h"
#include "launcher/collect/results/results.h"
#include "src/buf.h"
#include "src/err.h"

/* What stays the same while GPUs are added. Runs of different modes never stand in one series. */
enum series_mode {
    SERIES_BATCH_UNKNOWN, /* the logs do not say */
    SERIES_ONE_COUNT,     /* one count only: no mode yet */
    SERIES_STRONG,        /* the same epoch in the same global batch */
    SERIES_WEAK_BATCH,    /* the same epoch, the same batch per GPU: the global batch grows */
    SERIES_WEAK           /* the same batch per GPU and the same images per GPU: the epoch grows */
};

/* Over the runs of a count; NaN where nothing is known. */
struct summary {
    double median, mean, min, max;
    double spread; /* standard deviation / mean; NaN with one run */
    size_t count;  /* runs that know the value */
    size_t noutliers; /* of them, far from the median (median.h); they count all the same */
    struct interval interval; /* of the median; method EPOCHS: one run, its epochs */
};

struct ratio {
    double value; /* NaN when either side is unknown */
    struct interval interval;
};

struct series_point {
    int gpus, nodes; /* nodes 0: not known */
    const struct result *rows; /* good runs of this count, by seed */
    size_t nruns;
    struct summary q[QUANTITY_COUNT];
    struct ratio speedup[QUANTITY_NTIMES];    /* T(base) / T(N); TRAINING and WHOLE only when both
                                               * trained for the same number of epochs */
    struct ratio efficiency[QUANTITY_NTIMES]; /* speedup base / N */
    struct ratio image_speedup; /* images/s over the base case's: dropped images do not count as
                                 * speed. NaN where images were not counted */
    struct ratio image_efficiency;
    double gpu_hours; /* gpus x median WHOLE */
    double image_rate; /* images/s of the medians: IMAGES / STEADY_EPOCH */
    long batch_per_gpu, val_images, epochs; /* 0: not known, or not the same in all runs */
    bool oversubscribed;  /* in some run workers outnumber cores */
    bool fake_gpus;       /* in some run a "GPU" is CPU cores */
};

struct series {
    char source[128], engine[32];
    char name[256]; /* "embedded, model.base 16": engine, and settings that others do not have */
    const char *settings; /* of its runs (settings.h), of the table of results; NULL: not known */
    enum series_mode mode;
    struct result *rows; /* the good runs, sorted; the points' rows lie in here. Their curves and
                          * scores belong to the table of results, which must live as long */
    size_t nrows;
    struct series_point *points; /* ascending counts; [0] is the base case */
    size_t npoints;
    const char *quality; /* what QUANTITY_IOU is here: "IoU" or "accuracy" */
    bool by_images; /* all points have image_efficiency */
    bool mixed;     /* the study has runs that are not in this series because of their batch */
    bool equal_epochs; /* all runs trained for as many */
    long one_epoch; /* the index of QUANTITY_ONE_EPOCH */
};

/* Facts that logs lack, given by the user; 0: not given. */
struct series_facts {
    long train_images;  /* in the training set, repeats included */
    long batch_per_gpu;
    bool keep_remainder; /* a last short batch is trained, too; otherwise dropped */
    double watts_per_gpu;
    long epoch; /* the one that QUANTITY_ONE_EPOCH is; 0: that of index 1 */
    int base;   /* runs on fewer GPUs do not count */
};

/* The runs of engine in the sorted table, split where batches mix strong and weak scaling: fills
 * at most SERIES_MAX series, *n of them (0 without a good run). Rows that fit no mode of the study
 * are in no series; notes (may be NULL) lists them with reasons, one a line. 0; -1 without
 * memory. */
#define SERIES_MAX 2
int series_compute(struct series dst[SERIES_MAX], size_t *n, const char *source,
                   const struct results *table, const char *engine,
                   const struct series_facts *facts, struct buf *notes, struct err *e);
void series_destroy(struct series *s);

/* T(a) / T(b) of two points of any series, with its interval: above 1, b is faster. */
struct ratio series_compare(const struct series_point *a, const struct series_point *b,
                            enum quantity q);

/* As quantity_name, with the series' word for quality. */
const char *series_quantity_name(const struct series *s, enum quantity q);

/* gpus / base */
double series_ideal(const struct series *s, int gpus);
/* Steady efficiency, by images where all points know them: the one a verdict rests on. */
const struct ratio *series_efficiency(const struct series *s, const struct series_point *p);
/* The speed-up that belongs to it. */
const struct ratio *series_speedup(const struct series *s, const struct series_point *p);
/* "weak in the batch (16 images per GPU; the epoch stays the same)": one clause. */
void series_describe_mode(const struct series *s, struct buf *b);

#endif
