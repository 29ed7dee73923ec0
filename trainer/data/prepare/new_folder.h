/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder that a command fills: new or empty at first, and gone or empty again when it fails. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_NEW_FOLDER_H
#define UNETCTL_TRAINER_DATA_PREPARE_NEW_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "src/err.h"

struct new_folder {
    char path[PATH_MAX];
    bool made; /* it was not there before */
};

/* ERR_DATA: it holds something, or cannot be made. */
int new_folder_open(struct new_folder *f, const char *path, struct err *e);

/* Removes all that is in it, and the folder itself if it was made. */
void new_folder_discard(const struct new_folder *f);

#endif
