/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of queries to the helper, and refusals in its answers (PROTOCOL.md). */
#ifndef UNETCTL_LAUNCHER_SCHEDULER_SLURM_MESSAGE_H
#define UNETCTL_LAUNCHER_SCHEDULER_SLURM_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "launcher/scheduler/slurm/cause.h"
#include "src/buf.h"

/* The number of the protocol, which helpers answer to "hello". It changes with a release whose
 * helper and an earlier unetctl, or the reverse, would misunderstand each other. */
#define MESSAGE_PROTOCOL 3

/* Return an answer that refuses with this reason, for CAUSE_OTHER or another cause. */
json_t *message_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
json_t *message_refuse_for(enum cause cause, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the cause of a refusal; of another answer CAUSE_OTHER. */
enum cause message_cause(const json_t *answer);

/* Return a member, or NULL, 0 and false if it is absent or of another type. */
const char *message_text(const json_t *o, const char *key);
long message_number(const json_t *o, const char *key);
bool message_flag(const json_t *o, const char *key);

/* Returns whether word is among the words of a text that are separated by commas. */
bool message_has_word(const char *text, const char *word);

/* Returns an object that has the strings of the list as keys. */
json_t *message_index_ids(const json_t *ids);

/* Appends the strings of the list, joined by commas. */
void message_add_ids(struct buf *dst, const json_t *ids);

/* Returns a text as JSON; "" for NULL and for text that is not UTF-8. */
json_t *message_string(const char *text);

#endif
