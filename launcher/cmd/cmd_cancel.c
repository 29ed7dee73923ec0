/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/rounds/left.h"
#include "launcher/status/status.h"

#define SHARE_MAX 64 /* the most runs whose jobs are cancelled by one request and noted together */

static struct {
    struct plan_args args;
    bool without_question;
} given;

static const struct cli_option options[] = {
    {"yes", 'y', CLI_FLAG, NULL, "cancel all active runs without a question", &given.without_question, 0,
     0},
    WORKSPACE_OPTION_TAKE_OVER(given.args),
    WORKSPACE_OPTION_SITE(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* The runs to cancel, and the jobs among theirs that also serve other runs, as that of an
 * allocation (one job that executes many runs) may. */
struct chosen {
    const struct run_status **runs;
    size_t count;
    struct map shared; /* "SCHEDULER JOB" */
};

static const char *name_job(const struct run_status *s, char dst[SCHEDULER_ID_SIZE + 32])
{
    snprintf(dst, SCHEDULER_ID_SIZE + 32, "%s %s", s->scheduler, s->job);
    return dst;
}

static void chosen_destroy(struct chosen *c)
{
    free(c->runs);
    map_destroy(&c->shared);
}

static int choose_run(const struct workspace *w, const struct run_status *s, struct chosen *dst,
                      struct err *e)
{
    if (s->phase != RUN_ACTIVE)
        log_warn("%s is %s; nothing is cancelled", s->run.id, state_name(s->state));
    else if (run_status_is_foreign(w, s))
        return err_set(e, ERR_USAGE, "%s was submitted by %s, who can cancel it; --take-over "
                       "tries it nevertheless, if Slurm allows that", s->run.id, s->user);
    else
        dst->runs[dst->count++] = s;
    return 0;
}

/* Finds the runs to cancel, before any is cancelled. */
static int choose(const struct workspace *w, const struct status_list *list, int nids, char **ids,
                  struct chosen *dst, struct err *e)
{
    char job[SCHEDULER_ID_SIZE + 32];
    struct map named = {0};
    int rc = 0;

    *dst = (struct chosen){.runs = mem_zero((size_t)nids + 1, sizeof *dst->runs, e)};
    for (int i = 0; dst->runs && rc == 0 && i < nids; i++) {
        const struct run_status *s = status_list_find(list, ids[i]);
        if (!s)
            rc = err_set(e, ERR_USAGE, "no run '%s' in %s (unetctl status lists them)", ids[i],
                         w->plan.study.dir);
        else if (!map_get(&named, ids[i], NULL))
            rc = map_set(&named, ids[i], 0) ? mem_fail(e) : choose_run(w, s, dst, e);
    }
    for (size_t i = 0; rc == 0 && i < list->count; i++) {
        const struct run_status *s = &list->runs[i];
        if (s->phase == RUN_ACTIVE && !map_get(&named, s->run.id, NULL) &&
            map_set(&dst->shared, name_job(s, job), 0))
            rc = mem_fail(e);
    }
    map_destroy(&named);
    return dst->runs ? rc : -1;
}

/* Notes that the runs were cancelled. If only the ledger cannot be written, such as on a full disk,
 * *unnoted has the reason, and other jobs can still be cancelled. */
static void note(struct workspace *w, const struct run_status *const *runs, size_t n,
                 struct err *unnoted)
{
    struct ledger_note notes[SHARE_MAX];

    for (size_t i = 0; i < n; i++)
        notes[i] = (struct ledger_note){.run = runs[i]->run.id, .job = runs[i]->job,
                                        .attempt = runs[i]->attempt.number};
    ledger_append_all(&w->ledger, LEDGER_CANCELLED, notes, n, runs[0]->scheduler, unnoted);
}

/* Cancels the jobs of some runs of one scheduler; with a run whose job is shared, only that. */
static int cancel_jobs(struct workspace *w, const struct run_status *const *runs, size_t n,
                       bool shared, struct err *unnoted, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, runs[0]->scheduler, e);
    const char *ids[SHARE_MAX];
    size_t nids = 0;

    for (size_t i = 0; i < n; i++)
        if (!nids || strcmp(ids[nids - 1], runs[i]->job) != 0)
            ids[nids++] = runs[i]->job;
    if (!scheduler ||
        (shared ? allocation_jobs_cancel(&w->plan, runs[0]->run.id, runs[0]->attempt.number, e)
                : scheduler_cancel_all(scheduler, &(const struct scheduler_ids){ids, nids}, e)))
        return err_prefix(e, "%s", runs[0]->run.id);
    note(w, runs, n, unnoted);
    for (size_t i = 0; i < n; i++)
        log_info(shared ? "%s leaves job %s within seconds" : "%s: job %s was cancelled",
                 runs[i]->run.id, runs[i]->job);
    return 0;
}

static int cancel_chosen(struct workspace *w, const struct chosen *c, struct err *unnoted,
                         struct err *e)
{
    char job[SCHEDULER_ID_SIZE + 32];
    int rc = 0;

    for (size_t i = 0, n; rc == 0 && i < c->count; i += n) {
        const struct run_status *const *runs = &c->runs[i];
        bool shared = map_get(&c->shared, name_job(runs[0], job), NULL);
        for (n = 1; !shared && n < SHARE_MAX && i + n < c->count; n++)
            if (strcmp(runs[n]->scheduler, runs[0]->scheduler) != 0 ||
                map_get(&c->shared, name_job(runs[n], job), NULL))
                break;
        rc = cancel_jobs(w, runs, n, shared, unnoted, e);
        if (rc && n > 1) { /* one of them cannot be cancelled: those before it are noted */
            rc = 0;
            for (size_t k = 0; rc == 0 && k < n; k++)
                rc = cancel_jobs(w, &runs[k], 1, false, unnoted, e);
        }
    }
    return rc;
}

static int cancel_named(struct workspace *w, const struct status_list *list, int nids,
                        char **ids, struct err *unnoted, struct err *e)
{
    struct chosen c;
    int rc = choose(w, list, nids, ids, &c, e);

    if (rc == 0)
        rc = cancel_chosen(w, &c, unnoted, e);
    chosen_destroy(&c);
    return rc;
}

/* Lists the active runs that this user may cancel, and warns of those of others. *ids points into
 * list; the caller frees it. */
static int list_active(const struct workspace *w, const struct status_list *list, char ***ids,
                       int *nids, struct err *e)
{
    *nids = 0;
    *ids = calloc(list->count + 1, sizeof **ids);
    if (!*ids)
        return err_errno(e, ERR_INTERNAL, errno, "cancel");
    for (size_t i = 0; i < list->count; i++) {
        struct run_status *s = &list->runs[i];
        if (s->phase != RUN_ACTIVE)
            continue;
        if (run_status_is_foreign(w, s))
            log_warn("%s is left alone: it was submitted by %s ('--take-over' tries to cancel it "
                     "nevertheless)", s->run.id, s->user);
        else
            (*ids)[(*nids)++] = s->run.id;
    }
    return 0;
}

/* Asks on a terminal whether these runs are to be cancelled, or if there are none, whether what is
 * left for later is given up. Returns 1, 0, or -1 if there is no terminal. */
static int ask(const struct plan *p, char **ids, int nids, struct err *e)
{
    char answer[16] = "";

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(e, ERR_USAGE, "cancel: nothing was cancelled: %d run%s of %s %s active; "
                       "name those to cancel, or type 'unetctl cancel --yes' for all", nids,
                       plural(nids), p->study.dir, nids == 1 ? "is" : "are");
    if (nids)
        fprintf(stderr, "%d run%s of %s %s active: %s%s%s%s. Cancel %s? [y/N] ", nids,
                plural(nids), p->study.dir, nids == 1 ? "is" : "are", ids[0],
                nids > 2 ? ", ..." : "", nids > 1 ? ", " : "", nids > 1 ? ids[nids - 1] : "",
                nids > 1 ? "all" : "it");
    else
        fprintf(stderr, "no run of %s is active, but a submission left some for later. Give them "
                "up? [y/N] ", p->study.dir);
    fflush(stderr);
    if (!fgets(answer, sizeof answer, stdin))
        *answer = 0;
    answer[strcspn(answer, "\r\n")] = 0;
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

/* Gives up what submissions left for later, so that nothing submits it after a cancellation. */
static int give_up_left(const struct workspace *w, int *n, struct err *e)
{
    *n = left_clear(w, e);
    if (*n > 0)
        log_info("what %s left for later is given up; 'unetctl submit' submits it after all",
                 *n == 1 ? "a submission" : "submissions");
    return *n < 0 ? -1 : 0;
}

/* Collects the runs and, with the ledger locked, cancels those of ids, or all active ones if ids is
 * NULL. all: these are all, so that what is left for later is given up as well. */
static int cancel_locked(struct workspace *w, int nids, char **ids, bool all,
                         struct err *unnoted, struct err *e)
{
    struct status_list list = {0};
    char **active = NULL;
    int nactive = 0, nleft = 0, rc = -1;

    if (ledger_lock(&w->ledger, LEDGER_LOCK_S, e))
        return -1;
    if (status_list_collect(w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else if (!all || give_up_left(w, &nleft, e) == 0)
            rc = ids ? cancel_named(w, &list, nids, ids, unnoted, e)
                     : list_active(w, &list, &active, &nactive, e) ||
                               cancel_named(w, &list, nactive, active, unnoted, e)
                           ? -1
                           : 0;
        if (rc == 0 && active && !nactive && !nleft)
            log_info("no run is active; nothing is cancelled");
    }
    free(active);
    status_list_destroy(&list);
    ledger_unlock(&w->ledger);
    return rc;
}

/* Asks first, without the ledger's lock, and then cancels only the runs that were shown. */
static int cancel_after_question(struct workspace *w, struct err *unnoted, struct err *e)
{
    struct status_list list;
    struct left_counts left;
    char **active = NULL;
    int nactive = 0, rc = -1, answer;

    if (left_count(w, &left, e) || status_list_collect(w, &list, e))
        return -1;
    if (list.unreachable) {
        *e = list.reason;
    } else if (list_active(w, &list, &active, &nactive, e) == 0 && !nactive && !left.all) {
        log_info("no run is active; nothing is cancelled");
        rc = 0;
    } else if (active && (answer = ask(&w->plan, active, nactive, e)) >= 0) {
        rc = answer ? cancel_locked(w, nactive, active, true, unnoted, e) : ERR_INTERNAL;
        if (!answer)
            log_info("nothing is cancelled");
    }
    free(active);
    status_list_destroy(&list);
    return rc;
}

static int cmd_cancel_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct err unnoted = {0};
    struct workspace w;
    int rc;

    if (workspace_open(&w, &given.args, e))
        return -1;
    rc = noperands || given.without_question
             ? cancel_locked(&w, noperands, noperands ? operands : NULL, !noperands, &unnoted, e)
             : cancel_after_question(&w, &unnoted, e);
    workspace_close(&w);
    if (rc == 0 && unnoted.code) {
        *e = unnoted;
        return err_prefix(e, "the jobs were cancelled, but this could not be noted");
    }
    return rc;
}

const struct cli_command cmd_cancel = {
    .name = "cancel",
    .args = "[RUN...]",
    .summary = "stop the jobs of some runs, or of all",
    .details =
        "The files of a cancelled run stay; 'unetctl resume' continues from its checkpoint.\n"
        "Without a RUN, all active runs are meant, and what a limit of jobs or rounds left for later\n"
        "is given up: on a terminal it asks first (exit 1 if the answer is no), elsewhere it needs\n"
        "--yes.\n"
        "Example: unetctl cancel unet-g04-s1\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_cancel_run,
};
