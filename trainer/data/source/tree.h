/* SPDX-License-Identifier: BSD-3-Clause */
/* The files below a folder, in one order on every machine. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_TREE_H
#define UNETCTL_TRAINER_DATA_SOURCE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

struct tree {
    char **paths; /* dir "/" ..., sorted by bytes */
    size_t count, capacity;
};

/* Adds what lies in dir and its subfolders and whose name (without folders) is wanted. Names that
 * start with a dot do not take part; links to folders are not followed, links to files are listed.
 * ERR_DATA when a folder can't be read. tree is valid after an error too. */
int tree_scan(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e);
void tree_free(struct tree *tree);

#endif
