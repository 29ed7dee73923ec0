/* SPDX-License-Identifier: BSD-3-Clause */
/* The output folder of a command: new or empty at the start, removed or emptied if the command
 * fails. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_NEW_FOLDER_H
#define UNETCTL_TRAINER_DATA_PREPARE_NEW_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "src/err.h"

struct new_folder {
    char path[PATH_MAX];
    bool made; /* by new_folder_open */
};

/* ERR_DATA: the folder is not empty, or cannot be created. */
int new_folder_open(struct new_folder *f, const char *path, struct err *e);

/* Creates a folder unless it exists. */
int new_folder_make(const char *path, struct err *e);

/* Removes the content of the folder, and the folder itself if new_folder_open made it. */
void new_folder_discard(const struct new_folder *f);

#endif
