/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <string.h>

#include "launcher/rounds/left.h"
#include "launcher/rounds/rounds_file.h"
#include "launcher/status/watch.h"
#include "launcher/study/run_dir.h"
#include "src/log.h"

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

/* Repeats the submission that left runs, and reports a round that it began. */
static long submit_left(void *arg, struct err *e)
{
    const struct workspace *w = arg;
    static char before[ROUNDS_FILE_TEXT];
    char text[sizeof before];
    long left = left_submit(arg, e);

    if (left >= 0 && rounds_file_describe(&w->ledger, text) &&
        strcmp(text, before) != 0)
        log_info("%s", strcpy(before, text));
    return left;
}

static int cmd_watch_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct watch_options watch = {.ids = noperands ? operands : NULL,
                                  .nids = (size_t)noperands,
                                  .timeout_s = timeout_s,
                                  .every_s = every_s,
                                  .json = as_json};
    struct workspace w;
    char text[ROUNDS_FILE_TEXT];
    int rc = 0;

    (void)nrest, (void)rest;
    if (workspace_open(&w, &args, e))
        return -1;
    if (!noperands && left_any(&w)) {
        watch.submit_left = submit_left;
        watch.arg = &w;
        watch.in_rounds = rounds_file_describe(&w.ledger, text);
    }
    for (int i = 0; rc == 0 && i < noperands; i++)
        rc = run_dir_check_id(w.study.dir, operands[i], e);
    if (rc == 0)
        rc = watch_runs(&w, &watch, e);
    if (watch.in_rounds && !as_json)
        rc = cmd_submit_end_rounds(&w, rc, e);
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
