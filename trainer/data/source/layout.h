/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the folders of images and masks of a data set (doc/FORMATS.md, "Data"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_LAYOUT_H
#define UNETCTL_TRAINER_DATA_SOURCE_LAYOUT_H

#include <limits.h>
#include <stdbool.h>

#include "src/err.h"
#include "trainer/data/source/pairs.h"
#include "trainer/data/source/source.h"

struct layout {
    struct pairs_part parts[2];
    int nparts;
    bool partial; /* images without a mask are normal and are left out */
    bool nested;  /* each subfolder has masks beside its images; parts is not used */
};

/* Looks for the folders of each known layout in dir. Returns 1 if found, 0 if not, and -1 with
 * ERR_DATA for a layout that is not supported (COCO), or ERR_CONFIG for an ambiguous one: several
 * folders may hold the masks, and `choice` names none, or none with images. Folders that have no
 * images, or images/ or masks/ alone, are found, too: pairs_scan then reports what is missing. */
int layout_find(const char *dir, const struct source_folders *choice, struct layout *dst,
                struct err *e);

/* Finds the first of several names, ended by NULL, that a folder in dir has; case is ignored.
 * Copies the spelling on disk to dst and returns true, or returns false. */
bool layout_folder(const char *dir, const char *const *names, char dst[NAME_MAX + 1]);
/* Names of the folders of training and of held-out data, ended by NULL. */
extern const char *const layout_train[], *const layout_held_out[];

#endif
