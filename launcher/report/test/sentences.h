/* SPDX-License-Identifier: BSD-3-Clause */
/* All sentences that a report can print about a series or a pair of series, each with the predicate
 * that allows it, derived from the intervals and not from the decision. A sentence that is not
 * listed is an error, and so is one whose predicate does not hold. */
#pragma once

#include "src/base.h"

#include "launcher/report/report.h"

/* The truth that the runs of a series were drawn from. */
struct sentences_truth {
    double (*efficiency)(const struct report_series *rs, int gpus);
    double (*quality)(int gpus);
};

/* How often something was said whose truth is known, and how often it was wrong. */
struct sentences_count {
    const char *what;
    int said, wrong;
};
enum {
    SENTENCES_USE,      /* "Use N": efficient, and quality lower by less than the margin */
    SENTENCES_DROPS,    /* "efficiency drops": it does */
    SENTENCES_FALLS,    /* "falls": by the margin or more */
    SENTENCES_NONE,     /* "Use 1: no larger count ...": true */
    SENTENCES_NCOUNTS
};
extern struct sentences_count sentences_counts[SENTENCES_NCOUNTS];

/* Checks the sentences of the words of a series, and of the differences of a report. Returns NULL,
 * or the first sentence that is not listed or not allowed, with the reason, in a static buffer. */
const char *sentences_check_series(const struct report_series *rs,
                                   const struct sentences_truth *truth);
const char *sentences_check_differences(const struct report *r);

/* Returns how many of the listed sentences were seen, and adds the others to unseen. */
size_t sentences_seen(size_t *nlisted, struct buf *unseen);
