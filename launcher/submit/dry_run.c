/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/dry_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/script/script.h"
#include "launcher/study/run_dir.h"
#include "launcher/submit/allocation.h"
#include "launcher/submit/attempt.h"
#include "src/atomicfile.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/plural.h"

#define MAX_FILE ((size_t)4 << 20)
#define NO_ID "0000000000000000" /* stands for the study's id before scripts are first generated */

/* Prints the output of `diff -u` for the file at path and the new text. */
static int print_difference(const char *path, const char *text, const char *name, struct err *e)
{
    char was[RUN_ID_SIZE + 64], is[RUN_ID_SIZE + 64], fresh[48];
    const char *const words[] = {"diff", "-u", "--label", was, "--label", is, path, fresh, NULL};
    struct child c = {.argv = words};
    int fd = memfd_create("new", 0);
    size_t n = strlen(text);

    snprintf(was, sizeof was, "a/%s", name);
    snprintf(is, sizeof is, "b/%s", name);
    snprintf(fresh, sizeof fresh, "/proc/self/fd/%d", fd);
    fflush(stdout);
    pid_t pid = fd >= 0 && write(fd, text, n) == (ssize_t)n ? child_start(&c, e) : -1;
    int code = pid > 0 ? child_wait(pid) : 127;
    if (fd >= 0)
        close(fd);
    if (code <= 1)
        return 0;
    return err_set(e, ERR_INTERNAL, "cannot compare %s by diff -u", path);
}

/* Prints the file as it would be written, and its differences from the current one. */
static int show_file(const struct plan *p, const struct run *run, const char *file,
                     const char *text, struct err *e)
{
    char path[PATH_MAX], name[RUN_ID_SIZE + 48], *old = NULL;
    size_t n;

    run_dir_path(p->study.dir, run->id, file, path);
    if (access(path, F_OK) == 0 && !(old = atomicfile_read(path, MAX_FILE, &n, e)))
        return -1;
    bool is_changed = old && strcmp(old, text) != 0;
    snprintf(name, sizeof name, "runs/%s/%s", run->id, file);
    printf("==> %s (%s)\n%s", name, !old ? "new" : is_changed ? "changed" : "unchanged", text);
    free(old);
    if (!is_changed)
        return 0;
    printf("==> %s (diff)\n", name);
    return print_difference(path, text, name, e);
}

static int show_run_json(const struct plan *p, const struct run *run, struct err *e)
{
    char *text = run_json_encode(p->study_id, run, e);
    char *line = text ? mem_textf(e, "%s\n", text) : NULL;
    int rc = line ? show_file(p, run, "run.json", line, e) : -1;

    free(line);
    free(text);
    return rc;
}

static int show_run(const struct plan *p, const struct run *run, int attempt, struct err *e)
{
    char *run_text, *submit_text;
    struct attempt_job job;
    int rc;

    if (attempt_job(p, run, attempt, &job, e) ||
        script_render(p, run, attempt, &job.job, &run_text, &submit_text, NULL, e))
        return -1;
    rc = show_run_json(p, run, e) || show_file(p, run, "run_file.sh", run_text, e) ||
                 show_file(p, run, "submit_file.sh", submit_text, e)
             ? -1
             : 0;
    free(run_text);
    free(submit_text);
    return rc;
}

static int show_allocation(const struct plan *plan, struct err *e)
{
    struct allocation_run *runs = mem_zero(plan->count, sizeof *runs, e);
    struct run_attempt newest;
    struct allocation a;
    char *text = NULL;
    size_t n = 0;
    int rc = runs ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < plan->count; i++) {
        rc = run_dir_attempt(plan->study.dir, plan->runs[i].id, &newest, e);
        if (rc == 0 && !newest.begun)
            runs[n++] = (struct allocation_run){&plan->runs[i], newest.number ? newest.number : 1};
    }
    if (rc == 0 && n > 0)
        rc = allocation_describe(plan, runs[n - 1].run, &a, e);
    if (rc == 0 && n > 0 && !(text = allocation_render(plan, &a, runs, n, e)))
        rc = -1;
    if (text)
        printf("==> .unetctl/%s/submit_file.sh (new)\n%s", a.name, text);
    free(text);
    free(runs);
    return rc;
}

int dry_run_print(const struct plan *plan, struct err *e)
{
    struct plan own = *plan;
    size_t begun = 0;

    if (!*own.study_id) {
        log_info("the study has no id yet; it is shown as " NO_ID);
        own.study_id = NO_ID;
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct run *run = &plan->runs[i];
        struct run_attempt newest;
        if (run_dir_attempt(own.study.dir, run->id, &newest, e))
            return -1;
        if (newest.begun) {
            begun++;
            printf("==> runs/%s has begun (attempt %d) and stays unchanged\n", run->id,
                   newest.number);
        } else if (show_run(&own, run, newest.number ? newest.number : 1, e)) {
            return -1;
        }
    }
    if (own.one_allocation && show_allocation(&own, e))
        return -1;
    log_info("%zu run%s, of which %zu have begun; nothing was written or submitted", plan->count,
             plural(plan->count), begun);
    return 0;
}
