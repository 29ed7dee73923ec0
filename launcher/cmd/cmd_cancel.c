/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <string.h>

#include "launcher/status/run_status.h"
#include "launcher/status/allocation_jobs.h"
#include "src/log.h"

#define LOCK_TIMEOUT_S 60

static struct workspace_args args;

static const struct cli_option options[] = {
    WORKSPACE_OPTION_TAKE_OVER(args),
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

/* Does the job also serve a run that is not to be cancelled, as that of an allocation (one job
 * that executes many runs) may? */
static bool is_shared(const struct run_status_list *list, const struct run_status *s, int nids,
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

static int cancel_named(struct workspace *w, const struct run_status_list *list, int nids,
                        char **ids, struct err *unnoted, struct err *e)
{
    for (int i = 0; i < nids; i++)
        if (!run_status_find(list, ids[i]))
            return err_set(e, ERR_USAGE, "no run '%s' in %s (unetctl status lists them)", ids[i],
                           w->study.dir);
    for (int i = 0; i < nids; i++) {
        const struct run_status *s = run_status_find(list, ids[i]);
        if (s->phase != RUN_ACTIVE)
            log_warn("%s is %s; nothing is cancelled", s->run.id, s->state);
        else if (run_status_is_foreign(w, s))
            return err_set(e, ERR_USAGE, "%s was submitted by %s, who can cancel it; --take-over "
                           "tries it nevertheless, if Slurm allows that", s->run.id, s->user);
        else if (cancel_run(w, s, is_shared(list, s, nids, ids), unnoted, e))
            return -1;
    }
    return 0;
}

static int cancel_all(struct workspace *w, const struct run_status_list *list,
                      struct err *unnoted, struct err *e)
{
    size_t cancelled = 0;

    for (size_t i = 0; i < list->count; i++) {
        if (list->runs[i].phase != RUN_ACTIVE)
            continue;
        if (run_status_is_foreign(w, &list->runs[i])) {
            log_warn("%s is left alone: it was submitted by %s ('--take-over' tries to cancel it "
                     "nevertheless)", list->runs[i].run.id, list->runs[i].user);
            continue;
        }
        if (cancel_run(w, &list->runs[i], false, unnoted, e))
            return -1;
        cancelled++;
    }
    if (!cancelled)
        log_info("no run is active; nothing is cancelled");
    return 0;
}

static int cmd_cancel_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct run_status_list list = {0};
    struct err unnoted = {0};
    struct workspace w;
    int rc = -1;

    (void)nrest, (void)rest;
    if (workspace_open(&w, &args, e))
        return -1;
    if (ledger_lock(&w.ledger, LOCK_TIMEOUT_S, e) == 0 && run_status_collect(&w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else
            rc = noperands ? cancel_named(&w, &list, noperands, operands, &unnoted, e)
                           : cancel_all(&w, &list, &unnoted, e);
    }
    run_status_destroy(&list);
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
        "Example: unetctl cancel unet-g04-s1\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_cancel_run,
};
