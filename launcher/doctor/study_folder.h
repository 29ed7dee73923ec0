/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the study's folder before runs are submitted. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_STUDY_FOLDER_H
#define UNETCTL_LAUNCHER_DOCTOR_STUDY_FOLDER_H

#include "launcher/doctor/findings.h"
#include "launcher/study/workspace.h"

/* Checks that the folder can be written and locked, is on a shared file system where a cluster
 * needs that, has room for a run, and that the file server's clock agrees with this host's. */
void study_folder_check(const struct workspace *w, struct findings *f);

/* Warns of what other users could change: its commands are executed. */
void study_folder_check_rights(const struct workspace *w, struct findings *f);

#endif
