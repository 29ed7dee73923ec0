/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/status/status_internal.h"

#include <sys/stat.h>

#include "src/clock.h"

#define PAUSE_S 1.0 /* between the two questions */
#define SKEW_S 300  /* by which the clocks of two hosts may differ; munge accepts no more */

struct absent {
    struct run_status *s;
    const struct ledger_entry *entry; /* or NULL */
    const char *id;
    bool found;
};

struct absents {
    struct absent *list;
    size_t count;
    struct map shared; /* the jobs that several runs have, as those of an allocation */
};

/* Jobs by number: a job that was requeued has several elements. */
struct by_number {
    const struct job_state *jobs;
    struct map last; /* the index of the last one */
    size_t *before;  /* of each, 1 + the index of the one before it with this number, or 0 */
};

double absent_wait_s(void)
{
    const char *text = getenv("UNETCTL_ABSENT_S");

    return text && *text ? atof(text) : ABSENT_S;
}

/* ---- whose job it is ---- */

static bool is_near(time_t a, time_t b)
{
    return a && b && a >= b - SKEW_S && a <= b + SKEW_S;
}

bool absent_is_same(const struct absent_claim *c, const struct job_state *j)
{
    if (c->uid >= 0 && j->uid >= 0 && c->uid != j->uid)
        return false;
    if (strcmp(j->tag, c->tag) == 0 ||
        (text_begins(j->tag, c->study) &&
         text_begins(j->tag + strlen(c->study), ALLOCATION_JOBS_PREFIX)))
        return true;
    if (text_begins(j->tag, "unetctl:"))
        return false;
    if (c->asked && j->submitted && j->submitted < c->asked - SKEW_S)
        return false;
    if (c->began && j->ended && j->ended < c->began - SKEW_S)
        return false;
    if (!*j->name || strcmp(j->name, c->name) == 0 || text_begins(j->name, c->allocation))
        return true;
    /* Its name was changed, too. A requeued job has a new time of submission. */
    return is_near(j->submitted, c->asked) || is_near(j->started, c->began) ||
           (j->restarts > 0 && c->uid >= 0 && c->uid == j->uid);
}

/* Returns when the file was last written, or 0. */
static time_t time_of(const char *folder, const char *name)
{
    char path[PATH_MAX + 16];
    struct stat st;

    snprintf(path, sizeof path, "%s%s%s", folder, *name ? "/" : "", name);
    return *folder && stat(path, &st) == 0 ? st.st_mtime : 0;
}

static int index_jobs(const struct job_state *jobs, size_t n, struct by_number *dst,
                      struct err *e)
{
    *dst = (struct by_number){.jobs = jobs, .before = mem_zero(n + 1, sizeof *dst->before, e)};
    if (!dst->before)
        return -1;
    for (size_t i = 0, last; i < n; i++) {
        dst->before[i] = map_get(&dst->last, jobs[i].id, &last) ? last + 1 : 0;
        if (map_set(&dst->last, jobs[i].id, i))
            return mem_fail(e);
    }
    return 0;
}

/* Returns the last of jobs that has the run's number and is its job, or NULL. */
static const struct job_state *find_same(const struct plan *p, const struct absent *a,
                                         const struct by_number *all)
{
    size_t i;

    const struct run_status *s = a->s;
    char study[256], tag[256], name[160], allocation[160];
    const struct absent_claim claim = {.study = study,
                                       .tag = tag,
                                       .name = name,
                                       .allocation = allocation,
                                       .uid = a->entry ? a->entry->uid : -1,
                                       .asked = a->entry ? a->entry->asked : 0,
                                       .began = time_of(s->attempt.path, "job")};

    ledger_tag(p->study_id, NULL, 0, study);
    ledger_tag(p->study_id, s->run.id,
               s->attempt.number ? s->attempt.number : a->entry ? a->entry->attempt : 1, tag);
    snprintf(name, sizeof name, "%s-%s", p->study.name, s->run.id);
    snprintf(allocation, sizeof allocation, "%s-" ALLOCATION_JOBS_PREFIX, p->study.name);
    for (size_t n = map_get(&all->last, a->id, &i) ? i + 1 : 0; n; n = all->before[n - 1])
        if (absent_is_same(&claim, &all->jobs[n - 1]))
            return &all->jobs[n - 1];
    return NULL;
}

/* ---- deciding ---- */

/* Lists the jobs that serve several runs. */
static int list_shared(const struct ledger *l, struct map *dst, struct err *e)
{
    struct map newest = {0}; /* the last run of each job, as its index */
    int rc = 0;

    for (size_t i = 0, before; rc == 0 && i < l->count; i++) {
        const struct ledger_entry *entry = &l->entries[i];
        bool other = map_get(&newest, entry->job, &before) &&
                     strcmp(l->entries[before].run, entry->run) != 0;
        rc = map_set(&newest, entry->job, i) || (other && map_set(dst, entry->job, 0)) ? -1 : 0;
    }
    map_destroy(&newest);
    return rc ? mem_fail(e) : 0;
}

/* Decides the run again with the job, which may be NULL. Its marker is read again, since the job
 * may have ended meanwhile. */
static int decide_again(const struct plan *p, struct absent *a, const struct job_state *job,
                        bool is_shared, struct err *e)
{
    struct run_status *s = a->s;
    int number = s->attempt.number;
    struct job_state own;

    if (run_dir_attempt(p->study.dir, s->run.id, &s->attempt, e))
        return -1;
    run_dir_progress(&s->attempt, &s->progress);
    s->attempt.number = s->attempt.number ? s->attempt.number : number;
    if (job) {
        own = *job;
        if (is_shared)
            status_set_run_state(&own, &s->attempt);
    }
    run_status_decide(s, job ? &own : NULL, a->entry);
    a->found = !s->absent;
    return 0;
}

static int decide_found(const struct plan *p, struct absents *all, const struct job_state *jobs,
                        size_t njobs, struct err *e)
{
    struct by_number numbers;
    int rc = index_jobs(jobs, njobs, &numbers, e);

    for (size_t i = 0; rc == 0 && i < all->count; i++) {
        struct absent *a = &all->list[i];
        const struct job_state *job = a->found ? NULL : find_same(p, a, &numbers);
        if (job)
            rc = decide_again(p, a, job, map_get(&all->shared, a->id, NULL), e);
    }
    map_destroy(&numbers.last);
    free(numbers.before);
    return rc;
}

/* Returns the seconds since the submission, or since the run last wrote a file. */
static double silence_s(const struct absent *a)
{
    time_t folder = time_of(a->s->attempt.path, "");
    time_t record = time_of(a->s->attempt.path, "record.jsonl");
    time_t last = a->entry ? a->entry->time : 0;

    if (a->s->attempt.ran && folder > last)
        last = folder;
    if (record > last)
        last = record;
    return clock_age(last);
}

static bool is_hidden(const struct workspace *w, const struct absent *a)
{
    long owner = a->entry && a->entry->uid >= 0 ? a->entry->uid : w->ledger.owner;

    return owner >= 0 && owner != (long)getuid();
}

/* Decides a run whose job neither the queue nor the accounting has shown. */
static int decide_unseen(const struct workspace *w, struct absent *a, bool hides, bool is_answered,
                         struct err *e)
{
    struct run_status *s = a->s;
    double silence = silence_s(a), wait = absent_wait_s();
    size_t n;

    if (decide_again(&w->plan, a, NULL, false, e))
        return -1;
    if (a->found) /* its marker has appeared */
        return 0;
    if (hides && is_hidden(w, a))
        run_status_set(s, STATE_UNKNOWN, "its state is hidden: this cluster shows users only their "
                       "own jobs (PrivateData=jobs)");
    else if (silence < wait)
        run_status_set(s, STATE_UNSEEN, "Slurm does not show job %s; it was submitted, or wrote a "
                       "file, %.0f s ago, and counts as lost after %.0f s", a->id, silence, wait);
    else if (s->state == STATE_LOST && !is_answered && (n = strlen(s->reason)) > 0)
        snprintf(s->reason + n, sizeof s->reason - n, " (this cluster has no accounting that "
                 "answers)");
    return 0;
}

/* ---- asking ---- */

static struct scheduler_ids list_ids(const struct absents *all, const char **ids)
{
    size_t n = 0;

    for (size_t i = 0; i < all->count; i++)
        if (!all->list[i].found)
            ids[n++] = all->list[i].id;
    return (struct scheduler_ids){ids, n};
}

/* Asks for the numbers of those that were not found yet. */
static int ask(const struct plan *p, struct scheduler *scheduler, struct absents *all,
               const char **ids, bool in_accounting, struct scheduler_found *found, struct err *e)
{
    const struct scheduler_ids wanted = list_ids(all, ids);

    if (scheduler_find(scheduler, &wanted, in_accounting, found, e))
        return -1;
    int rc = decide_found(p, all, found->states, found->count, e);
    free(found->states);
    return rc;
}

/* Asks the queue, twice if necessary, and the accounting; that one does not answer is not an
 * error. */
static int ask_all(struct workspace *w, const char *kind, struct absents *all, const char **ids,
                   bool *hides, bool *is_answered, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, kind, e);
    struct scheduler_found found;

    if (!scheduler || ask(&w->plan, scheduler, all, ids, false, &found, e))
        return -1;
    *hides = found.hides;
    if (list_ids(all, ids).count) {
        clock_sleep(PAUSE_S);
        if (ask(&w->plan, scheduler, all, ids, false, &found, e))
            return -1;
    }
    if (ask(&w->plan, scheduler, all, ids, true, &found, e))
        log_debug("accounting: %s", e->text);
    *is_answered = found.is_answered;
    return 0;
}

/* Lists the absent runs of this Slurm. A cancelled run is asked about only while its job may
 * end. */
static void gather(const struct workspace *w, const char *kind, struct run_status *runs,
                   size_t count, struct absents *all)
{
    for (size_t i = 0; i < count; i++) {
        struct run_status *s = &runs[i];
        const struct ledger_entry *entry =
            s->absent ? ledger_find(&w->ledger, s->run.id, s->attempt.number) : NULL;
        struct absent a = {s, entry, *s->attempt.job ? s->attempt.job : s->job, false};
        const char *scheduler = entry ? entry->scheduler : s->scheduler;
        if (!s->absent || (s->state != STATE_LOST && silence_s(&a) >= absent_wait_s()))
            continue;
        if (strcmp(scheduler, kind) == 0 && *a.id)
            all->list[all->count++] = a;
        else if (strcmp(scheduler, "local") == 0 && run_status_is_others(s))
            run_status_set(s, STATE_UNKNOWN, "its state is hidden: it is in the local queue of "
                           "this user");
    }
}

static int resolve_of(struct workspace *w, const char *kind, struct run_status *runs, size_t count,
                      struct err *e)
{
    struct absents all = {.list = calloc(count + 1, sizeof *all.list)};
    const char **ids = calloc(count + 1, sizeof *ids);
    bool hides = false, is_answered = false;
    int rc = all.list && ids ? 0 : mem_fail(e);

    if (rc == 0)
        gather(w, kind, runs, count, &all);
    if (all.count)
        rc = list_shared(&w->ledger, &all.shared, e);
    if (rc == 0 && all.count && ask_all(w, kind, &all, ids, &hides, &is_answered, e)) {
        rc = 1;
        for (size_t i = 0; i < all.count; i++)
            if (!all.list[i].found)
                run_status_set(all.list[i].s, STATE_UNKNOWN, "the scheduler is unreachable");
    } else {
        for (size_t i = 0; rc == 0 && i < all.count; i++)
            if (!all.list[i].found)
                rc = decide_unseen(w, &all.list[i], hides, is_answered, e);
    }
    map_destroy(&all.shared);
    free(all.list);
    free(ids);
    return rc;
}

int absent_resolve(struct workspace *w, struct run_status *runs, size_t count, struct err *e)
{
    int rc = resolve_of(w, "slurm", runs, count, e);
    int of_sandbox = rc < 0 ? 0 : resolve_of(w, "sandbox", runs, count, e);

    return of_sandbox ? of_sandbox : rc;
}
