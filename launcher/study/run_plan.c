/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/run_plan.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/range.h"
#include "src/plural.h"
#include "src/terms.h"

#define MAX_RUNS 100000

static int choose_strategy(const struct study *study, const struct engine *engine,
                           enum layout_strategy *dst, struct err *e)
{
    if (layout_strategy_decode(study->strategy, dst, e))
        return -1;
    if (!engine->rank_per_gpu)
        return 0;
    if (*dst == LAYOUT_MIRRORED)
        return err_set(e, ERR_CONFIG, "strategy mirrored: engine %s drives one GPU with each process; "
                       "use multi-worker or auto", engine->name);
    *dst = LAYOUT_MULTI_WORKER;
    return 0;
}

/* Images of a step that do not depend on the number of GPUs; 0: each GPU has its own. */
static long constant_batch(const struct study *s, const struct engine *engine)
{
    return s->train.batch_per_gpu || !engine->embedded ? 0 : s->train.global_batch;
}

struct run_batch run_plan_batch(const struct study *s, const struct run *run)
{
    long each = s->train.batch_per_gpu ? s->train.batch_per_gpu : s->train.global_batch;
    long all = run->batch ? run->batch : constant_batch(s, run->engine);
    int gpus = run->layout.gpus;

    return all ? (struct run_batch){all, (all + gpus - 1) / gpus}
               : (struct run_batch){each * gpus, each};
}

/* The model, or the engine where that is not ours. Of a file's path the last part, without what does
 * not belong in a job's name. */
static void name_run(const struct study *study, const struct engine *engine, char dst[33])
{
    const char *name = engine->embedded ? study->model.name : engine->name;
    const char *slash = strrchr(name, '/');
    size_t n = 0;

    if (!engine->embedded || !study_model_is_file(name)) {
        snprintf(dst, 33, "%s", name);
        return;
    }
    for (name = slash ? slash + 1 : name; *name && n < 32 && strcmp(name, ".yaml") != 0; name++)
        dst[n++] = isalnum((unsigned char)*name) ? *name : '-';
    dst[n] = 0;
}

static int choose_layout(const struct study *study, const struct site *site, int gpus,
                         struct run *dst, struct err *e)
{
    enum layout_strategy strategy;
    int per_node = site->gpus_per_node ? (int)site->gpus_per_node : gpus;

    return choose_strategy(study, dst->engine, &strategy, e) ||
                   layout_compute(gpus, per_node, strategy, &dst->layout, e)
               ? err_prefix(e, "%d GPU%s on site %s", gpus, plural(gpus), site->name)
               : 0;
}

void run_plan_label(const struct study *study, const struct engine *engine, char dst[RUN_LABEL_SIZE])
{
    const struct {
        const char *value, *usual;
    } parts[] = {{study->train.allreduce, terms_allreduces[0]}, {study->train.dtype, terms_dtypes[0]}};

    name_run(study, engine, dst);
    for (size_t i = 0; i < 2 && engine->embedded; i++)
        if (strcmp(parts[i].value, parts[i].usual) != 0)
            snprintf(dst + strlen(dst), RUN_LABEL_SIZE - strlen(dst), "-%s", parts[i].value);
}

static int compute_run(const struct study *study, const struct site *site, int gpus, int seed,
                       struct run *dst, struct err *e)
{
    char label[RUN_LABEL_SIZE];

    dst->engine = engine_find(study->engine, e);
    if (!dst->engine)
        return err_prefix(e, "%d GPU%s on site %s", gpus, plural(gpus), site->name);
    if (choose_layout(study, site, gpus, dst, e))
        return -1;
    dst->seed = seed;
    dst->allreduce = study->train.allreduce;
    dst->dtype = study->train.dtype;
    run_plan_label(study, dst->engine, label);
    snprintf(dst->id, sizeof dst->id, RUN_ID_FORMAT, label, gpus, (long)seed);
    return 0;
}

int run_plan_compute(const struct study *study, const struct site *site, const char *gpus,
                     long seeds, struct run_plan *dst, struct err *e)
{
    struct range counts;
    int rc = 0;

    *dst = (struct run_plan){0};
    if (range_decode(gpus, 1, STUDY_GPUS_MAX, &counts, e))
        return err_prefix(e, "--gpus");
    if (counts.count > (size_t)(MAX_RUNS / seeds)) {
        err_set(e, ERR_USAGE, "%zu GPU counts x %ld seeds: a study has at most %d runs",
                counts.count, seeds, MAX_RUNS);
        range_destroy(&counts);
        return -1;
    }
    dst->runs = calloc(counts.count * (size_t)seeds, sizeof *dst->runs);
    if (!dst->runs)
        rc = err_errno(e, ERR_INTERNAL, errno, "plan");
    for (size_t i = 0; rc == 0 && i < counts.count; i++)
        for (int seed = 1; rc == 0 && seed <= seeds; seed++)
            rc = compute_run(study, site, counts.values[i], seed, &dst->runs[dst->count++], e);
    range_destroy(&counts);
    if (rc)
        run_plan_destroy(dst);
    return rc;
}

int run_plan_resize(const struct study *study, const struct site *site, struct run *run, int gpus,
                    bool scale, struct err *e)
{
    const struct study_engine *section = study_engine(study, run->engine->name);
    int planned = run->layout.gpus;

    if (section && !section->resumes)
        return err_set(e, ERR_CONFIG, "%s: engine %s cannot go on from a checkpoint (its section does "
                       "not say 'resumes: true'), and so with no other number of GPUs", run->id,
                       run->engine->name);
    long constant = constant_batch(study, run->engine);

    if (scale && constant)
        return err_set(e, ERR_CONFIG, "%s: --scale-batch: the batch over all GPUs is the study's "
                       "(train.global_batch); leave the option out", run->id);
    if (gpus == planned)
        return 0;
    run->resized = true;
    if (!scale && !constant) {
        run->batch = run_plan_batch(study, run).global *
                     (run->engine->embedded ? study->train.accumulate : 1);
        run->rate_gpus = planned;
    }
    return choose_layout(study, site, gpus, run, e) ? err_prefix(e, "%s", run->id) : 0;
}

void run_plan_destroy(struct run_plan *plan)
{
    free(plan->runs);
    *plan = (struct run_plan){0};
}

static json_t *encode_layout(const struct layout *l)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:s}", "gpus", l->gpus, "nodes", l->nodes, "tasks",
                     l->tasks, "tasks_per_node", l->tasks_per_node, "gpus_per_task",
                     l->gpus_per_task, "strategy", layout_strategy_encode(l->strategy));
}

static json_t *encode_train(const struct study *s, const struct run *run)
{
    json_t *t = json_object();

    json_object_set_new(t, "epochs", json_integer(s->train.epochs));
    json_object_set_new(t, "batch_per_gpu", json_integer(run_plan_batch(s, run).per_gpu));
    json_object_set_new(t, "global_batch",
                        json_integer(run->batch ? run->batch : constant_batch(s, run->engine)));
    if (run->rate_gpus)
        json_object_set_new(t, "rate_gpus", json_integer(run->rate_gpus));
    json_object_set_new(t, "loss", json_string(s->train.loss));
    json_object_set_new(t, "class_weights", json_string(s->train.class_weights));
    json_object_set_new(t, "accumulate", json_integer(s->train.accumulate));
    json_object_set_new(t, "optimizer", json_string(s->train.optimizer));
    json_object_set_new(t, "momentum", json_real(s->train.momentum));
    json_object_set_new(t, "nesterov", json_boolean(s->train.nesterov));
    json_object_set_new(t, "momentum_correction", json_boolean(s->train.momentum_correction));
    json_object_set_new(t, "weight_decay", json_real(s->train.weight_decay));
    json_object_set_new(t, "clip_norm", json_real(s->train.clip_norm));
    json_object_set_new(t, "lr", json_real(s->train.lr));
    json_object_set_new(t, "lr_scaling", json_string(s->train.lr_scaling));
    json_object_set_new(t, "lr_schedule", json_string(s->train.lr_schedule));
    json_object_set_new(t, "lr_steps", json_string(s->train.lr_steps));
    json_object_set_new(t, "lr_plateau", json_string(s->train.lr_plateau));
    json_object_set_new(t, "warmup_epochs", json_integer(s->train.warmup_epochs));
    json_object_set_new(t, "warmup", json_string(s->train.warmup));
    json_object_set_new(t, "eval_epochs", json_integer(s->train.eval_epochs));
    json_object_set_new(t, "until", json_string(s->train.until));
    json_object_set_new(t, "patience", json_integer(s->train.patience));
    json_object_set_new(t, "keep", json_string(s->train.keep));
    json_object_set_new(t, "deterministic", json_boolean(s->train.deterministic));
    json_object_set_new(t, "tensorboard", json_boolean(s->train.tensorboard));
    json_object_set_new(t, "trace", json_boolean(s->train.trace));
    json_object_set_new(t, "backend", json_string(s->train.backend));
    json_object_set_new(t, "dtype", json_string(run->dtype));
    json_object_set_new(t, "comm", json_string(s->train.comm));
    json_object_set_new(t, "threads", json_integer(s->train.threads));
    json_object_set_new(t, "allreduce", json_string(run->allreduce));
    json_object_set_new(t, "bucket_mib", json_integer(s->train.bucket_mib));
    json_object_set_new(t, "fusion_mib", json_integer(s->train.fusion_mib));
    json_object_set_new(t, "cycle_ms", json_real(s->train.cycle_ms));
    json_object_set_new(t, "compress", json_string(s->train.compress));
    json_object_set_new(t, "checkpoint_epochs", json_integer(s->train.checkpoint_epochs));
    json_object_set_new(t, "checkpoint_s", json_real(s->train.checkpoint_s));
    json_object_set_new(t, "timeout_s", json_integer(s->train.timeout_s));
    return t;
}

static json_t *encode_augment(const struct study *s)
{
    return json_pack("{s:b, s:b, s:b, s:b, s:f, s:f, s:I, s:f, s:f}", "six", s->augment.six, "hflip",
                     s->augment.hflip, "vflip", s->augment.vflip, "rot90", s->augment.rot90, "brightness",
                     s->augment.brightness, "contrast", s->augment.contrast, "shift",
                     (json_int_t)s->augment.shift, "crop", s->augment.crop, "elastic", s->augment.elastic);
}

static json_t *encode_data(const struct study *s)
{
    char path[PATH_MAX], split[PATH_MAX];

    /* A folder that is not there (yet) keeps its written name. */
    if (!realpath(s->data.dir, path))
        snprintf(path, sizeof path, "%s", s->data.dir);
    snprintf(split, sizeof split, "%s/split.json", s->dir);
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:I, s:s, s:s, s:s, s:I, s:s, s:s}", "dir", path, "split", split,
                     "height", (json_int_t)s->data.height, "width", (json_int_t)s->data.width,
                     "channels", (json_int_t)s->data.channels, "repeat",
                     (json_int_t)s->data.repeat, "soft_masks", s->data.soft_masks, "classes",
                     (json_int_t)s->data.classes, "ignore", s->data.ignore, "class_file",
                     s->data.class_file, "cache", s->data.cache, "workers", (json_int_t)s->data.workers, "remainder", s->data.remainder,
                     "files", s->data.files);
}

/* What an engine other than ours runs, so that a change of it is noticed. */
static json_t *encode_program(const struct study *s, const struct run *run)
{
    const struct study_engine *section = study_engine(s, run->engine->name);
    json_t *args;

    if (!section)
        return NULL;
    args = json_array();
    for (size_t i = 0; i < section->args.count; i++)
        json_array_append_new(args, json_string(section->args.lines[i]));
    return json_pack("{s:s, s:s, s:o}", "script", section->script, "python",
                     run->engine->is_python ? section->python : "", "args", args);
}

char *run_plan_encode(const struct study *s, const char *study_id, const struct run *run,
                      struct err *e)
{
    json_t *data = encode_data(s), *train = encode_train(s, run);
    json_t *layout = encode_layout(&run->layout);
    json_t *model = json_pack("{s:s, s:I, s:I, s:s}", "name", s->model.name, "base",
                              (json_int_t)study_base(s), "depth", (json_int_t)study_depth(s),
                              "batch_norm", s->model.batch_norm);
    json_error_t error;
    json_t *root = json_pack_ex(&error, 0, "{s:i, s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o}",
                                "schema", 1, "study", s->name, "study_id", study_id, "run", run->id,
                                "engine", run->engine->name, "seed", run->seed, "data", data,
                                "augment", encode_augment(s), "model", model, "train", train, "layout", layout);
    if (root && !run->engine->embedded)
        json_object_set_new(root, "program", encode_program(s, run));
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;

    if (!text)
        err_set(e, ERR_CONFIG, "%s: cannot be written as JSON: %s (is every name UTF-8?)", s->file,
                error.text);
    json_decref(root);
    return text;
}

/* Replaces the folder was by is at the beginning of every text below value. */
static void move_texts(json_t *value, const char *was, const char *is)
{
    size_t n = strlen(was), i;
    const char *key, *text = json_string_value(value);
    char path[PATH_MAX];
    json_t *inner;

    if (text && strncmp(text, was, n) == 0 && (text[n] == '/' || !text[n])) {
        snprintf(path, sizeof path, "%s%s", is, text + n);
        json_string_set(value, path);
    }
    json_object_foreach(value, key, inner) move_texts(inner, was, is);
    json_array_foreach(value, i, inner) move_texts(inner, was, is);
}

json_t *run_plan_decode(const char *text, const char *study_dir, struct err *e)
{
    json_error_t error;
    json_t *plan = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const char *split = json_string_value(json_object_get(json_object_get(plan, "data"), "split"));
    const char *slash = split ? strrchr(split, '/') : NULL;
    char was[PATH_MAX];

    if (!plan)
        err_set(e, ERR_CONFIG, "not JSON: %s", error.text);
    if (study_dir && slash && slash > split) {
        snprintf(was, sizeof was, "%.*s", (int)(slash - split), split);
        if (strcmp(was, study_dir) != 0)
            move_texts(plan, was, study_dir);
    }
    return plan;
}

const json_t *run_plan_value(const json_t *plan, const char *key)
{
    const char *engine = json_string_value(json_object_get(plan, "engine"));
    size_t n = strcspn(key, ".");
    char section[64];

    if (!key[n])
        return NULL;
    snprintf(section, sizeof section, "%.*s", (int)n, key);
    bool of_engine = engine && strcmp(section, engine) == 0;
    return json_object_get(json_object_get(plan, of_engine ? "program" : section), key + n + 1);
}

static void note_difference(const char *path, const json_t *was, const json_t *is,
                            struct run_difference *dst)
{
    char *a = was ? json_dumps(was, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
    char *b = json_dumps(is, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

    if (dst->count++ == 0) {
        snprintf(dst->path, sizeof dst->path, "%s", path);
        snprintf(dst->was, sizeof dst->was, "%s", a ? a : "missing");
        snprintf(dst->is, sizeof dst->is, "%s", b ? b : "?");
    }
    free(a);
    free(b);
}

static void compare_values(const char *path, const json_t *was, const json_t *is,
                           struct run_difference *dst)
{
    char inner[128];
    const char *key;
    json_t *value;

    if (json_is_object(was) && json_is_object(is))
        json_object_foreach((json_t *)is, key, value) {
            snprintf(inner, sizeof inner, "%s%s%s", path, *path ? "." : "", key);
            compare_values(inner, json_object_get(was, key), value, dst);
        }
    else if (!json_equal(was, is))
        note_difference(path, was, is, dst);
}

int run_plan_compare(const char *old_text, const char *new_text, const char *study_dir,
                     struct run_difference *dst, struct err *e)
{
    json_t *was = run_plan_decode(old_text, study_dir, e);
    json_t *is = was ? run_plan_decode(new_text, NULL, e) : NULL;

    *dst = (struct run_difference){0};
    if (is)
        compare_values("", was, is, dst);
    json_decref(was);
    json_decref(is);
    return is ? 0 : -1;
}
