/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl/left.json: the command line of a `submit` that left runs for later, or of one in
 * rounds. `watch` repeats it. */
#ifndef UNETCTL_LAUNCHER_ROUNDS_LEFT_H
#define UNETCTL_LAUNCHER_ROUNDS_LEFT_H

#include <jansson.h>
#include <stdbool.h>

#include "launcher/study/workspace.h"

/* Notes the words after `unetctl submit`, which are released, and the current folder; with NULL,
 * notes that nothing is left. Returns 0 or -1. */
int left_note(const struct workspace *w, json_t *words, struct err *e);

bool left_any(const struct workspace *w);

/* Repeats the noted submission in a process of its own, and waits for its end. arg is the
 * workspace. Returns 1 if runs are still left, 0 if not, or -1. */
long left_submit(void *arg, struct err *e);

#endif
