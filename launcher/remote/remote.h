/* SPDX-License-Identifier: BSD-3-Clause */
/* Studies on another host: verbs run there, where the study and its ledger are. Files of the study
 * are copied there before, and results from there afterwards. */
#ifndef UNETCTL_LAUNCHER_REMOTE_REMOTE_H
#define UNETCTL_LAUNCHER_REMOTE_REMOTE_H

#include "src/cli.h"

/* As `elsewhere` of struct cli_program: runs a verb that has the option --study where its study is,
 * if study.yaml names another host, and init where --ssh says. */
bool remote_elsewhere(const struct cli_command *c, int argc, char **argv, int *rc, struct err *e);

#endif
