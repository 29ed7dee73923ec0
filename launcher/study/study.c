/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/study.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/statedir.h"
#include "launcher/scheduler/job.h"
#include "launcher/study/engine.h"
#include "launcher/study/yaml_environment.h"
#include "src/cli.h"
#include "src/cluster/range.h"
#include "src/run/schedule.h"
#include "src/terms.h"

#define MAX_SIDE 65536

static const char *const strategies[] = {"auto", "mirrored", "multi-worker", NULL};
static const struct {
    const char *name;
    long base, depth; /* what these are where the study says 0 */
} models[] = {
    {"unet", 8, 4}, {"fcnn", 16, 0}, {"chips", 16, 0},
    {"resnet20", 16, 0}, {"resnet20-projection", 16, 0}, {"resnet32", 16, 0},
    {"resnet32-projection", 16, 0}, {"resnet44", 16, 0}, {"resnet44-projection", 16, 0},
    {"resnet56", 16, 0}, {"resnet56-projection", 16, 0}, {"resnet110", 16, 0},
    {"resnet110-projection", 16, 0},
};
#define NMODELS (sizeof models / sizeof *models)

static const char *check_filled(const char *text)
{
    return *text ? NULL : "must not be empty";
}

static const char *check_gpus(const char *text)
{
    struct err e;
    struct range r;

    if (range_decode(text, 1, STUDY_GPUS_MAX, &r, &e))
        return "is not a list of GPU counts (N, N..M, N..M:STEP, or several with commas, from 1)";
    range_destroy(&r);
    return NULL;
}

static const char *check_mask_value(const char *text)
{
    if (strlen(text) > 5 || strspn(text, "0123456789") != strlen(text) || atoi(text) > 65535)
        return "is not a mask value (0 to 65535)";
    return NULL;
}

static const char *check_lr_steps(const char *text)
{
    struct schedule schedule;
    struct err e;

    return *text && schedule_parse(&schedule, text, &e)
               ? "is not a list of EPOCH:FACTOR, such as 30:0.1,60:0.01, with rising epochs and "
                 "factors above 0 and at most 1e6"
               : NULL;
}

static const char *check_model(const char *text)
{
    for (size_t i = 0; i < NMODELS; i++)
        if (strcmp(models[i].name, text) == 0)
            return NULL;
    return study_model_is_file(text) ? NULL
                                     : "is no model (unet; fcnn; chips; resnet20, 32, 44, 56, 110, or "
                                       "one of these with -projection; or a FILE.yaml)";
}

static bool is_site_file(const char *text)
{
    return strchr(text, '/') != NULL;
}

static bool is_cache_folder(const char *text)
{
    return strcmp(text, "auto") != 0 && strcmp(text, "off") != 0;
}

bool study_model_is_file(const char *name)
{
    size_t n = strlen(name);

    return strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".yaml") == 0);
}

long study_base(const struct study *s)
{
    for (size_t i = 0; i < NMODELS && !s->model.base; i++)
        if (strcmp(models[i].name, s->model.name) == 0)
            return models[i].base;
    return s->model.base;
}

long study_depth(const struct study *s)
{
    for (size_t i = 0; i < NMODELS && !s->model.depth; i++)
        if (strcmp(models[i].name, s->model.name) == 0)
            return models[i].depth;
    return s->model.depth;
}

bool study_model_halves(const char *name)
{
    return strcmp(name, "unet") == 0;
}

const char *study_check_name(const char *text)
{
    if (!*text || *text == '.' || strlen(text) > 64 ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-") != strlen(text))
        return "must be 1 to 64 of a-z 0-9 . _ - (and not start with a dot)";
    return NULL;
}

const char *study_check_time(const char *text)
{
    return job_time_decode(text) > 0 ? NULL : "is no time limit such as 01:30:00 or 2-00:00:00";
}

#define AT(member) offsetof(struct study, member)
#define RESULT .affects_result = true /* its value can change a run's time or quality */

/* What an engine other than ours runs: a section of its own name. */
#define ENGINE_KEYS(engine_, script_help)                                                         \
    YAML_KEY(#engine_ ".script", YAML_PATH, AT(engine_.script), "", RESULT, .on_demand = true,    \
             .is_place = true, .help = script_help),                                              \
    YAML_KEY(#engine_ ".args", YAML_LINES, AT(engine_.args), "", RESULT, .on_demand = true,       \
             .help = "its words, with markers such as {{attempt_dir}}"),                          \
    YAML_KEY(#engine_ ".python", YAML_TEXT, AT(engine_.python), "python3", RESULT,                \
             .on_demand = true,                                                                   \
             .check = check_filled, .help = "what runs a Python script"),                         \
    YAML_KEY(#engine_ ".resumes", YAML_SWITCH, AT(engine_.resumes), "false", .on_demand = true,   \
             .help = "true: on USR1 it writes a checkpoint, exits with 75, and goes on from it"), \
    YAML_KEY(#engine_ ".setup", YAML_LINES, AT(engine_.setup), "", RESULT, .on_demand = true,     \
             .help = "shell lines before it, behind the site's"),                                 \
    YAML_KEY(#engine_ ".env", YAML_PAIRS, AT(engine_.env), "", RESULT, .on_demand = true,         \
             .help = "its environment, over the site's")

const char *const study_interfaces[] = {"auto", "library", "commands", NULL};

const struct yaml_key study_keys[] = {
    YAML_KEY("name", YAML_TEXT, AT(name), NULL, .check = study_check_name,
             .help = "part of the jobs' names"),
    YAML_KEY("engine", YAML_WORD, AT(engine), "embedded", RESULT, .words = engine_names,
             .help = "who trains: embedded, tensorflow, horovod, pytorch, command"),
    YAML_KEY("templates", YAML_PATH, AT(templates), "", RESULT, .on_demand = true,
             .help = "folder with a run_file.sh or submit_file.sh of your own"),
    YAML_KEY("site", YAML_PATH, AT(site), "generic", RESULT,
             .check = check_filled, .is_path = is_site_file,
             .help = "a name of unetctl site list, or the path of a site file (with a /)"),
    YAML_KEY("gpus", YAML_TEXT, AT(gpus), "1", .is_joined = true, .check = check_gpus,
             .help = "GPU counts: N, N..M, N..M:STEP, comma lists"),
    YAML_KEY("seeds", YAML_INT, AT(seeds), "1", .min = 1, .max = 1000,
             .help = "each count runs with the seeds 1..SEEDS"),
    YAML_KEY("strategy", YAML_WORD, AT(strategy), "auto", RESULT, .words = strategies,
             .help = "auto, mirrored (one process per node), multi-worker (per GPU)"),
    YAML_KEY("data.dir", YAML_PATH, AT(data.dir), NULL, .is_place = true, .check = check_filled,
             .help = "images/ and masks/ with equal names, or images of one class each"),
    YAML_KEY("data.height", YAML_INT, AT(data.height), NULL, RESULT, .min = 1, .max = MAX_SIDE,
             .help = "every image is resized, aspect kept, and padded to this"),
    YAML_KEY("data.width", YAML_INT, AT(data.width), NULL, RESULT, .min = 1, .max = MAX_SIDE,
             .help = ""),
    YAML_KEY("data.channels", YAML_INT, AT(data.channels), "1", RESULT, .min = 1, .max = 64,
             .help = "1 grey, 3 RGB"),
    YAML_KEY("data.val_fraction", YAML_REAL, AT(data.val_fraction), "0.2", RESULT,
             .min = 0.001, .max = 0.999,
             .help = "share of the images that validates"),
    YAML_KEY("data.split_seed", YAML_INT, AT(data.split_seed), "1244", RESULT,
             .min = 0, .max = INT_MAX,
             .help = ""),
    YAML_KEY("data.repeat", YAML_INT, AT(data.repeat), "1", RESULT, .min = 1, .max = 100000,
             .help = "times each training image is used per epoch"),
    YAML_KEY("data.soft_masks", YAML_SWITCH, AT(data.soft_masks), "false", RESULT,
             .help = "true: grey mask values are kept"),
    YAML_KEY("data.classes", YAML_INT, AT(data.classes), "1", RESULT, .min = 1, .max = 250,
             .help = "1: foreground and background; else a class per value"),
    YAML_KEY("data.ignore", YAML_TEXT, AT(data.ignore), "", RESULT, .check = check_mask_value,
             .help = "mask value of pixels that do not count"),
    YAML_KEY("data.class_file", YAML_PATH, AT(data.class_file), "", RESULT, .is_place = true,
             .help = "which value or colour of a mask is which class"),
    YAML_KEY("data.cache", YAML_PATH, AT(data.cache), "auto", RESULT,
             .is_place = true, .check = check_filled,
             .is_path = is_cache_folder,
             .help = "decoded images: auto, off (in memory), or a folder"),
    YAML_KEY("data.workers", YAML_INT, AT(data.workers), "2", RESULT, .min = 0, .max = 256,
             .help = "threads per GPU that load images ahead of the step"),
    YAML_KEY("data.remainder", YAML_WORD, AT(data.remainder), "keep", RESULT,
             .words = terms_remainders,
             .help = "keep (short steps, weighted by real counts) or drop"),
    YAML_KEY("data.files", YAML_WORD, AT(data.files), "all", RESULT, .words = terms_files,
             .help = "of TFRecord: all, or workers: a multiple of the GPUs, as many for each"),
    YAML_KEY("augment.hflip", YAML_SWITCH, AT(augment.hflip), "false", RESULT,
             .help = "training images only, each mask alike: left and right"),
    YAML_KEY("augment.vflip", YAML_SWITCH, AT(augment.vflip), "false", RESULT,
             .help = "top and bottom"),
    YAML_KEY("augment.rot90", YAML_SWITCH, AT(augment.rot90), "false", RESULT,
             .help = "quarter turns; half turns when not square"),
    YAML_KEY("augment.six", YAML_SWITCH, AT(augment.six), "false", RESULT,
             .help = "copy k of data.repeat 6: as it is, flipped, flipped, turned 1, 2, 3 times"),
    YAML_KEY("augment.brightness", YAML_REAL, AT(augment.brightness), "0", RESULT,
             .min = 0, .max = 1,
             .help = "adds or takes up to this (images are 0 to 1)"),
    YAML_KEY("augment.contrast", YAML_REAL, AT(augment.contrast), "0", RESULT, .min = 0, .max = 1,
             .help = "times 1 - this to 1 + this, around the mean"),
    YAML_KEY("augment.shift", YAML_INT, AT(augment.shift), "0", RESULT, .min = 0, .max = 1000,
             .help = "moves by up to so many whole pixels"),
    YAML_KEY("augment.crop", YAML_REAL, AT(augment.crop), "0", RESULT, .min = 0, .max = 0.9,
             .help = "cuts off up to this share of a side"),
    YAML_KEY("augment.elastic", YAML_REAL, AT(augment.elastic), "0", RESULT, .min = 0, .max = 1000,
             .help = "moves each pixel by up to so many, smoothly"),
    YAML_KEY("model.name", YAML_PATH, AT(model.name), "unet", RESULT, .check = check_model,
             .is_path = study_model_is_file,
             .help = "masks: unet, fcnn; a class per image: resnet20 ... 110, chips; a FILE.yaml"),
    YAML_KEY("model.base", YAML_INT, AT(model.base), "0", RESULT, .min = 0, .max = 1024,
             .help = "filters of the first level; 0: the usual (unet 8, resnet 16)"),
    YAML_KEY("model.depth", YAML_INT, AT(model.depth), "0", RESULT, .min = 0, .max = 8,
             .help = "poolings of unet; 0: the usual, 4"),
    YAML_KEY("model.batch_norm", YAML_WORD, AT(model.batch_norm), "sync", RESULT,
             .words = terms_batch_norms, .help = "sync, local, none"),
    YAML_KEY("train.epochs", YAML_INT, AT(train.epochs), "200", RESULT, .min = 1, .max = 1000000,
             .help = ""),
    YAML_KEY("train.batch_per_gpu", YAML_INT, AT(train.batch_per_gpu), "0", RESULT,
             .min = 0, .max = 65536,
             .help = "instead: images of each GPU, so that steps and rate grow with their number"),
    YAML_KEY("train.global_batch", YAML_INT, AT(train.global_batch), "16", RESULT,
             .min = 1, .max = 1 << 24,
             .help = "images of a step, shared by the GPUs: the same training on any number"),
    YAML_KEY("train.loss", YAML_WORD, AT(train.loss), "ce", RESULT, .words = terms_losses,
             .help = "ce (cross entropy, binary for 1 class), dice (1 - Dice), ce+dice"),
    YAML_KEY("train.class_weights", YAML_TEXT, AT(train.class_weights), "", RESULT, .is_joined = true,
             .help = "of ce: one number per class, with commas; background,foreground for 1 class"),
    YAML_KEY("train.accumulate", YAML_INT, AT(train.accumulate), "1", RESULT, .min = 1, .max = 4096,
             .help = "batches whose gradients make one step"),
    YAML_KEY("train.optimizer", YAML_WORD, AT(train.optimizer), "adam", RESULT,
             .words = terms_optimizers,
             .help = "adam, adamw, sgd, lars, lamb"),
    YAML_KEY("train.momentum", YAML_REAL, AT(train.momentum), "0.9", RESULT,
             .min = 0, .max = 0.999999,
             .help = "of sgd and lars"),
    YAML_KEY("train.nesterov", YAML_SWITCH, AT(train.nesterov), "false", RESULT, .help = "for sgd"),
    YAML_KEY("train.momentum_correction", YAML_SWITCH, AT(train.momentum_correction), "true",
             RESULT,
             .help = "for sgd: momentum follows the rate"),
    YAML_KEY("train.weight_decay", YAML_REAL, AT(train.weight_decay), "0", RESULT,
             .min = 0, .max = 1,
             .help = ""),
    YAML_KEY("train.clip_norm", YAML_REAL, AT(train.clip_norm), "0", RESULT, .min = 0, .max = 1e12,
             .help = "gradients are scaled down to this global norm; 0: never"),
    YAML_KEY("train.lr", YAML_REAL, AT(train.lr), "0.001", RESULT, .min = 1e-12, .max = 1000,
             .help = ""),
    YAML_KEY("train.lr_scaling", YAML_WORD, AT(train.lr_scaling), "linear", RESULT,
             .words = terms_lr_scalings,
             .help = "none, linear, sqrt, two-thirds: with global_batch / batch_per_gpu"),
    YAML_KEY("train.lr_schedule", YAML_WORD, AT(train.lr_schedule), "step", RESULT,
             .words = terms_lr_schedules,
             .help = "step (1/2 from 40 %, 1/4 from 60 %, 1/8 from 75 %), step-tf (after 75 %), "
                     "constant"),
    YAML_KEY("train.lr_steps", YAML_TEXT, AT(train.lr_steps), "", RESULT, .is_joined = true,
             .check = check_lr_steps,
             .help = "instead: EPOCH:FACTOR,.. such as 30:0.1,60:0.01"),
    YAML_KEY("train.lr_plateau", YAML_TEXT, AT(train.lr_plateau), "", RESULT,
             .help = "instead: EPOCHS:FACTOR without a better validation, such as 10:0.5"),
    YAML_KEY("train.warmup_epochs", YAML_INT, AT(train.warmup_epochs), "0", RESULT,
             .min = 0, .max = 1000000,
             .help = "from the unscaled rate to the scaled one"),
    YAML_KEY("train.warmup", YAML_WORD, AT(train.warmup), "batch", RESULT, .words = terms_warmups,
             .help = "the rate rises each batch or each epoch"),
    YAML_KEY("train.eval_epochs", YAML_INT, AT(train.eval_epochs), "0", RESULT,
             .min = 0, .max = 1000000,
             .help = "validation every so many epochs; 0: only at the end"),
    YAML_KEY("train.until", YAML_TEXT, AT(train.until), "", RESULT,
             .help = "a quality that ends the run, such as iou>=0.9 or accuracy>=0.75"),
    YAML_KEY("train.patience", YAML_INT, AT(train.patience), "0", RESULT, .min = 0, .max = 1000000,
             .help = "epochs without a better IoU or accuracy that end the run; 0: never"),
    YAML_KEY("train.keep", YAML_WORD, AT(train.keep), "last", RESULT, .words = terms_keeps,
             .help = "weights that are the result: the last or the best validated"),
    YAML_KEY("train.deterministic", YAML_SWITCH, AT(train.deterministic), "false", RESULT,
             .help = "the same bits on any number of threads"),
    YAML_KEY("train.tensorboard", YAML_SWITCH, AT(train.tensorboard), "false",
             .help = "attempt-K/tensorboard/: loss, rate and quality over time"),
    YAML_KEY("train.trace", YAML_SWITCH, AT(train.trace), "false", RESULT,
             .help = "attempt-K/trace-RANK.json: what each rank does when"),
    YAML_KEY("train.backend", YAML_WORD, AT(train.backend), "auto", RESULT, .words = terms_backends,
             .help = "auto (the GPUs that a job has), cpu, ref, simd, dnnl, cuda"),
    YAML_KEY("train.dtype", YAML_WORD, AT(train.dtype), "f32", RESULT, .words = terms_dtypes,
             .help = "of activations: f32, bf16; fp16 (cuda)"),
    YAML_KEY("train.comm", YAML_WORD, AT(train.comm), "auto", RESULT, .words = terms_comms,
             .help = "auto (nccl on GPUs), self, thread, mpi, nccl"),
    YAML_KEY("train.threads", YAML_INT, AT(train.threads), "0", RESULT, .min = 0, .max = 4096,
             .help = "per GPU; 0: what the allocation gives"),
    YAML_KEY("train.allreduce", YAML_WORD, AT(train.allreduce), "bucketed", RESULT,
             .words = terms_allreduces,
             .help = "bucketed, native (each tensor by itself), horovod (fused in cycles)"),
    YAML_KEY("train.bucket_mib", YAML_INT, AT(train.bucket_mib), "1", RESULT, .min = 0, .max = 4096,
             .help = "of bucketed; 0: chosen by the time of the first steps"),
    YAML_KEY("train.fusion_mib", YAML_INT, AT(train.fusion_mib), "128", RESULT,
             .min = 1, .max = 4096,
             .help = "of horovod: the buffer"),
    YAML_KEY("train.cycle_ms", YAML_REAL, AT(train.cycle_ms), "1", RESULT, .min = 0, .max = 1000,
             .help = "of horovod: least time between two sums"),
    YAML_KEY("train.compress", YAML_WORD, AT(train.compress), "none", RESULT,
             .words = terms_compressions,
             .help = "gradients between nodes: none, bf16, fp16"),
    YAML_KEY("train.checkpoint_epochs", YAML_INT, AT(train.checkpoint_epochs), "0", RESULT,
             .min = 0,
             .max = 1000000, .help = "a checkpoint every so many epochs; 0: not by epochs"),
    YAML_KEY("train.checkpoint_s", YAML_REAL, AT(train.checkpoint_s), "600", RESULT,
             .min = 0, .max = 1e9,
             .help = "and every so many seconds; 0: not by time"),
    YAML_KEY("train.timeout_s", YAML_INT, AT(train.timeout_s), "300", .min = 1, .max = 86400,
             .help = "of the rendezvous and of collectives"),
    YAML_KEY("slurm.partition", YAML_TEXT, AT(slurm.partition), "", RESULT, .blank = true,
             .help = "empty values: the site's"),
    YAML_KEY("slurm.account", YAML_TEXT, AT(slurm.account), "", .blank = true,
             .help = ""),
    YAML_KEY("slurm.qos", YAML_TEXT, AT(slurm.qos), "", .blank = true),
    YAML_KEY("slurm.constraint", YAML_TEXT, AT(slurm.constraint), "", RESULT, .blank = true),
    YAML_KEY("slurm.time", YAML_TEXT, AT(slurm.time), "", .blank = true, .check = study_check_time,
             .help = "limit of each run, HH:MM:SS"),
    YAML_KEY("slurm.cpus_per_gpu", YAML_INT, AT(slurm.cpus_per_gpu), "0", RESULT,
             .blank = true, .min = 0, .max = 4096),
    YAML_KEY("slurm.mem", YAML_TEXT, AT(slurm.mem), "", .blank = true),
    YAML_KEY("slurm.interface", YAML_WORD, AT(slurm.interface), "auto", .words = study_interfaces,
             .help = "how Slurm is asked: library (libslurm), commands (sbatch, squeue ...), or auto",
             .on_demand = true),
    YAML_KEY("slurm.signal_s", YAML_INT, AT(again.signal_s), "120", .min = 0, .max = 65535,
             .help = "seconds before the limit at which a run writes a checkpoint"),
    YAML_KEY("slurm.requeues", YAML_INT, AT(again.requeues), "10", .min = 0, .max = 10000,
             .help = "times that its job then starts again by itself"),
    YAML_KEY("slurm.options", YAML_LINES, AT(slurm.options), "", RESULT),
    ENGINE_KEYS(tensorflow, "your script; empty: templates/tensorflow/train.py"),
    ENGINE_KEYS(horovod, "your script; empty: templates/horovod/train.py"),
    ENGINE_KEYS(pytorch, "your script; empty: templates/pytorch/train.py"),
    ENGINE_KEYS(command, "your program"),
    YAML_KEY("markers", YAML_PAIRS, AT(markers), "", RESULT),
    YAML_KEY(NULL, YAML_TEXT, 0, NULL),
};

int study_encode(const struct yaml_setting *settings, size_t nsettings, struct buf *dst,
                 struct err *e)
{
    return yaml_table_encode(study_keys, settings, nsettings, dst, e);
}

const struct study_engine *study_engine(const struct study *s, const char *engine)
{
    const struct study_engine *const sections[] = {NULL, &s->tensorflow, &s->horovod, &s->pytorch,
                                                   &s->command};
    size_t i = 0;

    while (engine_names[i] && strcmp(engine_names[i], engine) != 0)
        i++;
    return engine_names[i] ? sections[i] : NULL;
}

/* The nearest folder from dir upwards that has a study.yaml; dir is changed in place. */
static int find_upwards(char *dir, struct err *e)
{
    char start[PATH_MAX];

    snprintf(start, sizeof start, "%s", dir);
    for (;;) {
        char file[PATH_MAX + sizeof STUDY_FILE];
        snprintf(file, sizeof file, "%s/%s", dir, STUDY_FILE);
        if (access(file, F_OK) == 0)
            return 0;
        char *slash = strrchr(dir, '/');
        if (!slash || !dir[1])
            return err_set(e, ERR_CONFIG,
                           "no study here: neither %s nor a folder above has %s (name one with "
                           "-C STUDY, or make one: unetctl init STUDY --data DIR)",
                           start, STUDY_FILE);
        slash[slash == dir] = 0;
    }
}

static int locate(struct study *s, const char *dir, struct err *e)
{
    char path[PATH_MAX];

    if (!realpath(dir ? dir : ".", path))
        return err_errno(e, ERR_CONFIG, errno, "study %s", dir ? dir : ".");
    if (!dir && find_upwards(path, e))
        return -1;
    /* These would tear the scripts that name the folder, whatever quotes stand around them. */
    for (const char *p = path; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return err_set(e, ERR_CONFIG,
                           "study %s: the folder's name has a newline or control character; "
                           "rename it", path);
    json_t *text = json_string(path); /* none where it is not UTF-8, which JSON and YAML must be */
    json_decref(text);
    if (!text)
        return err_set(e, ERR_CONFIG, "study %s: the folder's path is not UTF-8 text; rename it",
                       path);
    s->dir = strdup(path);
    if (!s->dir || asprintf(&s->file, "%s/%s", path, STUDY_FILE) < 0) {
        s->file = NULL;
        return err_errno(e, ERR_INTERNAL, errno, "study %s", path);
    }
    if (access(s->file, F_OK) != 0)
        return err_errno(e, ERR_CONFIG, errno, "%s (unetctl init STUDY --data DIR makes one)",
                         s->file);
    return 0;
}

const char *study_place(const struct study *s, const char *path)
{
    if (!yaml_table_find(study_keys, path))
        return s->file;
    const struct yaml_origin *o = yaml_table_origin(study_keys, &s->origins, path);

    return o->where ? o->where : "built-in";
}

static int check_side(const struct study *s, const char *path, long side, struct err *e)
{
    long step = 1L << study_depth(s), below = side / step * step;

    if (side % step == 0 || !study_model_halves(s->model.name))
        return 0;
    return err_set(e, ERR_CONFIG, "%s: %s %ld must be a multiple of %ld, such as %ld (2 to the power of "
                   "model.depth %ld, %s)", study_place(s, path), path, side, step, below + step,
                   study_depth(s), study_place(s, "model.depth"));
}

/* What one key alone cannot tell. */
static int check_together(const struct study *s, struct err *e)
{
    if (s->data.soft_masks && (s->data.classes > 1 || *s->data.ignore || *s->data.class_file))
        return err_set(e, ERR_CONFIG, "%s: data.soft_masks does not go with values that stand for "
                       "classes (data.classes, data.ignore, data.class_file)", study_place(s, "data.soft_masks"));
    if (strcmp(s->train.allreduce, "horovod") == 0 && strcmp(s->model.batch_norm, "sync") == 0)
        return err_set(e, ERR_CONFIG, "%s: train.allreduce horovod does not go with model.batch_norm "
                       "sync: set model.batch_norm to local, or use bucketed or native", study_place(s, "train.allreduce"));
    if (study_model_is_file(s->model.name) && access(s->model.name, F_OK) != 0)
        return err_errno(e, ERR_CONFIG, errno, "%s: model.name %s", study_place(s, "model.name"),
                         s->model.name);
    return check_side(s, "data.height", s->data.height, e) ||
                   check_side(s, "data.width", s->data.width, e)
               ? -1
               : 0;
}

/* A user without a home has no file there either. */
static int add_user_file(struct study *s, struct err *e)
{
    char file[PATH_MAX];
    struct err ignored;

    if (statedir_config_path(STUDY_USER_FILE, file, &ignored) || access(file, F_OK) != 0)
        return 0;
    return yaml_table_add_file(study_keys, file, YAML_USER, s, &s->origins, e);
}

static int add_settings(struct study *s, const struct yaml_setting *settings, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (yaml_table_add_text(study_keys, settings[i].path, settings[i].value, YAML_COMMAND,
                                settings[i].where, s, &s->origins, e))
            return -1;
    return 0;
}

/* Options of verbs that are called like settings. */
static const char *const other_variables[] = {"TRAIN_IMAGES", NULL};

int study_open(struct study *s, const char *dir, const struct yaml_setting *settings,
               size_t nsettings, struct err *e)
{
    *s = (struct study){0};
    if (locate(s, dir, e) || yaml_table_create(study_keys, s, &s->origins, e) ||
        add_user_file(s, e) ||
        yaml_table_add_file(study_keys, s->file, YAML_STUDY, s, &s->origins, e) ||
        yaml_environment_add(study_keys, STUDY_ENV_PREFIX, other_variables, s, &s->origins, e) ||
        add_settings(s, settings, nsettings, e) ||
        yaml_table_finish(study_keys, s->file, &s->origins, e) || check_together(s, e)) {
        study_close(s);
        return -1;
    }
    return 0;
}

int study_open_user(struct study *s, struct err *e)
{
    *s = (struct study){0};
    if (yaml_table_create(study_keys, s, &s->origins, e) || add_user_file(s, e)) {
        study_close(s);
        return -1;
    }
    return 0;
}

int study_decode_set(const struct cli_list *set, struct yaml_setting *dst, struct err *e)
{
    for (size_t i = 0; i < set->count; i++) {
        char *equals = (char *)strchr(set->values[i], '='); /* in a word of argv */
        if (!equals)
            return err_set(e, ERR_USAGE, "--set %s: KEY=VALUE is expected", set->values[i]);
        *equals = 0;
        dst[i] = (struct yaml_setting){set->values[i], equals + 1, "--set"};
    }
    return 0;
}

int study_copy(const struct study *src, struct study *dst, struct err *e)
{
    *dst = *src;
    dst->dir = strdup(src->dir);
    dst->file = strdup(src->file);
    if (yaml_table_copy(study_keys, src, &src->origins, dst, &dst->origins, e) == 0 && dst->dir && dst->file)
        return 0;
    study_close(dst);
    return err_errno(e, ERR_INTERNAL, ENOMEM, "study %s", src->dir);
}

void study_close(struct study *s)
{
    yaml_table_destroy(study_keys, s, &s->origins);
    free(s->file);
    free(s->dir);
    *s = (struct study){0};
}
