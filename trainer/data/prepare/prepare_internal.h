/* SPDX-License-Identifier: BSD-3-Clause */
/* The output folder of a command. It must be new or empty, and is removed or emptied again if the
 * command fails. Until the command ends it has the file SOURCE_UNFINISHED, so that what a killed
 * command leaves is not taken for a data set. */
#pragma once

#include "src/base.h"

struct new_folder {
    char path[PATH_MAX];
    bool made; /* new_folder_open created it */
};

/* Creates path, or checks that it is empty. ERR_DATA if it is not empty or cannot be created. */
int new_folder_open(struct new_folder *f, const char *path, struct err *e);

/* Creates a folder unless it exists. */
int new_folder_make(const char *path, struct err *e);

/* Ends the writing. rc: 0, or -1 with *e set, if the command has failed: removes what the folder
 * contains, and the folder itself if new_folder_open created it. Returns rc, or -1 if
 * SOURCE_UNFINISHED cannot be removed. */
int new_folder_close(const struct new_folder *f, int rc, struct err *e);
