/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report is about: studies, and folders of logs. */
#pragma once

#include "src/base.h"

#include "launcher/analysis/analysis.h"
#include "launcher/collect/collect.h"

struct sources {
    bool into_study; /* set before: the study, the only source, gets what collect writes */
    struct analysis_source *list;
    size_t count, capacity;
    struct decision_rule rule; /* of the first study, or the default */
    bool ruled;                /* it is that of a study */
    char unit[24];             /* of work, and how it scales, in that study (series_facts) */
    enum series_mode mode;
    /* Of the rounds of the first source, and what is said of them; NULL: it had none. */
    struct quality_looks looks;
    char *design;
    struct buf left_out; /* lines on counts that studies expect not to run, or no data */
    int base;       /* the smallest measured count, if these have the smaller ones; or 0 */
    struct source_site site; /* of the last study */
};
#define SOURCES_INIT {.rule = DECISION_RULE_INIT}

/* Collect the study in this folder (NULL: the current one), or read a folder of logs, or what dir
 * is of these. Return 0, or -1. sources_destroy follows in either case. */
int sources_add_study(struct sources *s, const char *dir, struct err *e);
int sources_add_logs(struct sources *s, const char *dir, const struct log_form *form,
                     struct err *e);
int sources_add(struct sources *s, const char *dir, const struct log_form *form, struct err *e);

/* Sets what the sources say of how they are analysed: the rule, the looks of their rounds, the base
 * case unless that is set, the unit. o points into s then. */
void sources_apply(const struct sources *s, struct analysis_options *o);

/* Returns the folder where a report about these belongs: STUDY/report, or report. */
const char *sources_folder(const struct sources *s, char dst[PATH_MAX]);

void sources_destroy(struct sources *s);
