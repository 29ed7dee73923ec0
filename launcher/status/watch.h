/* SPDX-License-Identifier: BSD-3-Clause */
/* Follow runs until they have ended: a bar per run on a terminal, else a line per change of
 * state. */
#ifndef UNETCTL_LAUNCHER_STATUS_WATCH_H
#define UNETCTL_LAUNCHER_STATUS_WATCH_H

#include "launcher/study/workspace.h"

struct watch_options {
    char **ids; /* of the runs to follow; NULL: all that were submitted */
    size_t nids;
    long timeout_s; /* 0: none */
    bool json;      /* a line of JSON on stdout per change of a run's state or epoch; no bars */
    /* Submits runs that a limit of the scheduler's has left; how many are left still, or -1. NULL:
     * none were left. */
    long (*submit_left)(void *arg, struct err *e);
    void *arg;
};

/* Talks on stderr. Runs that were left are submitted as others end. Returns 0 when all runs are
 * done, ERR_INTERNAL (1) when some ended without a result, ERR_TIMEOUT, or ERR_INTERRUPT after
 * Ctrl-C (the jobs go on); -1 with an error. */
int watch_runs(struct workspace *w, const struct watch_options *options, struct err *e);

#endif
