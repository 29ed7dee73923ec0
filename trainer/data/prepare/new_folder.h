/* SPDX-License-Identifier: BSD-3-Clause */
/* The output folder of a command. It must be new or empty, and is removed or emptied again if the
 * command fails. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_NEW_FOLDER_H
#define UNETCTL_TRAINER_DATA_PREPARE_NEW_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "src/err.h"

struct new_folder {
    char path[PATH_MAX];
    bool made; /* new_folder_open created it */
};

/* Creates path, or checks that it is empty. ERR_DATA if it is not empty or cannot be created. */
int new_folder_open(struct new_folder *f, const char *path, struct err *e);

/* Creates a folder unless it exists. */
int new_folder_make(const char *path, struct err *e);

/* Removes what the folder contains, and the folder itself if new_folder_open created it. */
void new_folder_discard(const struct new_folder *f);

#endif
