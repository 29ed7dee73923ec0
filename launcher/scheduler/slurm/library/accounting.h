/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that the controller has forgotten. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_ACCOUNTING_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_ACCOUNTING_H

#include <jansson.h>

/* The answer to "accounting". */
json_t *accounting_answer(const json_t *request);

#endif
