/* SPDX-License-Identifier: BSD-3-Clause */
/* The images that a command line names, also in folders, and a name for the output of each: its
 * path below the folder that all images have in common, without the suffix. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_IMAGE_LIST_H
#define UNETCTL_TRAINER_DATA_SOURCE_IMAGE_LIST_H

#include <stddef.h>

#include "src/err.h"

struct image_list {
    struct image_list_item {
        char *path;
        char *name; /* "side1/0007"; NULL: the file does not exist */
    } * items;
    size_t count, capacity;
};

/* A folder stands for the images in it and its subfolders. ERR_DATA for a folder without images.
 * Must be freed after an error, too. */
int image_list_create(struct image_list *list, char **operands, int count, struct err *e);
void image_list_free(struct image_list *list);

/* ERR_USAGE when two images would have one name. */
int image_list_check_names(const struct image_list *list, struct err *e);

#endif
