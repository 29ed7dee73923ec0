/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/status/allocation_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/study/run_dir.h"
#include "src/atomicfile.h"
#include "src/log.h"
#include "src/mem.h"

#define MAX_LIST ((size_t)1 << 22)

static bool is_cancelled(const char *attempt)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/.cancel", attempt);
    return access(path, F_OK) == 0;
}

void allocation_jobs_set_state(struct job_state *s, const struct run_attempt *a)
{
    if (a->marker != RUN_NO_MARKER) {
        job_state_set(s, a->marker == RUN_DONE ? STATE_COMPLETED : STATE_FAILED);
        s->exit_code = a->exit_code;
    } else if (is_cancelled(a->path) && (!a->ran || a->stopped)) {
        job_state_set(s, STATE_CANCELLED);
    } else if (!a->ran && s->phase == PHASE_RUNNING) {
        job_state_set(s, STATE_PENDING);
        snprintf(s->reason, sizeof s->reason, "waits for its turn in job %s", s->id);
    } else if (!a->ran && s->phase == PHASE_ENDED && s->state != STATE_CANCELLED) {
        snprintf(s->reason, sizeof s->reason, "job %s ended (%s) before its turn", s->id,
                 state_name(s->state));
        job_state_set(s, STATE_SKIPPED);
        s->exit_code = 0;
    }
}

/* Makes *dst the job of the run and attempt in line, "RUN ATTEMPT". */
static int add_run(const struct plan *p, const struct job_state *job, const char *line,
                   struct job_state *dst, struct err *e)
{
    struct run_attempt newest;
    char run[RUN_ID_SIZE];
    int attempt;

    if (sscanf(line, "%63s %d", run, &attempt) != 2)
        return err_set(e, ERR_DATA, "the list is damaged");
    *dst = *job;
    ledger_tag(p->study_id, run, attempt, dst->tag);
    if (run_dir_attempt(p->study.dir, run, &newest, e))
        return -1;
    if (newest.number == attempt)
        allocation_jobs_set_state(dst, &newest);
    return 0;
}

struct list {
    struct job_state *jobs;
    size_t count, capacity;
};

static int add_runs(const struct workspace *w, const struct job_state *job, const char *name,
                    struct list *dst, struct err *e)
{
    char path[PATH_MAX + 16], *text, *save = NULL;
    int rc = 0;
    size_t n;

    snprintf(path, sizeof path, "%s/%.*s/runs", w->ledger.dir, (int)strcspn(name, ":"), name);
    text = atomicfile_read(path, MAX_LIST, &n, e);
    if (!text) {
        log_warn("cannot read the list of runs in job %s: %s", job->id, e->text);
        return 0;
    }
    for (char *line = strtok_r(text, "\n", &save); rc == 0 && line;
         line = strtok_r(NULL, "\n", &save)) {
        rc = mem_grow(&dst->jobs, dst->count, &dst->capacity, sizeof *dst->jobs, e) ||
                     add_run(&w->plan, job, line, &dst->jobs[dst->count], e)
                 ? -1
                 : 0;
        dst->count += rc == 0;
    }
    free(text);
    return rc ? err_prefix(e, "%s", path) : 0;
}

/* Returns "allocation-K:1", the end of the tag of an allocation's job (one job for many runs), or
 * NULL for another job. */
static const char *name_of(const struct plan *p, const struct job_state *job)
{
    char prefix[256];

    ledger_tag(p->study_id, NULL, 0, prefix);
    const char *name = job->tag + strlen(prefix);
    return strncmp(job->tag, prefix, strlen(prefix)) == 0 &&
                   strncmp(name, ALLOCATION_JOBS_PREFIX, strlen(ALLOCATION_JOBS_PREFIX)) == 0
               ? name
               : NULL;
}

int allocation_jobs_expand(const struct workspace *w, struct job_state **jobs, size_t *njobs,
                      struct err *e)
{
    struct list list = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < *njobs; i++) {
        const char *name = name_of(&w->plan, &(*jobs)[i]);
        if (name)
            rc = add_runs(w, &(*jobs)[i], name, &list, e);
        else if ((rc = mem_grow(&list.jobs, list.count, &list.capacity, sizeof *list.jobs, e)) == 0)
            list.jobs[list.count++] = (*jobs)[i];
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

int allocation_jobs_cancel(const struct plan *p, const char *run, int attempt, struct err *e)
{
    char name[48], path[PATH_MAX];

    snprintf(name, sizeof name, "attempt-%d/.cancel", attempt);
    run_dir_path(p->study.dir, run, name, path);
    return atomicfile_write(path, "", 0, 0666, e);
}
