/* SPDX-License-Identifier: BSD-3-Clause */
/* Scores of a network over images of a data set. */
#ifndef UNETCTL_TRAINER_EVALUATE_EVALUATE_H
#define UNETCTL_TRAINER_EVALUATE_EVALUATE_H

#include <stdio.h>

#include "trainer/data/set/dataset.h"
#include "trainer/evaluate/predict.h"
#include "trainer/metric/image_loss.h"
#include "trainer/metric/score.h"
#include "trainer/network/network.h"

/* The images of a part. A network's device can access scores and losses. */
struct evaluation {
    struct network *network;
    const struct network_config *config;
    struct dataset *dataset;
    enum dataset_part part;
    size_t images;
    int64_t *scores;           /* of each image, then their sum: score_size(classes) numbers each */
    struct image_loss *losses; /* of each image, or NULL */
};

/* All pointers must outlive the evaluation. losses: compute them, too. */
int evaluate_open(struct evaluation *v, struct network *n, const struct network_config *config,
                  struct dataset *ds, enum dataset_part part, bool losses, struct err *e);
void evaluate_close(struct evaluation *v); /* a zeroed one is fine; before the network */

/* Sets all scores and losses to 0. */
void evaluate_clear(struct evaluation *v);

/* Adds image i to its score and loss. Images are computed one by one, by the same kernels for any
 * number of ranks, so equal weights give equal counts on 1 rank and on 14. A device may still be
 * computing on return, until evaluate_wait. */
int evaluate_image(struct evaluation *v, size_t i, struct err *e);
int evaluate_wait(struct evaluation *v, struct err *e);

/* The same for the image at its own size, in tiles (predict.h); not for networks that classify
 * whole images. */
int evaluate_image_tiled(struct evaluation *v, size_t i, int overlap,
                         const struct predict_watch *watch, struct err *e);

/* Writes a cell of a CSV file, quoted where necessary. */
void evaluate_write_cell(FILE *f, const char *text);

/* Zeroed memory that a network's device, if any, can access. */
void *evaluate_alloc(struct network *n, size_t nbytes, struct err *e);
void evaluate_free(struct network *n, void *p); /* NULL is fine */

/* total = the sum of the scores of that many images. */
void evaluate_sum(const int64_t *scores, size_t images, int classes, int64_t *total);

/* The best result of predicting one class everywhere, on the truth of a score. ds may be NULL with
 * one class. */
struct evaluate_constant {
    double quality;   /* its IoU, or accuracy where images have classes */
    const char *name; /* of the class */
    bool reaches;     /* the score does not exceed it */
};
void evaluate_constant(const int64_t *score, int classes, const struct dataset *ds,
                       struct evaluate_constant *dst);
/* Warns if the score does not exceed that. */
void evaluate_warn(const int64_t *score, int classes, const struct dataset *ds);

/* The scores of a part's images (score_size(classes) numbers each) as a table, atomically:
 *     image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels
 * one row "all" per image and, of several classes, one for each that is there or predicted. */
int evaluate_write(const char *path, struct dataset *ds, enum dataset_part part, int classes,
                   const int64_t *scores, struct err *e);

/* Does a data set have the targets that a model learns: masks, or one class for each image?
 * *classes: of the configuration or checkpoint; 1 becomes the number of classes of images.
 * ERR_CONFIG. */
int evaluate_check_targets(const char *model, const struct dataset *ds, int *classes,
                           struct err *e);

#endif
