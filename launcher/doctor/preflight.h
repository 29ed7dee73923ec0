/* SPDX-License-Identifier: BSD-3-Clause */
/* What `unetctl doctor` checks. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_PREFLIGHT_H
#define UNETCTL_LAUNCHER_DOCTOR_PREFLIGHT_H

#include "launcher/doctor/findings.h"
#include "launcher/study/workspace.h"

/* Checks this host, the study's folder, data and scheduler, and what runs would compute on. */
void preflight_check(struct workspace *w, struct findings *f);

/* Makes a rehearsal (rehearsal.h) on this number of GPUs, or with NULL on those of the job that
 * this process is in, and adds what its ranks found. Returns 0, or -1 as rehearsal_run, or with
 * ERR_USAGE if gpus is not a number. */
int preflight_rehearse(struct workspace *w, const char *gpus, bool in_allocation, long timeout_s,
                       struct findings *f, struct err *e);

#endif
