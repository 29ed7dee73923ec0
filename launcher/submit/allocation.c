/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/allocation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/plan/run_cost.h"
#include "launcher/script/template.h"
#include "launcher/study/run_dir.h"
#include "src/log.h"
#include "src/paths.h"
#include "src/plural.h"

#define MAX_TEMPLATE (1 << 16)
#define MAX_LIST ((size_t)1 << 22)
#define PREFIX "allocation-"

/* ---- the job ---- */

static void choose_name(const struct workspace *w, struct allocation *a)
{
    int k = 0;

    do {
        snprintf(a->name, sizeof a->name, PREFIX "%d", ++k);
        snprintf(a->dir, sizeof a->dir, "%s/%s", w->ledger.dir, a->name);
    } while (access(a->dir, F_OK) == 0);
}

/* Where its files lie; "%" is doubled in the output's name, as Slurm wants it. */
static int set_paths(const struct workspace *w, struct allocation *a, struct err *e)
{
    struct attempt_job *j = &a->job;
    struct buf output = {0};
    int n;

    snprintf(j->name, sizeof j->name, "%s-%s", w->study.name, a->name);
    ledger_tag(&w->ledger, a->name, 1, j->tag);
    n = snprintf(j->script, sizeof j->script, "%s/submit_file.sh", a->dir);
    if (n >= (int)sizeof j->script)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", a->dir);
    snprintf(j->work_dir, sizeof j->work_dir, "%s", w->study.dir);
    job_add_output(a->dir, &output);
    buf_add(&output, "/slurm-%j.out");
    n = snprintf(j->output, sizeof j->output, "%s", output.failed ? "" : output.data);
    buf_destroy(&output);
    return n > 0 && n < (int)sizeof j->output
               ? 0
               : err_set(e, ERR_CONFIG, "%s: the path is too long", a->dir);
}

int allocation_describe(const struct workspace *w, const struct run *largest,
                        struct allocation *dst, struct err *e)
{
    struct job *job = &dst->job.job;

    if (attempt_job(w, largest, 1, &dst->job, e))
        return -1;
    choose_name(w, dst);
    if (set_paths(w, dst, e))
        return -1;
    job->tasks = job->nodes * (int)w->site.gpus_per_node;
    job->gpus_per_task = 1;
    job->gres = true; /* steps may have more GPUs for a task than the job was asked for */
    job->cpus_per_task = (int)w->study.slurm.cpus_per_gpu;
    job->own_directives = false;
    return 0;
}

double allocation_gpu_hours(const struct allocation *a, int time_min)
{
    return a->job.job.tasks * time_min / 60.0;
}

int allocation_check_cost(const struct allocation *a, int time_min, double max_gpu_hours,
                          struct err *e)
{
    double hours = allocation_gpu_hours(a, time_min);

    if (!time_min)
        return err_set(e, ERR_CONFIG, "--max-gpu-hours %g: the job has no time limit, so it may "
                       "cost anything; give one (slurm.time in study.yaml, or -- "
                       "--time=H:MM:SS)", max_gpu_hours);
    if (hours <= max_gpu_hours)
        return 0;
    return err_set(e, ERR_CONFIG, "the allocation may cost %.*f GPU-hours (time limit %d:%02d h x "
                   "%d GPU%s), %.*f more than --max-gpu-hours %g; a time limit of %d minutes would "
                   "fit", run_cost_decimals(hours), hours, time_min / 60, time_min % 60,
                   a->job.job.tasks, plural(a->job.job.tasks),
                   run_cost_decimals(hours - max_gpu_hours), hours - max_gpu_hours, max_gpu_hours,
                   (int)(time_min * max_gpu_hours / hours));
}

/* ---- its folder ---- */

static int by_gpus(const void *a, const void *b)
{
    const struct allocation_run *x = a, *y = b;

    return y->run->layout.gpus - x->run->layout.gpus;
}

/* Both lists of the script: what waits, and the attempts' folders. */
static int add_lists(const struct allocation_run *runs, size_t count, struct buf *waiting,
                     struct buf *all, struct err *e)
{
    struct allocation_run *sorted = malloc(count * sizeof *sorted);

    if (!sorted)
        return err_errno(e, ERR_INTERNAL, ENOMEM, "submit");
    memcpy(sorted, runs, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_gpus);
    for (size_t i = 0; i < count; i++) {
        const struct run *run = sorted[i].run;
        buf_addf(waiting, "%s    \"%d %s %d\"", i ? "\n" : "", run->layout.gpus, run->id,
                 sorted[i].attempt);
        buf_addf(all, "%sruns/%s/attempt-%d", i ? " " : "", run->id, sorted[i].attempt);
    }
    free(sorted);
    return 0;
}

static char *read_template(char path[PATH_MAX], struct err *e)
{
    size_t n;

    return paths_data("templates/allocation.sh", path, PATH_MAX, e)
               ? NULL
               : atomicfile_read(path, MAX_TEMPLATE, &n, e);
}

char *allocation_render(const struct workspace *w, const struct allocation *a,
                        const struct allocation_run *runs, size_t count, struct err *e)
{
    char path[PATH_MAX], gpus[16], per_node[16], requeues[16], port[16] = "''", *rendered = NULL;
    char *text = read_template(path, e), *lines = job_directives(&a->job.job);
    struct buf waiting = {0}, all = {0}, b = {0};

    snprintf(gpus, sizeof gpus, "%d", a->job.job.tasks);
    snprintf(per_node, sizeof per_node, "%ld", w->site.gpus_per_node);
    snprintf(requeues, sizeof requeues, "%d", a->job.job.requeues);
    if (w->site.port_base)
        snprintf(port, sizeof port, "%ld", w->site.port_base);
    if (lines && *lines)
        lines[strlen(lines) - 1] = 0; /* the marker's own line has a newline */
    if (text && add_lists(runs, count, &waiting, &all, e) == 0) {
        const struct template_value values[] = {
            {"directives", lines ? lines : "", false}, {"study", w->study.name, false},
            {"study_dir", w->study.dir, false},        {"allocation", a->name, false},
            {"gpus", gpus, false},                     {"gpus_per_node", per_node, false},
            {"requeues", requeues, false},             {"port_base", port, false},
            {"runs", waiting.data, false},             {"all", all.data, false},
            {0}};
        bool whole = lines && !waiting.failed && !all.failed;
        if (!whole)
            err_errno(e, ERR_INTERNAL, ENOMEM, "submit");
        else if (template_render(path, text, values, &b, e) == 0 && !(rendered = buf_steal(&b)))
            err_errno(e, ERR_INTERNAL, ENOMEM, "submit");
    }
    buf_destroy(&waiting);
    buf_destroy(&all);
    buf_destroy(&b);
    free(lines);
    free(text);
    return rendered;
}

int allocation_write(const struct workspace *w, const struct allocation *a,
                     const struct allocation_run *runs, size_t count, struct err *e)
{
    char *script = allocation_render(w, a, runs, count, e), list_path[PATH_MAX + 8];
    struct atomicfile_batch files = {0};
    struct buf list = {0};
    int rc = script ? 0 : -1;

    for (size_t i = 0; i < count; i++)
        buf_addf(&list, "%s %d\n", runs[i].run->id, runs[i].attempt);
    snprintf(list_path, sizeof list_path, "%s/runs", a->dir);
    if (rc == 0 && list.failed)
        rc = err_errno(e, ERR_INTERNAL, ENOMEM, "submit");
    if (rc == 0 && mkdir(a->dir, 0777))
        rc = err_errno(e, ERR_INTERNAL, errno, "%s", a->dir);
    if (rc == 0)
        rc = atomicfile_batch_add(&files, list_path, list.data, list.length, 0666, e) ||
                     atomicfile_batch_add(&files, a->job.script, script, strlen(script), 0777, e)
                 ? -1
                 : atomicfile_batch_commit(&files, e);
    atomicfile_batch_abort(&files);
    buf_destroy(&list);
    free(script);
    return rc;
}

/* ---- its runs as jobs ---- */

static void set_state(struct job_state *s, enum job_phase phase, const char *state)
{
    s->phase = phase;
    snprintf(s->state, sizeof s->state, "%s", state);
}

static bool is_cancelled(const char *attempt)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/.cancel", attempt);
    return access(path, F_OK) == 0;
}

/* s is the job's state; it becomes that of the run. */
static void judge(struct job_state *s, const struct run_attempt *a)
{
    if (a->marker != RUN_NO_MARKER) {
        set_state(s, JOB_ENDED, a->marker == RUN_DONE ? "COMPLETED" : "FAILED");
        s->exit_code = a->exit_code;
    } else if (is_cancelled(a->path) && (!a->begun || a->stopped)) {
        set_state(s, JOB_ENDED, "CANCELLED");
    } else if (!a->begun && s->phase == JOB_RUNNING) {
        set_state(s, JOB_PENDING, "PENDING");
        snprintf(s->reason, sizeof s->reason, "waits for its turn in job %s", s->id);
    } else if (!a->begun && s->phase == JOB_ENDED && strcmp(s->state, "CANCELLED") != 0) {
        snprintf(s->reason, sizeof s->reason, "job %s ended (%s) before its turn", s->id, s->state);
        set_state(s, JOB_ENDED, "SKIPPED");
        s->exit_code = 0;
    }
}

/* One line of the list. */
static int add_run(const struct workspace *w, const struct job_state *job, const char *line,
                   struct job_state *dst, struct err *e)
{
    struct run_attempt newest;
    char run[RUN_ID_SIZE];
    int attempt;

    if (sscanf(line, "%63s %d", run, &attempt) != 2)
        return err_set(e, ERR_DATA, "is damaged");
    *dst = *job;
    ledger_tag(&w->ledger, run, attempt, dst->tag);
    if (run_dir_attempt(w->study.dir, run, &newest, e))
        return -1;
    if (newest.number == attempt)
        judge(dst, &newest);
    return 0;
}

struct list {
    struct job_state *jobs;
    size_t count, capacity;
};

static struct job_state *grow(struct list *l, struct err *e)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 64;
        struct job_state *grown = realloc(l->jobs, capacity * sizeof *grown);
        if (!grown) {
            err_errno(e, ERR_INTERNAL, ENOMEM, "jobs");
            return NULL;
        }
        l->jobs = grown;
        l->capacity = capacity;
    }
    return &l->jobs[l->count++];
}

static int add_runs(const struct workspace *w, const struct job_state *job, const char *name,
                    struct list *dst, struct err *e)
{
    char path[PATH_MAX + 16], *text, *save = NULL;
    struct job_state *place;
    int rc = 0;
    size_t n;

    snprintf(path, sizeof path, "%s/%.*s/runs", w->ledger.dir, (int)strcspn(name, ":"), name);
    text = atomicfile_read(path, MAX_LIST, &n, e);
    if (!text) {
        log_warn("job %s is one of this study, but its list is missing: %s", job->id, e->text);
        return 0;
    }
    for (char *line = strtok_r(text, "\n", &save); rc == 0 && line;
         line = strtok_r(NULL, "\n", &save)) {
        place = grow(dst, e);
        rc = place ? add_run(w, job, line, place, e) : -1;
    }
    free(text);
    return rc ? err_prefix(e, "%s", path) : 0;
}

/* "allocation-K:1" of such a job's tag, or NULL. */
static const char *name_of(const struct workspace *w, const struct job_state *job)
{
    char prefix[256];

    ledger_tag(&w->ledger, NULL, 0, prefix);
    const char *name = job->tag + strlen(prefix);
    return strncmp(job->tag, prefix, strlen(prefix)) == 0 &&
                   strncmp(name, PREFIX, strlen(PREFIX)) == 0
               ? name
               : NULL;
}

int allocation_expand(const struct workspace *w, struct job_state **jobs, size_t *njobs,
                      struct err *e)
{
    struct list list = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < *njobs; i++) {
        const char *name = name_of(w, &(*jobs)[i]);
        struct job_state *place = name ? NULL : grow(&list, e);
        if (name)
            rc = add_runs(w, &(*jobs)[i], name, &list, e);
        else if (place)
            *place = (*jobs)[i];
        else
            rc = -1;
    }
    if (rc) {
        free(list.jobs);
        return -1;
    }
    free(*jobs);
    *jobs = list.jobs;
    *njobs = list.count;
    return 0;
}

int allocation_cancel(const struct workspace *w, const char *run, int attempt, struct err *e)
{
    char name[48], path[PATH_MAX];

    snprintf(name, sizeof name, "attempt-%d/.cancel", attempt);
    run_dir_path(w->study.dir, run, name, path);
    return atomicfile_write(path, "", 0, 0666, e);
}
