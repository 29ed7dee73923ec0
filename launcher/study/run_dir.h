/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads STUDY/runs/RUN: the attempts, their markers, and the progress of the training. */
#ifndef UNETCTL_LAUNCHER_STUDY_RUN_DIR_H
#define UNETCTL_LAUNCHER_STUDY_RUN_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "launcher/study/run_plan.h"
#include "src/err.h"

enum run_marker { RUN_NO_MARKER, RUN_DONE, RUN_FAILED };

/* The newest attempt of a run. */
struct run_attempt {
    int number; /* from 1; 0 if the run has no attempt */
    bool begun;    /* a job has written into its folder */
    bool stopped;  /* a signal ended its job, and no marker was written */
    bool recorded; /* record.jsonl exists */
    char job[64]; /* id of its job, or "" before the job began */
    enum run_marker marker;
    double marker_age_s; /* seconds since the marker was written */
    int exit_code;    /* of FAILED */
    char error[512];  /* of FAILED */
    char path[PATH_MAX];
};

/* Progress according to record.jsonl. */
struct run_progress {
    int epochs;     /* planned; 0 if nothing was recorded yet */
    int epoch;      /* completed epochs */
    int step, steps; /* in the current epoch; 0 before its first progress line */
    double loss, epoch_s; /* of the last epoch */
    const char *metric; /* "IoU", or "accuracy" where images have classes */
    double quality, training_s; /* quality is negative until the training has ended */
};

/* Writes the path STUDY/runs/RUN, followed by /NAME unless name is NULL. */
void run_dir_path(const char *study_dir, const char *run, const char *name, char dst[PATH_MAX]);

/* Lists the ids of all runs that have a run.json, or have lost it after they began, sorted and
 * NULL-terminated. *ids is NULL if there are no runs; otherwise the caller frees it with
 * run_dir_list_destroy. Returns 0 or -1. */
int run_dir_list(const char *study_dir, char ***ids, size_t *count, struct err *e);
int run_dir_list_add(char ***ids, size_t *count, const char *id, struct err *e); /* unsorted */
void run_dir_list_sort(char **ids, size_t count);
void run_dir_list_destroy(char **ids, size_t count);

/* Returns 0 if the study has this run, or -1 with ERR_USAGE that names the nearest id. */
int run_dir_check_id(const char *study_dir, const char *run, struct err *e);

/* Reads a run's plan from run.json. If text is not NULL, *text gets the file's text, which the
 * caller frees. Returns 0, or -1 with ERR_CONFIG if the file is broken. */
int run_dir_read(const char *study_dir, const char *run, struct run *dst, char **text,
                 struct err *e);

/* Sets *dst to the layout of the attempt if it differs from the planned one. Returns 1 if it
 * does, 0 if not, or -1. */
int run_dir_layout(const char *study_dir, const char *run, int attempt, struct layout *dst,
                   struct err *e);

/* Returns the newest of the attempts 1..newest that has a checkpoint, or 0 if none has. */
int run_dir_checkpoint(const char *study_dir, const char *run, int newest);

int run_dir_attempt(const char *study_dir, const char *run, struct run_attempt *dst, struct err *e);

/* Fills dst with what can be read of a record, which may be missing or incomplete. */
void run_dir_progress(const struct run_attempt *attempt, struct run_progress *dst);

/* Finds the output of the attempt's job or, if the job is unknown, the newest *.out in its
 * folder. Returns 0, or -1 with ERR_DATA. */
int run_dir_output(const struct run_attempt *attempt, char dst[PATH_MAX], struct err *e);

#endif
