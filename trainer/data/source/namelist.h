/* SPDX-License-Identifier: BSD-3-Clause */
/* A text file with one file name per line. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_NAMELIST_H
#define UNETCTL_TRAINER_DATA_SOURCE_NAMELIST_H

#include <stddef.h>

#include "src/err.h"

struct namelist {
    char **names; /* into text */
    size_t count;
    char *text;
};

/* Empty lines do not count; a carriage return at the end of a line is cut. ERR_DATA when the file
 * can't be read or names nothing. list is valid (and empty) after an error too. */
int namelist_read(const char *path, struct namelist *list, struct err *e);
void namelist_free(struct namelist *list);

#endif
