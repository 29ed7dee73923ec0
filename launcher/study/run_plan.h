/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a study: GPU counts x seeds, each with its layout. */
#ifndef UNETCTL_LAUNCHER_STUDY_RUN_PLAN_H
#define UNETCTL_LAUNCHER_STUDY_RUN_PLAN_H

#include <jansson.h>
#include <stddef.h>

#include "launcher/study/engine.h"
#include "launcher/study/site.h"
#include "launcher/study/study.h"
#include "src/cluster/layout.h"

#define RUN_ID_SIZE 64
#define RUN_LABEL_SIZE 48
#define RUN_ID_FORMAT "%s-g%02d-s%ld" /* label, GPUs, seed */

struct run {
    char id[RUN_ID_SIZE]; /* "unet-g04-s1": label, GPUs, seed. The label of the embedded engine is
                           * the model, with train.allreduce and train.dtype unless they are the
                           * presets; that of another engine is its name */
    const struct engine *engine;
    int seed;
    const char *allreduce, *dtype; /* of train.allreduce and train.dtype */
    struct layout layout;
    bool resized;  /* an attempt with another number of GPUs (unetctl resume --gpus) */
    bool own_plan; /* an attempt with its own run.json: resized, or its files were moved */
    long batch;    /* images of a step; 0: as the study says for its GPUs */
    int rate_gpus; /* GPUs for which the learning rate is scaled; 0: likewise */
};

struct run_plan {
    struct run *runs; /* by count, then seed */
    size_t count;
};

/* The runs of study on site for the list of counts gpus and seeds 1..seeds. 0, or -1 with ERR_USAGE
 * for a bad list, ERR_CONFIG for an impossible layout and its count. run_plan_destroy frees. */
int run_plan_compute(const struct study *study, const struct site *site, const char *gpus,
                     long seeds, struct run_plan *dst, struct err *e);
void run_plan_destroy(struct run_plan *plan);

/* The label in the ids of the study's runs with this engine. */
void run_plan_label(const struct study *study, const struct engine *engine,
                    char dst[RUN_LABEL_SIZE]);

/* run.json of a run, as doc/FORMATS.md has it; NULL with an error. The caller frees. */
char *run_plan_encode(const struct study *study, const char *study_id, const struct run *run,
                      struct err *e);

/* Images of a full step: of all GPUs, and the most of one. The embedded engine divides
 * train.global_batch into shares that differ by at most one image. Other engines need equal shares:
 * each GPU has train.batch_per_gpu images, or train.global_batch if that is 0. */
struct run_batch {
    long global, per_gpu;
};
struct run_batch run_plan_batch(const struct study *study, const struct run *run);

/* Changes the layout of run to gpus on site. scale: batch and learning rate change with the number
 * of GPUs; otherwise both stay. ERR_USAGE, ERR_CONFIG. */
int run_plan_resize(const struct study *study, const struct site *site, struct run *run, int gpus,
                    bool scale, struct err *e);

/* run.json as JSON, to be released; NULL with ERR_CONFIG. study_dir: the present folder of the
 * study, to which paths in it are moved; or NULL. */
json_t *run_plan_decode(const char *text, const char *study_dir, struct err *e);

/* The value of a key of study.yaml in run.json, or NULL. The program of another engine is in the
 * section of its name in study.yaml, and in "program" in run.json. */
const json_t *run_plan_value(const json_t *plan, const char *key);

/* The number of values in which two run.json texts differ, and the first of them, as JSON.
 * study_dir: for the old text, as above. 0, or -1 with ERR_CONFIG. */
struct run_difference {
    size_t count;
    char path[128], was[512], is[512]; /* "train.lr", "0.001", "0.01" */
};
int run_plan_compare(const char *old_text, const char *new_text, const char *study_dir,
                     struct run_difference *dst, struct err *e);

#endif
