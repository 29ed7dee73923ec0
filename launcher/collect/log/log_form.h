/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user says about the logs of a program, in study.yaml (log, work, quality) or to `unetctl
 * report --logs`. Everything may be absent. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FORM_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_FORM_H

#include <stdbool.h>

#include "src/cli.h"
#include "src/err.h"

struct log_form {
    const char *file; /* in the folder of an attempt */
    /* Names of columns. NAME:total says that the times or units are counted from the start of the
     * run, NAME:each that they are those of the row's interval, NAME:step of each of its steps.
     * Units or a rate NAME:gpu are those of one GPU. */
    const char *time, *step, *units, *quality;
    const char *pattern; /* a regular expression with named groups */
    double per_step, per_run; /* units of work; 0: what the log says */
    const char *unit, *quality_name;
    /* "higher" or "lower", which quality is better; otherwise its name says it (log_form_is_lower) */
    const char *better;
};

/* The same on a command line, and its options. */
struct log_form_args {
    struct cli_list columns;
    const char *unit, *quality;
    char name[32]; /* of the quality */
};
#define LOG_FORM_OPTIONS(args)                                                                  \
    {"column", 0, CLI_LIST, "ROLE=NAME",                                                        \
     "--logs: this is the time, step, units or quality",                                         \
     &(args).columns, 0, 0},                                                                    \
    {"unit", 0, CLI_STRING, "WORD", "--logs: what the units of work are, such as tokens",       \
     &(args).unit, 0, 0},                                                                       \
    {"quality", 0, CLI_STRING, "NAME",                                                          \
     "--logs: the quality; NAME:lower or NAME:higher is better",                                  \
     &(args).quality, 0, 0}

/* Returns whether a smaller quality of this name is better: as the user says, otherwise lower for
 * names that contain loss, error, perplexity, mse or mae. */
bool log_form_is_lower(const struct log_form *form, const char *name);

/* Decodes them: columns are "time=NAME", "step=NAME", "units=NAME", "quality=NAME" or
 * "pattern=REGEX". dst points into args. Returns 0, or -1 with ERR_USAGE. */
int log_form_decode(struct log_form_args *args, struct log_form *dst, struct err *e);

#endif
