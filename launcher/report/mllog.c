/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/mllog.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "launcher/collect/results/curve.h"
#include "launcher/host/path.h"
#include "launcher/report/markup/escape.h"
#include "src/atomicfile.h"
#include "src/buf.h"

#define START "INTERVAL_START"
#define END "INTERVAL_END"
#define POINT "POINT_IN_TIME"

/* Adds one line. value and metadata are JSON. */
static void add_event(struct buf *b, double time_s, const char *type, const char *key,
                      const char *value, const char *metadata)
{
    buf_addf(b,
             ":::MLLOG {\"namespace\": \"\", \"time_ms\": %.0f, \"event_type\": \"%s\", \"key\": "
             "\"%s\", \"value\": %s, \"metadata\": {%s}}\n",
             1000 * time_s, type, key, value, metadata);
}

static void add_number_event(struct buf *b, double time_s, const char *key, double value,
                             const char *metadata)
{
    char text[40];

    if (!isfinite(value))
        return;
    snprintf(text, sizeof text, "%.9g", value);
    add_event(b, time_s, POINT, key, text, metadata);
}

static void add_text_event(struct buf *b, const char *key, const char *value)
{
    struct buf plain = {0}, quoted = {0};

    escape_plain(&plain, value);
    buf_add_json_string(&quoted, plain.data ? plain.data : "");
    add_event(b, 0, POINT, key, quoted.data ? quoted.data : "\"\"", "");
    b->failed |= plain.failed || quoted.failed;
    buf_destroy(&plain);
    buf_destroy(&quoted);
}

/* Adds the quality; metric says which it is, since MLPerf's key is the same for all. */
static void add_quality(struct buf *b, double time_s, const struct result *r, double value,
                        const char *epoch)
{
    char metadata[96];

    snprintf(metadata, sizeof metadata, "%s, \"metric\": \"%s\"", epoch,
             result_by_accuracy(r) ? "accuracy" : "iou");
    add_number_event(b, time_s, "eval_accuracy", value, metadata);
}

static double add_epoch(struct buf *b, const struct result *r, size_t i, double at)
{
    const struct curve *c = r->curve;
    char epoch[48];

    snprintf(epoch, sizeof epoch, "\"epoch_num\": %zu", i + 1);
    add_event(b, at, START, "epoch_start", "null", epoch);
    at += isfinite(c->seconds[i]) ? c->seconds[i] : 0;
    add_number_event(b, at, "train_loss", c->loss[i], epoch);
    if (c->score)
        add_quality(b, at, r, c->score[i], epoch);
    add_event(b, at, END, "epoch_stop", "null", epoch);
    return at;
}

static void add_run(const struct result *r, struct buf *b)
{
    char last[48];
    double at = 0;

    snprintf(last, sizeof last, "\"epoch_num\": %zu", r->curve->n);
    add_text_event(b, "submission_benchmark", "unet");
    add_text_event(b, "run_name", r->run);
    add_text_event(b, "engine", r->engine);
    add_number_event(b, 0, "number_of_ranks", r->gpus, "");
    add_number_event(b, 0, "seed", (double)r->seed, "");
    add_number_event(b, 0, "global_batch_size", r->global_batch ? (double)r->global_batch : NAN,
                     "");
    add_number_event(b, 0, "train_samples", r->images, "");
    add_number_event(b, 0, "eval_samples", r->val_images ? (double)r->val_images : NAN, "");
    add_event(b, 0, START, "run_start", "null", "");
    for (size_t i = 0; i < r->curve->n; i++)
        at = add_epoch(b, r, i, at);
    add_event(b, at, START, "eval_start", "null", last);
    at += isfinite(r->test_time) ? r->test_time : 0;
    add_quality(b, at, r, result_quality(r), last);
    add_event(b, at, END, "eval_stop", "null", last);
    add_event(b, at, END, "run_stop", "null", "\"status\": \"success\"");
}

/* Makes the name of a plain file. If characters had to be replaced, or the run has no name, the
 * index of the row is appended, so that two such runs have different names. */
static void name_file(char *dst, size_t size, const struct result *r, size_t row)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    char name[sizeof r->run];
    bool changed = false;

    snprintf(name, sizeof name, "%s", r->run);
    for (char *p = name; *p; p++)
        if (!strchr(plain, *p) || (p == name && *p == '.')) {
            *p = '_';
            changed = true;
        }
    if (changed || !*name)
        snprintf(dst, size, "%s-%zu.log", name, row);
    else
        snprintf(dst, size, "%s.log", name);
}

static int write_run(const struct result *r, size_t row, const char *dir, struct err *e)
{
    char path[PATH_MAX], name[sizeof r->run + 32];
    struct buf b = {0};

    name_file(name, sizeof name, r, row);
    if (atomicfile_check_own(path_format(path, "%s/%s", dir, name), ":::MLLOG", e))
        return -1;
    add_run(r, &b);
    return path_write(dir, name, buf_steal(&b), e);
}

int mllog_write(const struct results *results, const char *dir, struct err *e)
{
    if (path_make_folder(dir, e))
        return -1;
    for (size_t i = 0; i < results->count; i++) {
        const struct result *r = &results->rows[i];
        if (r->state == RESULT_DONE && r->curve && r->curve->n && write_run(r, i, dir, e))
            return -1;
    }
    return 0;
}
