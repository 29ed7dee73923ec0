/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: the record, the settings and the energy of a run, the scan of
 * a folder, and checks of the rows of a table against each other. */
#pragma once

#include "src/base.h"

#include <jansson.h>

#include "launcher/collect/results/results.h"
#include "launcher/status/status.h"
#include "launcher/study/workspace.h"

/* Returns the settings that can change the run's time or quality (affects_result in
 * settings_of_study) as one text (settings.h), without those at their preset; the batch is always
 * included, and so is the strategy multi-worker where one task could have had all GPUs.
 * backend is the one that computed, or "" if only the plan is known. device is the model of the GPU
 * or processor; it is included only with the backend cuda. script is the hash of what another
 * engine executed, or "". The caller frees the text. NULL if memory ran out. */
char *result_settings_encode(const json_t *plan, const char *backend, const char *device,
                             const char *script);

/* An epoch of record.jsonl (logs/SCHEMA.md), which a trainer appends to while it runs. */
struct run_epoch {
    double seconds, loss;
    /* The following are NaN if the record does not have them. */
    double images;         /* that all ranks processed */
    double data_s, comm_s; /* seconds in which rank 0 waited for data and communication */
    double val_iou, val_accuracy, val_loss;
    double train_iou;
    double grad_sq, grad_var; /* |G|^2 and tr(Sigma): unbiased estimates (analysis.h) */
};

struct run_record {
    /* Names, counts, times and quality from the run line, and from the end line if its status is
     * done. epochs is the planned number. Has no curve, scores, settings or state. */
    struct result run;
    char backend[16]; /* the backend that computed; "" if not recorded */
    char dtype[16];   /* the number format it chose; "" if not recorded */
    struct run_epoch *epochs; /* of a run that ended at its limit: intervals (run_record.c) */
    size_t nepochs, capacity;
    char worlds[200];   /* "4 GPUs, 2 from epoch 12 on" if the number changed, otherwise "" */
    bool done;          /* the status in the end line is done */
    /* the wanted quality was reached, or improved no further, before the planned epochs */
    bool stopped_early;
};

/* Reads a record. Returns 0, or -1, for a bad line with ERR_DATA "FILE:LINE: REASON", for a file of
 * more than 64 MiB with ERR_CONFIG. A last line without a newline is ignored, since the writer was
 * killed. Refuses a file without a run line, an
 * unknown schema, a line that is not a JSON object, epochs that do not count from 0, required
 * numbers that are missing or not finite, qualities outside 0..1, and lines after the end
 * line; a record without an end line is not refused. dst is then empty. */
int run_record_read(const char *path, struct run_record *dst, struct err *e);

void run_record_destroy(struct run_record *r);

/* The share of a run's GPU-seconds that must be measured for its energy to be known. */
#define RUN_ENERGY_COVERED 0.95

/* Sets energy, use and memory of a run that is done from what samplers measured beside it
 * (energy.h), in the folder of its attempt and of those
 * whose checkpoints it continued, and the joules of its curve if the job started once. Where not
 * all of its GPUs were measured to the end, its energy remains unknown. r->note, if empty, becomes
 * the reason, or an XID. */
void run_energy_measure(const char *study_dir, struct result *r);

/* Sets the energy of the nodes of runs whose GPUs nothing has measured and that ended in the last
 * 30 days, from the folders of their attempts, or else from Slurm's accounting; the answer is kept
 * there, as accounting forgets jobs. Runs that shared nodes or a job, or whose job was not counted
 * for nearly the whole run, have none. Without an answer nothing changes. */
void node_energy_resolve(struct workspace *w, struct results *table);

/* Finds runs of a study that differ only in their seed and have equal scores, and equal times,
 * which by the digits and the scatter of the times is a chance of less than one in a million. All
 * but the first are marked as copied and get a note. table is sorted. */
void suspects_mark_copied(struct results *table);

/* Finds different contents for one engine, settings, count and seed, of which none is used, and
 * copies, of which one is; and rows of steps whose work is unknown though that of others of their
 * engine is: these become unread. table is sorted; rows may lack curves. */
void suspects_discard_repeated(struct results *table);

/* Fills r, which result_init has initialised, from the entry called name. An entry that leaves
 * r->run empty is skipped. Called from several threads. */
typedef void scan_f(const void *arg, const char *name, struct result *r);

/* Fills table, which is empty, with a row for each entry of dir that is not hidden or skipped,
 * sorted by name. Many entries are read by several threads. Returns 0, or -1 if memory ran out, or
 * with ERR_DATA if dir cannot be read. */
int scan_folder(struct results *table, const char *dir, scan_f *read, const void *arg,
                struct err *e);

/* Sets the state and the note of one row, whose run has no marker, from the status of its run. */
void unfinished_decide(struct result *r, const struct run_status *status);
