/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints from which an interrupted training continues:
 * DIR/state-EEEEEEE-IIIIIIIIII.safetensors, named by epoch and items of the epoch, so that names
 * sort in the order of training. Files are written under another name, fsynced and renamed, and
 * have a hash of their content in their metadata: incomplete ones are never used. The newest two
 * are kept, in case one is damaged. */
#ifndef UNETCTL_TRAINER_CHECKPOINT_SNAPSHOT_H
#define UNETCTL_TRAINER_CHECKPOINT_SNAPSHOT_H

#include <stdbool.h>

#include "trainer/checkpoint/safetensors.h"

/* Makes dir; then removes all but the newest two. state: JSON of everything but the tensors. */
int snapshot_write(const char *dir, int epoch, size_t items, const char *state,
                   const struct safetensors_entry *list, size_t n, struct err *e);

struct snapshot {
    char *path;
    struct safetensors *file;
    const char *state; /* lives as long as the snapshot */
};

/* Opens the newest intact one in dir; damaged ones are logged and skipped. Returns 1, 0 when there
 * is none, -1 when dir exists but cannot be read (ERR_CHECKPOINT). */
int snapshot_open(const char *dir, struct snapshot *s, struct err *e);
void snapshot_close(struct snapshot *s);

/* Is there one in dir, intact or not? */
bool snapshot_exists(const char *dir);

/* Removes temporary files of killed writers; older: also all but the newest snapshot. */
void snapshot_clean(const char *dir, bool older);

#endif
