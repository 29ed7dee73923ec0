/* SPDX-License-Identifier: BSD-3-Clause */
/* A copy of the study's data in a folder of this node (data.stage), which all ranks and jobs of the
 * user on the node share.
 *
 * FOLDER/unetctl-UID/HASH (path_make_own) is the copy, HASH.tmp one that is being made or removed.
 * A process that uses it holds a shared lock on HASH.lock, which the programs that it executes
 * inherit; one that makes or removes it holds it exclusively. So a copy is removed only when no
 * process uses it, and one whose users were killed at any later time.
 *
 * `unetctl stage` calls stage_enter before it executes a rank, the doctor stage_check, and the plan
 * measures with stage_list_measure whether the copy will fit. A failure leaves either a whole copy
 * or none that a run would use, and never removes what another process uses.
 *
 * Read stage.c: the files that split.json names, then the copy, its locks, and its removal. */
#pragma once

#include "src/base.h"
#include "src/settings/settings.h"

/* folder: data.stage, whose variables are expanded here. data: where the files of split are. */
struct stage_request {
    const char *folder, *split, *data;
};

struct stage {
    char path[PATH_MAX]; /* of the copy */
    int64_t nbytes;
    int lock; /* a descriptor that stays open when another program is executed */
};

/* Makes the copy, or waits for the process that makes it, and locks it until this process and those
 * that inherit its descriptors have ended. Removes copies that no process uses before it makes one.
 * Returns 0, or -1: ERR_CONFIG if the folder cannot be used, ERR_DATA if it has not enough room or
 * the data cannot be read. */
int stage_enter(const struct stage_request *r, struct stage *dst, struct err *e);

/* Removes the copies of a folder that no process uses. Returns 0, or -1 if the folder is
 * unusable. */
int stage_remove(const char *folder, struct err *e);

/* Checks that the folder can be used and, if split.json exists, that it has room for the copy.
 * Returns 0, or -1 as stage_enter. */
int stage_check(const struct stage_request *r, struct err *e);

/* The files that split.json names: what is copied to a node. */
struct stage_list {
    struct setting_lines names; /* relative to the data folder; sorted, each once */
    char hash[17]; /* of the names and of the content, as split.json records it */
};

/* Reads split.json. Returns 0, or -1 with ERR_DATA and nothing to destroy. */
int stage_list_read(struct stage_list *dst, const char *split_file, struct err *e);
void stage_list_destroy(struct stage_list *list);

/* Sets *nbytes to the size of all files in dir, in whole blocks of 4 KiB. Returns 0, or -1 with
 * ERR_DATA that names a file which is not there. */
int stage_list_measure(const struct stage_list *list, const char *dir, int64_t *nbytes,
                       struct err *e);
