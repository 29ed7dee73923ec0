/* SPDX-License-Identifier: BSD-3-Clause */
/* Scores of a network over images of a data set. */
#ifndef UNETCTL_TRAINER_EVALUATE_H
#define UNETCTL_TRAINER_EVALUATE_H

#include "trainer/core/network.h"
#include "trainer/data/dataset.h"
#include "trainer/metric/image_loss.h"
#include "trainer/metric/score.h"

/* Adds image i of a part to score, and to loss unless NULL. One image at a time: the same kernels
 * run whatever the number of ranks is, so the same weights give the same counts on 1 rank and on
 * 14. */
int evaluate_image(struct network *n, const struct network_config *config, struct dataset *ds,
                   enum dataset_part part, size_t i, int64_t *score, struct image_loss *loss,
                   struct err *e);

/* total = the sum of so many scores. */
void evaluate_sum(const int64_t *scores, size_t images, int classes, int64_t *total);

/* The scores of a part's images (score_size(classes) numbers each) as a table, atomically:
 *     image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels
 * one row "all" per image and, of several classes, one for each that is there or predicted. */
int evaluate_write(const char *path, struct dataset *ds, enum dataset_part part, int classes,
                   const int64_t *scores, struct err *e);

#endif
