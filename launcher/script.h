/* SPDX-License-Identifier: BSD-3-Clause */
/* The two scripts of an attempt, rendered from templates: submit_file.sh, which the scheduler runs,
 * and run_file.sh, which each rank runs.
 *
 * Templates are looked for in this order; ENGINE is tensorflow, command ...
 *   1. what the user names (folder T):  T/ENGINE/run_file.sh, T/run_file_hvd.sh (horovod, the
 *      reference's name), T/run_file.sh; a file T is a submit_file.sh
 *   2. templates/ENGINE/run_file.sh, templates/embedded/run_file.sh of unetctl
 * doc/FORMATS.md, "Templates", has the rules for those that people write. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_H
#define UNETCTL_LAUNCHER_SCRIPT_H

#include <stdbool.h>

#include "launcher/workspace.h"

enum script_file { SCRIPT_RUN, SCRIPT_SUBMIT };

/* The texts of both for the attempt that becomes this job, which the caller frees; tags (may be
 * NULL): they have the reference's tags. 0, or -1 with ERR_CONFIG and nothing to free. */
int script_render(const struct workspace *w, const struct run *run, int attempt,
                  const struct job *job, char **run_text, char **submit_text, bool *tags,
                  struct err *e);

/* Has the submit_file.sh for this engine #SBATCH lines of its author's own? 1, 0, or -1. user: as
 * below. */
int script_has_directives(const char *user, const struct engine *engine, struct err *e);

/* The text of a template as it lies in its file, which the caller frees; path (PATH_MAX bytes) gets
 * the file's name. user: the folder or file that the user names, or "". NULL with ERR_CONFIG. */
char *script_read_template(const char *user, const struct engine *engine, enum script_file file,
                           char *path, struct err *e);

/* The markers: a NULL name ends the list. required says where one must stand, or is "". */
struct script_marker {
    const char *name, *required, *help;
};
const struct script_marker *script_markers(void);

#endif
