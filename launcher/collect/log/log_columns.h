/* SPDX-License-Identifier: BSD-3-Clause */
/* Which column of a log is what: the one that the user names, otherwise the first of the names that
 * programs are known to use (log_columns.c). Upper and lower case, and signs such as / and -, do
 * not matter. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_COLUMNS_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_COLUMNS_H

#include "launcher/collect/log/log_form.h"
#include "launcher/collect/log/log_table.h"

enum log_role {
    LOG_TIME, LOG_STEP, LOG_EPOCH, LOG_UNITS,
    LOG_RATE,    /* units per second, minute, hour or day */
    LOG_LOSS, LOG_VAL_LOSS, LOG_QUALITY,
    LOG_RUN_S,   /* the time of the whole training */
    LOG_NROLES
};

enum log_count {
    LOG_GUESS,
    LOG_EACH,     /* of the row's interval */
    LOG_PER_STEP, /* of each step of that interval */
    LOG_TOTAL     /* since the start */
};

struct log_columns {
    int column[LOG_NROLES];  /* -1: there is none */
    double scale[LOG_NROLES]; /* from its numbers to seconds or units per second */
    enum log_count count[LOG_NROLES]; /* of LOG_TIME and LOG_UNITS */
    bool of_one_gpu; /* LOG_UNITS or LOG_RATE has the work of one GPU */
    char metric[32]; /* the name of the quality */
    char unit[24];   /* of LOG_UNITS or LOG_RATE */
};

/* Finds the columns. whole: the run was not to end early, so it must have its quality. Returns 0,
 * or -1 with ERR_CONFIG: a column that the user names does not exist, or there is neither a time
 * nor a rate. */
int log_columns_find(const struct log_table *t, const struct log_form *form, bool whole,
                     struct log_columns *dst, struct err *e);

/* Returns what the numbers count that a column has in n rows: LOG_TOTAL if they always rise and the
 * last is a multiple of the first, LOG_EACH if they do not always rise; LOG_GUESS: unknown, also
 * where most of many rise. */
enum log_count log_columns_guess(const double *values, size_t n);

#endif
