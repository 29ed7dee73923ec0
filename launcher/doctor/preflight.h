/* SPDX-License-Identifier: BSD-3-Clause */
/* What `unetctl doctor` checks. */
#ifndef UNETCTL_LAUNCHER_DOCTOR_PREFLIGHT_H
#define UNETCTL_LAUNCHER_DOCTOR_PREFLIGHT_H

#include "launcher/doctor/findings.h"
#include "launcher/doctor/rehearsal.h"
#include "launcher/study/workspace.h"

/* Checks this host, the study's folder, data and scheduler, and what runs would compute on. */
void preflight_check(struct workspace *w, struct findings *f);

/* Makes the rehearsal r (rehearsal.h), whose first members are set, on this number of GPUs, or with
 * NULL on those of the job that this process is in, and adds what its ranks found, or what was
 * measured, which then is the study's. Returns 0, or -1 as rehearsal_run, or with ERR_USAGE if gpus
 * is not a number. */
int preflight_rehearse(struct workspace *w, const char *gpus, struct rehearsal r,
                       struct findings *f, struct err *e);

#endif
