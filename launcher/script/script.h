/* SPDX-License-Identifier: BSD-3-Clause */
/* The two scripts of an attempt (one submission of a run): submit_file.sh, which the scheduler
 * runs, and run_file.sh, which each rank runs. They are rendered from templates: those of unetctl,
 * of the site or of the user.
 *
 * script.h renders both, and knows which template is whose and which markers there are.
 * template.h replaces {{markers}} in any text, and quotes words for a shell; it knows no study.
 * container.h adds the words that start a program in the container of the study.
 *
 * Only submit, doctor and the verb template call this room. The same plan gives the same bytes, and
 * what a template or a marker lacks is an error with FILE:LINE before anything is submitted. No
 * value reaches a script but through template_add_sh, {{name|sh}} or a check of its characters.
 *
 * Read script_render, then script_values.c, which fills the values of all markers. */
#pragma once

#include "src/base.h"

#include "launcher/study/plan.h"
#include "launcher/study/study.h"

/* Renders both scripts for the attempt, which is submitted as this job. The caller frees the
 * texts. *tags becomes whether a template has tags (words tag_NAME, see template.h); tags may be
 * NULL. Returns 0, or -1 with an error, such as ERR_CONFIG, and nothing to free. */
int script_render(const struct plan *plan, const struct run *run, int attempt,
                  const struct job *job, char **run_text, char **submit_text, bool *tags,
                  struct err *e);

/* Returns 1 if the template submit_file.sh for this engine has #SBATCH lines, 0 if not, or -1 with
 * an error. user is the user's folder or file of templates, or "". */
int script_has_directives(const char *user, const struct engine *engine, struct err *e);

/* Finds the template of a script, here run_file.sh; submit_file.sh likewise. ENGINE is the kind of
 * trainer: tensorflow, command ... The first that exists is used:
 *
 *   1. in the user's folder T: T/ENGINE/run_file.sh, T/run_file_hvd.sh (only for the engine
 *      horovod), T/run_file.sh; if T is a file, it is a submit_file.sh
 *   2. templates/ENGINE/run_file.sh, templates/command/run_file.sh of unetctl (for submit_file.sh
 *      templates/embedded/)
 *
 * doc/FORMATS.md, "Templates", has the rules for users' templates. */
enum script_file { SCRIPT_RUN, SCRIPT_SUBMIT };

/* Returns the template's text, which the caller frees, or NULL with an error: ERR_CONFIG, or
 * ERR_INTERNAL if unetctl's own is missing. path (PATH_MAX bytes) gets the file's name. user is
 * the folder or file that the user names, or "". */
char *script_template_read(const char *user, const struct engine *engine, enum script_file file,
                           char *path, struct err *e);

/* Returns a template that is read once, for the life of the process, or NULL with an error as
 * above. Threads may call it. */
struct script_template {
    struct script_template *next;
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

/* The markers {{NAME}} that templates of scripts may use. */

/* required: the script that must use the marker ("submit_file.sh", "run_file.sh" or "both"), or
 * ""; the help of this or another marker names exceptions. A NULL name ends the list. */
struct script_marker {
    const char *name, *required, *help;
};
const struct script_marker *script_marker_all(void);

/* Adds the export of the folder of the package unetctl, which scripts may import. Returns 0, or -1
 * if it is missing. */
int script_values_add_python_path(struct buf *b, struct err *e);
/* Checks that path is a file that the engine can run. in_image: it may instead be in the image of a
 * container, so it need not exist here. Returns 0, or -1 with ERR_CONFIG. */
int script_check_program(const struct engine *engine, const char *path, bool in_image,
                         struct err *e);
/* Adds the words of an engine's interpreter for a shell: those of "apptainer exec x.sif python3" one
 * by one, split at blanks outside of quotes, unless the text is the path of a program. Returns
 * whether they start an interpreter, and neither a launcher nor a module. */
bool script_values_add_python(struct buf *b, const char *python);
