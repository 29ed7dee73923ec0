/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and answers of the helper (PROTOCOL.md): members of the one, refusals of the other. */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_MESSAGE_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

/* Returns an answer that refuses for this reason. */
json_t *message_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A member; NULL, 0 and false where it is absent or of another type. */
const char *message_text(const json_t *o, const char *key);
long message_number(const json_t *o, const char *key);
bool message_flag(const json_t *o, const char *key);

/* Is id one of this list of strings? */
bool message_has_id(const json_t *ids, const char *id);

/* A text as JSON; "" for NULL, and for what is not UTF-8. */
json_t *message_string(const char *text);

#endif
