/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversation of PROTOCOL.md: requests on stdin and their answers on stdout, one JSON object
 * per line. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SERVE_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SERVE_H

#include "launcher/scheduler/slurm/interface.h"

/* Checks that there are no arguments, and that $SLURM_CONF, if set, can be read: Slurm would
 * wait a minute for the file to appear. Returns 0, or an exit code after printing the reason on
 * stderr. */
int serve_check_start(int argc, char **argv);

/* Answers requests until the end of input. */
void serve(const struct slurm_interface *slurm);

#endif
