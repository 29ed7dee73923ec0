/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "launcher/status/allocation_jobs.h"
#include "launcher/status/status_list.h"
#include "src/log.h"
#include "src/plural.h"

static struct workspace_args args;
static bool without_question;

static const struct cli_option options[] = {
    {"yes", 'y', CLI_FLAG, NULL, "cancel all active runs without a question", &without_question, 0,
     0},
    WORKSPACE_OPTION_TAKE_OVER(args),
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

/* Returns whether the job also serves a run that is not to be cancelled, as that of an allocation
 * (one job that executes many runs) may. */
static bool is_shared(const struct status_list *list, const struct run_status *s, int nids,
                      char **ids)
{
    for (size_t i = 0; nids && i < list->count; i++) {
        const struct run_status *other = &list->runs[i];
        bool named = false;
        for (int k = 0; k < nids; k++)
            named |= strcmp(ids[k], other->run.id) == 0;
        if (!named && other->phase == RUN_ACTIVE && strcmp(other->job, s->job) == 0)
            return true;
    }
    return false;
}

/* Cancels the run's job. If only the ledger cannot be written, such as on a full disk, *unnoted has
 * the reason, and other jobs can still be cancelled. */
static int cancel_run(struct workspace *w, const struct run_status *s, bool shared,
                      struct err *unnoted, struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, s->scheduler, e);

    if (!scheduler || (shared ? allocation_jobs_cancel(w, s->run.id, s->attempt.number, e)
                              : scheduler_cancel(scheduler, s->job, e)))
        return err_prefix(e, "%s", s->run.id);
    ledger_append(&w->ledger, LEDGER_CANCELLED, s->run.id, s->attempt.number, s->scheduler, s->job,
                  unnoted);
    log_info(shared ? "%s leaves job %s within seconds" : "%s: job %s was cancelled", s->run.id,
             s->job);
    return 0;
}

static int cancel_named(struct workspace *w, const struct status_list *list, int nids,
                        char **ids, struct err *unnoted, struct err *e)
{
    for (int i = 0; i < nids; i++)
        if (!status_list_find(list, ids[i]))
            return err_set(e, ERR_USAGE, "no run '%s' in %s (unetctl status lists them)", ids[i],
                           w->study.dir);
    for (int i = 0; i < nids; i++) {
        const struct run_status *s = status_list_find(list, ids[i]);
        if (s->phase != RUN_ACTIVE)
            log_warn("%s is %s; nothing is cancelled", s->run.id, state_name(s->state));
        else if (run_status_is_foreign(w, s))
            return err_set(e, ERR_USAGE, "%s was submitted by %s, who can cancel it; --take-over "
                           "tries it nevertheless, if Slurm allows that", s->run.id, s->user);
        else if (cancel_run(w, s, is_shared(list, s, nids, ids), unnoted, e))
            return -1;
    }
    return 0;
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

/* Asks on a terminal whether these runs are to be cancelled. Returns 1, 0, or -1 if there is no
 * terminal. */
static int ask(const struct workspace *w, char **ids, int nids, struct err *e)
{
    char answer[16] = "";

    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(e, ERR_USAGE, "cancel: nothing was cancelled: %d run%s of %s %s active; "
                       "name those to cancel, or type 'unetctl cancel --yes' for all", nids,
                       plural(nids), w->study.dir, nids == 1 ? "is" : "are");
    fprintf(stderr, "%d run%s of %s %s active: %s%s%s%s. Cancel %s? [y/N] ", nids, plural(nids),
            w->study.dir, nids == 1 ? "is" : "are", ids[0], nids > 2 ? ", ..." : "",
            nids > 1 ? ", " : "", nids > 1 ? ids[nids - 1] : "", nids > 1 ? "all" : "it");
    fflush(stderr);
    if (!fgets(answer, sizeof answer, stdin))
        *answer = 0;
    answer[strcspn(answer, "\r\n")] = 0;
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

/* Collects the runs and, with the ledger locked, cancels those of ids, or all if nids is 0. */
static int cancel_locked(struct workspace *w, int nids, char **ids, struct err *unnoted,
                         struct err *e)
{
    struct status_list list = {0};
    char **active = NULL;
    int nactive = 0, rc = -1;

    if (ledger_lock(&w->ledger, LEDGER_LOCK_S, e))
        return -1;
    if (status_list_collect(w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else if (nids)
            rc = cancel_named(w, &list, nids, ids, unnoted, e);
        else if (list_active(w, &list, &active, &nactive, e) == 0)
            rc = cancel_named(w, &list, nactive, active, unnoted, e);
        if (rc == 0 && active && !nactive)
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
    char **active = NULL;
    int nactive = 0, rc = -1, answer;

    if (status_list_collect(w, &list, e))
        return -1;
    if (list.unreachable) {
        *e = list.reason;
    } else if (list_active(w, &list, &active, &nactive, e) == 0 && !nactive) {
        log_info("no run is active; nothing is cancelled");
        rc = 0;
    } else if (active && (answer = ask(w, active, nactive, e)) >= 0) {
        rc = answer ? cancel_locked(w, nactive, active, unnoted, e) : ERR_INTERNAL;
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

    if (workspace_open(&w, &args, e))
        return -1;
    rc = noperands || without_question ? cancel_locked(&w, noperands, operands, &unnoted, e)
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
        "Without a RUN, all active runs are meant: on a terminal it asks first (exit 1 if the\n"
        "answer is no), elsewhere it needs --yes.\n"
        "Example: unetctl cancel unet-g04-s1\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_cancel_run,
};
