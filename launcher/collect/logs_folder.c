/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/logs_folder.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/collect/log_file.h"
#include "launcher/collect/log_name.h"
#include "launcher/collect/mllog_file.h"
#include "launcher/collect/parallel.h"
#include "launcher/collect/path.h"
#include "launcher/collect/scan.h"
#include "src/atomicfile.h"

/* What was read of r before is in no number. */
static void refuse(struct result *r, const char *note)
{
    struct result clean;

    result_init(&clean);
    memcpy(clean.run, r->run, sizeof clean.run);
    memcpy(clean.engine, r->engine, sizeof clean.engine);
    clean.gpus = r->gpus;
    clean.seed = r->seed;
    clean.state = RESULT_CORRUPT;
    result_set_text(clean.note, sizeof clean.note, note);
    curve_destroy(r->curve);
    scores_destroy(r->scores);
    *r = clean;
}

static void read_log(const char *dir, const char *name, struct result *r)
{
    char path[PATH_MAX];
    struct err e;

    if (log_file_read(path_format(path, "%s/%s", dir, name), r, &e)) {
        refuse(r, e.text);
    } else if (r->gpus == 0) {
        refuse(r,
               "neither its name nor its lines say on how many GPUs it ran: call it log_N.csv or "
               "log_ENGINE_N.csv");
    } else {
        r->state = RESULT_DONE;
        result_set_text(r->log, sizeof r->log, name);
    }
}

/* images_4.csv beside log_4.csv. */
static void read_scores(const char *dir, struct result *r)
{
    char path[PATH_MAX];
    struct err e;

    if (r->state != RESULT_DONE || !*r->images_log)
        return;
    r->scores = scores_read(path_format(path, "%s/%s", dir, r->images_log),
                            result_by_accuracy(r) ? "accuracy" : "iou", &e);
    if (!r->scores)
        refuse(r, e.text);
}

static bool has_file(const char *dir, const char *name)
{
    char path[PATH_MAX];

    return access(path_format(path, "%s/%s", dir, name), F_OK) == 0;
}

/* Output of a program counts only if there are lines of MLLOG in it. */
static bool has_mllog(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct err e;
    size_t n;
    char *text = atomicfile_read(path_format(path, "%s/%s", dir, name), LOG_FILE_MAX, &n, &e);
    bool found = text && mllog_file_matches(text);

    free(text);
    return found;
}

static bool is_log(const char *dir, const char *name, struct result *r)
{
    const char *ending = strrchr(name, '.');

    if (!log_name_ends(name) || strncmp(name, "images_", 7) == 0)
        return false;
    if (log_name_decode(name, r->engine, sizeof r->engine, &r->gpus, &r->seed))
        return true;
    r->gpus = 0;
    *r->engine = '\0';
    return strcmp(ending, ".csv") == 0 || has_mllog(dir, name);
}

static void find_scores(const char *dir, const char *name, struct result *r)
{
    char images[sizeof r->images_log];

    if (strncmp(name, "log_", 4) == 0 &&
        (size_t)snprintf(images, sizeof images, "images_%s", name + 4) < sizeof images &&
        has_file(dir, images))
        result_set_text(r->images_log, sizeof r->images_log, images);
    read_scores(dir, r);
}

static void read_entry(const void *arg, const char *name, struct result *r)
{
    const char *dir = arg;

    if (!is_log(dir, name, r))
        return;
    snprintf(r->run, sizeof r->run, "%.*s", (int)(strrchr(name, '.') - name), name);
    read_log(dir, name, r);
    find_scores(dir, name, r);
}

/* The same bytes, as far as they tell: the same curve and the same score. */
static bool is_copy(const struct result *a, const struct result *b)
{
    size_t n = a->curve->n;

    return n == b->curve->n && a->iou == b->iou && a->training_time == b->training_time &&
           memcmp(a->curve->seconds, b->curve->seconds, n * sizeof(double)) == 0 &&
           memcmp(a->curve->loss, b->curve->loss, n * sizeof(double)) == 0;
}

/* Rows first..end are of one engine, count and seed: of copies one counts, otherwise nobody knows
 * which is right. */
static void refuse_duplicates(struct results *table, size_t first, size_t end)
{
    const struct result *one = &table->rows[first];
    bool copies = true;
    char note[256];

    for (size_t i = first + 1; i < end; i++)
        copies &= is_copy(one, &table->rows[i]);
    for (size_t i = first; i < end; i++) {
        const struct result *other = &table->rows[i == first ? first + 1 : first];
        if (copies && i == first)
            continue;
        snprintf(note, sizeof note, "%.80s has the same engine, %d GPUs and seed %ld: %s",
                 other->run, other->gpus, other->seed,
                 copies ? "this is a copy" : "which of them is right is not known; keep one");
        refuse(&table->rows[i], note);
    }
}

static void find_duplicates(struct results *table)
{
    for (size_t i = 0, end; i < table->count; i = end) {
        const struct result *r = &table->rows[i];
        for (end = i + 1; end < table->count; end++) {
            const struct result *other = &table->rows[end];
            if (other->gpus != r->gpus || other->seed != r->seed ||
                strcmp(other->engine, r->engine) || other->state != RESULT_DONE)
                break;
        }
        if (end > i + 1 && r->state == RESULT_DONE)
            refuse_duplicates(table, i, end);
    }
}

static int read_bare(const char *dir, struct results *table, struct err *e)
{
    int rc = scan_folder(table, dir, read_entry, dir, e);

    if (rc == 0 && table->count == 0)
        return err_set(e, ERR_DATA,
                       "%s: there is no log in it: no results.csv, log_N.csv, log_hvd_N.csv or "
                       "log_ENGINE_N.csv, and no file with MLLOG lines",
                       dir);
    results_sort(table);
    find_duplicates(table);
    return rc;
}

struct collected {
    const char *dir;
    struct result *rows;
};

/* The same number, in six decimals, where both are known. */
static bool agree(double a, double b)
{
    return isnan(a) || isnan(b) || fabs(a - b) <= 2e-6 + 1e-6 * fabs(b);
}

/* A log that is gone leaves the row its numbers; a bad one does not. */
static void read_row(void *arg, size_t i)
{
    const struct collected *c = arg;
    struct result *r = &c->rows[i], log = *r;
    char path[PATH_MAX];
    struct err why;

    if (r->state != RESULT_DONE || !*r->log || strchr(r->log, '/') || !has_file(c->dir, r->log))
        return;
    if (log_file_read(path_format(path, "%s/%s", c->dir, r->log), &log, &why)) {
        refuse(r, why.text);
        return;
    }
    if (!agree(log.iou, r->iou) || !agree(log.training_time, r->training_time)) {
        curve_destroy(log.curve);
        refuse(r, "results.csv and its log tell another IoU or training time: collect again");
        return;
    }
    r->curve = log.curve;
    if (strchr(r->images_log, '/') || !has_file(c->dir, r->images_log))
        *r->images_log = '\0';
    read_scores(c->dir, r);
}

/* What results.csv names. */
static int read_collected(const char *dir, const char *path, struct results *table, struct err *e)
{
    if (results_read(table, path, e))
        return -1;
    parallel_each(table->count, read_row, &(struct collected){dir, table->rows});
    results_sort(table);
    return 0;
}

int logs_folder_read(const char *dir, struct results *table, struct err *e)
{
    char path[PATH_MAX];

    path_format(path, "%s/results.csv", dir);
    if (access(path, F_OK) == 0 ? read_collected(dir, path, table, e) : read_bare(dir, table, e)) {
        results_destroy(table);
        return -1;
    }
    return 0;
}
