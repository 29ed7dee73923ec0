/* SPDX-License-Identifier: BSD-3-Clause */
/* The folders of images and masks in a data set, and the suffixes of file names (doc/FORMATS.md,
 * "Data"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_LAYOUT_H
#define UNETCTL_TRAINER_DATA_SOURCE_LAYOUT_H

#include <limits.h>
#include <stdbool.h>

#include "src/err.h"
#include "trainer/data/source/source.h"

/* What a set adds to the common stem: "_0000" of "case_0000.png", "_mask" of "case_mask.png". */
struct layout_suffix {
    const char *image, *mask;
};
extern const struct layout_suffix layout_suffixes[]; /* ends with an image NULL; the first has
                                                      * none */

/* One pair of folders, relative to the set's; "." is the set's folder itself. */
struct layout_part {
    char images[NAME_MAX * 2], masks[NAME_MAX * 2];
    enum source_side side;
};

struct layout {
    struct layout_part parts[2];
    int nparts;
    bool partial; /* images without a mask are usual and do not take part */
};

/* Looks for the folders of each known layout. Returns 1 if found, 0 if not, and -1 with ERR_DATA
 * for a layout that is recognised but not read (COCO). */
int layout_find(const char *dir, struct layout *dst, struct err *e);

bool layout_is_folder(const char *dir, const char *name);

/* The name of the first folder in dir that equals one of the NULL-terminated names, whatever its
 * case, copied to dst; false if there is none. */
bool layout_folder(const char *dir, const char *const *names, char dst[NAME_MAX + 1]);
extern const char *const layout_train[], *const layout_held_out[]; /* names of divided folders */

#endif
