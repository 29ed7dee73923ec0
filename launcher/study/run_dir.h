/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads STUDY/runs/RUN: attempts, their markers, the progress of the training. */
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
    int number; /* 0: there is none */
    bool begun;    /* a job wrote into it */
    bool stopped;  /* its job was ended by a signal, and nothing is decided */
    bool recorded; /* there is a record.jsonl */
    char job[64]; /* id of the job that took it, "" before it began */
    enum run_marker marker;
    double marker_age_s; /* since the marker was written */
    int exit_code;    /* of FAILED */
    char error[512];  /* of FAILED */
    char path[PATH_MAX];
};

/* Progress according to record.jsonl. */
struct run_progress {
    int epochs;     /* planned; 0: nothing was recorded yet */
    int epoch;      /* epochs completed */
    int step, steps; /* inside the present epoch; 0 before its first report */
    double loss, epoch_s; /* of the last epoch */
    const char *metric; /* "IoU", or "accuracy" where images have classes */
    double quality, training_s; /* quality is negative before the end */
};

/* STUDY/runs/RUN, and below it NAME unless that is NULL. */
void run_dir_path(const char *study_dir, const char *run, const char *name, char dst[PATH_MAX]);

/* The ids of all runs that have a run.json, or lost it after they had begun, sorted and ended by
 * NULL (a study without runs: *ids is NULL); *ids is freed with run_dir_list_destroy. */
int run_dir_list(const char *study_dir, char ***ids, size_t *count, struct err *e);
int run_dir_list_add(char ***ids, size_t *count, const char *id, struct err *e); /* unsorted */
void run_dir_list_sort(char **ids, size_t count);
void run_dir_list_destroy(char **ids, size_t count);

/* Does the study have this run? 0, or -1 with ERR_USAGE that names the nearest. */
int run_dir_check_id(const char *study_dir, const char *run, struct err *e);

/* Read the run's plan back. text (optional) gets run.json, to be freed. ERR_CONFIG if it is
 * broken. */
int run_dir_read(const char *study_dir, const char *run, struct run *dst, char **text,
                 struct err *e);

/* *dst becomes the layout of the attempt if that is not the planned one. 1: it is not; 0; -1. */
int run_dir_layout(const char *study_dir, const char *run, int attempt, struct layout *dst,
                   struct err *e);

/* The newest of the attempts 1..newest that has a checkpoint; 0: none has. */
int run_dir_checkpoint(const char *study_dir, const char *run, int newest);

int run_dir_attempt(const char *study_dir, const char *run, struct run_attempt *dst, struct err *e);

/* From a record that is missing or torn, what can be read. */
void run_dir_progress(const struct run_attempt *attempt, struct run_progress *dst);

/* The output of the attempt's job, or if that is not known the newest *.out in its folder.
 * 0, or -1 with ERR_DATA. */
int run_dir_output(const struct run_attempt *attempt, char dst[PATH_MAX], struct err *e);

#endif
