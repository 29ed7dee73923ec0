/* SPDX-License-Identifier: BSD-3-Clause */
/* The two scripts of an attempt, rendered from templates (script_template.h): submit_file.sh, which
 * the scheduler runs, and run_file.sh, which each rank runs. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_SCRIPT_H
#define UNETCTL_LAUNCHER_SCRIPT_SCRIPT_H

#include <stdbool.h>

#include "launcher/study/workspace.h"

/* The texts of both for the attempt that becomes this job, which the caller frees; tags (may be
 * NULL): they have the reference's tags. 0, or -1 with ERR_CONFIG and nothing to free. */
int script_render(const struct workspace *w, const struct run *run, int attempt,
                  const struct job *job, char **run_text, char **submit_text, bool *tags,
                  struct err *e);

/* Has the submit_file.sh for this engine #SBATCH lines of its author's own? 1, 0, or -1. user: the
 * folder or file that the user names, or "". */
int script_has_directives(const char *user, const struct engine *engine, struct err *e);

#endif
