/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/status/status.h"

static struct {
    struct plan_args args;
} given;

static const struct cli_option options[] = {
    WORKSPACE_OPTION_TAKE_OVER(given.args),
    WORKSPACE_OPTION_SITE(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* Releases the run's job, unless it is the one in released, which several runs of an allocation
 * share. */
static int release_run(struct workspace *w, const struct run_status *s,
                       char released[SCHEDULER_ID_SIZE], struct err *e)
{
    struct scheduler *scheduler = workspace_scheduler(w, s->scheduler, e);

    if (!scheduler ||
        (strcmp(released, s->job) != 0 && scheduler_release(scheduler, s->job, e)))
        return err_prefix(e, "%s: job %s is still held", s->run.id, s->job);
    snprintf(released, SCHEDULER_ID_SIZE, "%s", s->job);
    log_info("%s: job %s was released", s->run.id, s->job);
    return 0;
}

static int release_named(struct workspace *w, const struct status_list *list, int nids,
                         char **ids, struct err *e)
{
    char released[SCHEDULER_ID_SIZE] = "";

    for (int i = 0; i < nids; i++) {
        const struct run_status *s = status_list_find(list, ids[i]);
        if (!s)
            return run_dir_check_id(w->plan.study.dir, ids[i], e);
        if (!s->held)
            return err_set(e, ERR_USAGE, "%s is %s, and its job is not held", s->run.id,
                           state_name(s->state));
        if (run_status_is_foreign(w, s))
            return err_set(e, ERR_USAGE, "%s was submitted by %s, who can release it; --take-over "
                           "tries it nevertheless, if Slurm allows that", s->run.id, s->user);
        if (release_run(w, s, released, e))
            return -1;
    }
    return 0;
}

/* Releases all held jobs. One that cannot be released does not keep the others from it; its error
 * is returned, the last of several. */
static int release_all(struct workspace *w, const struct status_list *list, struct err *e)
{
    char released[SCHEDULER_ID_SIZE] = "";
    struct err failed = {0}, one;
    size_t nheld = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct run_status *s = &list->runs[i];
        if (!s->held)
            continue;
        nheld++;
        if (run_status_is_foreign(w, s)) {
            log_warn("%s is left alone: it was submitted by %s ('--take-over' tries to release it "
                     "nevertheless)", s->run.id, s->user);
            continue;
        }
        if (release_run(w, s, released, &one) == 0)
            continue;
        if (failed.code)
            log_error("%s", failed.text);
        failed = one;
    }
    if (!nheld)
        log_info("no job is held; nothing is released");
    *e = failed;
    return failed.code ? -1 : 0;
}

static int cmd_release_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct status_list list;
    struct workspace w;
    int rc = -1;

    if (workspace_open(&w, &given.args, e))
        return -1;
    if (status_list_collect(&w, &list, e) == 0) {
        if (list.unreachable)
            *e = list.reason;
        else
            rc = noperands ? release_named(&w, &list, noperands, operands, e)
                           : release_all(&w, &list, e);
        status_list_destroy(&list);
    }
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_release = {
    .name = "release",
    .args = "[RUN...]",
    .summary = "release held jobs of some runs, or of all",
    .details =
        "A job is held by --hold, by 'scontrol hold', or by Slurm after its launch failed;\n"
        "'unetctl status' says so. Only an administrator can release what an administrator holds\n"
        "(exit 4).\n"
        "Example: unetctl release unet-g04-s1\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_release_run,
};
