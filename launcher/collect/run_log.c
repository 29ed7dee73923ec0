/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/run_log.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "launcher/collect/log/log_file.h"
#include "launcher/host/path.h"
#include "launcher/study/run_dir.h"
#include "src/files.h"

#define MAX_DEPTH 4 /* lightning_logs/version_0/metrics.csv */

/* What programs call their logs; the first name that is there counts. */
static const char *const names[] = {"metrics.csv", "trainer_state.json", "training_log*.txt",
                                    "*.jsonl", "*.csv", "events.out.tfevents.*", NULL};
/* Files and folders of our own, of programs' checkpoints, and of what earlier starts left. */
static const char *const others[] = {"record.jsonl", "images.csv", "checkpoint*", "restart-*",
                                     "source-*", "best", "examples", ".*", NULL};

static const char *given(const char *text)
{
    return text && *text ? text : NULL;
}

struct log_form run_log_form(const struct study *s)
{
    return (struct log_form){
        .file = given(s->log.file), .time = given(s->log.time), .step = given(s->log.step),
        .units = given(s->log.units), .quality = given(s->log.quality),
        .pattern = given(s->log.pattern), .per_step = s->work.per_step,
        .per_run = s->work.per_run, .unit = given(s->work.unit),
        .quality_name = given(s->quality.name),
        .better = s->quality.better};
}

static bool is_one_of(const char *name, const char *const *patterns)
{
    while (*patterns && fnmatch(*patterns, name, 0))
        patterns++;
    return *patterns != NULL;
}

struct search {
    const char *pattern;
    char *dst;
    size_t count; /* of files found */
};

/* Looks for the files in dir and the folders below it. */
static void search_folder(struct search *s, const char *dir, int depth)
{
    DIR *d = files_list(dir);
    char path[PATH_MAX];
    const struct dirent *entry;
    struct stat st;

    while (d && (entry = readdir(d))) {
        if (is_one_of(entry->d_name, others) ||
            lstat(path_format(path, "%s/%s", dir, entry->d_name), &st))
            continue;
        if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH) {
            search_folder(s, path, depth + 1);
        } else if (S_ISREG(st.st_mode) && fnmatch(s->pattern, entry->d_name, 0) == 0 &&
                   log_file_is_known(path, NULL)) {
            if (s->count++ == 0)
                path_format(s->dst, "%s", path);
        }
    }
    if (d)
        closedir(d);
}

static int find_output(const char *attempt_dir, char dst[PATH_MAX], struct err *e)
{
    struct run_attempt attempt = {.number = 1};

    path_format(attempt.path, "%s", attempt_dir);
    return run_dir_output(&attempt, dst, e);
}

int run_log_find(const char *attempt_dir, const struct log_form *form, char dst[PATH_MAX],
                 struct err *e)
{
    struct err ignored;
    bool stated = false;
    struct stat st;

    if (form->file) {
        path_format(dst, "%s/%s", attempt_dir, form->file);
        return path_has_file(attempt_dir, form->file)
                   ? 0
                   : err_set(e, ERR_DATA, "the program did not write %s (log.file)", dst);
    }
    if (form->pattern)
        return find_output(attempt_dir, dst, e);
    path_format(dst, "%s/log.csv", attempt_dir);
    if (path_has_file(attempt_dir, "log.csv"))
        return 0;
    for (int i = 0; names[i]; i++) {
        struct search s = {.pattern = names[i], .dst = dst};
        search_folder(&s, attempt_dir, 0);
        if (s.count > 1)
            return err_set(e, ERR_CONFIG, "%s: there are %zu files like %s: say which is the log, "
                           "log.file in study.yaml", attempt_dir, s.count, names[i]);
        if (s.count == 1)
            return 0;
    }
    bool has_output = find_output(attempt_dir, dst, &ignored) == 0 && files_stat(dst, &st) == 0 &&
                      st.st_size > 0;
    if (has_output && log_file_is_known(dst, &stated) && stated)
        return 0;
    return err_set(e, has_output ? ERR_CONFIG : ERR_DATA, "the program did not write %s/log.csv, nor a log of another known "
                   "form; log.file or log.pattern in study.yaml says what to read", attempt_dir);
}
