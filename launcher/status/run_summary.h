/* SPDX-License-Identifier: BSD-3-Clause */
/* Many runs in one line: how many are in which state, and how long the running ones still need.
 * Also what they have done so far, as metrics. */
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
    size_t runs;
    double done;      /* the sum of run_summary_fraction */
    int gpus;         /* of the runs in state RUNNING */
    double gpu_hours; /* that all have used, as far as their times are known */
    long epochs;      /* that all have completed */
    /* What run_summary_total_left is computed from: GPU-seconds of whole runs, and their number;
     * GPU-seconds that running runs still need; active runs whose remaining time is not known;
     * runs that were not submitted. */
    double whole_gpu_s, left_gpu_s;
    size_t whole, untimed, planned;
};

/* Returns the fraction of a run's training that is done, from 0 to 1. */
double run_summary_fraction(const struct run_status *s);

/* Returns the seconds that a run's job has run or, if the scheduler has forgotten the job, those of
 * its finished training; -1 if neither is known. */
double run_summary_elapsed(const struct run_status *s);

/* Returns the seconds that a run in state RUNNING still needs at the pace of its last epoch, or -1
 * if it has not completed an epoch. */
double run_summary_left(const struct run_status *s);

/* Formats seconds, as "40 s", "12 min", "3 h 20 min" or "2 d 4 h". */
void run_summary_format_time(double seconds, char dst[32]);

void run_summary_add(struct run_summary *summary, const struct run_status *s);

/* Returns about how many seconds all active runs need on as many GPUs as are in use now: a run that
 * waits needs as many GPU-seconds as the others on average. planned: so do runs that were not
 * submitted. -1: no run is RUNNING, or nothing is known of such a run. */
double run_summary_total_left(const struct run_summary *summary, bool planned);

/* Returns the summary in the text format of Prometheus, as the textfile collector of node_exporter
 * reads it; the caller frees it. left_s is that of run_summary_total_left. NULL if memory ran
 * out. */
char *run_summary_encode_metrics(const struct run_summary *summary, const char *study,
                                 double left_s);
#define RUN_SUMMARY_METRICS_MARK "# HELP unetctl_runs" /* begins such a text */

/* Formats the summary, such as "12 done, 2 running, 1 failed; 3 h 20 min left". The time is given
 * if that of each running run is known; if others wait, it is "for those running". */
void run_summary_format(const struct run_summary *summary, char *dst, size_t size);

#endif
