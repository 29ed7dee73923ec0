/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows runs until they end: on a terminal with a bar for each that fits, otherwise with a line
 * for each change of state, and every minute one for each running run and one about all. */
#ifndef UNETCTL_LAUNCHER_STATUS_WATCH_H
#define UNETCTL_LAUNCHER_STATUS_WATCH_H

#include "launcher/status/status_list.h"
#include "launcher/study/workspace.h"

struct watch_options {
    char **ids; /* the runs to follow; NULL: all that were submitted */
    size_t nids;
    long timeout_s; /* 0: not limited */
    long every_s;   /* interval of progress lines where no bars are drawn; 0: a minute */
    bool json;      /* a line of JSON on stdout per change of a run's state or epoch; no bars */
    /* Submits runs that were left for later because only so many jobs are allowed at a time.
     * Returns a number above 0 if some remain, 0 if none does, or -1. May be NULL. */
    long (*submit_left)(void *arg, struct err *e);
    /* Called with all runs of the study, also those that are not followed, as often as the page of
     * watch --html is written. again_s: it is called again after about so many seconds if something
     * has changed by then; 0: watching ends. Returns 0, or -1, which is an error at first and a
     * warning later. May be NULL. */
    int (*publish)(void *arg, const struct status_list *list, double again_s, struct err *e);
    void *arg;
    bool in_rounds; /* submit_left is called at first, and whenever all runs have ended */
};

/* Follows the runs, reports on stderr, and submits runs that were left as others end. Returns 0 if
 * all runs that it follows are done, ERR_INTERNAL (1) if some ended without a result, ERR_TIMEOUT,
 * or ERR_INTERRUPT after Ctrl-C or SIGTERM (the jobs continue); -1 with an error. */
int watch_runs(struct workspace *w, const struct watch_options *options, struct err *e);

#endif
