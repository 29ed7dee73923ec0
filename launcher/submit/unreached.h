/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of a call that concern only new jobs, and so do not reach runs that are active. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_UNREACHED_H
#define UNETCTL_LAUNCHER_SUBMIT_UNREACHED_H

#include "launcher/study/workspace.h"

/* Warns if nactive runs are active and options for jobs are given: in args, or as words, which are
 * options of sbatch. */
void unreached_report(const struct workspace_args *args, int nwords, char **words, size_t nactive);

#endif
