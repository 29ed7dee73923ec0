/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/submit/submit_internal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "launcher/host/path.h"
#include "launcher/plan/cost.h"
#include "launcher/status/status.h"
#include "launcher/submit/attempt.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/files.h"
#include "src/parallel.h"

/* ---- dependencies of new jobs ---- */

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
    qsort(active, n, sizeof *active, job_id_compare);
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

/* ---- lost answers ---- */

/* After so many seconds a request can no longer become a job: it carries a credential of munge,
 * which is refused when it is older than 300 s. */
#define CREDENTIAL_S 330

/* How many seconds to wait at least for the jobs after the first query that did not show them all.
 * Slurm accepts connections in order and handles each in a thread: once it has answered this query,
 * the earlier submission can only be waiting for a lock. */
#define SETTLE_S 5.0
#define PAUSE_S 0.25
#define MAX_TAGS ((size_t)1 << 20)
#define IN_FLIGHT "%s/in-flight" /* of the ledger's folder; removed once that has all answers */

/* Adds the tags of jobs to the file. Requires the ledger's lock. */
static int in_flight_add(const struct ledger *l, const struct job *jobs, size_t count,
                         struct err *e)
{
    struct buf tags = {0};
    char file[PATH_MAX];

    path_format(file, IN_FLIGHT, l->dir);
    for (size_t i = 0; i < count; i++)
        buf_addf(&tags, "%s\n", jobs[i].tag);
    int fd = files_open(file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0666);
    bool is_written = fd >= 0 && !tags.failed &&
                      write(fd, tags.data, tags.length) == (ssize_t)tags.length;
    int code = errno;
    if (fd >= 0)
        close(fd);
    buf_destroy(&tags);
    return is_written ? 0 : err_errno(e, ERR_INTERNAL, code, "cannot write %s", file);
}

static bool is_noted(const struct ledger *l, const char *prefix, const char *tag)
{
    const char *run = tag + strlen(prefix), *colon = strrchr(tag, ':');
    char name[RUN_ID_SIZE];

    if (!text_begins(tag, prefix) || !colon || colon < run ||
        colon - run >= (ptrdiff_t)sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(colon - run), run);
    const struct ledger_entry *entry = ledger_find(l, name, atoi(colon + 1));
    return entry && entry->last != LEDGER_SUBMITTING;
}

/* Returns whether the scheduler has a job for each of these tags (one per line), or the ledger its
 * answer; -1 with ERR_SCHED if the scheduler cannot be queried. */
static int has_all(const struct ledger *l, struct scheduler *scheduler, const char *tags,
                   struct err *e)
{
    struct job_state *jobs;
    struct map known = {0};
    char prefix[256], tag[256];
    size_t njobs;
    int all = 1;

    ledger_tag(l->study_id, NULL, 0, prefix);
    if (scheduler_query(scheduler, prefix, ledger_has_others(l), &jobs, &njobs, e))
        return -1;
    for (size_t i = 0; i < njobs; i++)
        map_set(&known, jobs[i].tag, i);
    for (size_t n; all && (n = strcspn(tags, "\n")) > 0; tags += n + (tags[n] != 0)) {
        snprintf(tag, sizeof tag, "%.*s", (int)n, tags);
        all = map_get(&known, tag, NULL) || is_noted(l, prefix, tag);
    }
    map_destroy(&known);
    free(jobs);
    return all;
}

/* age is that of the submission, in seconds. */
static int wait_for_jobs(const struct ledger *l, struct scheduler *scheduler, const char *tags,
                         double age, struct err *e)
{
    double wait = absent_wait_s() - age, end = 0;
    int all;

    while ((all = has_all(l, scheduler, tags, e)) == 0 && (end == 0 || clock_now() < end)) {
        if (end == 0) {
            wait = wait > SETTLE_S ? wait : SETTLE_S;
            end = clock_now() + wait;
            log_info("waiting at most %.0f s for jobs of the last submission, whose answer was "
                     "lost", wait);
        }
        clock_sleep(PAUSE_S);
    }
    return all < 0 ? -1 : 0;
}

int in_flight_settle(const struct ledger *l, struct scheduler *scheduler, struct err *e)
{
    char file[PATH_MAX], *tags;
    struct stat st;
    size_t n;
    int rc;

    path_format(file, IN_FLIGHT, l->dir);
    if (files_stat(file, &st))
        return 0;
    tags = atomicfile_read(file, MAX_TAGS, &n, e);
    if (!tags)
        return -1;
    double age = clock_age(st.st_mtime);
    rc = *tags && age < CREDENTIAL_S ? wait_for_jobs(l, scheduler, tags, age, e) : 0;
    free(tags);
    if (rc == 0)
        files_unlink(file);
    return rc;
}

#define SHARE_MAX 256 /* the most items that are noted in the ledger and submitted together */
#define LOST_TEXT "the answer was lost; type 'unetctl submit' again, which finds an existing job"

int batch_add(struct batch *b, const struct run *run, int attempt, struct err *e)
{
    if (mem_grow(&b->items, b->count, &b->capacity, sizeof *b->items, e))
        return -1;
    b->items[b->count++] = (struct batch_item){.run = *run, .attempt = attempt};
    return 0;
}

void batch_close(struct batch *b)
{
    free(b->items);
}

static bool is_dry(const struct plan *p)
{
    return strcmp(p->scheduler, "dry") == 0;
}

static bool is_slurm(const struct plan *p)
{
    return strcmp(p->scheduler, "slurm") == 0;
}

/* Returns "submitted as job 7", or that it would be submitted. */
static const char *say_job(const struct plan *p, const char *id, char dst[160])
{
    if (is_dry(p))
        snprintf(dst, 160, "would be submitted");
    else
        snprintf(dst, 160, "submitted as job %.128s", id);
    return dst;
}

static void print_item(const struct plan *p, const struct batch_item *item, const char *id)
{
    const struct layout *l = &item->run.layout;
    char job[160];

    log_info("%s: %s (%d GPU%s, %d node%s, %d task%s, %s)", item->run.id, say_job(p, id, job),
             l->gpus, plural(l->gpus), l->nodes, plural(l->nodes), l->tasks,
             plural(l->tasks), layout_strategy_encode(l->strategy));
    if (item->from)
        log_info("%s: attempt %d continues from the checkpoint of attempt %d%s", item->run.id,
                 item->attempt, item->from, item->run.resized ? ", with another number of GPUs"
                 : "");
    else if (item->attempt > 1)
        log_info("%s: attempt %d starts from the beginning, as there is no checkpoint",
                 item->run.id, item->attempt);
}

/* ---- a share: items that are noted together, each with its job, or all with one ---- */

struct share {
    const struct batch_item *items;
    size_t count;
    const struct job *jobs;
    size_t njobs; /* count, or 1 */
    struct scheduler_result *results; /* of the jobs */
};

static struct scheduler_result *result_of(const struct share *s, size_t i)
{
    return &s->results[s->njobs == 1 ? 0 : i];
}

/* Appends an event to the ledger for each item with this outcome; a negative outcome means all
 * items. */
static int note(struct workspace *w, const struct share *s, enum ledger_event event, int outcome,
                struct err *e)
{
    struct ledger_note *notes = mem_zero(s->count, sizeof *notes, e);
    size_t n = 0;

    if (!notes)
        return -1;
    for (size_t i = 0; i < s->count; i++)
        if (outcome < 0 || (int)result_of(s, i)->outcome == outcome)
            notes[n++] = (struct ledger_note){
                .run = s->items[i].run.id,
                .attempt = s->items[i].attempt,
                .reason = event == LEDGER_SUBMITTING ? s->items[i].run.reason : NULL,
                .job = outcome == SCHEDULER_SUBMITTED ? result_of(s, i)->id : NULL};
    int rc = is_dry(&w->plan) ? 0 : ledger_append_all(&w->ledger, event, notes, n,
                    workspace_kind(w), e);
    free(notes);
    return rc;
}

/* Reports the first job that was refused or whose answer was lost. A limit, which leaves it for
 * later, only sets is_full. Those after a refused job count as refused, too. */
static int find_failure(const struct share *s, struct batch *b, struct err *e)
{
    enum scheduler_outcome before = SCHEDULER_SUBMITTED;
    int rc = 0;

    for (size_t i = 0; i < s->njobs; before = s->results[i++].outcome) {
        struct scheduler_result *r = &s->results[i];
        if (r->outcome == SCHEDULER_NOT_TRIED && before == SCHEDULER_REFUSED)
            r->outcome = SCHEDULER_REFUSED;
        if (r->is_full && !b->is_full)
            b->limit = r->reason;
        b->is_full |= r->is_full;
        if (r->outcome == SCHEDULER_SUBMITTED || b->is_full || rc)
            continue;
        *e = r->reason;
        e->code = ERR_SCHED;
        if (s->njobs == s->count)
            err_prefix(e, "%s", s->items[i].run.id);
        rc = r->outcome == SCHEDULER_LOST ? err_prefix(e, LOST_TEXT) : -1;
    }
    return rc;
}

/* The ledger is fsynced before the first submission and after the last; if that is interrupted in
 * between, the tags show which jobs exist. */
static int submit_share(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                        const struct share *s, struct err *e)
{
    struct err later;
    char file[PATH_MAX];
    bool lost = false;

    if (note(w, s, LEDGER_SUBMITTING, -1, e) ||
        (is_slurm(&w->plan) && in_flight_add(&w->ledger, s->jobs, s->njobs, e)))
        return -1;
    scheduler_submit_all(scheduler, s->jobs, s->njobs, s->results);
    int rc = find_failure(s, b, e);
    for (size_t i = 0; i < s->count; i++) {
        lost |= result_of(s, i)->outcome == SCHEDULER_LOST;
        if (result_of(s, i)->outcome != SCHEDULER_SUBMITTED)
            continue;
        if (s->njobs == s->count)
            print_item(&w->plan, &s->items[i], result_of(s, i)->id);
        b->submitted++;
    }
    if (note(w, s, LEDGER_SUBMITTED, SCHEDULER_SUBMITTED, rc ? &later : e) ||
        note(w, s, LEDGER_REFUSED, SCHEDULER_REFUSED, rc ? &later : e))
        return -1;
    if (!lost)
        files_unlink(path_format(file, IN_FLIGHT, w->ledger.dir));
    return rc;
}

/* Submits the items from begin on, each with its job. With the lanes of --max-in-flight
 * (submit_internal.h) that is one item, as a job needs the id of an earlier one. */
static int submit_items(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                        size_t begin, size_t count, struct dependency *dependency, struct err *e)
{
    struct attempt_job *described = calloc(count, sizeof *described);
    struct job *jobs = calloc(count, sizeof *jobs);
    struct scheduler_result *results = calloc(count, sizeof *results);
    const struct share share = {&b->items[begin], count, jobs, count, results};
    bool failed = !described || !jobs || !results;
    const char *after = failed ? NULL : dependency_next(dependency, &failed);
    int rc = failed ? mem_fail(e) : 0;

    for (size_t i = 0; rc == 0 && i < count; i++) {
        rc = attempt_job(&w->plan, &share.items[i].run, share.items[i].attempt, &described[i], e);
        jobs[i] = described[i].job;
        jobs[i].options.dependency = after;
    }
    if (rc == 0)
        rc = submit_share(w, scheduler, b, &share, e);
    if (rc == 0 && !b->is_full)
        dependency_add(dependency, results[count - 1].id);
    free(described);
    free(jobs);
    free(results);
    return rc;
}

static int submit_each(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                       struct dependency *dependency, struct err *e)
{
    size_t share = dependency->nlanes ? 1 : SHARE_MAX, n;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !b->is_full && i < b->count; i += n) {
        n = b->count - i < share ? b->count - i : share;
        rc = submit_items(w, scheduler, b, i, n, dependency, e);
    }
    return rc;
}

static const struct batch_item *find_largest(const struct batch *b)
{
    const struct batch_item *largest = b->items;

    for (size_t i = 1; i < b->count; i++)
        if (b->items[i].run.layout.gpus > largest->run.layout.gpus)
            largest = &b->items[i];
    return largest;
}

/* Submits all items as one job. */
static int submit_allocation(struct workspace *w, struct scheduler *scheduler, struct batch *b,
                             const struct dependency *dependency, struct err *e)
{
    struct scheduler_result result;
    struct allocation a;
    const struct share share = {b->items, b->count, &a.job.job, 1, &result};
    char job[160];

    if (allocation_describe(&w->plan, &find_largest(b)->run, &a, e) ||
        allocation_write(&w->plan, &a, b->items, b->count, e))
        return -1;
    a.job.job.options.dependency = dependency->fixed;
    if (scheduler_check(scheduler, &a.job.job, e))
        return err_prefix(e, "nothing was submitted: one allocation for all");
    if (submit_share(w, scheduler, b, &share, e))
        return -1;
    if (b->submitted)
        log_info("%zu run%s %s (%d node%s, %d GPU%s; %s)", b->count, plural(b->count),
                 say_job(&w->plan, result.id, job), a.job.job.nodes, plural(a.job.job.nodes),
                 a.job.job.tasks, plural(a.job.job.tasks), a.name);
    return 0;
}

/* ---- the files ---- */

struct writer {
    const struct plan *plan;
    const struct batch_item *items;
    struct atomicfile_batch files;
};

static int write_item(void *arg, size_t i, struct err *e)
{
    struct writer *w = arg;

    return attempt_generate(w->plan, &w->items[i].run, w->items[i].attempt, &w->files, e);
}

static int write_files(const struct plan *p, const struct batch *b, struct err *e)
{
    struct writer w = {p, b->items, {0}};
    int rc = is_dry(p) ? 0 : parallel_many(b->count, write_item, &w, e);

    if (rc == 0)
        rc = atomicfile_batch_commit(&w.files, e);
    atomicfile_batch_abort(&w.files);
    for (size_t i = 0; rc && i < b->count; i++)
        attempt_remove_empty(p, &b->items[i].run, b->items[i].attempt);
    return rc;
}

/* Chooses the nodes of runs of a number of GPUs that has none yet. */
static int choose_nodes(const struct plan *p, struct scheduler *scheduler, const struct batch *b,
                        struct err *e)
{
    struct attempt_job job;
    int last = 0;

    if (!is_slurm(p) || !p->study.slurm.same_nodes || p->options.nodelist ||
        p->one_allocation)
        return 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct run *run = &b->items[i].run;
        if (attempt_job(p, run, b->items[i].attempt, &job, e))
            return -1;
        job.job.script = NULL;
        if (*job.nodes || run->layout.gpus == last)
            continue;
        last = run->layout.gpus;
        if (same_nodes_choose(p, scheduler, run, &job.job, e))
            return err_prefix(e, "nothing was submitted: %s", run->id);
    }
    return 0;
}

/* Checks the largest job, since jobs differ only in size, and writes the files: before the check
 * only if that needs the script, which has directives of its own. */
static int prepare(const struct plan *p, struct scheduler *scheduler, const struct batch *b,
                   struct err *e)
{
    const struct batch_item *largest = find_largest(b);
    struct attempt_job job;

    if (p->one_allocation)
        return write_files(p, b, e);
    if (attempt_job(p, &largest->run, largest->attempt, &job, e))
        return -1;
    bool is_first = job.job.own_directives;
    if (!is_first)
        job.job.script = NULL;
    if (is_first && write_files(p, b, e))
        return -1;
    if (scheduler_check(scheduler, &job.job, e))
        return err_prefix(e, "nothing was submitted: %s (%d GPU%s)", largest->run.id,
                          largest->run.layout.gpus, plural(largest->run.layout.gpus));
    return is_first ? 0 : write_files(p, b, e);
}

/* Checks the weights with which runs would begin, once per study of a series of items. */
static int check_init(const struct batch *b, struct err *e)
{
    const struct study *checked = NULL;
    struct model_look look;

    for (size_t i = 0; i < b->count; i++) {
        const struct run *run = &b->items[i].run;
        bool has = *run->study->model.init || *run->study->model.freeze;
        if (has && !b->items[i].from && run->engine->embedded && run->study != checked &&
            model_look_open(checked = run->study, true, true, &look, e))
            return err_prefix(e, "%s", run->id);
    }
    return 0;
}

int batch_submit(struct workspace *w, struct batch *b, const struct job_state *jobs, size_t njobs,
                 struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, workspace_kind(w), e);
    struct dependency dependency;
    char text[256];

    if (!scheduler || (b->count && (check_init(b, e) || data_split_make(&w->plan, e))))
        return -1;
    /* with a signal due before it starts, a job would restart until requeues is used up */
    if (b->count && plan_advice_time(&w->plan, text))
        log_warn("%s", text);
    if (choose_nodes(&w->plan, scheduler, b, e) ||
        (b->count && prepare(&w->plan, scheduler, b, e)) ||
        dependency_open(&dependency, w, scheduler, jobs, njobs, e))
        return -1;
    int rc = w->plan.one_allocation && b->count ? submit_allocation(w, scheduler, b, &dependency, e)
                                           : submit_each(w, scheduler, b, &dependency, e);
    dependency_close(&dependency);
    return rc;
}
