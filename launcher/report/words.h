/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on a series in plain words, from the decision as data. Text, Markdown, HTML and JSON
 * all say the same. */
#ifndef UNETCTL_LAUNCHER_REPORT_WORDS_H
#define UNETCTL_LAUNCHER_REPORT_WORDS_H

#include <stdbool.h>

#include "launcher/analysis/analysis.h"
#include "src/err.h"

struct words {
    char *headline; /* "Use 6 GPUs: 5.8x faster than with 1 GPU ...", one line */
    char *reasons;  /* what limits, what it costs, what to measure next; a sentence per line */
    char *caveats;  /* what weakens it, heaviest first; one per line, "" when there are none */
};

/* label: what the series is called, where there are several; or NULL. deadline: one was asked for.
 * 0, or -1 without memory. */
int words_compute(struct words *w, const struct analysis_series *as, const char *label,
                  bool deadline, struct err *e);
void words_destroy(struct words *w);

/* quality: "IoU" or "accuracy". One sentence on how b does against a at one count: "native with 14
 * GPUs: 1.20x slower than horovod (95 % interval 1.18-1.22, significant)". */
void words_compare(struct buf *b, const struct analysis_difference *d, const char *label_a,
                   const char *label_b, const char *quality);

#endif
