/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots are the checkpoints from which an interrupted training is resumed:
 * DIR/state-EEEEEEE-IIIIIIIIII.safetensors, named by the number of completed epochs and of images
 * used in the next one, so that names sort in the order of training. Files are written under
 * another name, fsynced and renamed, and their metadata have a hash of the content, so that
 * incomplete ones are never used. While a training runs the newest two are kept, in case one is
 * damaged; when it is complete, only the newest. */
#ifndef UNETCTL_TRAINER_CHECKPOINT_SNAPSHOT_H
#define UNETCTL_TRAINER_CHECKPOINT_SNAPSHOT_H

#include <stdbool.h>

#include "trainer/checkpoint/safetensors.h"

/* Writes a snapshot to dir, which is created if needed (not its parents), and removes all but the
 * newest two. state: JSON with everything but the tensors of list. */
int snapshot_write(const char *dir, int epoch, size_t items, const char *state,
                   const struct safetensors_entry *list, size_t n, struct err *e);

struct snapshot {
    char *path;
    struct safetensors *file;
    const char *state; /* lives as long as the snapshot */
};

/* Opens the newest intact snapshot in dir; damaged ones are logged and skipped. Returns 1, 0 if
 * there is none, or -1 with ERR_CHECKPOINT if dir exists but cannot be read. */
int snapshot_open(const char *dir, struct snapshot *s, struct err *e);
void snapshot_close(struct snapshot *s);

/* Returns whether dir has a snapshot, intact or not. */
bool snapshot_exists(const char *dir);

/* Removes temporary files of killed processes; with older also all but the newest snapshot. */
void snapshot_clean(const char *dir, bool older);

#endif
