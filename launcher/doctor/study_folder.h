/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the study's folder before runs are submitted. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_STUDY_FOLDER_H
#define UNETCTL_LAUNCHER_DOCTOR_STUDY_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "launcher/doctor/findings.h"
#include "launcher/study/workspace.h"

/* Checks that the folder can be written and locked, is on a shared file system where a cluster
 * needs that, has room for a run, and that the file server's clock agrees with this host's. */
void study_folder_check(const struct workspace *w, struct findings *f);

/* Warns of what other users could change: study.yaml, site files and templates name commands, and
 * the ledger says what was submitted. */
void study_folder_check_rights(const struct workspace *w, struct findings *f);

struct rights_writer {
    char path[PATH_MAX]; /* the file or folder that others may change: the given one or one above */
    char who[128];       /* such as "every user" or "the group staff" */
};

/* Finds out if another user than this one and root may write in path, a file or folder, or replace
 * it because a folder above it is open. A group of this user's name that is his primary group
 * counts as his own. Returns false also if path does not exist. */
bool rights_find_writer(const char *path, struct rights_writer *dst);

#endif
