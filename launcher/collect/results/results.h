/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of results of a study (logs/results.csv) or of a folder of logs: one row per run. In a
 * study every wanted run has a row; only rows in the state "done" have measurements other than
 * epochs and their curve. An unknown measurement that is a real number is NaN here and empty in the
 * file. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_RESULTS_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/collect/results/curve.h"
#include "launcher/collect/results/scores.h"
#include "src/err.h"

enum result_state {
    RESULT_DONE,        /* finished and verified */
    RESULT_FAILED,      /* it has a FAILED marker */
    RESULT_CANCELLED,   /* its job was cancelled */
    RESULT_KILLED,      /* it ended without a marker */
    RESULT_RUNNING,     /* its job is running */
    RESULT_PENDING,     /* the job waits to start */
    RESULT_UNFINISHED,  /* neither DONE nor FAILED, and the scheduler could not be queried */
    RESULT_CORRUPT,     /* its files are invalid or contradict each other */
    RESULT_NOT_STARTED, /* generated, but never started */
    /* finished, but it ran on another number of GPUs than planned for some time */
    RESULT_ELASTIC,
    RESULT_MISSING,     /* study.yaml asks for it, but it was not generated */
    RESULT_UNREAD       /* its log is of an unknown form or too large, as the note says */
};

struct result {
    char run[128];   /* unique in its table */
    char engine[32]; /* embedded, native, horovod ... */
    int gpus, nodes; /* nodes 0: unknown */
    long seed;
    int attempt; /* 0: there is none */
    enum result_state state;
    long epochs;   /* completed */
    /* in a series, what the whole run did: its epochs or, of a run of steps, its work relative to
     * the first one's, in parts of 1 / SERIES_WORK_STEPS (analysis_internal.h) */
    long work;
    double images; /* images that all ranks processed in an epoch, median */
    /* in a series, the second is that of the epoch series_facts.epoch if it is set */
    double first_epoch_s, second_epoch_s;
    double median_epoch_s; /* over the epochs after warming up (curve.h) */
    double training_time, test_time;
    double images_per_s; /* median over the same */
    double loss;         /* of the last epoch */
    double iou, dice;    /* at the network's size */
    double iou_own_size; /* of the masks at each image's own size */
    double accuracy;       /* fraction of the images, or pixels, that are classified correctly */
    double constant;       /* the quality that predicting one class everywhere would have */
    /* what the quality is: "accuracy" if images have classes; "iou" or "" if they have masks;
     * otherwise the name that the study or the log gives it, whose value is `quality` */
    char metric[32];
    double quality;
    int lower;     /* 1 if a smaller quality is better */
    char unit[24]; /* what `images` counts: "samples", "tokens" ...; "": images */
    /* 1 if it ended at limit.steps or limit.minutes: only its speed is known, neither its quality
     * nor the time of a whole run. */
    int limited;
    double limited_s; /* how long it trained then; 0: the sum of its curve */
    /* 1 if its times and scores are those of a run of another seed (suspects.h): no repetition */
    int copied;
    long asked_steps; /* limit.steps of its plan, for the reader of its log; 0: none */
    /* 1 if its intervals (curve.h) are the steps between two rows of its log, not epochs; `epochs`
     * is their number all the same, and images and times are of one of them */
    int stepped;
    double startup_s;      /* from process start to the first step */
    double stage_s, stage_bytes; /* before that: copying the data to rank 0's node, data.stage */
    /* time waited for communication and data in an epoch, median over all but the first */
    double comm_s, data_s;
    int oversubscribed;    /* 1 or 0; -1: unknown */
    char host[128];        /* the host of rank 0 */
    /* the hosts of all ranks as a node list (nodelist.h), and when the attempt started (ISO 8601,
     * UTC); "": unknown */
    char hosts[256], started[24];
    /* what it ran with, as in the record: "compiler cc 12.2.0; kernel Linux 6.1; ..." */
    char versions[512];
    char device[128];      /* the model of GPU or processor that rank 0 computed on; "": unknown */
    char log[128];         /* the file beside results.csv that has its epochs, or "" */
    char note[512];        /* what went wrong, where, why */
    long batch_per_gpu, global_batch; /* in images; 0: unknown */
    /* validation images that the quality was measured on, of all ranks; 0: unknown */
    long val_images;
    long parameters;       /* of the network; 0: unknown */
    int fake_gpus;         /* 1 if its "GPUs" are CPU cores, 0 if they are GPUs; -1: unknown */
    /* of its GPUs over the whole run, measured; else, in a series, by watts_per_gpu */
    double energy_j;
    double cpu_energy_j;   /* of the CPU packages of its nodes, with all that ran on them */
    double node_energy_j;  /* of its nodes, which it had for itself, by Slurm (node_energy.h) */
    double epoch_energy_j; /* of its GPUs in a steady epoch, measured */
    /* Over the whole run, means of its GPUs: power, share of the time with a kernel, and with
     * clocks reduced by power or heat; the most memory in use on one of them. */
    double gpu_watts, gpu_busy, gpu_throttled, gpu_memory_mib;
    int energy_estimated;  /* 1 if energy_j is by watts_per_gpu */
    /* |G|^2 and tr(Sigma) of the gradient (analysis.h), means over the epochs after the first */
    double grad_sq, grad_var;
    char images_log[128];  /* the file beside results.csv that has its scores, or "" */
    char *examples;        /* folder of its example pictures, owned by the table; NULL: none */
    struct curve *curve;   /* its epochs, owned by the table; NULL: not read */
    struct scores *scores; /* scores of its images, owned by the table; NULL: none */
    /* The settings that can change its time or quality (settings.h), without those at their
     * preset; owned by the table. NULL: unknown. */
    char *settings;
    /* Comparisons of kernels with the reference before they were used, over all processes (0: none,
     * or unknown), and the faults of kernels that were replaced for that reason, or "". */
    int kernels_checked;
    char kernels_refused[256];
};

struct results {
    struct result *rows;
    size_t count;
    size_t capacity; /* allocated rows */
};

const char *result_state_name(enum result_state state);

/* Returns whether accuracy is the measure of the run's quality. */
bool result_by_accuracy(const struct result *r);

/* Returns the value of the measure that result.metric names, or NaN. */
double result_quality(const struct result *r);
/* Returns whether that is a share, between 0 and 1, of which more is better: IoU or accuracy. */
bool result_quality_is_share(const struct result *r);
const char *result_quality_word(const struct result *r); /* "accuracy", "IoU" or another name */

/* Sets everything to unknown: NaN, 0, -1, "". The caller sets state, which becomes 0. */
void result_init(struct result *r);

/* Discards all measurements. r keeps run, engine, gpus, nodes, seed, attempt and settings, and gets
 * state and note. */
void result_discard(struct result *r, enum result_state state, const char *note);

/* Frees what r points to. */
void result_destroy(struct result *r);

/* Copies text into a field. Text that does not fit ends in "...". Control characters become
 * blanks, and bytes that are not UTF-8 question marks. */
void result_set_text(char *dst, size_t size, const char *text);

/* Appends a copy of r; the table then owns what r points to. Returns 0, or -1 if memory ran out. */
int results_add(struct results *table, const struct result *r, struct err *e);

/* Sorts by engine, GPUs, seed, settings, and then run. */
void results_sort(struct results *table);

size_t results_count(const struct results *table, enum result_state state);

/* Returns the table as CSV, which the caller frees, or NULL if memory ran out. */
char *results_encode(const struct results *table);
#define RESULTS_MARK "run,engine,gpus," /* the beginning of each such file (atomicfile_check_own) */

/* Returns a table of the epochs of the runs that are done as CSV, which the caller frees, or NULL
 * if memory ran out. */
char *results_encode_epochs(const struct results *table);

/* Fills table, which is empty, from a file that results_encode made. Curves and scores are not in
 * it. Columns are found by name; batch_per_gpu and the columns after it may be missing. Returns 0,
 * or -1 if the file cannot be read, or with ERR_DATA and FILE:LINE for a missing column, a row that
 * is cut off, an invalid value or an unknown state; table is then empty. */
int results_read(struct results *table, const char *path, struct err *e);

void results_destroy(struct results *table);

#endif
