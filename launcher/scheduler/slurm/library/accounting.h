/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that the controller has forgotten. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_ACCOUNTING_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_LIBRARY_ACCOUNTING_H

#include <jansson.h>

/* Returns the answer to the request "accounting" of PROTOCOL.md. */
json_t *accounting_answer(const json_t *request);

#endif
