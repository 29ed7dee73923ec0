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

/* Send a request (the reference is taken over) and wait for its answer, which the caller decrefs.
 * NULL with ERR_SCHED: the helper refused (its text), or nothing was carried out because it could
 * not be started; with ERR_INTERNAL: the request was sent, but its answer is lost. */
json_t *helper_ask(struct helper *h, json_t *request, struct err *e);

/* The same for a request that lines follow: next gives one after the other (as requests, taken
 * over) until NULL. They have no answers of their own. */
json_t *helper_ask_fed(struct helper *h, json_t *request, json_t *(*next)(void *arg), void *arg,
                       struct err *e);

/* Send a request ahead (the reference is taken over): a helper_ask of the same one takes the
 * answer, once, and need not wait so long. Answers that another request overtakes are dropped: for
 * questions only. */
void helper_post(struct helper *h, json_t *request);

#endif
