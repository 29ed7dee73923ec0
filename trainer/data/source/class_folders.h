/* SPDX-License-Identifier: BSD-3-Clause */
/* Data folders with one folder for each class of images (doc/FORMATS.md, "Data"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_CLASS_FOLDERS_H
#define UNETCTL_TRAINER_DATA_SOURCE_CLASS_FOLDERS_H

#include "trainer/data/source/source.h"

/* Lists the images of dir/CLASS/, or of dir/train/CLASS/ and dir/val/CLASS/, with their classes.
 * ERR_DATA if there are fewer than two classes or no training images; ERR_CONFIG if a folder seems
 * to hold masks. */
int class_folders_list(struct source *s, struct err *e);

#endif
