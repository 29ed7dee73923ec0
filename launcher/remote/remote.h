/* SPDX-License-Identifier: BSD-3-Clause */
/* Studies on another host: verbs run there, where the study and its ledger are. Files of the study
 * are copied there before, and results from there afterwards.
 *
 * A study.yaml whose site is a mapping with `ssh` (struct remote_site) stands for a study in a
 * folder of that host. The command line calls remote_elsewhere before each verb; for such a study
 * it translates the verb's words, sends study.yaml and what it names, runs the verb by the user's
 * ssh, and brings back logs and reports. So no other room knows of hosts.
 *
 * The exit code is that of the verb there. A connection that cannot be made is an error with what
 * ssh said; one that ends before the verb is another, as the ledger there then has what was done.
 * Files appear whole on either side.
 *
 * Read remote.c from remote_elsewhere on, then ssh.c: the connection and the copies, and the two
 * forms of study.yaml. */
#pragma once

#include "src/cli.h"

/* As `elsewhere` of struct cli_program: runs a verb that has the option --study where its study is,
 * if study.yaml names another host, and init where --ssh says. */
bool remote_elsewhere(const struct cli_command *c, int argc, char **argv, int *rc, struct err *e);
