/* SPDX-License-Identifier: BSD-3-Clause */
/* Renders the two scripts of an attempt from templates (script_template.h): submit_file.sh for the
 * scheduler, and run_file.sh for each rank. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_SCRIPT_H
#define UNETCTL_LAUNCHER_SCRIPT_SCRIPT_H

#include <stdbool.h>

#include "launcher/study/workspace.h"

/* The texts of both for the attempt of this job, which the caller frees; tags (may be NULL): a
 * template has the reference's tags. 0, or -1 with ERR_CONFIG and nothing to free. */
int script_render(const struct workspace *w, const struct run *run, int attempt,
                  const struct job *job, char **run_text, char **submit_text, bool *tags,
                  struct err *e);

/* Does the template submit_file.sh for this engine have #SBATCH lines? 1, 0, or -1. user: the
 * user's folder or file of templates, or "". */
int script_has_directives(const char *user, const struct engine *engine, struct err *e);

#endif
