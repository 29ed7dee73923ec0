/* SPDX-License-Identifier: BSD-3-Clause */
/* Pixel counts of a network over images of a data set. */
#ifndef UNETCTL_TRAINER_EVALUATE_H
#define UNETCTL_TRAINER_EVALUATE_H

#include <signal.h>

#include "trainer/core/network.h"
#include "trainer/data/dataset.h"
#include "trainer/metric/iou.h"

/* Adds images [begin, end) of a part; pixels: height * width of the network. One image at a time:
 * the same kernels run whatever the number of ranks is, so the same weights give the same counts on
 * 1 rank and on 14. interrupt: as in struct comm; may be NULL. */
int evaluate_images(struct network *n, struct dataset *ds, enum dataset_part part, size_t begin,
                    size_t end, size_t pixels, const volatile sig_atomic_t *interrupt,
                    struct iou_counts *counts, struct err *e);

#endif
