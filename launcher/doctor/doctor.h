/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl doctor: finds what would go wrong before GPUs are paid for.
 *
 * A report has the facts that a process sees of its host and of the other ranks: JSON, with the
 * keys of logs/rank.schema.json. One table of checks (findings.c) turns the report of this host, or
 * those of the ranks of a rehearsal, into findings. A rehearsal is a job that is written and
 * started as a run is. Instead of the trainer it starts `unetctl doctor --probe`, which writes the
 * report of a rank, or with --bandwidth unet-train, which measures the links between the ranks.
 *
 * The verb doctor is the caller; the report reads what --bandwidth has measured. Findings own their
 * texts. A check that cannot be made is a finding, too, so an error of a function is only lack of
 * memory or of the rehearsal itself, and a rehearsal leaves neither a job nor its folder behind.
 *
 * Read facts.c (what a process sees), mesh.c (whom it reaches), findings.c (what that means),
 * preflight.c (this host and study), rehearsal.c (the job), and bandwidth.c. */
#pragma once

#include "src/base.h"

#include <jansson.h>

#include "launcher/study/workspace.h"
#include "src/run/marker.h"

/* ---- findings.c: problems, each with a remedy, and checks that passed ---- */

enum finding_level { FINDING_OK, FINDING_WARNING, FINDING_ERROR };

struct finding {
    enum finding_level level;
    const char *check; /* "names", "ports" ...; the pointer is kept */
    char *text, *remedy; /* remedy is "" for FINDING_OK, and part of the memory of text */
};

struct findings {
    struct finding *list;
    size_t count;
    bool failed; /* memory ran out; findings_print reports it */
};

/* Adds a finding. The first newline of fmt, if it has one, ends the text and begins the remedy. */
void findings_add(struct findings *f, enum finding_level level, const char *check, const char *fmt,
                  ...) __attribute__((format(printf, 4, 5)));

size_t findings_count(const struct findings *f, enum finding_level level);

/* Prints the findings on standard output, as text or JSON. Returns 0 or -1. */
int findings_print(const struct findings *f, bool as_json, struct err *e);

void findings_destroy(struct findings *f);

/* Adds what follows from the report of this host, or from those of the ranks of a rehearsal, by
 * rank; one that left no report is null. */
void findings_judge(const json_t *reports, struct findings *dst);

/* Adds whether srun has the --mpi of the site's launcher, if that is srun with an --mpi. list is
 * the output of `srun --mpi=list`; if it is NULL or not such a list, nothing is added. file is the
 * site's profile, which the remedy says to edit. */
void findings_judge_launcher(const char *launcher, const char *list, const char *file,
                             struct findings *dst);

/* ---- facts.c: reports ---- */

#define FACTS_LOCK "lock" /* in the rehearsal's folder; held by the doctor that waits for the ranks */
#define FACTS_LOCK_HELD "held" /* the ranks see the lock */

/* Returns the facts of this host that need no other one, which the caller releases. "compute" is
 * omitted if backend, which is train.backend, is NULL or unet-train does not answer. */
json_t *facts_collect(const char *backend);

/* Runs as one rank of a rehearsal, described by TF_CONFIG, in the folder of its run: writes the
 * report, rank-K.json, to the rehearsal's folder, and the marker DONE of the attempt. stage is
 * data.stage, or NULL. Returns 0, or -1 with ERR_PEER for an invalid TF_CONFIG, ERR_CONFIG in
 * another folder, or ERR_INTERNAL if the folder cannot be written. */
int facts_probe(const char *folder, const char *stage, struct err *e);

/* ---- mesh.c: each rank listens at its own address in the cluster specification and greets others
 * at theirs; an answer has the peer's index and clock ---- */

struct mesh_peer {
    int index;        /* its rank */
    const char *host; /* as the cluster specification names it */
    int port;
    /* set by mesh_greet */
    bool reached;
    double rtt_s, clock_s; /* round trip; the peer's clock minus this host's */
    char interface[32];    /* the local interface of the connection */
    char error[200];       /* why the peer was not reached */
};

/* Returns whether rank i should greet rank j. Up to 33 ranks all greet each other; with more, a
 * rank greets rank 0 and the next 32 ranks, where rank 0 follows the last. */
bool mesh_is_peer(size_t i, size_t j, size_t nranks);

/* Greets all peers and answers those of the nranks ranks that should greet this one, until both are
 * done or patience_s seconds have passed. listener is from listener_open, or -1 to answer none.
 * Ranks of one rehearsal have the same token, by which messages are signed: others are not
 * answered, and a peer with another token is not reached. */
void mesh_greet(int listener, int index, size_t nranks, const unsigned char token[TOKEN_SIZE],
                struct mesh_peer *peers, size_t npeers, double patience_s);

/* ---- bandwidth.c: what unet-train has measured between ranks (doc/FORMATS.md) ---- */

#define BANDWIDTH_FILE "bandwidth.json"

/* Ranks of one node, or of two. */
enum bandwidth_kind { BANDWIDTH_WITHIN, BANDWIDTH_BETWEEN, BANDWIDTH_KINDS };

struct bandwidth_link {
    double bytes_per_s; /* in each direction; 0: unknown */
    double latency_s;
};

/* Reads dir/bandwidth.json. Returns NULL with ERR_DATA if it is missing or malformed. The caller
 * releases the result. */
json_t *bandwidth_read(const char *dir, struct err *e);

/* Sets the median links of each kind: the bandwidth by the largest messages that were exchanged,
 * the latency by the smallest. Between ranks that share memory, and so exchange no messages, by
 * the sums of all ranks. */
void bandwidth_links(const json_t *measured, struct bandwidth_link dst[BANDWIDTH_KINDS]);

/* Adds what was measured, and the ranks, nodes and links that are slow (doc/FORMATS.md says which
 * are). Links between nodes are judged first; those of slow ranks are then left out. Names of slow
 * nodes are appended to the array slow. */
void bandwidth_judge(const json_t *measured, struct findings *f, json_t *slow);

/* ---- rehearsal.c ---- */

struct rehearsal_options {
    const char *gpus;   /* their number; NULL: those of the job that this process is in */
    bool in_allocation; /* start the ranks inside that job; otherwise submit one */
    bool bandwidth;     /* measure what connects the ranks instead of asking them for reports */
    long timeout_s;     /* how long to wait for the end */
};

/* Makes a rehearsal in STUDY/.unetctl/doctor/DATE-PID, which is kept if there is an error, and adds
 * what its ranks found, or what was measured, which then is the study's. Returns 0, also if ranks
 * left no report, or -1 if it could not be made, was refused (ERR_SCHED), was interrupted
 * (ERR_INTERRUPT) or did not end in time (ERR_TIMEOUT); in the last two cases the job is
 * cancelled. ERR_USAGE if gpus is not a number, or there is no such job. */
int rehearsal_run(struct workspace *w, const struct rehearsal_options *options, struct findings *f,
                  struct err *e);

/* ---- preflight.c ---- */

/* Checks this host, the study's folder, data and scheduler, what runs would compute on, whether the
 * container starts here, and whether Python has what the script of an engine imports. */
void preflight_check(struct workspace *w, struct findings *f);

/* Checks that the study's folder can be written and locked, is on a shared file system where a
 * cluster needs that, has room for a run, and that the file server's clock agrees with this host's.
 * Warns of what other users could change: study.yaml, site files and templates name commands, and
 * the ledger says what was submitted. */
void preflight_check_folder(const struct workspace *w, struct findings *f);

/* Finds out if another user than this one and root may write in path, a file or folder, or replace
 * it because a folder above it is open. Sets found to the one that others may change, and who to
 * a name such as "every user" or "the group staff". A group of this user's name that is his primary
 * group counts as his own. Returns false also if path does not exist. */
bool preflight_find_writer(const char *path, char found[PATH_MAX], char who[128]);
