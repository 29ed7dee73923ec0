/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl: the record of submissions, and its lock.
 *
 * ledger.jsonl has one fsynced line per event and is only appended to. Opening it replays the
 * events. After a "submitting" without a later event, only the job's tag shows whether the job
 * exists. Lines that a crash or a full disk left incomplete are skipped; that loses nothing,
 * because no job is submitted before its "submitting" is complete. */
#ifndef UNETCTL_LAUNCHER_STUDY_LEDGER_H
#define UNETCTL_LAUNCHER_STUDY_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "launcher/scheduler/scheduler.h"
#include "launcher/study/run_json.h"
#include "src/err.h"
#include "src/map.h"

#define LEDGER_STUDY_ID_SIZE 17

enum ledger_event { LEDGER_SUBMITTING, LEDGER_SUBMITTED, LEDGER_CANCELLED, LEDGER_LOST,
                    LEDGER_REFUSED };

/* The state of one attempt after its events. */
struct ledger_entry {
    char run[RUN_ID_SIZE];
    int attempt;
    enum ledger_event last;
    char scheduler[16];
    char job[SCHEDULER_ID_SIZE]; /* the scheduler's id; "" while unknown */
    time_t time;   /* of the last event; 0: unknown */
    time_t asked;  /* of the last "submitting", or else of "submitted" */
    long uid;      /* who submitted it; -1 in ledgers that do not say so */
    char user[64]; /* the name of this user, or "" */
};

struct ledger {
    char *dir; /* STUDY/.unetctl */
    char study_id[LEDGER_STUDY_ID_SIZE]; /* 16 hex digits, or "" before the first ledger_lock */
    bool is_new; /* no file has the id yet, so no event and no job has it */
    struct ledger_entry *entries;        /* in the order of their first event */
    size_t count, capacity;
    long owner; /* who owns the file of the events; -1: there is none */
    /* from "RUN:ATTEMPT" to its entry, and from "RUN" to that of its newest attempt */
    struct map index;
    int lock_fd;
};

/* Reads the ledger of a study; l is empty if the study has none. Writes nothing. Returns 0, or -1:
 * with ERR_CONFIG for an unknown schema or event. Then there is nothing to close. */
int ledger_open(struct ledger *l, const char *study_dir, struct err *e);
void ledger_close(struct ledger *l); /* also unlocks */

/* Reads the files again, for what other processes have appended. Returns 0, or -1; then l may lack
 * events, but must still be closed. */
int ledger_reload(struct ledger *l, struct err *e);

/* Makes this process the only writer, and reloads. Waits at most timeout_s for another writer.
 * Creates the folder if necessary, and chooses the study's id (see ledger_keep_id).
 *
 * The lock is an open file description lock on STUDY/.unetctl/lock, which works on NFS. Programs
 * that are started meanwhile share it: if unetctl is killed, sbatch keeps others out while it still
 * submits.
 *
 * Returns 0, or -1 with ERR_TIMEOUT that names host and pid of the holder, or ERR_CONFIG if the
 * study is a copy of an existing one. */
#define LEDGER_LOCK_S 60 /* the timeout of verbs */
int ledger_lock(struct ledger *l, int timeout_s, struct err *e);
void ledger_unlock(struct ledger *l);

/* Writes the study's id to its file if it is new. ledger_append also calls this. Requires the
 * lock. */
int ledger_keep_id(struct ledger *l, struct err *e);

/* Appends an event, fsyncs, and updates the entry. With job NULL the entry keeps its job. This
 * user becomes the submitter by "submitting" and "submitted". Requires the lock. */
int ledger_append(struct ledger *l, enum ledger_event event, const char *run, int attempt,
                  const char *scheduler, const char *job, struct err *e);

/* Does the same for several attempts, with one fsync. */
struct ledger_note {
    const char *run, *job;
    int attempt;
    const char *reason; /* why it is submitted, for readers of the file; NULL: the user asked */
};
int ledger_append_all(struct ledger *l, enum ledger_event event, const struct ledger_note *notes,
                      size_t count, const char *scheduler, struct err *e);

/* Returns the entry of an attempt of run, for attempt 0 that of the newest one, or NULL. It is
 * valid until the ledger is next changed or read again. */
const struct ledger_entry *ledger_find(const struct ledger *l, const char *run, int attempt);

/* Returns whether another user may have submitted jobs of this study. */
bool ledger_has_others(const struct ledger *l);

/* Returns whether this user (-1: unknown) may have submitted jobs of this study. */
bool ledger_may_be_of(const struct ledger *l, long uid);

/* Writes "unetctl:STUDY_ID:RUN:ATTEMPT", or with run NULL the prefix of all tags of the study. */
void ledger_tag(const char *study_id, const char *run, int attempt, char dst[256]);

#endif
