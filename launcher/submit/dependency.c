/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/dependency.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/buf.h"
#include "src/log.h"
#include "src/mem.h"

static int by_number(const void *a, const void *b)
{
    unsigned long x = strtoul(a, NULL, 10), y = strtoul(b, NULL, 10);

    return (x > y) - (x < y);
}

/* Fills the lanes with the study's newest jobs that have not ended, at most nlanes, oldest
 * first. */
static int fill_lanes(struct dependency *d, const struct job_state *jobs, size_t njobs,
                      struct err *e)
{
    char(*active)[SCHEDULER_ID_SIZE] = calloc(njobs + 1, sizeof *active);
    size_t n = 0;

    d->lanes = calloc(d->nlanes, sizeof *d->lanes);
    if (!active || !d->lanes) {
        free(active);
        return mem_fail(e);
    }
    for (size_t i = 0; i < njobs; i++)
        if (jobs[i].phase != PHASE_ENDED)
            snprintf(active[n++], SCHEDULER_ID_SIZE, "%s", jobs[i].id);
    qsort(active, n, sizeof *active, by_number);
    for (size_t i = n > d->nlanes ? n - d->nlanes : 0; i < n; i++)
        dependency_add(d, active[i]);
    free(active);
    return 0;
}

static void add_id(struct buf *b, const char *id)
{
    buf_addf(b, "%s:%s", b->length ? "" : "afterany", id);
}

/* Adds all pending and running jobs of another study. */
static int add_study(struct buf *b, struct scheduler *scheduler, const char *dir, struct err *e)
{
    struct job_state *jobs = NULL;
    struct ledger ledger;
    char prefix[256];
    size_t njobs = 0, n = 0;

    if (ledger_open(&ledger, dir, e))
        return -1;
    ledger_tag(ledger.study_id, NULL, 0, prefix);
    int rc = *ledger.study_id ? scheduler_query(scheduler, prefix,
                                                   ledger_has_others(&ledger), &jobs, &njobs, e)
                                 : 0;
    for (size_t i = 0; i < njobs; i++) {
        if (jobs[i].phase == PHASE_ENDED)
            continue;
        add_id(b, jobs[i].id);
        n++;
    }
    if (rc == 0 && n == 0)
        log_info("--after %s: none of its jobs is pending or running", dir);
    free(jobs);
    ledger_close(&ledger);
    return rc;
}

/* Returns whether the job is in the local queue, which keeps records for weeks, or -1 if that
 * cannot be queried. */
static int is_local(struct scheduler *scheduler, const char *id, struct err *e)
{
    struct job_state *jobs = NULL;
    size_t n = 0;
    bool found = false;

    if (scheduler_query(scheduler, "", false, &jobs, &n, e))
        return -1;
    for (size_t i = 0; i < n; i++)
        found |= strcmp(jobs[i].id, id) == 0;
    free(jobs);
    return found;
}

/* Returns whether Slurm or its accounting knows the job, or -1 if Slurm cannot be queried. */
static int is_known(struct scheduler *scheduler, const char *id, bool *is_sure, struct err *e)
{
    const struct scheduler_ids ids = {&id, 1};
    struct scheduler_found queued, past;

    if (scheduler_find(scheduler, &ids, false, &queued, e))
        return -1;
    free(queued.states);
    if (queued.count || scheduler_find(scheduler, &ids, true, &past, e))
        return queued.count > 0;
    free(past.states);
    *is_sure = past.is_answered && !queued.hides;
    return past.count > 0;
}

/* Checks that the job with this id exists or existed. Without accounting, Slurm soon forgets a
 * job that has ended, so an unknown job is then only a warning. */
static int check_number(const struct plan *p, struct scheduler *scheduler, const char *id,
                        struct err *e)
{
    bool is_sure = strcmp(p->scheduler, "local") == 0;
    int known = strcmp(p->scheduler, "dry") == 0 ? 1
                : is_sure                        ? is_local(scheduler, id, e)
                                                 : is_known(scheduler, id, &is_sure, e);

    if (known)
        return known < 0 ? -1 : 0;
    if (is_sure)
        return err_set(e, ERR_USAGE, "--after %s: the job does not exist", id);
    log_warn("--after %s: Slurm does not know this job; it ended long ago, or never existed", id);
    return 0;
}

/* Adds what one word of --after names: a job by its id, a run of this study, or all pending and
 * running jobs of the study in a folder. */
static int add_after(struct buf *b, const struct workspace *w, struct scheduler *scheduler,
                     const char *word, struct err *e)
{
    const struct ledger_entry *entry = ledger_find(&w->ledger, word, 0);
    char file[PATH_MAX];

    if (*word && word[strspn(word, "0123456789")] == 0) {
        add_id(b, word);
        return check_number(&w->plan, scheduler, word, e);
    }
    if (entry && *entry->job) {
        add_id(b, entry->job);
        return 0;
    }
    if (snprintf(file, sizeof file, "%s/" STUDY_FILE, word) < (int)sizeof file &&
        access(file, F_OK) == 0)
        return add_study(b, scheduler, word, e);
    return err_set(e, ERR_USAGE, "--after %s: must be a job number, a submitted run of this study, "
                   "or a folder with a " STUDY_FILE, word);
}

static int join_fixed(struct dependency *d, struct workspace *w, struct scheduler *scheduler,
                      struct err *e)
{
    const char *own = w->plan.options.dependency;
    struct buf b = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && w->plan.after && i < w->plan.after->count; i++)
        rc = add_after(&b, w, scheduler, w->plan.after->values[i], e);
    if (rc == 0 && own && (b.length || d->nlanes) && strchr(own, '?'))
        rc = err_set(e, ERR_USAGE, "--dependency=%s: alternatives ('?') exclude --after and "
                     "--max-in-flight", own);
    if (rc == 0 && own)
        buf_addf(&b, "%s%s", b.length ? "," : "", own);
    if (rc == 0 && b.failed)
        rc = mem_fail(e);
    if (rc == 0 && b.length)
        d->fixed = buf_steal(&b);
    buf_destroy(&b);
    return rc;
}

int dependency_open(struct dependency *d, struct workspace *w, struct scheduler *scheduler,
                    const struct job_state *jobs, size_t njobs, struct err *e)
{
    /* The local queue limits jobs by itself. */
    bool is_slurm = strcmp(w->plan.scheduler, "slurm") == 0;

    *d = (struct dependency){.nlanes = is_slurm ? (size_t)w->plan.max_in_flight : 0};
    if (join_fixed(d, w, scheduler, e) || (d->nlanes && fill_lanes(d, jobs, njobs, e))) {
        dependency_close(d);
        return -1;
    }
    return 0;
}

void dependency_close(struct dependency *d)
{
    free(d->fixed);
    free(d->text);
    free(d->lanes);
    *d = (struct dependency){0};
}

const char *dependency_next(struct dependency *d, bool *failed)
{
    const char *before = d->nlanes ? d->lanes[d->next] : "";
    struct buf b = {0};

    *failed = false;
    free(d->text);
    d->text = NULL;
    if (!*before)
        return d->fixed;
    buf_addf(&b, "%s%safterany:%s", d->fixed ? d->fixed : "", d->fixed ? "," : "", before);
    d->text = buf_steal(&b);
    *failed = !d->text;
    return d->text;
}

void dependency_add(struct dependency *d, const char *id)
{
    if (!d->nlanes)
        return;
    snprintf(d->lanes[d->next], sizeof d->lanes[d->next], "%s", id);
    d->next = (d->next + 1) % d->nlanes;
}
