/* SPDX-License-Identifier: BSD-3-Clause */
/* The verbs of unetctl: each cmd_NAME.c defines one. */
#ifndef UNETCTL_LAUNCHER_CMD_CMD_H
#define UNETCTL_LAUNCHER_CMD_CMD_H

#include "src/cli.h"

extern const struct cli_command cmd_cancel;
extern const struct cli_command cmd_collect;
extern const struct cli_command cmd_completion;
extern const struct cli_command cmd_config;
extern const struct cli_command cmd_data;
extern const struct cli_command cmd_doctor;
extern const struct cli_command cmd_finish;
extern const struct cli_command cmd_generate;
extern const struct cli_command cmd_init;
extern const struct cli_command cmd_logs;
extern const struct cli_command cmd_nodelist;
extern const struct cli_command cmd_plan;
extern const struct cli_command cmd_report;
extern const struct cli_command cmd_resume;
extern const struct cli_command cmd_sandbox;
extern const struct cli_command cmd_site;
extern const struct cli_command cmd_spec;
extern const struct cli_command cmd_status;
extern const struct cli_command cmd_submit;
extern const struct cli_command cmd_template;
extern const struct cli_command cmd_watch;

#endif
