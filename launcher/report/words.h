/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on a series in plain words, derived from its analysis. Text, Markdown, HTML and JSON
 * use the same words. */
#ifndef UNETCTL_LAUNCHER_REPORT_WORDS_H
#define UNETCTL_LAUNCHER_REPORT_WORDS_H

#include <stdbool.h>

#include "launcher/analysis/analysis.h"
#include "src/err.h"

struct words {
    char *headline; /* "Use 6 GPUs: 5.8x faster than with 1 GPU ...", one line */
    /* what limits scaling, what it costs, what to measure next; one fact per line, or "" for a
     * series of one count */
    char *reasons;
    char *caveats;  /* what weakens the verdict, the most severe first; one per line, or "" */
};

/* label names the series if there are several; otherwise NULL. deadline: one was given. Returns
 * 0, or -1 if memory ran out. */
int words_compute(struct words *w, const struct analysis_series *as, const char *label,
                  bool deadline, struct err *e);
void words_destroy(struct words *w);

#endif
