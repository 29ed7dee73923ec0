/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include "launcher/status/watch.h"
#include "launcher/study/run_dir.h"
#include "launcher/submit/left.h"

static struct workspace_args args;
static long timeout_s, every_s;
static bool as_json;

static const struct cli_option options[] = {
    {"timeout", 0, CLI_INT, "SECONDS",
     "stop watching after this time (exit 6); the jobs continue", &timeout_s, 1, 1e9},
    {"every", 0, CLI_INT, "SECONDS",
     "report the progress so often where no bars are drawn (default: 60)", &every_s, 1, 1e9},
    {"json", 0, CLI_FLAG, NULL, "print a line of JSON for each change of state or epoch", &as_json,
     0, 0},
    WORKSPACE_OPTION_SITE(args),
    WORKSPACE_OPTION_STUDY(args),
    {0},
};

static int cmd_watch_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct watch_options watch = {.ids = noperands ? operands : NULL,
                                  .nids = (size_t)noperands,
                                  .timeout_s = timeout_s,
                                  .every_s = every_s,
                                  .json = as_json};
    struct workspace w;
    int rc = 0;

    (void)nrest, (void)rest;
    if (workspace_open(&w, &args, e))
        return -1;
    if (!noperands && left_any(&w)) {
        watch.submit_left = left_submit;
        watch.arg = &w;
    }
    for (int i = 0; rc == 0 && i < noperands; i++)
        rc = run_dir_check_id(w.study.dir, operands[i], e);
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
        "Shows a bar for each run on a terminal, elsewhere a line for each change of state and,\n"
        "each minute, one for each running run and one about all, with the time left. NO_COLOR is\n"
        "honoured. Unless RUNs are named, runs that a limit left out at the last\n"
        "'submit' are submitted as other jobs end, with the options of that 'submit'. Exit 0 if\n"
        "all runs are done, 1 if some ended without a result, 130 on Ctrl-C, 6 on --timeout; the\n"
        "jobs continue in any case.\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_watch_run,
};
