/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include <stdatomic.h>

#include "launcher/plan/look.h"
#include "launcher/plan/cost.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/submission.h"
#include "src/parallel.h"

static struct {
    struct plan_args args;
    bool dry_run;
} given;

static const struct cli_option options[] = {
    WORKSPACE_OPTIONS_PLAN(given.args),
    WORKSPACE_OPTION_VARY(given.args),
    WORKSPACE_OPTION_SCHEDULER(given.args),
    WORKSPACE_OPTION_TEMPLATES(given.args),
    DRY_RUN_OPTION(given.dry_run),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* Makes the split. Only warns if that fails because there are no images: scripts may be generated
 * before the images exist. */
static int make_split(const struct plan *p, struct err *e)
{
    struct data_look look;
    struct err ignored;

    if (data_split_make(p, e) == 0)
        return 0;
    if (access(p->study.data.dir, F_OK) == 0 &&
        (data_look_count(&p->study, &look, &ignored) || look.images))
        return err_prefix(e, "cannot make %s/split.json, which the runs read", p->study.dir);
    log_warn("cannot make %s/split.json, which the runs read: %s; run 'unetctl generate' again "
             "before you submit a run by hand", p->study.dir, e->text);
    return 0;
}

struct generator {
    const struct plan *plan;
    struct atomicfile_batch files;
    atomic_size_t begun;
};

static int generate_run(void *arg, size_t i, struct err *e)
{
    struct generator *g = arg;
    const struct run *run = &g->plan->runs[i];
    struct run_attempt newest;

    if (run_dir_attempt(g->plan->study.dir, run->id, &newest, e))
        return -1;
    g->begun += newest.begun;
    return attempt_generate(g->plan, run, newest.number ? newest.number : 1, &g->files, e);
}

static int generate_all(const struct plan *plan, struct err *e)
{
    struct generator g = {.plan = plan};
    int rc = make_split(plan, e) || parallel_many(plan->count, generate_run, &g, e) ||
                     atomicfile_batch_commit(&g.files, e)
                 ? -1
                 : 0;

    atomicfile_batch_abort(&g.files);
    for (size_t i = 0; rc && i < plan->count; i++)
        attempt_remove_empty(plan, &plan->runs[i], 1);
    if (rc)
        return -1;
    log_info("wrote %zu run%s below %s/runs%s; 'sbatch submit_file.sh' in the folder of a run "
             "submits it by hand", plan->count, plural(plan->count), plan->study.dir,
             g.begun ? " (runs that have begun are unchanged)" : "");
    return 0;
}

static int cmd_generate_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct plan plan = {0};
    struct workspace w;
    int rc = -1;

    if (workspace_open_jobs(&w, &given.args, nrest, rest, e))
        return -1;
    if (workspace_plan(&w, &plan, e) == 0) {
        if (given.dry_run)
            rc = dry_run_print(&plan, e);
        else if (ledger_lock(&w.ledger, LEDGER_LOCK_S, e) == 0 &&
                 ledger_keep_id(&w.ledger, e) == 0)
            rc = generate_all(&plan, e);
    }
    plan_free_runs(&plan);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_generate = {
    .name = "generate",
    .args = "[-- SBATCH OPTIONS]",
    .summary = "write the folders of the runs without submitting them",
    .details =
        "Writes STUDY/runs/RUN/{run.json,run_file.sh,submit_file.sh} for each run, and once\n"
        "STUDY/split.json. A run that has begun is not written again. 'sbatch submit_file.sh'\n"
        "submits the same job as 'unetctl submit'.\n"
        "Example: unetctl generate --gpus 1..14 --dry-run\n",
    .options = options,
    .run = cmd_generate_run,
};
