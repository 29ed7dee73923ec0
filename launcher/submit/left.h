/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl/left.json: the words of a `submit` that had to leave runs; `watch` repeats it. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_LEFT_H
#define UNETCTL_LAUNCHER_SUBMIT_LEFT_H

#include <jansson.h>
#include <stdbool.h>

#include "launcher/study/workspace.h"

/* Notes the words behind `unetctl submit` and the current folder; takes over words. Without words
 * nothing is left. 0, or -1. */
int left_note(const struct workspace *w, json_t *words, struct err *e);

bool left_any(const struct workspace *w);

/* Runs that submission again, with its own settings. arg: the workspace. How many runs are left
 * still (1 for some), or -1. */
long left_submit(void *arg, struct err *e);

#endif
