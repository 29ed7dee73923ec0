/* SPDX-License-Identifier: BSD-3-Clause */
/* TFRecord files dealt to workers: as many for each, so that none reads another's. */
#ifndef UNETCTL_TRAINER_DATA_SET_SPLIT_FILES_H
#define UNETCTL_TRAINER_DATA_SET_SPLIT_FILES_H

#include "trainer/data/set/split.h"

/* Keeps the images of the first files, in the order of their numbers, a multiple of workers: of 10
 * files 8 for 4 workers. ERR_DATA: fewer files than workers; ERR_CONFIG: the split is of no
 * TFRecord files. */
int split_files_cut(struct split *s, int workers, struct err *e);

#endif
