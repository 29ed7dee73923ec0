/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that the controller has forgotten. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_ACCOUNTING_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_ACCOUNTING_H

#include <jansson.h>
#include <stdbool.h>

/* Appends the jobs with these ids that slurmdbd knows. Returns whether it answers. */
bool accounting_recall(const json_t *ids, json_t *jobs);

#endif
