/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of four validation images, from the best to the worst, for the report's page. */
#ifndef UNETCTL_TRAINER_EVALUATE_EXAMPLES_H
#define UNETCTL_TRAINER_EVALUATE_EXAMPLES_H

#include "trainer/evaluate/evaluate.h"

/* Writes best.png, median.png, worst.png and random.png into dir, which is made: the image with its
 * true mask over it, and beside it the same image with the predicted mask, at the network's size
 * or, if that is large, with every 2nd, 3rd, ... pixel. examples.csv has their names and IoU. v has
 * the scores of all images; scale is data.scale; seed chooses the random one. Earlier files are
 * replaced. A data set without masks has no examples. */
int examples_write(const char *dir, struct evaluation *v, const char *scale, uint64_t seed,
                   struct err *e);

#endif
