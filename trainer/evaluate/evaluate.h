/* SPDX-License-Identifier: BSD-3-Clause */
/* Scores a network on the images of a data set. Functions return -1 on error, such as an image that
 * cannot be read. */
#ifndef UNETCTL_TRAINER_EVALUATE_EVALUATE_H
#define UNETCTL_TRAINER_EVALUATE_EVALUATE_H

#include <stdio.h>

#include "trainer/data/set/dataset.h"
#include "trainer/evaluate/predict.h"
#include "trainer/metric/image_loss.h"
#include "trainer/metric/score.h"
#include "trainer/network/network.h"

/* The validation images of a data set, with their scores. With a device it computes them, and
 * evaluate_wait copies them. */
struct evaluation {
    struct network *network;
    const struct network_config *config;
    struct dataset *dataset;
    size_t images;
    int64_t *scores;           /* of each image, then room for their sum (evaluate_total);
                                * score_size(classes) numbers each */
    struct image_loss *losses; /* of each image, then room for their sum; or NULL */
    struct mirror score_memory, loss_memory;
    bool is_there;             /* the device has added to them */
};

/* Prepares an evaluation. All pointers must outlive it. losses: whether losses are computed,
 * too. */
int evaluate_open(struct evaluation *v, struct network *n, const struct network_config *config,
                  struct dataset *ds, bool losses, struct err *e);
void evaluate_close(struct evaluation *v); /* a zeroed one is allowed; before the network's end */

/* Sets all scores and losses to 0. */
int evaluate_clear(struct evaluation *v, struct err *e);

/* Adds image i to its score and loss. Images are computed one by one, by the same kernels for any
 * number of ranks, so that equal weights give equal counts on 1 rank and on 14. A device may still
 * be computing on return, until evaluate_wait. */
int evaluate_image(struct evaluation *v, size_t i, struct err *e);
int evaluate_wait(struct evaluation *v, struct err *e);

/* Adds image i at its own size to its score; its loss stays. It is predicted in tiles (predict.h)
 * or, with an overlap below 0, resized to the network's size and back. Not for networks that
 * classify whole images. */
int evaluate_image_own(struct evaluation *v, size_t i, int overlap,
                       const struct predict_watch *watch, struct err *e);

/* mirror_open with the network's device, if it has one. */
int evaluate_alloc(struct network *n, struct mirror *m, size_t nbytes, struct err *e);

/* Returns the sum of the scores of all images, which stays until the next call. */
const int64_t *evaluate_total(struct evaluation *v);

/* The best result that predicting one class everywhere would have, given the truth of a score. ds
 * may be NULL with one class. */
struct evaluate_constant {
    double quality;   /* its IoU, or its accuracy if images have classes */
    const char *name; /* of the class; lives as long as ds */
    bool reaches;     /* the score is not better than quality by SCORE_MARGIN */
};
void evaluate_constant(const int64_t *score, int classes, const struct dataset *ds,
                       struct evaluate_constant *dst);
/* Warns if the score is not better than that by SCORE_MARGIN, or cannot be. */
void evaluate_warn(const int64_t *score, int classes, const struct dataset *ds);

/* Writes the scores of the validation images (score_size(classes) numbers each) as a table:
 *     image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels
 * with a row "all" per image and, of several classes, one for each that occurs or is predicted. */
int evaluate_write(const char *path, struct dataset *ds, int classes, const int64_t *scores,
                   struct err *e);

/* Checks that the data set has the targets that the model learns: masks, or one class for each
 * image. If images have classes, *classes (of the configuration or checkpoint) is compared with
 * the data set's number: 1, the preset, is replaced by it, and any other number must be equal.
 * Returns 0, or -1 with ERR_CONFIG. */
int evaluate_check_targets(const char *model, const struct dataset *ds, int *classes,
                           struct err *e);

#endif
