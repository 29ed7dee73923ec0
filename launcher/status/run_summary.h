/* SPDX-License-Identifier: BSD-3-Clause */
/* Many runs in one line: how many are in which state, and how long the running ones still need. */
#ifndef UNETCTL_LAUNCHER_STATUS_RUN_SUMMARY_H
#define UNETCTL_LAUNCHER_STATUS_RUN_SUMMARY_H

#include "launcher/status/run_status.h"

#define RUN_SUMMARY_STATES 32

struct run_summary {
    struct run_summary_state {
        enum run_phase phase;
        enum state state;
        size_t runs;
    } states[RUN_SUMMARY_STATES];
    size_t nstates;
    size_t running;   /* runs in state RUNNING, */
    size_t timed;     /* those of them whose remaining time is known, */
    double left_s;    /* and the longest of these times */
    bool others_wait; /* some runs are active and not RUNNING */
};

/* Returns the seconds that a run in state RUNNING still needs at the pace of its last epoch, or -1
 * if it has not completed an epoch. */
double run_summary_left(const struct run_status *s);

/* Formats seconds, as "40 s", "12 min", "3 h 20 min" or "2 d 4 h". */
void run_summary_format_time(double seconds, char dst[32]);

void run_summary_add(struct run_summary *summary, const struct run_status *s);

/* Formats the summary, such as "12 done, 2 running, 1 failed; 3 h 20 min left". The time is given
 * if that of each running run is known; if others wait, it is "for those running". */
void run_summary_format(const struct run_summary *summary, char *dst, size_t size);

#endif
