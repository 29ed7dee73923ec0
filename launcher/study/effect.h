/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds settings that the user wrote and that can have no effect in any run of a study. */
#ifndef UNETCTL_LAUNCHER_STUDY_EFFECT_H
#define UNETCTL_LAUNCHER_STUDY_EFFECT_H

#include "launcher/study/ledger.h"
#include "launcher/study/study.h"

/* Checks what study.yaml, the environment and the command line set, for the embedded engine. gpus:
 * the list of GPU counts of the runs, or NULL if it is not known yet; l may be NULL. Returns 0, or
 * -1 with ERR_CONFIG that names the first setting without effect. In a study that has begun, all
 * are warnings. */
int effect_check(const struct study *s, const struct ledger *l, const char *gpus, struct err *e);

#endif
