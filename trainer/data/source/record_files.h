/* SPDX-License-Identifier: BSD-3-Clause */
/* Data folders whose samples are records of container files (doc/FORMATS.md, "Data"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_RECORD_FILES_H
#define UNETCTL_TRAINER_DATA_SOURCE_RECORD_FILES_H

#include "trainer/data/source/source.h"

/* Finds CIFAR-10's, idx or TFRecord files in the folder, sets the source's format and lists their
 * records. Returns 1 if found, 0 if not, -1 on error. */
int record_files_list(struct source *s, struct err *e);

#endif
