/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a folder, in the same order on every machine. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_TREE_H
#define UNETCTL_TRAINER_DATA_SOURCE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

struct tree {
    char **paths; /* dir "/" ..., sorted by bytes */
    size_t count, capacity;
};

/* Adds the files in dir and its subfolders whose names (without folders) are wanted. Names that
 * start with a dot are skipped; links to folders are not followed, links to files are listed.
 * ERR_DATA when a folder cannot be read. tree is valid after an error, too. */
int tree_scan(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e);

/* The names in dir itself, folders too, that are wanted; none if there is no such folder. */
int tree_list(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e);

void tree_free(struct tree *tree);

#endif
