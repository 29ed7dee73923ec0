/* SPDX-License-Identifier: BSD-3-Clause */
/* The client of a helper program that queries Slurm, in a conversation of JSON lines
 * (launcher/scheduler/slurm/PROTOCOL.md). */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_HELPER_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_HELPER_H

#include <jansson.h>

#include "launcher/sandbox/sandbox.h"
#include "src/err.h"

struct helper;

/* Creates the client of a helper program. sandbox is copied; NULL means this machine's Slurm.
 * interface is "library" (unetctl-slurm), "commands" (unetctl-slurm-commands), or NULL or
 * "auto": the library, or the commands if the library's program is missing, cannot start or does
 * not fit the cluster's release. The program starts with the first request, and if it has ended,
 * again with the next. NULL with ERR_SCHED if the program is not installed, or with ERR_INTERNAL
 * if memory ran out. */
struct helper *helper_create(const struct sandbox *sandbox, const char *interface, struct err *e);
void helper_destroy(struct helper *h);

/* Sends a request, which is released, and waits for its answer, which the caller releases. NULL
 * with ERR_SCHED if the helper refused or could not be started, so that nothing was done; NULL
 * with ERR_CONFIG if the request is NULL or not UTF-8; NULL with ERR_INTERNAL if the request was
 * sent but its answer was lost. */
json_t *helper_ask(struct helper *h, json_t *request, struct err *e);

#endif
