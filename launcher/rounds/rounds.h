/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of submissions until the verdict is decided (--until-decided): the runs of a round are
 * submitted, each exactly once, and when all are over, the design (design.h) chooses the next round
 * from the results of all.
 *
 * rounds.h: .unetctl/rounds.json has each round before its runs are submitted, so that whichever
 * process continues submits the same runs; it alone says whether there is a verdict. Settings that
 * the design depends on are those with which the rounds began.
 * left.h: .unetctl/left.json has the submissions, in rounds or not, that are not complete; watch
 * continues them, cancel removes them.
 *
 * sources.h: what a report is about, studies with their rule and rounds, and folders of logs.
 *
 * submit and watch call rounds_step, report reads the looks. Both files change under the ledger's
 * lock. Read rounds_step, then choose_next. */
#pragma once

#include <jansson.h>

#include "launcher/analysis/design/design.h"
#include "launcher/study/workspace.h"

/* STUDY/.unetctl/rounds.json (doc/SCHEMAS.md). */
struct rounds_record {
    json_t *design; /* what the rounds depend on besides results; NULL: there is no file */
    struct design_outcome verdict; /* of all rounds; the file has its state, gpus, cost and why */
    struct design_round *rounds;
    size_t count, capacity;
};

/* Reads the file, which may be missing. Returns 0, or -1 with ERR_DATA; then there is nothing to
 * destroy. */
int rounds_file_read(const struct ledger *l, struct rounds_record *dst, struct err *e);

void rounds_file_destroy(struct rounds_record *r);

/* Writes what a line about the study says of its rounds, such as "round 3: ...", or "" if it has
 * none or its file cannot be read. Returns whether it has. */
#define ROUNDS_FILE_TEXT 512
bool rounds_file_describe(const struct ledger *l, char dst[ROUNDS_FILE_TEXT]);

#define ROUNDS_SHORT "short" /* in the ids of runs that end at the limit: unet-short-g04-s1 */

struct rounds {
    struct workspace *w;    /* its plan is that of whole runs: the limit is removed */
    struct plan short_runs; /* with the limit, and a study of its own */
    struct design design;
    struct rounds_record record;
    bool count_failed; /* runs that ended without a result count as failed; otherwise they end the
                        * rounds until they are resumed */
};

/* Begins or continues the rounds of a study. Settings that the design depends on are those of
 * rounds.json, once there is one. max_gpu_hours 0: as in rounds.json or the study. Returns 0, or
 * -1: with ERR_USAGE for an option that contradicts rounds.json; then there is nothing to close. */
int rounds_open(struct rounds *r, struct workspace *w, double max_gpu_hours, struct err *e);
void rounds_close(struct rounds *r);

/* As rounds_open, for commands that submit nothing: it does not check whether runs could be
 * submitted. */
int rounds_read(struct rounds *r, struct workspace *w, double max_gpu_hours, struct err *e);

/* Refuses a study with variants, which rounds do not compare. */
int rounds_check_variants(const struct plan *p, struct err *e);

/* Submits what is missing of the newest round; if that is over, chooses and submits the next. arg
 * is the struct rounds. Returns 1 if runs or rounds may follow, 0 if the state of the record is
 * final, or -1: with ERR_INTERNAL or ERR_DATA if runs of the round have no result. */
long rounds_step(void *arg, struct err *e);

/* Plans the runs of the newest round or, before that exists, of the first, which is not written.
 * Returns 0 or -1. The plan borrows from r. */
int rounds_plan(struct rounds *r, struct plan *dst, struct err *e);

/* For a report: sets looks to those of the rounds that were judged, and *text, which the caller
 * frees, to what it says of them. table has the results of the study. Returns 0 or -1. */
int rounds_describe(struct rounds *r, const struct results *table, struct quality_looks *looks,
                    char **text, struct err *e);

/* Sets the thresholds of the rule, and the unit and mode of work, to those of the study. */
void rounds_rule(const struct study *s, struct decision_rule *rule, struct series_facts *facts);
