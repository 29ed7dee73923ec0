/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl: what was submitted, and the lock that keeps it true.
 *
 * ledger.jsonl is only appended to, one fsynced line per event, and replayed when opened. A
 * "submitting" without a later event is open: whether the job exists is known by its tag only. A
 * line torn by a crash or a full disk is skipped: before "submitting" is whole nothing is
 * submitted. */
#ifndef UNETCTL_LAUNCHER_STUDY_LEDGER_H
#define UNETCTL_LAUNCHER_STUDY_LEDGER_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/scheduler/scheduler.h"
#include "launcher/study/run_plan.h"
#include "src/err.h"
#include "src/map.h"

#define LEDGER_STUDY_ID_SIZE 17

enum ledger_event { LEDGER_SUBMITTING, LEDGER_SUBMITTED, LEDGER_CANCELLED, LEDGER_LOST,
                    LEDGER_REFUSED };

/* One attempt, as its events left it. */
struct ledger_entry {
    char run[RUN_ID_SIZE];
    int attempt;
    enum ledger_event last;
    char scheduler[16];
    char job[SCHEDULER_ID_SIZE]; /* "" while not known */
};

struct ledger {
    char *dir; /* STUDY/.unetctl */
    char study_id[LEDGER_STUDY_ID_SIZE]; /* 16 hex digits; "" before the first ledger_lock */
    bool is_new; /* the id is in no file yet: no event and no job can have it */
    struct ledger_entry *entries;        /* in the order of their first event */
    size_t count, capacity;
    struct map index; /* of "RUN:ATTEMPT", and of "RUN" for its newest attempt */
    int lock_fd;
};

/* Read the ledger of the study folder; a study that has none has an empty one. Nothing is written.
 * 0, or -1 with ERR_CONFIG (unknown schema) or ERR_INTERNAL and nothing to destroy. */
int ledger_open(struct ledger *l, const char *study_dir, struct err *e);
void ledger_close(struct ledger *l); /* and unlock */

/* Read it again, for what other processes have appended. 0 or -1, l stays usable. */
int ledger_reload(struct ledger *l, struct err *e);

/* Become the only writer, wait at most timeout_s for the present one, and reload. Makes the
 * folder, and chooses the study's id (see ledger_keep_id). The lock is an open file description
 * lock on STUDY/.unetctl/lock (works on NFS); programs started meanwhile share it, so that a
 * scheduler's helper which outlives a killed unetctl still keeps others out while it submits. 0, or
 * -1 with ERR_TIMEOUT that names host and pid of the holder, or ERR_CONFIG where the study is a
 * copy of another one that is still there. */
int ledger_lock(struct ledger *l, int timeout_s, struct err *e);
void ledger_unlock(struct ledger *l);

/* Write a new id to its file. It is durable with the next event, whose tag has it, too: should the
 * file be lost, it is taken from there. Appending does this first. Only under the lock. */
int ledger_keep_id(struct ledger *l, struct err *e);

/* Append an event and fsync; the entry is updated. Only under the lock. job may be NULL. */
int ledger_append(struct ledger *l, enum ledger_event event, const char *run, int attempt,
                  const char *scheduler, const char *job, struct err *e);

/* The same for several attempts, with one fsync. */
struct ledger_note {
    const char *run, *job;
    int attempt;
};
int ledger_append_all(struct ledger *l, enum ledger_event event, const struct ledger_note *notes,
                      size_t count, const char *scheduler, struct err *e);

/* As if nothing had been noted, for a study that no job was submitted of. Only under the lock. */
int ledger_clear(struct ledger *l, struct err *e);

/* The entry of one attempt, or of the newest one for attempt 0; NULL if there is none. Valid until
 * the next ledger_append or ledger_lock. */
const struct ledger_entry *ledger_find(const struct ledger *l, const char *run, int attempt);

/* "unetctl:STUDY_ID:RUN:ATTEMPT"; for run NULL what all tags of the study start with. */
void ledger_tag(const struct ledger *l, const char *run, int attempt, char dst[256]);

#endif
