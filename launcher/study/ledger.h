/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl: the record of submissions, and its lock.
 *
 * ledger.jsonl is append-only, with one fsynced line per event, and replayed when opened. After a
 * "submitting" without a later event, only the tag shows whether the job exists. A line torn by a
 * crash or a full disk is skipped: nothing is submitted before "submitting" is complete. */
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

/* One attempt after its events. */
struct ledger_entry {
    char run[RUN_ID_SIZE];
    int attempt;
    enum ledger_event last;
    char scheduler[16];
    char job[SCHEDULER_ID_SIZE]; /* "" while unknown */
};

struct ledger {
    char *dir; /* STUDY/.unetctl */
    char study_id[LEDGER_STUDY_ID_SIZE]; /* 16 hex digits; "" before the first ledger_lock */
    bool is_new; /* the id is in no file: no event and no job can have it */
    struct ledger_entry *entries;        /* in the order of their first event */
    size_t count, capacity;
    struct map index; /* of "RUN:ATTEMPT", and of "RUN" for its newest attempt */
    int lock_fd;
};

/* Reads the ledger of the study folder, empty if there is none. Nothing is written.
 * 0, or -1 with ERR_CONFIG (unknown schema) or ERR_INTERNAL and nothing to destroy. */
int ledger_open(struct ledger *l, const char *study_dir, struct err *e);
void ledger_close(struct ledger *l); /* and unlock */

/* Reads what other processes have appended. 0 or -1; l stays usable. */
int ledger_reload(struct ledger *l, struct err *e);

/* Becomes the only writer and reloads; waits at most timeout_s for another one. Makes the
 * folder, and chooses the study's id (see ledger_keep_id). The lock is an open file description
 * lock on STUDY/.unetctl/lock, which works on NFS. Programs started meanwhile share it: a
 * scheduler's helper that outlives a killed unetctl excludes others while it submits. 0, or -1
 * with ERR_TIMEOUT that names host and pid of the holder, or ERR_CONFIG if the study is a copy
 * of an existing one. */
int ledger_lock(struct ledger *l, int timeout_s, struct err *e);
void ledger_unlock(struct ledger *l);

/* Writes a new id to its file. It is durable with the next event, whose tag has it as well: if the
 * file is lost, the id is read from there. Appending does this first. Only under the lock. */
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

/* Removes all events of a study of which no job was submitted. Only under the lock. */
int ledger_clear(struct ledger *l, struct err *e);

/* The entry of one attempt, or of the newest one for attempt 0; NULL if there is none. Valid until
 * the next ledger_append or ledger_lock. */
const struct ledger_entry *ledger_find(const struct ledger *l, const char *run, int attempt);

/* "unetctl:STUDY_ID:RUN:ATTEMPT"; for run NULL what all tags of the study start with. */
void ledger_tag(const struct ledger *l, const char *run, int attempt, char dst[256]);

#endif
