/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl/left.json: the command line of a `submit` that left runs for later, which `watch`
 * repeats. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_LEFT_H
#define UNETCTL_LAUNCHER_SUBMIT_LEFT_H

#include <jansson.h>
#include <stdbool.h>

#include "launcher/study/workspace.h"

/* Notes the words after `unetctl submit`, which are released, and the current folder. NULL:
 * nothing is left. 0, or -1. */
int left_note(const struct workspace *w, json_t *words, struct err *e);

bool left_any(const struct workspace *w);

/* Repeats that submission with its own settings. arg: the workspace. Returns 1 if runs are left
 * still, 0, or -1. */
long left_submit(void *arg, struct err *e);

#endif
