/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversation of PROTOCOL.md: one JSON object per line on stdin, one answer on stdout. */
#ifndef UNETCTL_LAUNCHER_SLURM_SERVE_H
#define UNETCTL_LAUNCHER_SLURM_SERVE_H

#include "launcher/slurm/way.h"

/* Is $SLURM_CONF, if set, a file that can be read? Slurm would wait a minute for it to appear.
 * Returns 0, or -1 with the reason on stderr. */
int serve_check_configuration(void);

/* Answers requests until the end of input. */
void serve(const struct way *way);

#endif
