/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads STUDY/runs/RUN: the attempts, their markers (the files DONE and FAILED, which a job writes
 * at its end), and the progress of the training. */
#ifndef UNETCTL_LAUNCHER_STUDY_RUN_DIR_H
#define UNETCTL_LAUNCHER_STUDY_RUN_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "launcher/study/run_json.h"
#include "src/err.h"
#include "src/settings/settings.h"

enum run_marker { RUN_NO_MARKER, RUN_DONE, RUN_FAILED };

/* The newest attempt of a run. */
struct run_attempt {
    int number; /* from 1; 0 if the run has no attempt */
    bool begun;    /* its folder has files: a job wrote them, or unetctl an own run.json */
    bool ran;      /* a job wrote files into its folder */
    bool stopped;  /* the file "stopped" exists: a signal, or the trainer itself (exit code 75),
                    * ended the job so that it can be resumed */
    bool recorded; /* record.jsonl exists */
    char job[64]; /* id of the job that began last, or "" before it began */
    enum run_marker marker;
    double marker_age_s; /* seconds since the marker was written */
    int exit_code;    /* of FAILED; otherwise 0 */
    char error[512];  /* of FAILED; otherwise "" */
    char path[PATH_MAX]; /* its folder; "" if the run has no attempt */
};

/* Progress according to record.jsonl. */
struct run_progress {
    int epochs;     /* planned; 0 if nothing was recorded yet */
    int epoch;      /* completed epochs */
    int step, steps; /* in the current epoch; 0 before its first progress line */
    double loss, epoch_s; /* of the last completed epoch; 0 before */
    const char *metric; /* "IoU", or "accuracy" where images have classes */
    double quality, training_s; /* until the training has ended, quality is -1 and training_s 0 */
};

/* Writes the path STUDY/runs/RUN, followed by /NAME unless name is NULL. */
void run_dir_path(const char *study_dir, const char *run, const char *name, char dst[PATH_MAX]);

/* Lists the ids of all runs that have a run.json, or have lost it after they began, in the
 * order of strverscmp. Returns 0, or -1 and nothing to clear. */
int run_dir_list(const char *study_dir, struct setting_lines *ids, struct err *e);
void run_dir_list_sort(struct setting_lines *ids);

/* Returns 0 if the study has this run, or -1 with ERR_USAGE that names the nearest id. */
int run_dir_check_id(const char *study_dir, const char *run, struct err *e);

/* Reads a run's plan from run.json. If text is not NULL, *text gets the file's text, which the
 * caller frees. Returns 0, or -1: with ERR_CONFIG if the file is broken or another run's, with
 * ERR_DATA if it cannot be read. */
int run_dir_read(const char *study_dir, const char *run, struct run *dst, char **text,
                 struct err *e);

/* Sets *dst to the layout in the attempt's own run.json (attempt-K/run.json), which only some
 * resumed attempts have. Returns 1, 0 if there is none, so that the planned layout applies, or
 * -1. */
int run_dir_layout(const char *study_dir, const char *run, int attempt, struct layout *dst,
                   struct err *e);

/* Returns the newest of the attempts 1..newest that has a checkpoint, or 0 if none has. */
int run_dir_checkpoint(const char *study_dir, const char *run, int newest);

/* Reads the newest attempt of a run. Returns 0, also if there is none, or -1 with ERR_CONFIG if a
 * path is too long. */
int run_dir_attempt(const char *study_dir, const char *run, struct run_attempt *dst, struct err *e);

/* Returns whether a run of an engine other than the embedded one failed before it trained: the
 * newest attempt is FAILED, and none has a record, a log or a checkpoint. Then it may begin anew
 * with other settings. */
bool run_dir_never_trained(const char *study_dir, const char *run);

/* Fills dst with what can be read of the attempt's record.jsonl, which may be missing or
 * incomplete. */
void run_dir_progress(const struct run_attempt *attempt, struct run_progress *dst);

#define RUN_OUTPUT_MAX ((size_t)4 << 30) /* bytes of an output that is read */

/* Finds the output of the attempt's job or, if the job is unknown or has none, the newest *.out in
 * the attempt's folder. Returns 0, or -1 with ERR_DATA if there is none. */
int run_dir_output(const struct run_attempt *attempt, char dst[PATH_MAX], struct err *e);

#endif
