/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/run_dir.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/atomicfile.h"

#define MAX_FILE ((size_t)64 << 20)
#define ATTEMPT "attempt-"

void run_dir_path(const char *study_dir, const char *run, const char *name, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%s/runs/%s%s%s", study_dir, run, name ? "/" : "", name ? name : "");
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_id(char ***ids, size_t *count, const char *id, struct err *e)
{
    char **grown = realloc(*ids, (*count + 1) * sizeof *grown);

    if (grown) {
        *ids = grown;
        grown[*count] = strdup(id);
    }
    if (!grown || !grown[*count])
        return err_errno(e, ERR_INTERNAL, errno, "runs");
    (*count)++;
    return 0;
}

int run_dir_list(const char *study_dir, char ***ids, size_t *count, struct err *e)
{
    char path[PATH_MAX];
    struct dirent *d;
    DIR *dir;
    int rc = 0;

    *ids = NULL;
    *count = 0;
    snprintf(path, sizeof path, "%s/runs", study_dir);
    dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : err_errno(e, ERR_DATA, errno, "%s", path);
    while (rc == 0 && (d = readdir(dir))) {
        if (d->d_name[0] == '.' || strlen(d->d_name) >= RUN_ID_SIZE)
            continue;
        run_dir_path(study_dir, d->d_name, "run.json", path);
        if (access(path, F_OK) == 0)
            rc = add_id(ids, count, d->d_name, e);
    }
    closedir(dir);
    if (rc) {
        run_dir_list_destroy(*ids, *count);
        return -1;
    }
    if (*count)
        qsort(*ids, *count, sizeof **ids, compare_ids);
    return 0;
}

void run_dir_list_destroy(char **ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
}

static int decode_run(const char *file, const char *text, struct run *dst, struct err *e)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    struct layout *l = &dst->layout;
    const char *id, *strategy, *engine;
    int rc = -1;

    if (!root || json_unpack_ex(root, &error, 0, "{s:s, s:s, s:i, s:{s:i, s:i, s:i, s:i, s:i, s:s}}",
                                "run", &id, "engine", &engine, "seed", &dst->seed, "layout", "gpus", &l->gpus,
                                "nodes", &l->nodes, "tasks", &l->tasks, "tasks_per_node",
                                &l->tasks_per_node, "gpus_per_task", &l->gpus_per_task, "strategy",
                                &strategy))
        err_set(e, ERR_CONFIG, "%s:%d: %s", file, error.line, error.text);
    else if (snprintf(dst->id, sizeof dst->id, "%s", id) >= (int)sizeof dst->id)
        err_set(e, ERR_CONFIG, "%s: the run's id is too long", file);
    else if (layout_strategy_decode(strategy, &l->strategy, e) ||
             !(dst->engine = engine_find(engine, e)))
        err_prefix(e, "%s", file);
    else
        rc = 0;
    json_decref(root);
    return rc;
}

int run_dir_read(const char *study_dir, const char *run, struct run *dst, char **text,
                 struct err *e)
{
    char file[PATH_MAX], *content;
    size_t n;
    int rc;

    run_dir_path(study_dir, run, "run.json", file);
    content = atomicfile_read(file, MAX_FILE, &n, e);
    if (!content)
        return -1;
    rc = decode_run(file, content, dst, e);
    if (rc == 0 && strcmp(dst->id, run) != 0)
        rc = err_set(e, ERR_CONFIG, "%s: is of run %s; was the folder renamed?", file, dst->id);
    if (rc == 0 && text)
        *text = content;
    else
        free(content);
    return rc;
}

/* Names in folder that are not ".": more than zero? -1 when there is no folder. */
static int count_names(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *d;
    int n = 0;

    if (!dir)
        return -1;
    while ((d = readdir(dir)))
        n += d->d_name[0] != '.';
    closedir(dir);
    return n;
}

int run_dir_checkpoint(const char *study_dir, const char *run, int newest)
{
    char name[48], path[PATH_MAX];

    for (; newest > 0; newest--) {
        snprintf(name, sizeof name, ATTEMPT "%d/checkpoint", newest);
        run_dir_path(study_dir, run, name, path);
        if (count_names(path) > 0)
            break;
    }
    return newest > 0 ? newest : 0;
}

static int newest_attempt(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *d;
    int newest = 0;

    while (dir && (d = readdir(dir))) {
        char *end;
        if (strncmp(d->d_name, ATTEMPT, strlen(ATTEMPT)) != 0)
            continue;
        long n = strtol(d->d_name + strlen(ATTEMPT), &end, 10);
        if (!*end && n > newest && n < 1000000)
            newest = (int)n;
    }
    if (dir)
        closedir(dir);
    return newest;
}

static void read_failed(struct run_attempt *a, const char *file)
{
    json_error_t error;
    json_t *root = json_load_file(file, 0, &error);
    const char *text;

    a->exit_code = 1;
    snprintf(a->error, sizeof a->error, "FAILED cannot be read");
    if (root && json_unpack(root, "{s:i, s:s}", "exit_code", &a->exit_code, "error", &text) == 0)
        snprintf(a->error, sizeof a->error, "%s", text);
    json_decref(root);
}

static void read_job(struct run_attempt *a)
{
    char file[PATH_MAX + 8];
    FILE *f;

    snprintf(file, sizeof file, "%s/job", a->path);
    f = fopen(file, "r");
    if (f && fgets(a->job, sizeof a->job, f))
        a->job[strcspn(a->job, "\n")] = 0;
    if (f)
        fclose(f);
}

static bool has_marker(const char *file, struct run_attempt *dst)
{
    struct stat st;

    if (stat(file, &st))
        return false;
    dst->marker_age_s = difftime(time(NULL), st.st_mtime);
    return true;
}

int run_dir_attempt(const char *study_dir, const char *run, struct run_attempt *dst, struct err *e)
{
    char file[PATH_MAX + 8];

    *dst = (struct run_attempt){0};
    run_dir_path(study_dir, run, NULL, file);
    dst->number = newest_attempt(file);
    if (dst->number == 0)
        return 0;
    if (snprintf(dst->path, sizeof dst->path, "%s/" ATTEMPT "%d", file, dst->number) >=
        (int)sizeof dst->path)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", file);
    dst->begun = count_names(dst->path) > 0;
    read_job(dst);
    /* FAILED first: should both be there, the run is not a success. */
    snprintf(file, sizeof file, "%s/FAILED", dst->path);
    if (has_marker(file, dst)) {
        dst->marker = RUN_FAILED;
        read_failed(dst, file);
        return 0;
    }
    snprintf(file, sizeof file, "%s/DONE", dst->path);
    if (has_marker(file, dst))
        dst->marker = RUN_DONE;
    return 0;
}

static void apply_record(const json_t *row, struct run_progress *p)
{
    const char *kind = json_string_value(json_object_get(row, "kind"));
    json_t *value;

    if (!kind)
        return;
    if (strcmp(kind, "run") == 0) {
        p->epochs = (int)json_integer_value(json_object_get(row, "epochs"));
    } else if (strcmp(kind, "progress") == 0) {
        p->step = (int)json_integer_value(json_object_get(row, "step"));
        p->steps = (int)json_integer_value(json_object_get(row, "steps"));
    } else if (strcmp(kind, "epoch") == 0) {
        p->epoch = (int)json_integer_value(json_object_get(row, "epoch")) + 1;
        p->step = p->steps = 0;
        p->loss = json_number_value(json_object_get(row, "loss"));
        p->epoch_s = json_number_value(json_object_get(row, "seconds"));
    } else if (strcmp(kind, "end") == 0 && (value = json_object_get(row, "iou"))) {
        p->iou = json_number_value(value);
        p->training_s = json_number_value(json_object_get(row, "training_time"));
    }
}

void run_dir_progress(const struct run_attempt *attempt, struct run_progress *dst)
{
    char file[PATH_MAX + 16], *text, *end;
    struct err ignored;
    size_t n;

    *dst = (struct run_progress){.iou = -1};
    snprintf(file, sizeof file, "%s/record.jsonl", attempt->path);
    if (!attempt->number || access(file, R_OK) != 0)
        return;
    text = atomicfile_read(file, MAX_FILE, &n, &ignored);
    for (char *line = text; line && (end = strchr(line, '\n')); line = end + 1) {
        json_t *row = json_loadb(line, (size_t)(end - line), 0, NULL);
        if (row)
            apply_record(row, dst);
        json_decref(row);
    }
    free(text);
}

int run_dir_output(const struct run_attempt *attempt, char dst[PATH_MAX], struct err *e)
{
    DIR *dir = opendir(attempt->path);
    char path[PATH_MAX + 256];
    struct dirent *d;
    struct stat st;
    struct timespec newest = {0};

    *dst = 0;
    while (dir && (d = readdir(dir))) {
        size_t n = strlen(d->d_name);
        snprintf(path, sizeof path, "%s/%s", attempt->path, d->d_name);
        if (n > 4 && strcmp(d->d_name + n - 4, ".out") == 0 && stat(path, &st) == 0 &&
            (st.st_mtim.tv_sec > newest.tv_sec || (st.st_mtim.tv_sec == newest.tv_sec &&
                                                   st.st_mtim.tv_nsec >= newest.tv_nsec))) {
            newest = st.st_mtim;
            snprintf(dst, PATH_MAX, "%.*s", PATH_MAX - 1, path);
        }
    }
    if (dir)
        closedir(dir);
    return *dst ? 0 : err_set(e, ERR_DATA, "%s: no output yet; the job has not started", attempt->path);
}
