/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a text file with one file name per line. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_NAMELIST_H
#define UNETCTL_TRAINER_DATA_SOURCE_NAMELIST_H

#include <stddef.h>

#include "src/err.h"

struct namelist {
    char **names; /* pointers into text */
    size_t count;
    char *text;
};

/* Reads a list. Empty lines are skipped and a carriage return at the end of a line is removed.
 * ERR_DATA if the file cannot be read or has no name. The caller frees the list, also after an
 * error. */
int namelist_read(const char *path, struct namelist *list, struct err *e);
void namelist_free(struct namelist *list);

#endif
