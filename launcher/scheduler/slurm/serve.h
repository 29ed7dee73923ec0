/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversation of PROTOCOL.md: one JSON object per line on stdin, one answer on stdout. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_SERVE_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_SERVE_H

#include "launcher/scheduler/slurm/way.h"

/* The programs take no arguments, and $SLURM_CONF, if set, must be readable: Slurm would wait a
 * minute for the file to appear. Returns 0, or an exit code with the reason on stderr. */
int serve_check_start(int argc, char **argv);

/* Answers requests until the end of input. */
void serve(const struct way *way);

#endif
