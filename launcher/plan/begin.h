/* SPDX-License-Identifier: BSD-3-Clause */
/* A new study.yaml, from a folder of images or from the command line of a program. */
#pragma once

#include "src/base.h"

#include "launcher/study/study.h"
#include "src/cli.h"

#define BEGIN_CLASS_FILE "classes.txt" /* in the study's folder, if the masks need one */

/* What the user says; NULL and 0: nothing. */
struct begin {
    const char *folder, *data_dir, *site, *model, *name, *engine, *templates, *script;
    const char *const *words; /* of the program's command line */
    size_t nwords;
    const struct yaml_setting *log; /* of a program's log, before set */
    size_t nlog;
    const struct cli_list *set; /* KEY=VALUE */
    bool full;
};

/* Returns the value that --set gives a key, or "". */
const char *begin_find_set(const struct begin *b, const char *key);

/* Writes the text of study.yaml to dst, and that of the study's class file, if it needs one, to
 * class_file. Logs what is odd about images, which words of a launcher are left out, and that a
 * script seems to be for several ranks. Writes no file. Returns 0, or -1 with an error. */
int begin_encode(const struct begin *b, struct buf *dst, struct buf *class_file, struct err *e);

/* Adds the text of a study.yaml that trains with the settings of a study, but only on this number
 * of GPUs. Returns 0 or -1. */
int begin_continue(const struct study *s, int gpus, struct buf *dst, struct err *e);

/* If the engine starts one rank of a script that is for several, adds a sentence with what was seen
 * and the command that makes such a study: init, the engine and the words. Returns whether it
 * did. */
bool begin_suggest(const char *init, const char *engine, const char *const *words, size_t n,
                   struct buf *dst);
