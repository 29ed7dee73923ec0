/* SPDX-License-Identifier: BSD-3-Clause */
/* What a training that was cut off goes on from: DIR/state-EEEEEEE-IIIIIIIIII.safetensors, named by
 * the epoch and the items of it that are done, so that names sort as the training went. Each file
 * is whole or is not used: it is written under another name, fsynced and renamed, and has the hash
 * of its content in its metadata. The newest two stay, so that one damaged file loses little. */
#ifndef UNETCTL_TRAINER_CHECKPOINT_SNAPSHOT_H
#define UNETCTL_TRAINER_CHECKPOINT_SNAPSHOT_H

#include <stdbool.h>

#include "trainer/checkpoint/safetensors.h"

/* Makes dir; then removes all but the newest two. state: JSON with everything that is no tensor. */
int snapshot_write(const char *dir, int epoch, size_t items, const char *state,
                   const struct safetensors_entry *list, size_t n, struct err *e);

struct snapshot {
    char *path;
    struct safetensors *file;
    const char *state; /* lives as long as the snapshot */
};

/* The newest whole one in dir. Damaged ones are told and passed over. 1, 0 when there is none, -1
 * when dir is there and cannot be read (ERR_CHECKPOINT). */
int snapshot_open(const char *dir, struct snapshot *s, struct err *e);
void snapshot_close(struct snapshot *s);

/* Is there one in dir, whole or not? */
bool snapshot_exists(const char *dir);

/* Remove what a writer that was killed has left half-written; older: all but the newest snapshot as
 * well. */
void snapshot_clean(const char *dir, bool older);

#endif
