/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/study/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/files.h"
#include "src/format/schema.h"

#define MAX_FILE ((size_t)64 << 20)
#define ATTEMPT "attempt-"

static int compare_ids(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Returns whether the folder is missing, or empty apart from hidden files and temporary files of
 * killed writers (atomicfile.h). */
static bool is_empty(const char *folder)
{
    DIR *dir = files_list(folder);
    struct dirent *d = NULL;

    while (dir && (d = readdir(dir)) && (d->d_name[0] == '.' || strstr(d->d_name, ".tmp-")))
        ;
    if (dir)
        closedir(dir);
    return !d;
}

/* Returns whether name is a run. If its run.json was lost, files in attempt-1 show that it is
 * one. */
static bool is_run(const char *study_dir, const char *name)
{
    char path[PATH_MAX];

    path_format(path, "%s/runs/%s/run.json", study_dir, name);
    if (access(path, F_OK) == 0)
        return true;
    path_format(path, "%s/runs/%s/" ATTEMPT "1", study_dir, name);
    return access(path, F_OK) == 0 && !is_empty(path);
}

int run_dir_list(const char *study_dir, struct setting_lines *ids, struct err *e)
{
    char path[PATH_MAX];
    struct dirent *d;
    DIR *dir;
    int rc = 0;

    *ids = (struct setting_lines){0};
    snprintf(path, sizeof path, "%s/runs", study_dir);
    dir = files_list(path);
    if (!dir)
        return errno == ENOENT ? 0 : files_error(e, ERR_DATA, errno, "cannot read", path);
    while (rc == 0 && (d = readdir(dir))) {
        if (d->d_name[0] == '.' || strlen(d->d_name) >= RUN_ID_SIZE)
            continue;
        if (is_run(study_dir, d->d_name))
            rc = setting_append_line(ids, d->d_name, e);
    }
    closedir(dir);
    if (rc)
        setting_clear_lines(ids);
    run_dir_list_sort(ids);
    return rc;
}

int run_dir_check_id(const char *study_dir, const char *run, struct err *e)
{
    struct setting_lines known;

    if (!strchr(run, '/') && is_run(study_dir, run))
        return 0;
    if (run_dir_list(study_dir, &known, e))
        return -1;
    err_set(e, ERR_USAGE, "no run '%s' in %s%s ('unetctl status' lists all)", run, study_dir,
            cli_suggest(run, (const char *const *)known.lines, (char[CLI_SUGGESTION]){0}));
    setting_clear_lines(&known);
    return -1;
}

void run_dir_list_sort(struct setting_lines *ids)
{
    if (ids->count)
        qsort(ids->lines, ids->count, sizeof *ids->lines, compare_ids);
}

/* Returns a word of the train section, or what its absence means if run.json has none that is
 * valid: it may be older than the setting. */
static const char *decode_word(const json_t *root, const char *path)
{
    const struct setting *s = setting_find(settings_of_run, path);
    const json_t *train = json_object_get(root, "train");
    const char *text = json_string_value(json_object_get(train, setting_leaf(s->path)));
    struct settings c;
    struct err ignored;

    if (!text || setting_set(s, text, &c, &ignored))
        (void)setting_set(s, setting_absent(s), &c, &ignored);
    return *(const char **)((char *)&c + s->offset);
}

static int decode_run(const char *file, const char *text, struct run *dst, struct err *e)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    struct layout *l = &dst->layout;
    const char *id, *strategy, *engine;
    int rc = -1;

    *dst = (struct run){0};
    if (!root || json_unpack_ex(root, &error, 0,
                                "{s:s, s:s, s:i, s:{s:i, s:i, s:i, s:i, s:i, s:s}}",
                                "run", &id, "engine", &engine, "seed", &dst->seed, "layout", "gpus",
                                &l->gpus, "nodes", &l->nodes, "tasks", &l->tasks, "tasks_per_node",
                                &l->tasks_per_node, "gpus_per_task", &l->gpus_per_task, "strategy",
                                &strategy))
        err_set(e, ERR_CONFIG, "%s:%d: %s", file, error.line, error.text);
    else if (schema_check(json_number_value(json_object_get(root, "schema")), ERR_CONFIG, e))
        err_prefix(e, "%s", file);
    else if (snprintf(dst->id, sizeof dst->id, "%s", id) >= (int)sizeof dst->id)
        err_set(e, ERR_CONFIG, "%s: the id of the run is too long", file);
    else if (layout_strategy_decode(strategy, &l->strategy, e) ||
             !(dst->engine = engine_find(engine, e)))
        err_prefix(e, "%s", file);
    else
        rc = 0;
    dst->dtype = decode_word(root, "train.dtype");
    json_decref(root);
    return rc;
}

int run_dir_read(const char *study_dir, const char *run, struct run *dst, char **text,
                 struct err *e)
{
    char file[PATH_MAX], *content;
    size_t n;
    int rc;

    path_format(file, "%s/runs/%s/run.json", study_dir, run);
    content = atomicfile_read(file, MAX_FILE, &n, e);
    if (!content)
        return -1;
    rc = decode_run(file, content, dst, e);
    if (rc == 0 && strcmp(dst->id, run) != 0)
        rc = err_set(e, ERR_CONFIG, "%s belongs to run %s; was the folder renamed?", file, dst->id);
    if (rc == 0 && text)
        *text = content;
    else
        free(content);
    return rc;
}

int run_dir_layout(const char *study_dir, const char *run, int attempt, struct layout *dst,
                   struct err *e)
{
    char file[PATH_MAX], *text;
    struct run own;
    size_t n;

    path_format(file, "%s/runs/%s/" ATTEMPT "%d/run.json", study_dir, run, attempt);
    if (attempt < 1 || access(file, F_OK) != 0)
        return 0;
    text = atomicfile_read(file, MAX_FILE, &n, e);
    int rc = text ? decode_run(file, text, &own, e) : -1;
    free(text);
    if (rc == 0)
        *dst = own.layout;
    return rc ? -1 : 1;
}

int run_dir_checkpoint(const char *study_dir, const char *run, int newest)
{
    char path[PATH_MAX];

    while (newest > 0 && is_empty(path_format(path, "%s/runs/%s/" ATTEMPT "%d/checkpoint",
                                              study_dir, run, newest)))
        newest--;
    return newest > 0 ? newest : 0;
}

static int newest_attempt(const char *folder)
{
    DIR *dir = files_list(folder);
    struct dirent *d;
    int newest = 0;

    while (dir && (d = readdir(dir))) {
        char *end;
        if (!text_begins(d->d_name, ATTEMPT))
            continue;
        long n = strtol(d->d_name + strlen(ATTEMPT), &end, 10);
        if (!*end && n > newest && n < 1000000)
            newest = (int)n;
    }
    if (dir)
        closedir(dir);
    return newest;
}

/* Reads at most size - 1 bytes of an attempt's file. Returns text, or NULL if the file cannot be
 * read. */
static char *read_small(const struct run_attempt *a, const char *name, char *text, size_t size)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/%s", a->path, name);
    int fd = files_open(path, O_RDONLY, 0);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n < 0 ? NULL : text;
}

static void read_done(struct run_attempt *a)
{
    char text[4096];
    json_t *root = read_small(a, "DONE", text, sizeof text) ? json_loads(text, 0, NULL) : NULL;

    snprintf(a->error, sizeof a->error, "%.511s", jsonio_text(root, "unread"));
    json_decref(root);
}

static void read_failed(struct run_attempt *a)
{
    char text[4096];
    json_t *root = read_small(a, "FAILED", text, sizeof text) ? json_loads(text, 0, NULL) : NULL;
    const char *error;
    struct err e;

    a->exit_code = 1;
    snprintf(a->error, sizeof a->error, "cannot read FAILED");
    if (jsonio_check_marker(root, &e))
        snprintf(a->error, sizeof a->error, "FAILED: %.500s", e.text);
    else if (root &&
             json_unpack(root, "{s:i, s:s}", "exit_code", &a->exit_code, "error", &error) == 0)
        snprintf(a->error, sizeof a->error, "%s", error);
    json_decref(root);
}

static void read_marker(struct run_attempt *a, int dir_fd, enum run_marker marker, const char *name)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return;
    a->marker = marker;
    a->marker_age_s = clock_age(st.st_mtime);
    (marker == RUN_FAILED ? read_failed : read_done)(a);
}

static void read_attempt(struct run_attempt *a, DIR *dir)
{
    bool job = false, done = false, failed = false;
    struct dirent *d;

    while ((d = readdir(dir))) {
        a->begun |= d->d_name[0] != '.';
        a->ran |= d->d_name[0] != '.' && strcmp(d->d_name, "run.json") != 0;
        job |= strcmp(d->d_name, "job") == 0;
        done |= strcmp(d->d_name, "DONE") == 0;
        failed |= strcmp(d->d_name, "FAILED") == 0;
        a->stopped |= strcmp(d->d_name, "stopped") == 0;
        a->recorded |= strcmp(d->d_name, "record.jsonl") == 0;
    }
    /* If both markers exist, the run is not a success. */
    if (failed)
        read_marker(a, dirfd(dir), RUN_FAILED, "FAILED");
    else if (done)
        read_marker(a, dirfd(dir), RUN_DONE, "DONE");
    if (job && read_small(a, "job", a->job, sizeof a->job))
        a->job[strcspn(a->job, "\n")] = 0;
}

int run_dir_attempt(const char *study_dir, const char *run, struct run_attempt *dst, struct err *e)
{
    char folder[PATH_MAX];

    *dst = (struct run_attempt){0};
    path_format(folder, "%s/runs/%s", study_dir, run);
    dst->number = newest_attempt(folder);
    if (dst->number == 0)
        return 0;
    if (snprintf(dst->path, sizeof dst->path, "%s/" ATTEMPT "%d", folder, dst->number) >=
        (int)sizeof dst->path)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", folder);
    DIR *dir = files_list(dst->path);
    if (dir) {
        read_attempt(dst, dir);
        closedir(dir);
    }
    return 0;
}

int run_dir_starts(const char *attempt_dir, struct clock_span **dst, size_t *n, size_t *capacity,
                   struct err *e)
{
    char path[PATH_MAX], line[400], what[8], id[200], begun[200] = "";
    FILE *f = files_stream(path_format(path, "%s/starts", attempt_dir), "r", FILES_TEXT_MAX);
    double time, written;
    size_t first = *n;
    struct stat st;
    int rc = 0;

    while (f && rc == 0 && fgets(line, sizeof line, f)) {
        int found = sscanf(line, "%7s %199s %lf %lf", what, id, &time, &written);
        struct clock_span *last = *n > first ? &(*dst)[*n - 1] : NULL;
        if (found < 3 || !(time > 0))
            continue;
        if (strcmp(what, "begin") == 0) {
            if (last && !(last->end <= time))
                last->end = found == 4 && written >= last->begin && written <= time ? written : NAN;
            rc = mem_grow(dst, *n, capacity, sizeof **dst, e);
            if (rc == 0)
                (*dst)[(*n)++] = (struct clock_span){time, NAN};
            memcpy(begun, id, sizeof begun);
        } else if (last && strcmp(what, "end") == 0 && strcmp(id, begun) == 0 &&
                   time >= last->begin) {
            last->end = time;
        }
    }
    if (f)
        fclose(f);
    struct clock_span *last = rc == 0 && *n > first ? &(*dst)[*n - 1] : NULL;
    if (last && isnan(last->end) &&
        files_stat(path_format(path, "%s/DONE", attempt_dir), &st) == 0)
        last->end = fmax(last->begin,
                         (double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec);
    return rc;
}

bool run_dir_never_trained(const char *study_dir, const char *run)
{
    static const char *const traces[] = {"record.jsonl", "log.csv"};
    char path[PATH_MAX];
    struct run_attempt newest;
    struct run planned;
    struct err ignored;

    if (run_dir_attempt(study_dir, run, &newest, &ignored) ||
        !(newest.marker == RUN_FAILED || *newest.error) ||
        run_dir_read(study_dir, run, &planned, NULL, &ignored) || planned.engine->embedded ||
        run_dir_checkpoint(study_dir, run, newest.number))
        return false;
    for (int k = newest.number; k > 0; k--)
        for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
            if (access(path_format(path, "%s/runs/%s/" ATTEMPT "%d/%s", study_dir, run, k,
                                   traces[i]), F_OK) == 0)
                return false;
    return true;
}

/* Applies a line of the record. The record is read backwards, so values of later lines are kept.
 * Returns true for an epoch: lines before it are not needed. */
static bool apply_record(const json_t *row, struct run_progress *p)
{
    const char *kind = jsonio_text(row, "kind");
    json_t *value;

    if (strcmp(kind, "epoch") == 0) {
        p->epoch = (int)jsonio_integer(row, "epoch") + 1;
        p->loss = json_number_value(json_object_get(row, "loss"));
        p->epoch_s = json_number_value(json_object_get(row, "seconds"));
        return true;
    }
    if (strcmp(kind, "progress") == 0 && p->steps == 0) {
        p->epoch = (int)jsonio_integer(row, "epoch");
        p->step = (int)jsonio_integer(row, "step");
        p->steps = (int)jsonio_integer(row, "steps");
    } else if (strcmp(kind, "end") == 0 && (value = json_object_get(row, "iou"))) {
        if (strcmp(jsonio_text(row, "metric"), "accuracy") == 0) {
            p->metric = "accuracy";
            value = json_object_get(row, "accuracy");
        }
        p->quality = json_number_value(value);
        p->training_s = json_number_value(json_object_get(row, "training_time"));
    }
    return false;
}

/* Applies the lines of text backwards until one makes the rest unnecessary. Text after the last
 * newline is incomplete and is skipped; the first line may be incomplete, too. */
static bool apply_tail(char *text, struct run_progress *p)
{
    char *end = strrchr(text, '\n');
    bool enough = false;

    while (end && !enough) {
        *end = 0;
        char *before = strrchr(text, '\n'), *line = before ? before + 1 : text;
        json_t *row = json_loads(line, 0, NULL);
        enough = row && apply_record(row, p);
        json_decref(row);
        end = before;
    }
    return enough;
}

/* Reads the planned epochs from the first line. Returns 0, or -1 for a record of another schema. */
static int read_epochs(int fd, struct run_progress *p)
{
    char head[4096];
    ssize_t n = pread(fd, head, sizeof head - 1, 0);
    struct err ignored;
    json_t *row;

    head[n > 0 ? n : 0] = 0;
    head[strcspn(head, "\n")] = 0;
    row = json_loads(head, 0, NULL);
    int rc = row ? schema_check(json_number_value(json_object_get(row, "schema")), ERR_DATA,
                                &ignored) : 0;
    if (rc == 0)
        p->epochs = (int)jsonio_integer(row, "epochs");
    json_decref(row);
    return rc;
}

/* The first line has the number of epochs, the last ones have the progress. The whole file is
 * read only if its last kilobyte has no line of an epoch. */
void run_dir_progress(const struct run_attempt *attempt, struct run_progress *dst)
{
    char file[PATH_MAX + 16], small[1024], *large;
    struct stat st;
    struct err ignored;
    size_t n;

    *dst = (struct run_progress){.metric = "IoU", .quality = -1};
    if (!attempt->recorded)
        return;
    snprintf(file, sizeof file, "%s/record.jsonl", attempt->path);
    int fd = files_open(file, O_RDONLY, 0);
    if (fd < 0)
        return;
    if (read_epochs(fd, dst) == 0 && fstat(fd, &st) == 0) {
        off_t from = st.st_size > (off_t)sizeof small - 1 ? st.st_size - (off_t)sizeof small +
            1 : 0;
        ssize_t got = pread(fd, small, sizeof small - 1, from);
        small[got > 0 ? got : 0] = 0;
        if (!apply_tail(small, dst) && from > 0 &&
            (large = atomicfile_read(file, MAX_FILE, &n, &ignored))) {
            apply_tail(large, dst);
            free(large);
        }
    }
    close(fd);
}

static void find_newest_output(const char *folder, char dst[PATH_MAX])
{
    DIR *dir = files_list(folder);
    char path[PATH_MAX + 256];
    struct dirent *d;
    struct stat st;
    struct timespec newest = {0};

    while (dir && (d = readdir(dir))) {
        size_t n = strlen(d->d_name);
        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        if (n > 4 && strcmp(d->d_name + n - 4, ".out") == 0 && files_stat(path, &st) == 0 &&
            S_ISREG(st.st_mode) &&
            (st.st_mtim.tv_sec > newest.tv_sec || (st.st_mtim.tv_sec == newest.tv_sec &&
                                                   st.st_mtim.tv_nsec >= newest.tv_nsec))) {
            newest = st.st_mtim;
            snprintf(dst, PATH_MAX, "%.*s", PATH_MAX - 1, path);
        }
    }
    if (dir)
        closedir(dir);
}

int run_dir_output(const struct run_attempt *attempt, char dst[PATH_MAX], struct err *e)
{
    int n = snprintf(dst, PATH_MAX, "%s/slurm-%s.out", attempt->path, attempt->job);
    struct stat st;

    if (!*attempt->job || n >= PATH_MAX || files_stat(dst, &st) || !S_ISREG(st.st_mode)) {
        *dst = 0;
        find_newest_output(attempt->path, dst);
    }
    if (*dst)
        return 0;
    return attempt->ran ? err_set(e, ERR_DATA, "%s has no output: no slurm-JOBID.out is in it any "
                                  "more, though its job has started", attempt->path)
                        : err_set(e, ERR_DATA, "%s has no output yet; its job has not started",
                                  attempt->path);
}
