/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/sbatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "launcher/scheduler/sbatch_environment.h"
#include "launcher/scheduler/slurm/command.h"
#include "launcher/scheduler/slurm/limits.h"
#include "src/clock.h"
#include "src/log.h"
#include "src/mem.h"

/* sbatch prints this when the queue is full, sleeps for at least a second and tries again, for two
 * minutes in all. */
#define RETRYING "sleeping and retrying"
#define SLEEP_S 1.0

#define STARTS " to start at " /* in the line of a forecast */
#define LONG_TEXT (ERR_TEXT_SIZE / 2) /* more may not fit into an error with its context */

/* Returns the job's id in the output, or NULL. sbatch --parsable prints ID or ID;CLUSTER. */
static const char *find_id(const char *text, size_t *length)
{
    for (; text; text = strchr(text, '\n'), text += text != NULL) {
        *length = strspn(text, "0123456789");
        if (*length > 0 && strchr("\n;", text[*length]))
            return text;
    }
    return NULL;
}

/* Logs the lines that sbatch printed, such as those of a site's plugins, each once, except the line
 * of a forecast. */
static void log_lines(const char *said, const char *but)
{
    static struct buf logged; /* between line breaks */
    struct buf one = {0};
    const char *line;
    size_t n;

    while ((line = command_line(&said, "sbatch", &n))) {
        one.length = 0;
        buf_addf(&one, "\n%.*s\n", (int)n, line);
        if (one.failed || (but && strstr(one.data, but)) ||
            (logged.length && strstr(logged.data, one.data)))
            continue;
        log_info("sbatch: %.*s", (int)n, line);
        buf_add(&logged, one.data);
    }
    buf_destroy(&one);
}

/* Returns this process's environment as far as sbatch and the job get it. The strings are not
 * copied. */
static char **make_environment(const struct job *job)
{
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        if (sbatch_environment_passes(environ[i], job->own_directives))
            list[kept++] = environ[i];
    return list;
}

/* Runs sbatch MODE WORDS SCRIPT, with --wrap=true for a job without a script. */
static int run_sbatch(const struct sandbox *sandbox, const char *mode, const struct job *job,
                      struct child_end *dst, struct err *e)
{
    const char *limit = getenv("UNETCTL_SBATCH_S");
    char **environment = make_environment(job);
    struct job_words words;
    size_t n = 0;
    int rc = -1;

    job_words_fill(job, &words);
    const char **argv = mem_zero(words.list.count + 4, sizeof *argv, e);
    *dst = (struct child_end){0};
    if (argv && environment && !words.failed) {
        argv[n++] = "sbatch";
        argv[n++] = mode;
        for (size_t i = 0; i < words.list.count; i++)
            argv[n++] = words.list.lines[i];
        argv[n++] = job->script ? job->script : "--wrap=true";
        struct child c = {.argv = argv, .environment = environment, .group = true,
                          .until = RETRYING, .limit_s = limit ? atof(limit) : SBATCH_LIMIT_S};
        rc = command_run(sandbox, &c, dst, e);
    } else {
        mem_fail(e);
    }
    setting_clear_lines(&words.list);
    free(environment);
    free(argv);
    return rc;
}

/* Sets the refusal of a job from what sbatch printed, and returns its cause. */
static enum cause refuse(const struct sandbox *sandbox, const struct job *job,
                         const struct child_end *end, enum cause cause, struct err *e)
{
    command_explain("sbatch", end, e);
    if (strlen(e->text) > LONG_TEXT)
        log_lines(end->err.data, NULL);
    err_prefix(e, "Slurm");
    return limits_explain(sandbox, &job->options, cause, end->err.data, e);
}

void sbatch_submit(const struct sandbox *sandbox, const struct job *job,
                   struct scheduler_result *dst)
{
    struct child_end end;
    size_t n;

    *dst = (struct scheduler_result){.outcome = SCHEDULER_REFUSED};
    if (run_sbatch(sandbox, "--parsable", job, &end, &dst->reason)) {
        if (end.pid > 0) /* memory ran out for what it printed */
            dst->outcome = SCHEDULER_LOST;
        child_destroy(&end);
        return;
    }
    const char *id = find_id(end.out.data, &n);
    double slept = clock_now() - end.absent;
    if (id) {
        dst->outcome = SCHEDULER_SUBMITTED;
        snprintf(dst->id, sizeof dst->id, "%.*s", (int)n, id);
        log_lines(end.err.data, NULL);
    } else if (end.is_killed && strstr(end.err.data, RETRYING)) {
        dst->outcome = SCHEDULER_LOST;
        dst->is_full = slept < SLEEP_S;
        refuse(sandbox, job, &end, CAUSE_FULL, &dst->reason);
    } else if (end.is_killed || end.code == 0 || end.code > 128) {
        dst->outcome = SCHEDULER_LOST;
        command_explain("sbatch", &end, &dst->reason);
        err_prefix(&dst->reason, end.is_killed   ? "sbatch was ended because it took too long"
                                 : end.code == 0 ? "sbatch printed no job id"
                                                 : "sbatch was ended by a signal");
    } else {
        enum cause cause = cause_of_sbatch(end.err.data);
        dst->outcome = cause == CAUSE_LOST ? SCHEDULER_LOST : SCHEDULER_REFUSED;
        cause = refuse(sandbox, job, &end, cause, &dst->reason);
        dst->is_full = cause == CAUSE_FULL;
    }
    child_destroy(&end);
}

/* Decodes "Job 7 to start at 2026-11-28T22:20:15 using 2 processors on nodes n[1-2] in partition
 * main". */
static void decode_forecast(const char *text, struct scheduler_forecast *dst)
{
    const char *start = strstr(text, STARTS), *nodes = strstr(text, " on nodes ");
    struct tm tm = {.tm_isdst = -1};

    if (start && strptime(start + strlen(STARTS), "%Y-%m-%dT%H:%M:%S", &tm))
        dst->start = mktime(&tm);
    nodes = nodes ? nodes + strlen(" on nodes ") : "";
    snprintf(dst->nodes, sizeof dst->nodes, "%.*s", (int)strcspn(nodes, " \n"), nodes);
}

int sbatch_forecast(const struct sandbox *sandbox, const struct job *job, int away,
                    struct scheduler_forecast *dst, struct err *e)
{
    struct child_end end;
    int rc = run_sbatch(sandbox, "--test-only", job, &end, e);

    if (rc == 0 && end.code == 0) {
        decode_forecast(end.err.data, dst);
        log_lines(end.err.data, STARTS);
    } else if (rc == 0) {
        enum cause cause = cause_find(end.err.data, CAUSE_OTHER);
        if (!cause_passes(cause, away))
            rc = (refuse(sandbox, job, &end, cause, e), -1);
    }
    child_destroy(&end);
    return rc;
}
