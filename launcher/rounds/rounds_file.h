/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/.unetctl/rounds.json: the rounds of a submission that lasts until the verdict is decided
 * (doc/SCHEMAS.md). A round is written before its runs are submitted, so that whichever process
 * continues submits the same runs. */
#ifndef UNETCTL_LAUNCHER_ROUNDS_ROUNDS_FILE_H
#define UNETCTL_LAUNCHER_ROUNDS_ROUNDS_FILE_H

#include <jansson.h>

#include "launcher/analysis/design/design.h"
#include "launcher/study/ledger.h"

struct rounds_record {
    json_t *design; /* what the rounds depend on besides results; NULL: there is no file */
    struct design_outcome verdict; /* of all rounds; the file has its state, gpus, cost and why */
    struct design_round *rounds;
    char (*times)[32]; /* when each round was chosen (ISO 8601) */
    size_t count;
};

/* Reads the file, which may be missing. Returns 0, or -1 with ERR_DATA; then there is nothing to
 * destroy. */
int rounds_file_read(const struct ledger *l, struct rounds_record *dst, struct err *e);

/* Appends a round with the current time. Returns 0, or -1. */
int rounds_file_add(struct rounds_record *r, const struct design_round *round, struct err *e);

/* Replaces the file. Requires the ledger's lock. Returns 0, or -1. */
int rounds_file_write(const struct ledger *l, const struct rounds_record *r, struct err *e);

void rounds_file_destroy(struct rounds_record *r);

/* Writes what a line about the study says of its rounds, such as "round 3: ...", or "" if it has
 * none or its file cannot be read. Returns whether it has. */
#define ROUNDS_FILE_TEXT 512
bool rounds_file_describe(const struct ledger *l, char dst[ROUNDS_FILE_TEXT]);

#endif
