/* SPDX-License-Identifier: BSD-3-Clause */
/* When a training may end before its last epoch: a quality that is reached (time to accuracy), or
 * one that gets no better (early stopping). */
#ifndef UNETCTL_TRAINER_GOAL_H
#define UNETCTL_TRAINER_GOAL_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/metric/score.h"

struct goal {
    const char *metric; /* iou | dice | precision | recall | accuracy; NULL: no quality to reach */
    double value;
    int patience;       /* epochs without a better one; 0: no matter */
    bool by_accuracy;   /* for the caller to set: better is more accuracy, not more IoU */
};

/* What a goal remembers from one validation to the next. */
struct goal_state {
    double best;     /* IoU or accuracy */
    int best_epoch;  /* number of epochs done then; 0: none was validated yet */
    int reached;     /* epochs that were done when the quality was reached; 0: not yet */
    int stopped;     /* 1: the training ends here */
};

/* until: "" or METRIC>=VALUE, such as iou>=0.9. ERR_CONFIG. */
int goal_parse(struct goal *g, const char *until, int patience, struct err *e);

/* After so many epochs this was the quality. */
void goal_note(const struct goal *g, struct goal_state *state, int epochs,
               const struct score_summary *s);

#endif
