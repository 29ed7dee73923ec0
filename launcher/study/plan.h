/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command asks for: the settings of a study, of its variants and of its site, the options
 * of its jobs, and the runs that follow: each GPU count with each seed, and the layout of each. */
#pragma once

#include "src/base.h"

#include <jansson.h>

#include "launcher/scheduler/job.h"
#include "launcher/study/study.h"
#include "src/cluster/cluster_spec.h"

/* Values of the command line; NULL, 0 and false mean that an option is not given. --gpus, --seeds,
 * --engine and --site are CLI_TYPED: they come only from the command line, because study_open reads
 * their environment variables as those of settings. */
struct plan_args {
    const char *dir, *site, *scheduler, *engine, *model, *gpus, *templates;
    long seeds, max_in_flight;
    bool one_allocation, take_over;
    struct cli_list set;  /* KEY=VALUE */
    struct cli_list vary; /* KEY=VALUE,VALUE */
    struct cli_list after;
};

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
    const char *dtype; /* train.dtype, as plan_dtype returns it */
    /* its settings: those of the study or of its variant, or those that it began with
     * (attempt.h). NULL: unknown, as run_dir_read leaves it */
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

#define VARIANTS_MAX 64

/* The same runs with a few other settings, from study.yaml (variants) and from `--vary
 * KEY=VALUE,VALUE`, of which all combinations are variants. */
struct variant {
    char name[VARIANT_NAME_SIZE];
    struct setting_lines set; /* "KEY=VALUE" */
    struct study study;       /* with these settings */
};

extern const char *const plan_schedulers[]; /* their kinds, in workspace_scheduler's order */

struct plan {
    struct study study;
    struct site site;
    const char *study_id;  /* the ledger's; "" before the study's first submission */
    const char *scheduler; /* the kind that new jobs go to: slurm, local or dry */
    const char *templates; /* the user's folder or file of job templates, or "" */
    /* jobs at a time; 0: the site's number for local, no limit for slurm */
    long max_in_flight;
    bool one_allocation;          /* new runs become steps of one job (attempt.h) */
    const struct cli_list *after; /* what new jobs wait for */
    struct job_options options;   /* merged from all layers */
    struct variant *variants;
    size_t nvariants; /* 0: the study has none */
    struct run *runs; /* by GPU count, then by seed, then by variant; none before plan_compute */
    size_t count;
};

/* Opens the study of args, its site, and the options of its jobs; args must outlive p. With
 * `--scheduler local`, a site with another scheduler is replaced by the site "local", since their
 * layouts differ. words are options of sbatch, which override those of study and site; they must
 * outlive p. Returns 0, or -1; plan_close follows in either case. */
int plan_open(struct plan *p, const struct plan_args *args, int nwords, char **words,
              struct err *e);

/* Opens the variants of a study. Returns 0, or -1; plan_close closes those that were opened. */
int plan_open_variants(struct plan *p, const struct plan_args *args, struct err *e);

void plan_close(struct plan *p);

/* Returns the seeds of a count's runs: `seeds` of the study, with data.folds as many for each
 * fold. */
long plan_seeds(const struct study *s);

/* Returns the fold of a run with this seed, 1..data.folds in turn, or 0 without folds. Runs of
 * equal seeds have equal folds, so that comparisons by seed are by fold, too. */
int plan_fold(const struct study *s, int seed);

/* Writes the path of the split of this fold: split.json, of the second one split-2.json. */
void plan_split_file(const struct study *s, int fold, char dst[PATH_MAX]);

/* Makes dst a plan with the settings of p, which must outlive it, and the runs of the list of GPU
 * counts gpus and the seeds 1..seeds, each in each variant. dst may be p if that has no runs.
 * Returns 0, or -1 with ERR_USAGE for a bad list or too many runs, or ERR_CONFIG that names the
 * count whose layout is impossible. The caller calls plan_free_runs(dst). */
int plan_compute(const struct plan *p, const char *gpus, long seeds, struct plan *dst,
                 struct err *e);
void plan_free_runs(struct plan *p);

/* Checks what the script that comes with unetctl for another engine would refuse in the job.
 * Returns 0, or -1 with ERR_CONFIG. */
int plan_check_shipped(const struct plan *p, const struct study *study, struct err *e);

/* Writes the label that the ids of the study's runs with this engine begin with. */
void plan_label(const struct study *study, const struct engine *engine, char dst[RUN_LABEL_SIZE]);

/* Returns train.dtype. For "auto" it is that of the study's runs with this label, if there are any,
 * otherwise "f32" where the site and train.backend say that runs compute on the CPU, otherwise
 * "auto", which each run resolves by its GPUs when it begins. */
const char *plan_dtype(const struct study *study, const struct site *site);

/* Returns the number of images per step if it does not depend on the number of GPUs, or 0 if each
 * GPU has its own batch. */
long plan_constant_batch(const struct study *s);

/* Returns the GB of memory of a node that jobs ask for, or 0 if they do not say. */
double plan_mem_gb(const struct study *s);

/* Returns why this number of GPUs is known not to run (expect), or NULL. */
const char *plan_refusal(const struct study *s, int gpus);

/* The images of a full step: of all GPUs together, and the most that one GPU gets. Each GPU has
 * train.batch_per_gpu images. If that is 0, the GPUs share train.global_batch: with the embedded
 * engine by shares that differ by at most one image, with others by equal ones, so that
 * plan_compute refuses numbers of GPUs that do not divide it. A run with `batch` set divides that
 * instead. */
struct run_batch {
    long global, per_gpu;
};
struct run_batch plan_run_batch(const struct run *run);

/* Changes the layout of run to gpus GPUs. If scale is true, batch and learning rate change with
 * the number of GPUs; otherwise both stay. Returns 0, or -1: with ERR_CONFIG if the engine cannot
 * resume, if the study sets train.global_batch and scale is true, or if the layout is
 * impossible. */
int plan_resize_run(const struct site *site, struct run *run, int gpus, bool scale, struct err *e);

/* run.json, the plan of one run: what unetctl writes and its trainer reads (doc/FORMATS.md). */

/* Returns run.json of a run, which the caller frees, or NULL with
 * an error. */
char *run_json_encode(const char *study_id, const struct run *run, struct err *e);

/* Returns run.json as JSON, to be released by the caller, or NULL with ERR_CONFIG. If study_dir
 * is not NULL, paths in the study's earlier folder are changed to study_dir, its current folder. */
json_t *run_json_decode(const char *text, const char *study_dir, struct err *e);

/* Returns the study's folder according to run.json, a text that continues after *length bytes, or
 * NULL and 0 if it is unknown. */
const char *run_json_study_dir(const json_t *plan, size_t *length);

/* Returns the value of a key of study.yaml, such as "train.lr", in run.json, or NULL; of the
 * keys without a section it may have markers. For engines other than the embedded one, the section
 * of the engine's name in study.yaml is "program" in run.json. */
const json_t *run_json_value(const json_t *plan, const char *key);

/* How two run.json texts differ: the number of differing values, and path and values (as JSON)
 * of the first. Not counted are keys that only the old text has, unless run.json has them only
 * where they are set, and keys that only the new text has, at their preset, unless the setting is
 * "expected". run_json_compare returns 0, or -1 with ERR_CONFIG; study_dir applies to the old text
 * as in run_json_decode. */
struct run_difference {
    size_t count;
    char path[128], was[512], is[512]; /* "train.lr", "0.001", "0.01" */
};
int run_json_compare(const char *old_text, const char *new_text, const char *study_dir,
                     struct run_difference *dst, struct err *e);

/* Returns the value of a setting in src, the struct that has it. */
json_t *setting_json_encode(const struct setting *s, const void *src);

/* Returns whether value equals what a file without the setting means. */
bool setting_json_is_preset(const struct setting *s, const json_t *value);
