/* SPDX-License-Identifier: BSD-3-Clause */
/* What a training aims at: train.until, train.patience and train.lr_plateau. */
#ifndef UNETCTL_SRC_RUN_GOAL_TEXT_H
#define UNETCTL_SRC_RUN_GOAL_TEXT_H

#include <stdbool.h>

#include "src/err.h"

struct goal {
    const char *metric; /* iou | dice | precision | recall | accuracy | acc; NULL: none */
    double value;       /* training ends when the metric is at least this */
    int patience;       /* stop after so many epochs without improvement; 0: never */
    int plateau;        /* lower the rate after so many such epochs; 0: never */
    double factor;      /* of the rate at each plateau */
    /* Set by the caller: */
    bool keep_best;     /* the result is the best weights instead of the last */
    bool by_accuracy;   /* the best weights have the best accuracy instead of the best IoU */
};

/* Sets *g from `until`, "" or METRIC>=VALUE such as iou>=0.9, and patience; the other members
 * become 0. -1 with ERR_CONFIG. */
int goal_text_parse(struct goal *g, const char *until, int patience, struct err *e);

/* Adds the plateau of text to *g: "" or EPOCHS:FACTOR such as 10:0.5. -1 with ERR_CONFIG. */
int goal_text_parse_plateau(struct goal *g, const char *text, struct err *e);

#endif
