/* SPDX-License-Identifier: BSD-3-Clause */
/* Which other users may change what this user executes: study.yaml, site files and templates name
 * commands, and the ledger says what was submitted. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_RIGHTS_H
#define UNETCTL_LAUNCHER_DOCTOR_RIGHTS_H

#include <limits.h>
#include <stdbool.h>

struct rights_writer {
    char path[PATH_MAX]; /* the file or folder that others may change: the given one or one above */
    char who[128];       /* such as "every user" or "the group staff" */
};

/* Finds out if another user than this one and root may write in path, a file or folder, or replace
 * it because a folder above it is open. A group of this user's name that is his primary group
 * counts as his own. Returns false also if path does not exist. */
bool rights_find_writer(const char *path, struct rights_writer *dst);

#endif
