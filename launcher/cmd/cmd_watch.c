/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include "launcher/status/watch.h"
#include "launcher/study/run_dir.h"
#include "launcher/submit/left.h"

#include <unistd.h>

static struct workspace_args args;
static long timeout_s;
static bool as_json;

static const struct cli_option options[] = {
    {"timeout", 0, CLI_INT, "SECONDS", "give up waiting (exit 6), the jobs go on", &timeout_s, 1,
     1e9},
    {"json", 0, CLI_FLAG, NULL, "print a line of JSON per change of state or epoch", &as_json,
     0, 0},
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

static int check_runs(const struct workspace *w, int nids, char **ids, struct err *e)
{
    char path[PATH_MAX];

    for (int i = 0; i < nids; i++) {
        run_dir_path(w->study.dir, ids[i], "run.json", path);
        if (access(path, F_OK) != 0)
            return err_set(e, ERR_USAGE, "no run '%s' in %s (unetctl status lists them)", ids[i],
                           w->study.dir);
    }
    return 0;
}

static int cmd_watch_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct watch_options watch = {.ids = noperands ? operands : NULL,
                                  .nids = (size_t)noperands,
                                  .timeout_s = timeout_s,
                                  .json = as_json};
    struct workspace w;
    int rc;

    (void)nrest, (void)rest;
    if (workspace_open(&w, &args, e))
        return -1;
    if (!noperands && left_any(&w)) {
        watch.submit_left = left_submit;
        watch.arg = &w;
    }
    rc = check_runs(&w, noperands, operands, e);
    if (rc == 0)
        rc = watch_runs(&w, &watch, e);
    workspace_close(&w);
    return rc;
}

const struct cli_command cmd_watch = {
    .name = "watch",
    .args = "[RUN...]",
    .summary = "follow the runs until they have ended",
    .details =
        "On a terminal one bar per run, redrawn in place; elsewhere one line per change of state.\n"
        "NO_COLOR is obeyed. Runs that a limit left at the last 'submit' are submitted as others "
        "end,\n"
        "with the options of that one, unless RUNs are named. Exit 0 if all runs are done, 1 if "
        "some ended without a result, 130 on\n"
        "Ctrl-C, 6 on --timeout; the jobs go on in any case.\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_watch_run,
};
