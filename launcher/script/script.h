/* SPDX-License-Identifier: BSD-3-Clause */
/* Renders the two scripts of an attempt (one submission of a run) from templates
 * (script_template.h): submit_file.sh, which the scheduler runs, and run_file.sh, which each rank
 * runs. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_SCRIPT_H
#define UNETCTL_LAUNCHER_SCRIPT_SCRIPT_H

#include <stdbool.h>

#include "launcher/study/plan.h"

/* Renders both scripts for the attempt, which is submitted as this job. The caller frees the
 * texts. *tags becomes whether a template has tags (words tag_NAME, see template.h); tags may be
 * NULL. Returns 0, or -1 with an error, such as ERR_CONFIG, and nothing to free. */
int script_render(const struct plan *plan, const struct run *run, int attempt,
                  const struct job *job, char **run_text, char **submit_text, bool *tags,
                  struct err *e);

/* Returns 1 if the template submit_file.sh for this engine has #SBATCH lines, 0 if not, or -1 with
 * an error. user is the user's folder or file of templates, or "". */
int script_has_directives(const char *user, const struct engine *engine, struct err *e);

#endif
