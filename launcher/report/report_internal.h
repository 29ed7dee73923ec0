/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the report share. */
#pragma once

#include "launcher/report/chart.h"
#include "launcher/report/document.h"
#include "launcher/report/report.h"

/* What a target that the user did not choose is (struct convergence), behind its value. */
#define WORDS_TARGET " (the median over the last quarter of the worst count's runs, worse by 3 " \
                     "times the scatter there, so that noise does not decide it)"

/* verdict.c. label names the series if there are several; otherwise NULL. deadline: one was given.
 * Returns 0, or -1 if memory ran out. */
int words_compute(struct words *w, const struct analysis_series *as, const char *label,
                  bool deadline, struct err *e);
void words_destroy(struct words *w);

/* report.c. Adds one sentence on how the series label_b compares with label_a at one count, such
 * as "With 14 GPUs, steady epoch: horovod is 1.20x faster than native (95 % interval 1.18 to 1.22,
 * simultaneous over 8 comparisons).". s is the series of a. */
void difference_describe(struct buf *b, const struct analysis_difference *d, const char *label_a,
                         const char *label_b, const struct series *s);

/* methods.c. Adds a paragraph of methods about a series, as a paper needs it, one sentence per
 * line. What the logs do not have is left out. */
void paragraph_describe(struct buf *b, const struct report_series *rs);

/* Adds what predictions up to a count assume, and how far off a count that is left out is
 * predicted. */
void prediction_explain(const struct model *m, double gpus, struct buf *b);

/* tables.c. Each tables_fill function fills an uninitialised table. Adds the tables of each
 * series, then those of the pairs of series; those of the runs of a source. */
void tables_add(struct doc *d, const struct report *r);
void tables_add_runs(struct doc *d, const struct results *results);
void tables_fill_short(struct table *t, const struct report_series *s); /* for 80 columns */
void tables_fill_quality(struct table *t, const struct report_series *s);
void tables_fill_scaling(struct table *t, const struct report_series *s); /* for a proposal */

/* figures.c. The figures of a report, and where they stand. */
#define FIGURES_MAX 32
enum figures_place { FIGURES_FIRST, FIGURES_LEARNING, FIGURES_TIME };

struct figures {
    struct chart list[FIGURES_MAX];
    enum figures_place places[FIGURES_MAX];
    size_t count;
    bool failed; /* memory ran out */
    bool fake_gpus; /* some are */
    char why_not[256]; /* why figures_draw has not made PDF and PNG, or "" */
};

/* Makes the charts that have something to show, at most FIGURES_MAX. Returns 0, or -1 if memory
 * ran out. */
int figures_create(struct figures *f, const struct report *r, struct err *e);

/* Moves the charts of a place into the document. */
void figures_add(struct doc *d, struct figures *f, enum figures_place place);

/* Makes the chart of the speed-up for a proposal, "scaling", with the model up to MODEL_FURTHEST
 * times the largest measured count. It is left out if it shows nothing; f->failed: memory ran
 * out. */
void figures_create_scaling(struct figures *f, const struct report *r);

/* Adds bars of the speed-up of a series, for a terminal. */
void figures_add_bars(struct doc *d, const struct series *s);
void figures_destroy(struct figures *f);

/* folder.c. Writes NAME.svg of each figure, NAME.csv with its numbers and, by rsvg-convert,
 * NAME.pdf and NAME.png into dir, which exists and has none of them. Returns 0, also if
 * rsvg-convert is missing or fails (why_not), or -1 if a file cannot be written. */
int figures_draw(struct figures *f, const char *dir, struct err *e);

/* Writes results.csv, and results_2.csv ... of further sources, into dir. Returns 0, or -1. */
int folder_write_results(const struct report *r, const char *dir, struct err *e);
