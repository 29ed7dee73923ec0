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

static int scan_runs(const char *study_dir, struct results *table, struct err *e)
{
    char dir[PATH_MAX];
    struct dirent **entries;
    int n, rc = 0;

    path_format(dir, "%s/runs", study_dir);
    n = scandir(dir, &entries, is_run, alphasort);
    if (n < 0)
        return errno == ENOENT ? 0 : err_errno(e, ERR_DATA, errno, "can't read %s", dir);
    for (int i = 0; i < n; i++) {
        struct result r;
        struct err why;
        result_init(&r);
        result_set_text(r.run, sizeof r.run, entries[i]->d_name);
        run_folder_read(study_dir, entries[i]->d_name, &r, &why);
        if (rc == 0)
            rc = results_add(table, &r, e);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* Among the first n rows: by what it is, or by its name where run.json can't be read. */
static bool has_run(const struct results *table, size_t n, const struct result *wanted)
{
    for (size_t i = 0; i < n; i++) {
        const struct result *r = &table->rows[i];
        if ((r->gpus == wanted->gpus && r->seed == wanted->seed) || strcmp(r->run, wanted->run) == 0)
            return true;
    }
    return false;
}

static int add_missing(const struct collect_wanted *wanted, struct results *table, struct err *e)
{
    size_t nfound = table->count;

    if (wanted->nseeds > COLLECT_WANTED_MAX / (long)(wanted->ngpus + 1))
        return err_set(e, ERR_CONFIG, "%zu counts with %ld seeds each are more than %d runs",
                       wanted->ngpus, wanted->nseeds, COLLECT_WANTED_MAX);
    for (size_t i = 0; i < wanted->ngpus; i++)
        for (long seed = 1; seed <= wanted->nseeds; seed++) {
            struct result r;
            result_init(&r);
            r.gpus = wanted->gpus[i];
            r.seed = seed;
            r.state = RESULT_MISSING;
            snprintf(r.run, sizeof r.run, "unet-g%02d-s%ld", r.gpus, seed);
            if (has_run(table, nfound, &r))
                continue;
            result_set_text(r.engine, sizeof r.engine, nfound ? table->rows[0].engine : "");
            result_set_text(r.note, sizeof r.note, "study.yaml asks for it, but it was never submitted");
            if (results_add(table, &r, e))
                return -1;
        }
    return 0;
}

/* The table is sorted: the first row of an engine and count has its first seed. */
static void name_log(const struct results *table, size_t i, char dst[LOG_NAME_SIZE])
{
    const struct result *r = &table->rows[i], *before = i ? r - 1 : NULL;
    bool first = !before || before->gpus != r->gpus || strcmp(before->engine, r->engine);

    log_name_encode(dst, r->engine, r->gpus, r->seed, first);
}

int collect_scan(const char *study_dir, const struct collect_wanted *wanted, struct results *table,
                 struct err *e)
{
    if (scan_runs(study_dir, table, e) || add_missing(wanted, table, e)) {
        results_destroy(table);
        return -1;
    }
    results_sort(table);
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].state == RESULT_DONE)
            name_log(table, i, table->rows[i].log);
    return 0;
}

/* Does path hold exactly this? Then it needs no writing: in a large study that takes most of the time. */
static bool holds(const char *path, const char *text, size_t n)
{
    struct err ignored;
    size_t size;
    char *old = access(path, F_OK) == 0 ? atomicfile_read(path, MAX_LOG, &size, &ignored) : NULL;
    bool same = old && size == n && memcmp(old, text, n) == 0;

    free(old);
    return same;
}

static int copy_log(const char *study_dir, const struct result *r, const char *dst, struct err *e)
{
    char src[PATH_MAX];
    size_t n;

    path_format(src, "%s/runs/%s/attempt-%d/log.csv", study_dir, r->run, r->attempt);
    char *text = atomicfile_read(src, MAX_LOG, &n, e);
    int rc = !text ? -1 : holds(dst, text, n) ? 0 : atomicfile_write(dst, text, n, 0666, e);
    free(text);
    return rc;
}

int collect_write(const char *study_dir, const struct results *table, struct err *e)
{
    char path[PATH_MAX], name[LOG_NAME_SIZE];

    path_format(path, "%s/logs", study_dir);
    if (path_make_folder(path, e))
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        name_log(table, i, name);
        path_format(path, "%s/logs/%s", study_dir, name);
        if (table->rows[i].state != RESULT_DONE)
            unlink(path);
        else if (copy_log(study_dir, &table->rows[i], path, e))
            return -1;
    }
    char *text = results_encode(table);
    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for results.csv");
    path_format(path, "%s/logs/results.csv", study_dir);
    int rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
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
