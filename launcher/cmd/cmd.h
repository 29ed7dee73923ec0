/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of unetctl: each cmd_NAME.c defines one, and tests reach what it does in a room below.
 * A verb has a table of options, whose values stand in one struct (`given`), parses them, calls the
 * rooms that do its work, and prints. This room is called by launcher/main.c alone. */
#pragma once

#include "launcher/study/workspace.h"
#include "src/cli.h"

extern const struct cli_command cmd_cancel, cmd_collect, cmd_completion, cmd_config, cmd_data,
    cmd_doctor, cmd_energy, cmd_finish, cmd_generate, cmd_init, cmd_logs, cmd_nodelist, cmd_plan,
    cmd_release, cmd_report, cmd_resume, cmd_sandbox, cmd_site, cmd_spec, cmd_stage, cmd_status,
    cmd_submit, cmd_watch, cmd_template;

/* Ends rounds after watch_runs returned rc; if prints, prints how they stand, and the report. Only
 * rounds.json says whether there is a verdict. Returns the exit code, or -1: rc if there are no
 * rounds, otherwise 0 if the verdict is decided, and ERR_STATS if it is not. */
int cmd_submit_end_rounds(const struct workspace *w, int rc, bool prints, struct err *e);

/* Submits what a submission (left.h) left. Returns 0, also if something is left again, or -1. */
int cmd_submit_again(json_t *submission, struct err *e);
