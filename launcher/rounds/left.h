/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl/left.json: submissions that left runs for later, and at most one in rounds, as the
 * command lines that `watch` repeats. A submission that leaves nothing more removes only itself;
 * `cancel` of everything removes all of this user. The file changes under the ledger's lock. */
#pragma once

#include "src/base.h"

#include <jansson.h>

#include "launcher/study/workspace.h"

/* Returns the submission of the words after `unetctl submit`, which are released, in the current
 * folder. NULL if the path of the folder is not UTF-8. */
json_t *left_create(json_t *words, bool in_rounds);

/* Notes whether the submission leaves anything. Takes the ledger's lock. Returns 0, or -1: with
 * ERR_CONFIG if submission is NULL and leaves something. */
int left_note(struct workspace *w, const json_t *submission, bool leaves, struct err *e);

/* Returns whether the submission, a json_t, is still noted: another process may have completed or
 * cancelled it. For struct workspace's is_wanted. */
bool left_is_noted(const struct workspace *w, void *submission);

/* Counts the submissions, and of them those in rounds. Returns 0, or -1 if the file is damaged. */
struct left_counts {
    size_t all, rounds;
};
int left_count(const struct workspace *w, struct left_counts *dst, struct err *e);

/* Removes what submissions of this user left; with w->take_over also those of others. Requires the
 * lock. Returns the number of submissions, or -1. */
int left_clear(const struct workspace *w, struct err *e);

/* Submits again what each noted submission left. Before the first time it reports the command line.
 * Returns how many are noted then, or -1. */
struct left_repeat {
    const struct workspace *w;
    int (*again)(json_t *submission, struct err *e); /* called in the submission's folder */
    struct map reported; /* the command lines */
};
long left_submit(struct left_repeat *r, struct err *e);
