/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the files of a folder in the same order on every machine. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_TREE_H
#define UNETCTL_TRAINER_DATA_SOURCE_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/err.h"

struct tree {
    char **paths; /* dir "/" name, sorted by bytes; owned */
    size_t count, capacity;
};

/* Adds the files in dir and its subfolders whose names, without folders, wanted accepts. Hidden
 * files are skipped, links to folders are not followed, links to files are listed. ERR_DATA if a
 * folder cannot be read. The caller frees the tree, also after an error. */
int tree_scan(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e);

/* Lists the names in dir, also of folders, that wanted accepts; an empty list if dir does not
 * exist. The caller frees the tree, also after an error. */
int tree_list(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e);

void tree_free(struct tree *tree);

#endif
