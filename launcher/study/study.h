/* SPDX-License-Identifier: BSD-3-Clause */
/* study.yaml: what the user wants. doc/FORMATS.md describes the keys. */
#ifndef UNETCTL_LAUNCHER_STUDY_STUDY_H
#define UNETCTL_LAUNCHER_STUDY_STUDY_H

#include <stdbool.h>

#include "launcher/study/yaml_table.h"
#include "src/buf.h"
#include "src/cli.h"
#include "src/err.h"

#define STUDY_FILE "study.yaml"
#define STUDY_USER_FILE "config.yaml" /* in the user's folder (statedir_config_path) */
#define STUDY_ENV_PREFIX "UNETCTL_"   /* train.lr falls back to $UNETCTL_TRAIN_LR */
#define STUDY_GPUS_MAX 65536 /* the largest count in a list of GPU counts */

/* What both a study and a site may say about jobs; "" and 0: not said. */
struct study_slurm {
    char *partition, *account, *qos, *constraint, *time, *mem;
    const char *interface; /* how Slurm is asked: auto, library or commands */
    long cpus_per_gpu;
    struct yaml_lines options; /* further words of sbatch, one each */
};

/* What an engine other than the embedded one runs. */
struct study_engine {
    char *script, *python; /* script: absolute, or "" */
    struct yaml_lines args, setup, env;
    bool resumes; /* stops with a checkpoint on USR1 and TERM, and goes on from it */
};

struct study {
    char *dir;  /* absolute, without symbolic links */
    char *file; /* dir/study.yaml */
    char *name, *site, *gpus, *templates; /* templates: absolute, or "" */
    const char *engine, *strategy;
    long seeds;
    struct {
        char *dir;
        long height, width, channels, split_seed, repeat;
        double val_fraction;
        bool soft_masks;
        long classes;
        char *ignore, *class_file;
        char *cache;
        long workers;
        const char *remainder, *files;
    } data;
    struct {
        bool hflip, vflip, rot90, six;
        long shift;
        double brightness, contrast, crop, elastic;
    } augment;
    struct {
        char *name;
        const char *batch_norm;
        long base, depth; /* 0: the model's usual (study_base, study_depth) */
    } model;
    struct {
        const char *loss, *optimizer, *lr_scaling, *lr_schedule, *backend, *dtype, *comm, *allreduce, *compress;
        long epochs, batch_per_gpu, global_batch, threads, bucket_mib, fusion_mib, checkpoint_epochs, timeout_s;
        double lr, checkpoint_s, cycle_ms, momentum, weight_decay, clip_norm;
        char *class_weights, *lr_steps, *lr_plateau, *until;
        const char *warmup, *keep;
        bool nesterov, momentum_correction, deterministic, tensorboard;
        long warmup_epochs, accumulate, eval_epochs, patience;
        bool trace;
    } train;
    struct study_slurm slurm;
    struct {
        long signal_s, requeues;
    } again; /* of runs that do not end within their time */
    struct study_engine tensorflow, horovod, pytorch, command;
    struct yaml_lines markers; /* NAME=VALUE, for the templates */
    struct yaml_origins origins; /* where each value comes from, by the row of study_keys */
};


/* The words of slurm.interface. */
extern const char *const study_interfaces[];

/* The keys of study.yaml, of the user's file and of --set. */
extern const struct yaml_key study_keys[];

/* The study in folder dir, or for NULL in the current folder or the nearest one above that has a
 * study.yaml: what is built in, the user's file, study.yaml, the environment, and settings (what the
 * command line says), in this order. 0, or -1 with ERR_CONFIG (ERR_USAGE for the last two) and
 * nothing to destroy. */
int study_open(struct study *s, const char *dir, const struct yaml_setting *settings,
               size_t nsettings, struct err *e);
void study_close(struct study *s);

/* A study of its own with the values of src. 0, or -1 and nothing to destroy. */
int study_copy(const struct study *src, struct study *dst, struct err *e);

/* FILE:LINE (or the variable, or the option) that says what is in force for a key. */
const char *study_place(const struct study *s, const char *path);

/* Add the text of a commented study.yaml with these values and presets for the rest. 0, or -1 with
 * ERR_USAGE for an unknown key; study_open checks the values. */
int study_encode(const struct yaml_setting *settings, size_t nsettings, struct buf *dst,
                 struct err *e);

/* Is text a study's name ([a-z0-9._-]+, not starting with a dot)? NULL, or what is wrong with it. */
const char *study_check_name(const char *text);

/* Filters of the first level, and poolings, also where the study leaves them to the model; 0: only
 * the model knows. */
long study_base(const struct study *s);
long study_depth(const struct study *s);

/* Is it a FILE.yaml of the user's? study_open makes its path absolute. */
bool study_model_is_file(const char *name);

/* Does this model halve its images model.depth times? */
bool study_model_halves(const char *name);

/* Is text a Slurm time limit? NULL, or what is wrong with it. */
const char *study_check_time(const char *text);

/* What is built in and the user's file alone, for `unetctl init`. 0, or -1 as above. */
int study_open_user(struct study *s, struct err *e);

/* The words KEY=VALUE of --set as settings, which point into them: the '=' becomes a NUL. dst has
 * room for all. 0, or -1 with ERR_USAGE. */
int study_decode_set(const struct cli_list *set, struct yaml_setting *dst, struct err *e);

/* The section of an engine; NULL for the embedded one. */
const struct study_engine *study_engine(const struct study *s, const char *engine);

#endif
