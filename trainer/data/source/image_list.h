/* SPDX-License-Identifier: BSD-3-Clause */
/* The images named on a command line, also by their folders, and a name for the output of each: its
 * path below the deepest folder that contains all images, without suffix. */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_IMAGE_LIST_H
#define UNETCTL_TRAINER_DATA_SOURCE_IMAGE_LIST_H

#include <stddef.h>

#include "src/err.h"

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

#endif
