/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows runs until they end: on a terminal with a bar for each that fits, otherwise with a line
 * for each change of state, and every minute one for each running run and one about all. */
#pragma once

#include "launcher/status/status.h"

/* Many runs in one line: how many are in which state, and how long the running ones still need.
 * Also what they have done so far, as metrics. */
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
