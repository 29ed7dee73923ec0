/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of files. */
#pragma once

#include "src/base.h"

/* Lists the files, or also the folders, in a folder, in the same order on every machine. */

struct tree {
    char **paths; /* of tree_scan: with dir in front; of tree_list: names. Owned */
    size_t count, capacity;
};

/* Adds, sorted by bytes, the files in dir and its subfolders whose names, without folders, `wanted`
 * accepts (NULL: all). Hidden files and folders, and folders more than 32 levels below dir, are
 * skipped; links to folders are not followed, links to files are listed. ERR_DATA if a folder
 * cannot be read. The caller frees the tree, also after an error. */
int tree_scan(const char *dir, bool (*wanted)(const char *name), struct tree *tree, struct err *e);

/* Lists, sorted by bytes, the names in dir/sub that `wanted` accepts, also of folders, but no
 * hidden ones; an empty list if there is no such folder. ERR_DATA if it cannot be read. sub NULL:
 * dir itself; wanted NULL: all names. The caller frees the tree, also after an error. */
int tree_list(const char *dir, const char *sub, bool (*wanted)(const char *name), struct tree *tree,
              struct err *e);

bool tree_is_folder(const char *dir, const char *name);

/* Returns -1 with ERR_DATA if a file below dir is a picture in a format that is not read; the error
 * says how to convert it. Called where no image was found. */
int tree_refuse_foreign(const char *dir, struct err *e);
void tree_free(struct tree *tree);

/* The images named on a command line, also by their folders, and a name for the output of each: its
 * path below the deepest folder that contains all images, without suffix. */

struct image_list {
    struct image_list_item {
        char *path;
        char *name; /* "side1/0007", or NULL if the file does not exist */
    } * items;
    size_t count, capacity;
};

/* Lists the operands; a folder stands for the images in it and in its subfolders. ERR_DATA for a
 * folder without images. The caller frees the list, also after an error. */
int image_list_create(struct image_list *list, char **operands, int count, struct err *e);
void image_list_free(struct image_list *list);

/* ERR_USAGE if two images have the same name, so that one output would overwrite the other. */
int image_list_check_names(const struct image_list *list, struct err *e);
