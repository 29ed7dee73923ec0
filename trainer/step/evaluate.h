/* SPDX-License-Identifier: BSD-3-Clause */
/* Scores of a network over images of a data set. */
#ifndef UNETCTL_TRAINER_STEP_EVALUATE_H
#define UNETCTL_TRAINER_STEP_EVALUATE_H

#include <stdio.h>

#include "trainer/core/network.h"
#include "trainer/data/set/dataset.h"
#include "trainer/metric/image_loss.h"
#include "trainer/metric/score.h"
#include "trainer/step/tiles.h"

/* The images of a part. Where the network has a device, it reaches scores and losses. */
struct evaluation {
    struct network *network;
    const struct network_config *config;
    struct dataset *dataset;
    enum dataset_part part;
    size_t images;
    int64_t *scores;           /* of each image, then their sum: score_size(classes) numbers each */
    struct image_loss *losses; /* of each image; NULL: not asked for */
};

/* Everything given lives as long as the evaluation. */
int evaluate_open(struct evaluation *v, struct network *n, const struct network_config *config,
                  struct dataset *ds, enum dataset_part part, bool losses, struct err *e);
void evaluate_close(struct evaluation *v); /* a zeroed one is fine; before the network */

/* All images at 0. */
void evaluate_clear(struct evaluation *v);

/* Adds image i to its score and loss. One image at a time: the same kernels run whatever the number
 * of ranks is, so the same weights give the same counts on 1 rank and on 14. A device may do it
 * later, until evaluate_wait: losses and scores in one pass, and while the next image is read. */
int evaluate_image(struct evaluation *v, size_t i, struct err *e);
int evaluate_wait(struct evaluation *v, struct err *e);

/* The same of the image at its own size, in tiles (tiles.h). Of a network of masks. */
int evaluate_image_tiled(struct evaluation *v, size_t i, int overlap,
                         const struct tiles_watch *watch, struct err *e);

/* A cell of a table: in quotes where a comma, quote or line break would break the row. */
void evaluate_write_cell(FILE *f, const char *text);

/* Zeroed memory for counts that a network's device reaches, if it has one. */
void *evaluate_alloc(struct network *n, size_t nbytes, struct err *e);
void evaluate_free(struct network *n, void *p); /* NULL is fine */

/* total = the sum of so many scores. */
void evaluate_sum(const int64_t *scores, size_t images, int classes, int64_t *total);

/* What a prediction of one class everywhere gets on the truth of a score. ds may be NULL where
 * there is one class. */
struct evaluate_constant {
    double quality;   /* its IoU, or accuracy where images have classes */
    const char *name; /* of the class */
    bool reaches;     /* is the score itself no better? */
};
void evaluate_constant(const int64_t *score, int classes, const struct dataset *ds,
                       struct evaluate_constant *dst);
/* A warning where it reaches the score. */
void evaluate_warn(const int64_t *score, int classes, const struct dataset *ds);

/* The scores of a part's images (score_size(classes) numbers each) as a table, atomically:
 *     image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels
 * one row "all" per image and, of several classes, one for each that is there or predicted. */
int evaluate_write(const char *path, struct dataset *ds, enum dataset_part part, int classes,
                   const int64_t *scores, struct err *e);

#endif
