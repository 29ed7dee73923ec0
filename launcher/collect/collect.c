/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/collect.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/collect/log_name.h"
#include "launcher/collect/logs_folder.h"
#include "launcher/collect/parallel.h"
#include "launcher/collect/path.h"
#include "launcher/collect/run_folder.h"
#include "launcher/collect/unfinished.h"
#include "src/atomicfile.h"
#include "src/range.h"

#define MAX_LOG (64 << 20)

static int is_run(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* One row for each folder of runs. */
struct scan {
    const char *study_dir;
    struct dirent **entries;
    struct result *rows;
};

static void read_run(void *arg, size_t i)
{
    struct scan *s = arg;
    struct result *r = &s->rows[i];
    struct err why; /* stands in the row's note */

    result_init(r);
    result_set_text(r->run, sizeof r->run, s->entries[i]->d_name);
    run_folder_read(s->study_dir, s->entries[i]->d_name, r, &why);
}

static int read_runs(const char *study_dir, struct dirent **entries, size_t n, struct results *table,
                     struct err *e)
{
    struct scan scan = {study_dir, entries, calloc(n + 1, sizeof *scan.rows)};
    int rc = 0;

    if (!scan.rows)
        return err_set(e, ERR_INTERNAL, "out of memory for %zu runs", n);
    parallel_each(n, read_run, &scan);
    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = results_add(table, &scan.rows[i], e);
        if (rc) {
            curve_destroy(scan.rows[i].curve);
            scores_destroy(scan.rows[i].scores);
        }
    }
    free(scan.rows);
    return rc;
}

static int scan_runs(const char *study_dir, struct results *table, struct err *e)
{
    char dir[PATH_MAX];
    struct dirent **entries;
    int n, rc;

    path_format(dir, "%s/runs", study_dir);
    n = scandir(dir, &entries, is_run, alphasort);
    if (n < 0)
        return errno == ENOENT ? 0 : err_errno(e, ERR_DATA, errno, "can't read %s", dir);
    rc = read_runs(study_dir, entries, (size_t)n, table, e);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return rc;
}

/* The names and the plans of runs, for bsearch. */
struct known {
    const struct result **by_plan, **by_name;
    size_t n;
};

static int compare_plans(const void *a, const void *b)
{
    const struct result *x = *(const struct result *const *)a, *y = *(const struct result *const *)b;

    if (x->gpus != y->gpus)
        return x->gpus < y->gpus ? -1 : 1;
    return (x->seed > y->seed) - (x->seed < y->seed);
}

static int compare_names(const void *a, const void *b)
{
    const struct result *x = *(const struct result *const *)a, *y = *(const struct result *const *)b;

    return strcmp(x->run, y->run);
}

/* By what it is, or by its name where run.json can't be read. */
static bool has_run(const struct known *k, const struct result *wanted)
{
    return bsearch(&wanted, k->by_plan, k->n, sizeof *k->by_plan, compare_plans) ||
           bsearch(&wanted, k->by_name, k->n, sizeof *k->by_name, compare_names);
}

static int sort_known(const struct results *table, struct known *k, struct err *e)
{
    *k = (struct known){calloc(table->count + 1, sizeof *k->by_plan),
                        calloc(table->count + 1, sizeof *k->by_name), table->count};
    if (!k->by_plan || !k->by_name) {
        free(k->by_plan);
        free(k->by_name);
        return err_set(e, ERR_INTERNAL, "out of memory for %zu runs", table->count);
    }
    for (size_t i = 0; i < table->count; i++)
        k->by_plan[i] = k->by_name[i] = &table->rows[i];
    qsort(k->by_plan, k->n, sizeof *k->by_plan, compare_plans);
    qsort(k->by_name, k->n, sizeof *k->by_name, compare_names);
    return 0;
}

static int list_missing(const struct collect_wanted *wanted, const struct known *known, const char *engine,
                        struct results *missing, struct err *e)
{
    for (size_t i = 0; i < wanted->ngpus; i++)
        for (long seed = 1; seed <= wanted->nseeds; seed++) {
            struct result r;
            result_init(&r);
            r.gpus = wanted->gpus[i];
            r.seed = seed;
            r.state = RESULT_MISSING;
            snprintf(r.run, sizeof r.run, "unet-g%02d-s%ld", r.gpus, seed);
            if (has_run(known, &r))
                continue;
            result_set_text(r.engine, sizeof r.engine, engine);
            result_set_text(r.note, sizeof r.note, "study.yaml asks for it, but it was never submitted");
            if (results_add(missing, &r, e))
                return -1;
        }
    return 0;
}

static int add_missing(const struct collect_wanted *wanted, struct results *table, struct err *e)
{
    struct results missing = {0};
    struct known known;

    if (wanted->nseeds > COLLECT_WANTED_MAX / (long)(wanted->ngpus + 1))
        return err_set(e, ERR_CONFIG, "%zu counts with %ld seeds each are more than %d runs",
                       wanted->ngpus, wanted->nseeds, COLLECT_WANTED_MAX);
    if (sort_known(table, &known, e))
        return -1;
    int rc = list_missing(wanted, &known, table->count ? table->rows[0].engine : "", &missing, e);
    for (size_t i = 0; rc == 0 && i < missing.count; i++)
        rc = results_add(table, &missing.rows[i], e);
    results_destroy(&missing);
    free(known.by_plan);
    free(known.by_name);
    return rc;
}

/* The table is sorted: the first row of an engine and count has its first seed. */
static void name_log(const struct results *table, size_t i, char dst[LOG_NAME_SIZE])
{
    const struct result *r = &table->rows[i], *before = i ? r - 1 : NULL;
    bool first = !before || before->gpus != r->gpus || strcmp(before->engine, r->engine);

    log_name_encode(dst, r->engine, r->gpus, r->seed, first);
}

/* log_4.csv: images_4.csv */
static void name_images(const char *log, char dst[LOG_NAME_SIZE])
{
    snprintf(dst, LOG_NAME_SIZE, "images_%.110s", log + strlen("log_"));
}

int collect_scan(const char *study_dir, const struct collect_wanted *wanted, struct results *table,
                 struct err *e)
{
    if (scan_runs(study_dir, table, e) || add_missing(wanted, table, e)) {
        results_destroy(table);
        return -1;
    }
    results_sort(table);
    for (size_t i = 0; i < table->count; i++) {
        struct result *r = &table->rows[i];
        if (r->state != RESULT_DONE)
            continue;
        name_log(table, i, r->log);
        if (r->scores)
            name_images(r->log, r->images_log);
    }
    return 0;
}

/* What is there already is not written again: that would cost a sync for each of 10,000 files. */
static bool has_bytes(const char *path, const char *text, size_t n)
{
    struct err e;
    size_t have;
    char *there = access(path, F_OK) == 0 ? atomicfile_read(path, MAX_LOG, &have, &e) : NULL;
    bool same = there && have == n && memcmp(there, text, n) == 0;

    free(there);
    return same;
}

static int copy_file(const char *src, const char *dst, struct err *e)
{
    size_t n;
    char *text = atomicfile_read(src, MAX_LOG, &n, e);
    int rc = !text ? -1 : has_bytes(dst, text, n) ? 0 : atomicfile_write(dst, text, n, 0666, e);

    free(text);
    return rc;
}

/* Copies what a good run has; takes away what an earlier collect left of others. */
static int write_run(const char *study_dir, const struct results *table, size_t i, struct err *e)
{
    const struct result *r = &table->rows[i];
    char src[PATH_MAX], log[PATH_MAX], images[PATH_MAX], log_name[LOG_NAME_SIZE], images_name[LOG_NAME_SIZE];

    name_log(table, i, log_name);
    name_images(log_name, images_name);
    path_format(log, "%s/logs/%s", study_dir, log_name);
    path_format(images, "%s/logs/%s", study_dir, images_name);
    if (r->state != RESULT_DONE)
        unlink(log);
    else if (copy_file(path_format(src, "%s/runs/%s/attempt-%d/log.csv", study_dir, r->run, r->attempt), log, e))
        return -1;
    if (r->state != RESULT_DONE || !r->scores)
        unlink(images);
    else if (copy_file(path_format(src, "%s/runs/%s/attempt-%d/images.csv", study_dir, r->run, r->attempt),
                       images, e))
        return -1;
    return 0;
}

static int write_table(const char *dir, const struct results *table, struct err *e)
{
    char path[PATH_MAX], *text = results_encode(table);

    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for results.csv");
    int rc = atomicfile_write(path_format(path, "%s/results.csv", dir), text, strlen(text), 0666, e);
    free(text);
    return rc;
}

int collect_write(const char *study_dir, const struct results *table, struct err *e)
{
    char dir[PATH_MAX];

    if (path_make_folder(path_format(dir, "%s/logs", study_dir), e))
        return -1;
    for (size_t i = 0; i < table->count; i++)
        if (write_run(study_dir, table, i, e))
            return -1;
    return write_table(dir, table, e);
}

int collect_logs(const char *src_dir, const char *dst_dir, struct results *table, struct err *e)
{
    char src[PATH_MAX], dst[PATH_MAX];
    int rc = -1;

    if (logs_folder_read(src_dir, table, e))
        return -1;
    if (path_make_folder(dst_dir, e))
        goto out;
    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        const char *const names[] = {r->log, r->images_log};
        for (int k = 0; k < 2; k++)
            if (r->state == RESULT_DONE && *names[k] &&
                copy_file(path_format(src, "%s/%s", src_dir, names[k]),
                          path_format(dst, "%s/%s", dst_dir, names[k]), e))
                goto out;
    }
    rc = write_table(dst_dir, table, e);
out:
    if (rc)
        results_destroy(table);
    return rc;
}

int collect_study(struct workspace *w, struct results *table, struct err *e)
{
    const struct study *study = &w->study;
    struct range counts;
    int rc;

    if (range_decode(study->gpus, 1, STUDY_GPUS_MAX, &counts, e)) {
        e->code = ERR_CONFIG;
        return err_prefix(e, "%s: gpus", study->file);
    }
    struct collect_wanted wanted = {counts.values, counts.count, study->seeds};
    rc = collect_scan(study->dir, &wanted, table, e);
    range_destroy(&counts);
    if (rc)
        return -1;
    unfinished_resolve(w, table);
    rc = collect_write(study->dir, table, e);
    if (rc)
        results_destroy(table);
    return rc;
}
