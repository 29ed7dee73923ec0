/* SPDX-License-Identifier: BSD-3-Clause */
/* The tidy table of a study: one row per run, in logs/results.csv.
 *
 * Every run that was wanted has a row; only rows in state "done" carry measurements. Numbers that
 * are not known are NaN here and empty in the file. */
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
    RESULT_PENDING,     /* it waits for its job to start */
    RESULT_UNFINISHED,  /* neither DONE nor FAILED, and the scheduler could not be asked */
    RESULT_CORRUPT,     /* it has a DONE marker, but its files are bad */
    RESULT_NOT_STARTED, /* generated, never submitted */
    RESULT_ELASTIC,     /* finished, but with other than the planned GPUs for some time */
    RESULT_MISSING      /* study.yaml asks for it, it was not generated */
};

struct result {
    char run[128];   /* unique in its table */
    char engine[32]; /* embedded, native, horovod ... */
    int gpus, nodes; /* nodes 0: not known */
    long seed;
    int attempt; /* 0: none */
    enum result_state state;
    long epochs;
    double images; /* really processed in an epoch, all ranks, median */
    double first_epoch_s, second_epoch_s;
    double median_epoch_s; /* of all epochs after the first */
    double training_time, test_time;
    double images_per_s; /* median over the epochs after the first */
    double loss;         /* of the last epoch */
    double iou, dice;
    double accuracy;       /* share of the images, or pixels, that are right */
    double constant;       /* the quality of predicting one class everywhere */
    char metric[16];       /* the quality: "accuracy" where images have classes; "iou", or "" */
    double startup_s;      /* process start to first step */
    double comm_s, data_s; /* in an epoch after the first, median; exposed waiting */
    int oversubscribed;    /* 1, 0; -1 not known */
    char host[128];        /* of rank 0 */
    char device[128];      /* likewise: the name of its GPU or processor; "": not known */
    char log[128];         /* file in the same folder with its epochs, "" for none */
    char note[512];        /* what went wrong, where, why */
    long batch_per_gpu, global_batch; /* images; 0: not known */
    long val_images;       /* that the IoU rests on, all ranks; 0: not known */
    long parameters;       /* of the network; 0: not known */
    int fake_gpus;         /* 1: its "GPUs" are CPU cores, 0: they are GPUs; -1 not known */
    double energy_j;       /* of the whole run, measured */
    double grad_sq, grad_var; /* |G|^2 and tr(Sigma) of the gradient (noise_scale.h), means over the
                               * epochs after the first */
    char images_log[128];  /* file in the same folder with its scores, "" for none */
    struct curve *curve;   /* its epochs; NULL: not read. Belongs to the table */
    struct scores *scores; /* its images; NULL: none. Belongs to the table */
    /* Those that can change its time or quality (settings.h), without built-in values; NULL: not
     * known. Belongs to the table. */
    char *settings;
};

struct results {
    struct result *rows;
    size_t count;
    size_t capacity; /* rows there is room for */
};

const char *result_state_name(enum result_state state);

/* Is accuracy its quality, and not IoU? */
bool result_by_accuracy(const struct result *r);
double result_quality(const struct result *r);
const char *result_quality_word(const struct result *r); /* "accuracy" or "IoU" */

/* Everything unknown: NaN, 0, -1, "". */
void result_init(struct result *r);

/* Forget all that was measured: r keeps its name, engine, layout, seed and attempt, and has state
 * and note. */
void result_discard(struct result *r, enum result_state state, const char *note);

/* Free what r points to. */
void result_destroy(struct result *r);

/* Copy text into a field; too long ends in "...", control characters become
 * blanks and bytes that are not UTF-8 question marks. */
void result_set_text(char *dst, size_t size, const char *text);

/* Append a copy of r; what it points to then belongs to the table. -1 when there is no memory. */
int results_add(struct results *table, const struct result *r, struct err *e);

/* By engine, GPUs, seed, settings. */
void results_sort(struct results *table);

size_t results_count(const struct results *table, enum result_state state);

/* The table as CSV text, malloc'ed. NULL when there is no memory. */
char *results_encode(const struct results *table);
#define RESULTS_MARK "run,engine,gpus," /* at the beginning of each (atomicfile_check_own) */

/* Fill table (empty before) from a file that results_encode made; without curves and scores.
 * Columns are found by their name; a missing one (batch_per_gpu and what follows it may miss), a
 * bad number or an unknown state is ERR_DATA with FILE:LINE. */
int results_read(struct results *table, const char *path, struct err *e);

void results_destroy(struct results *table);

#endif
