/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the template of a script, here run_file.sh; submit_file.sh likewise. ENGINE is the kind of
 * trainer: tensorflow, command ... The first that exists is used:
 *
 *   1. in the user's folder T: T/ENGINE/run_file.sh, T/run_file_hvd.sh (only for the engine
 *      horovod), T/run_file.sh; if T is a file, it is a submit_file.sh
 *   2. templates/ENGINE/run_file.sh, templates/command/run_file.sh of unetctl (for submit_file.sh
 *      templates/embedded/)
 *
 * doc/FORMATS.md, "Templates", has the rules for users' templates. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_SCRIPT_TEMPLATE_H
#define UNETCTL_LAUNCHER_SCRIPT_SCRIPT_TEMPLATE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "launcher/study/engine.h"
#include "src/err.h"

enum script_file { SCRIPT_RUN, SCRIPT_SUBMIT };

/* Returns the template's text, which the caller frees, or NULL with an error: ERR_CONFIG, or
 * ERR_INTERNAL if unetctl's own is missing. path (PATH_MAX bytes) gets the file's name. user is
 * the folder or file that the user names, or "". */
char *script_template_read(const char *user, const struct engine *engine, enum script_file file,
                           char *path, struct err *e);

/* Returns a template from a cache, where it stays while up to three others are read, or NULL with
 * an error as above. */
struct script_template {
    char *user;
    const struct engine *engine;
    enum script_file file;
    char path[PATH_MAX], *text;
};
const struct script_template *script_template_get(const char *user, const struct engine *engine,
                                                  enum script_file file, struct err *e);

/* ---- #SBATCH lines in the text of a submit_file.sh ---- */

bool script_template_has_directives(const char *text);

/* Returns the first of these lines that has one of the words (NULL-terminated), or NULL. */
const char *script_template_find_directive(const char *text, const char *const *words);

/* Returns the end of the last line that sbatch reads options from, or of the first line if there
 * is none. sbatch reads up to the first command, and of two equal options the later one takes
 * effect. */
size_t script_template_end_of_directives(const char *text);

#endif
