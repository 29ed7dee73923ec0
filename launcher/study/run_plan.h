/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a study: each GPU count with each seed, and the layout of each run. */
#ifndef UNETCTL_LAUNCHER_STUDY_RUN_PLAN_H
#define UNETCTL_LAUNCHER_STUDY_RUN_PLAN_H

#include <jansson.h>
#include <stddef.h>

#include "launcher/study/engine.h"
#include "launcher/study/site.h"
#include "launcher/study/study.h"
#include "src/cluster/cluster_spec.h"

#define RUN_ID_SIZE 80
#define RUN_LABEL_SIZE 58
#define RUN_ID_FORMAT "%s-g%02d-s%ld" /* label, GPUs, seed */

struct run {
    /* "unet-g04-s1": label, GPUs, seed. The label of the embedded engine is the model, that of
     * another engine its name. The name of the variant follows or, without one, train.dtype of the
     * embedded engine if it is neither auto nor f32. */
    char id[RUN_ID_SIZE];
    const struct engine *engine;
    int seed;
    const char *dtype; /* train.dtype, as run_plan_dtype returns it */
    /* its settings: those of the study or of its variant, or those that it began with
     * (run_settings.h). NULL: unknown, as run_dir_read leaves it */
    const struct study *study;
    const char *reason; /* why it is submitted, for the ledger; NULL: the user asked for it */
    struct layout layout;
    bool resized;  /* this attempt has another number of GPUs (unetctl resume --gpus) */
    bool own_plan; /* this attempt has its own run.json: it is resized, or its files were moved */
    long batch;    /* images per step; 0: as the study says for the run's GPUs */
    /* the number of GPUs that the learning rate is scaled for; 0: the run's, or 1 if
     * train.global_batch is divided among them */
    int rate_gpus;
};

struct run_plan {
    struct run *runs; /* by GPU count, then by seed */
    size_t count;
};

/* Computes the runs for the list of GPU counts gpus and the seeds 1..seeds. Returns 0, or -1
 * with ERR_USAGE for a bad list or too many runs, or ERR_CONFIG that names the count whose layout
 * is impossible. The caller frees with run_plan_destroy. study must outlive the plan. */
int run_plan_compute(const struct study *study, const struct site *site, const char *gpus,
                     long seeds, struct run_plan *dst, struct err *e);
void run_plan_destroy(struct run_plan *plan);

/* Writes the label that the ids of the study's runs with this engine begin with. */
void run_plan_label(const struct study *study, const struct engine *engine,
                    char dst[RUN_LABEL_SIZE]);

/* Returns train.dtype. For "auto" it is that of the study's runs with this label, if there are any,
 * otherwise "f32" where the site and train.backend say that runs compute on the CPU, otherwise
 * "auto", which each run resolves by its GPUs when it begins. */
const char *run_plan_dtype(const struct study *study, const struct site *site);

/* Returns run.json of a run, described in doc/FORMATS.md, which the caller frees, or NULL with
 * an error. */
char *run_plan_encode(const char *study_id, const struct run *run, struct err *e);

/* The images of a full step: of all GPUs together, and the most that one GPU gets. Each GPU has
 * train.batch_per_gpu images. If that is 0, the embedded engine divides train.global_batch into
 * shares that differ by at most one image; with other engines, which need equal shares, each GPU
 * has train.global_batch images. A run with `batch` set divides that instead. */
struct run_batch {
    long global, per_gpu;
};
struct run_batch run_plan_batch(const struct run *run);

/* Changes the layout of run to gpus GPUs. If scale is true, batch and learning rate change with
 * the number of GPUs; otherwise both stay. Returns 0, or -1: with ERR_CONFIG if the engine cannot
 * resume, if the study sets train.global_batch and scale is true, or if the layout is
 * impossible. */
int run_plan_resize(const struct site *site, struct run *run, int gpus, bool scale, struct err *e);

/* Returns run.json as JSON, to be released by the caller, or NULL with ERR_CONFIG. If study_dir
 * is not NULL, paths in the study's earlier folder are changed to study_dir, its current folder. */
json_t *run_plan_decode(const char *text, const char *study_dir, struct err *e);

/* Returns the study's folder according to run.json, a text that continues after *length bytes, or
 * NULL and 0 if it is unknown. */
const char *run_plan_study_dir(const json_t *plan, size_t *length);

/* Returns the value of a key of study.yaml, such as "train.lr", in run.json, or NULL; of the
 * keys without a section it may have markers. For engines other than the embedded one, the section
 * of the engine's name in study.yaml is "program" in run.json. */
const json_t *run_plan_value(const json_t *plan, const char *key);

/* How two run.json texts differ: the number of differing values, and path and values (as JSON)
 * of the first. Not counted are keys that only the old text has, unless run.json has them only
 * where they are set, and keys that only the new text has, at their preset, unless the setting is
 * "expected". run_plan_compare returns 0, or -1 with ERR_CONFIG; study_dir applies to the old text
 * as in run_plan_decode. */
struct run_difference {
    size_t count;
    char path[128], was[512], is[512]; /* "train.lr", "0.001", "0.01" */
};
int run_plan_compare(const char *old_text, const char *new_text, const char *study_dir,
                     struct run_difference *dst, struct err *e);

#endif
