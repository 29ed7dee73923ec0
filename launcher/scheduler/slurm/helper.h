/* SPDX-License-Identifier: BSD-3-Clause */
/* A helper program that asks Slurm, as a conversation of JSON lines
 * (launcher/scheduler/slurm/PROTOCOL.md). */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_HELPER_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_HELPER_H

#include <jansson.h>

#include "launcher/sandbox/sandbox.h"
#include "src/err.h"

struct helper;

/* sandbox: where it runs; NULL: here. Copied. interface: "library" (unetctl-slurm), "commands"
 * (unetctl-slurm-commands), or NULL or "auto": the first, and the second where the first is
 * missing, cannot start or does not fit the cluster's release. The program starts with the first
 * request, and again with the next one after it died. NULL with ERR_SCHED. */
struct helper *helper_create(const struct sandbox *sandbox, const char *interface, struct err *e);
void helper_destroy(struct helper *h);

/* Sends a request, which is released, and waits for its answer, which the caller decrefs. NULL with
 * ERR_SCHED: the helper refused, or could not be started, so nothing was done; with
 * ERR_INTERNAL: the request was sent, but its answer is lost. */
json_t *helper_ask(struct helper *h, json_t *request, struct err *e);

/* The same for a request that further lines follow, which next returns until NULL, and which
 * have no answers. */
json_t *helper_ask_fed(struct helper *h, json_t *request, json_t *(*next)(void *arg), void *arg,
                       struct err *e);

/* Sends a query, which is released, ahead of time: the next helper_ask of the same query takes its
 * answer. Another request drops it. */
void helper_post(struct helper *h, json_t *request);

#endif
