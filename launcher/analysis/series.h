/* SPDX-License-Identifier: BSD-3-Clause */
/* A series: the good runs of one engine with the same settings in one mode of
 * scaling, by number of GPUs. Has every quantity with its spread, and for times the speed-up and
 * efficiency with intervals.
 *
 *   S(N) = T(base) / T(N)        E(N) = S(N) base / N     base: the smallest count
 *
 * A count, N, is a number of GPUs that runs were measured on. Times of several runs are summarized
 * by their median before they are divided; ratios are never averaged. */
#pragma once

#include "src/base.h"

#include "launcher/analysis/statistics/interval.h"
#include "launcher/collect/results/results.h"

/* What remains the same while GPUs are added. Runs of different modes are never in one series. */
enum series_mode {
    SERIES_BATCH_UNKNOWN, /* the logs do not state the batch */
    SERIES_ONE_COUNT,     /* there is only one count, so there is no mode */
    SERIES_STRONG,        /* the same epoch in the same global batch */
    SERIES_WEAK_BATCH,    /* the same epoch, the same batch per GPU: the global batch grows */
    SERIES_WEAK           /* the same batch per GPU and the same images per GPU: the epoch grows */
};

/* A quantity over the runs of a count; NaN if it is unknown. */
struct summary {
    double median, mean, min, max;
    double spread; /* standard deviation / mean; NaN with one run */
    size_t count;  /* runs whose value is known */
    /* of them, those far from the median (interval.h); they are included nevertheless */
    size_t noutliers;
    double resolution; /* the steps in which the series' values were recorded (distribution.h) */
    /* of the median; with method EPOCHS it is over the epochs of one run */
    struct interval interval;
};

struct ratio {
    double value; /* NaN if either side is unknown */
    struct interval interval;
    /* The smallest and the largest ratio of a run of one side to one of the other, if both have two
     * runs or more; otherwise NaN. */
    double least, most;
};

struct series_point {
    int gpus, nodes; /* nodes 0: unknown */
    const struct result *rows; /* the good runs of this count, by seed */
    size_t nruns;
    size_t nlimited; /* of them, those that ended at their limit and give speed alone */
    struct summary q[QUANTITY_COUNT];
    /* T(base) / T(N); of TRAINING and WHOLE only if `work` is the same at both counts. */
    struct ratio speedup[QUANTITY_NTIMES];
    struct ratio efficiency[QUANTITY_NTIMES]; /* speedup x base / N */
    /* Units of work per second relative to the base case, so that dropped images do not count as
     * speed. NaN if work was not counted. */
    struct ratio unit_speedup;
    struct ratio unit_efficiency;
    double gpu_hours; /* gpus x median WHOLE, in hours */
    double unit_rate; /* units/s from medians: UNITS / STEADY_EPOCH */
    /* 0: unknown, or not the same in all runs; the last two of whole runs */
    long batch_per_gpu, val_images, work;
    bool oversubscribed;  /* some run had more workers than cores */
    bool fake_gpus;       /* in some run a "GPU" was CPU cores */
    bool refused_kernels; /* in some run kernels were replaced (results.h) */
};

struct series {
    char engine[32];
    /* "embedded, model.base 16": the engine, and the settings that other series do not share */
    char name[256];
    /* The settings of its runs (settings.h), except for what makes no difference to a run
     *, owned by the table of results; NULL: unknown. */
    const char *settings;
    enum series_mode mode;
    /* The good runs, sorted. The rows of the points are within this array. Curves and scores
     * belong to the table of results, which must live as long. */
    struct result *rows;
    size_t nrows;
    struct series_point *points; /* by ascending count; [0] is the base case */
    size_t npoints;
    const char *quality; /* what QUANTITY_QUALITY is in this series: "IoU", "accuracy" or a name */
    bool has_quality; /* it is known of some run */
    bool is_share;    /* it is IoU or accuracy, between 0 and 1 */
    long counted;     /* it is a share of so many validation images; 0: not of images, or unknown */
    bool lower;       /* a smaller one is better */
    int decimals;     /* to print it with */
    const char *unit; /* what QUANTITY_UNITS counts: "images" or a name */
    bool stepped;     /* no run has epochs: "epochs" are intervals of steps (series_interval) */
    bool limited;     /* some run ended at its limit */
    bool logged;      /* the time of whole runs is what logs have, not that of jobs */
    bool fake_gpus; /* of some point */
    bool by_units; /* all points have unit_efficiency */
    /* Steady epochs are means over a run, as the efficiency of this count by their medians, which
     * is `median`, is another one (series.c); gpus 0: they are medians. */
    struct { int gpus; double median; } means;
    bool mixed;     /* the study has runs that are not in this series because of their batch */
    bool equal_epochs; /* all whole runs did the same work, such as epochs */
    long one_epoch; /* the index of the epoch that QUANTITY_ONE_EPOCH is */
};

/* Facts that logs lack and the user supplies; 0: not given. */
struct series_facts {
    long train_images;  /* images of an epoch; an image that is repeated counts each time */
    long batch_per_gpu;
    bool keep_remainder; /* a last, shorter batch is trained, and not dropped */
    double watts_per_gpu; /* where no run of the engine has measured energy */
    long epoch; /* the epoch that QUANTITY_ONE_EPOCH is; 0: that with index 1 */
    int base;   /* runs on fewer GPUs are ignored */
    const char *unit; /* of work; NULL or "": that of the logs, or images */
    /* SERIES_STRONG or SERIES_WEAK: the mode where the batch is unknown; 0: not given */
    enum series_mode mode;
};

/* Returns quantities[q].name, but with the series' word for quality. */
const char *series_quantity_name(const struct series *s, enum quantity q);

/* Returns series.quality as it stands at the beginning of a sentence or in a title. */
const char *series_quality_title(const struct series *s);

/* Returns what a run did that is worse by more than quality_far. Only a share, such as an
 * IoU, collapses by that; a loss may be a little worse. */
const char *series_collapsed(const struct series *s);

/* Returns "epoch", or "interval" where runs have none. */
const char *series_interval(const struct series *s);

/* Returns data.folds of its runs, or 0: a run with seed s was validated on fold (s - 1) % folds. */
int series_folds(const struct series *s);

/* Returns at what size unet-train scores the masks of its runs: "the network's size", or with
 * data.patch "each image's own size". */
const char *series_size(const struct series *s);
/* Returns units of work per second or, of slow programs, per day; name becomes "images/s" or
 * "ns/day". */
double series_rate(const struct series *s, double per_second, char *name, size_t size);

/* Sets dst to the speed of a count in the words of its program: "10.3 ns/day" or, of epochs and of
 * unknown work, "8.4 s per steady epoch". */
void series_describe_speed(const struct series *s, const struct series_point *p, char *dst,
                           size_t size);

/* Returns whether runs show nothing but rates, so that an interval is one unit of work. */
bool series_is_rates(const struct series *s);

/* Sets dst to the work that times of intervals are for, "640 tokens", or to "" if the series has
 * epochs or its work is unknown. */
void series_describe_work(const struct series *s, char *dst, size_t size);

/* Returns the point of a count, or NULL if it was not measured. */
const struct series_point *series_find(const struct series *s, int gpus);
/* Returns gpus / base. */
double series_ideal(const struct series *s, int gpus);
/* Returns whether runs on so many GPUs can be planned: they share the batch, equally but for the
 * embedded engine, and where some measured count has several nodes, fill theirs. */
bool series_is_practical(const struct series *s, int gpus);
/* Returns the steady efficiency that a verdict is based on: by work if that is known at all
 * points. */
const struct ratio *series_efficiency(const struct series *s, const struct series_point *p);
/* Returns the speed-up that belongs to that efficiency. */
const struct ratio *series_speedup(const struct series *s, const struct series_point *p);

/* Writes how certain a ratio is, and returns dst: "95 % interval 1.20 to 1.30", the same by the
 * epochs of single runs, or the range between single runs; "" if there is none. decimals: of an
 * interval. */
#define SERIES_BOUNDS 96
const char *series_describe_bounds(const struct series *s, const struct ratio *r, int decimals,
                                   char dst[SERIES_BOUNDS]);
/* Adds one clause, such as "weak scaling: 16 images per GPU and step, and the epoch grows with the
 * GPUs". */
void series_describe_mode(const struct series *s, struct buf *b);

/* All series of a table of results. Runs are in one series only if they have the same engine and
 * the same settings, including the batch. Settings that make no difference to a run are ignored
 * (settings_common): a run on one GPU fits series with a global batch and with a batch per GPU. */

struct series_list {
    /* by engine; of one engine in descending order of how many counts have runs with exactly the
     * same settings */
    struct series *items;
    size_t count, capacity;
};

/* Fills dst from the sorted table, which must live as long. A run is also in a series whose
 * settings differ only in what makes no difference to the run (settings_common). notes is that
 * of series_compute. Returns 0, or -1 if memory ran out; then the list is empty. */
int series_list_compute(struct series_list *dst, const char *source, const struct results *table,
                        const struct series_facts *facts, struct buf *notes, struct err *e);
void series_list_destroy(struct series_list *l);
