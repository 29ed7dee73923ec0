/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/mllog_file.h"
#include "src/mem.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARK ":::MLLOG "
#define MAX_EPOCHS 1000000

struct epoch {
    double start, seconds, loss, score;
};

struct mllog_reader {
    const char *path;
    size_t line;
    struct epoch *epochs;
    size_t nepochs, capacity; /* epochs that have started */
    double init, eval_start, eval_s;
    long ranks, seed, global_batch, train_images, val_images;
    char engine[32];
    bool stopped, by_iou; /* by_iou: the scores are IoU */
    struct err *e;
};

bool mllog_file_matches(const char *text)
{
    return strstr(text, MARK "{") != NULL;
}

static int refuse_log(struct mllog_reader *r, const char *what)
{
    return err_set(r->e, ERR_DATA, "%s:%zu: %s", r->path, r->line, what);
}

static int start_epoch(struct mllog_reader *r, double now)
{
    if (r->nepochs && isnan(r->epochs[r->nepochs - 1].seconds))
        return refuse_log(r, "an epoch starts before the last one has stopped");
    if (r->nepochs == 0 && now < r->init)
        return refuse_log(r, "the first epoch starts before init_start");
    if (r->nepochs && now < r->epochs[r->nepochs - 1].start + r->epochs[r->nepochs - 1].seconds)
        return refuse_log(r, "an epoch starts at a time when the last one runs");
    if (r->nepochs == MAX_EPOCHS)
        return refuse_log(r, "too many epochs");
    if (mem_grow(&r->epochs, r->nepochs, &r->capacity, sizeof *r->epochs, r->e))
        return -1;
    r->epochs[r->nepochs++] = (struct epoch){now, NAN, NAN, NAN};
    return 0;
}

static int stop_epoch(struct mllog_reader *r, double now)
{
    struct epoch *last = r->nepochs ? &r->epochs[r->nepochs - 1] : NULL;

    if (!last || !isnan(last->seconds))
        return refuse_log(r, "an epoch stops that did not start");
    last->seconds = now - last->start;
    return last->seconds >= 0 ? 0 : refuse_log(r, "an epoch stops before it starts");
}

static int stop_evaluation(struct mllog_reader *r, double now)
{
    r->eval_s = now - r->eval_start; /* the last evaluation counts */
    return r->eval_s < 0 ? refuse_log(r, "an evaluation stops before it starts") : 0;
}

/* Returns the epoch that a value belongs to: metadata.epoch_num, which counts from 1, or else the
 * last epoch that started. NULL if there is no such epoch. */
static struct epoch *find_epoch(struct mllog_reader *r, const json_t *o)
{
    const json_t *number = json_object_get(json_object_get(o, "metadata"), "epoch_num");
    double k = json_is_number(number) ? json_number_value(number) : (double)r->nepochs;

    return k >= 1 && k <= (double)r->nepochs ? &r->epochs[(size_t)k - 1] : NULL;
}

static bool is_iou(const json_t *o)
{
    const char *metric =
        json_string_value(json_object_get(json_object_get(o, "metadata"), "metric"));

    return metric && strcmp(metric, "iou") == 0;
}

static int set_value(struct mllog_reader *r, const json_t *o, bool score)
{
    const json_t *v = json_object_get(o, "value");
    struct epoch *epoch = find_epoch(r, o);
    double value = json_number_value(v);

    if (!epoch)
        return refuse_log(r, "a value of an epoch that did not start");
    if (!json_is_number(v) || !isfinite(value))
        return refuse_log(r, "a loss or accuracy is not a number");
    if (score && (value < 0 || value > 1))
        return refuse_log(r, "an accuracy is outside 0..1");
    *(score ? &epoch->score : &epoch->loss) = value;
    if (score)
        r->by_iou = is_iou(o);
    return 0;
}

static long whole_number(const json_t *o)
{
    double v = json_number_value(json_object_get(o, "value"));

    return v >= 1 && v <= INT_MAX ? (long)v : 0;
}

static int stop_run(struct mllog_reader *r, const json_t *o)
{
    const char *status =
        json_string_value(json_object_get(json_object_get(o, "metadata"), "status"));

    r->stopped = true;
    return !status || strcmp(status, "success") == 0
               ? 0
               : refuse_log(r, "the run did not end with success");
}

static int take_event(struct mllog_reader *r, const json_t *o, const char *key, double now)
{
    const struct {
        const char *key;
        long *dst;
    } counts[] = {{"number_of_ranks", &r->ranks}, {"seed", &r->seed},
                  {"global_batch_size", &r->global_batch}, {"train_samples", &r->train_images},
                  {"eval_samples", &r->val_images}};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (strcmp(key, counts[i].key) == 0)
            *counts[i].dst = whole_number(o);
    if (strcmp(key, "epoch_start") == 0)
        return start_epoch(r, now);
    if (strcmp(key, "epoch_stop") == 0)
        return stop_epoch(r, now);
    if (strcmp(key, "train_loss") == 0)
        return set_value(r, o, false);
    if (strcmp(key, "eval_accuracy") == 0)
        return set_value(r, o, true);
    if (strcmp(key, "run_stop") == 0)
        return stop_run(r, o);
    if (strcmp(key, "init_start") == 0)
        r->init = r->nepochs ? r->init : now;
    else if (strcmp(key, "eval_start") == 0)
        r->eval_start = now;
    else if (strcmp(key, "eval_stop") == 0)
        return stop_evaluation(r, now);
    else if (strcmp(key, "engine") == 0 && json_is_string(json_object_get(o, "value")))
        result_set_text(r->engine, sizeof r->engine,
                        json_string_value(json_object_get(o, "value")));
    return 0;
}

static int decode_mllog_line(struct mllog_reader *r, const char *text, size_t n)
{
    json_error_t why;
    json_t *o = json_loadb(text, n, JSON_DISABLE_EOF_CHECK, &why);
    const json_t *time = json_object_get(o, "time_ms");
    const char *key = json_string_value(json_object_get(o, "key"));
    int rc;

    if (!o)
        return refuse_log(r, "what follows " MARK "is not JSON");
    if (!key || !json_is_number(time))
        rc = refuse_log(r, "there is no key or no time_ms");
    else
        rc = take_event(r, o, key, json_number_value(time) / 1000);
    json_decref(o);
    return rc;
}

static int check_log(struct mllog_reader *r, const struct result *result)
{
    if (!r->stopped)
        return refuse_log(r, "there is no run_stop: the run was killed, or the file cut");
    if (r->nepochs == 0 || isnan(r->epochs[r->nepochs - 1].seconds))
        return refuse_log(r, "there is no epoch, or the last one did not stop");
    if (r->ranks && result->gpus && r->ranks != result->gpus)
        return err_set(r->e, ERR_DATA, "%s: its name says %d GPUs, its lines say %ld", r->path,
                       result->gpus, r->ranks);
    return 0;
}

static int fill_result(const struct mllog_reader *r, struct result *dst)
{
    bool scored = false;

    for (size_t i = 0; i < r->nepochs; i++)
        scored |= !isnan(r->epochs[i].score);
    if (scored)
        result_set_text(dst->metric, sizeof dst->metric, r->by_iou ? "iou" : "accuracy");
    struct curve *c = curve_create(r->nepochs, scored ? CURVE_SCORE : 0, r->e);
    if (!c)
        return -1;
    dst->training_time = 0;
    for (size_t i = 0; i < r->nepochs; i++) {
        c->seconds[i] = r->epochs[i].seconds;
        c->loss[i] = r->epochs[i].loss;
        if (scored)
            c->score[i] = r->epochs[i].score;
        dst->training_time += c->seconds[i];
        if (!isnan(r->epochs[i].score))
            *(r->by_iou ? &dst->iou : &dst->accuracy) = r->epochs[i].score;
    }
    dst->curve = c;
    curve_measure(c, dst);
    dst->test_time = r->eval_s;
    dst->startup_s = isnan(r->init) ? NAN : r->epochs[0].start - r->init;
    if (!dst->gpus) {
        dst->gpus = (int)r->ranks;
        dst->seed = r->seed ? r->seed : dst->seed;
        result_set_text(dst->engine, sizeof dst->engine, r->engine);
    }
    dst->global_batch = r->global_batch ? r->global_batch : dst->global_batch;
    dst->val_images = r->val_images ? r->val_images : dst->val_images;
    if (r->train_images) {
        dst->images = (double)r->train_images;
        dst->images_per_s = dst->images / dst->median_epoch_s;
    }
    return 0;
}

int mllog_file_decode(const char *text, const char *path, struct result *r, struct err *e)
{
    struct mllog_reader reader = {.path = path, .e = e, .init = NAN, .eval_start = NAN,
                                  .eval_s = NAN};
    int rc = 0;

    for (const char *line = text, *end; rc == 0 && *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        reader.line++;
        const char *mark = memmem(line, (size_t)(end - line), MARK, strlen(MARK));
        if (mark)
            rc = decode_mllog_line(&reader, mark + strlen(MARK),
                                   (size_t)(end - mark) - strlen(MARK));
    }
    if (rc == 0)
        rc = check_log(&reader, r);
    if (rc == 0)
        rc = fill_result(&reader, r);
    free(reader.epochs);
    return rc;
}
