/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on a series in plain words, derived from its analysis. Text, Markdown, HTML and JSON
 * use the same words. */
#ifndef UNETCTL_LAUNCHER_REPORT_WORDS_H
#define UNETCTL_LAUNCHER_REPORT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/analysis/analysis.h"
#include "src/err.h"

enum words_section { WORDS_LIMITS, WORDS_MODELS, WORDS_COSTS, WORDS_ADVICE, WORDS_NSECTIONS };

/* All texts but the headline have one fact per line, or are "". Those of a series of one count
 * are "". */
struct words {
    /* "Use 6 GPUs: 5.8x faster than with 1 GPU ...", at most 25 words and a label */
    char *headline;
    char *evidence; /* why quality holds, or what is undecided and what would decide it */
    char *caveats;  /* what weakens the verdict, the most severe first */
    char *reasons;  /* the sections, one after the other */
    size_t begin[WORDS_NSECTIONS + 1]; /* where they begin in reasons */
};

const char *words_section_title(enum words_section section);

/* Returns the lines of a section, which the caller frees, or NULL if memory ran out. */
char *words_section(const struct words *w, enum words_section section);

/* label names the series if there are several; otherwise NULL. deadline: one was given. Returns
 * 0, or -1 if memory ran out. */
int words_compute(struct words *w, const struct analysis_series *as, const char *label,
                  bool deadline, struct err *e);
void words_destroy(struct words *w);

#endif
