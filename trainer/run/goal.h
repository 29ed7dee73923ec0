/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions by the validation after an epoch: to stop because a quality is reached (time to
 * accuracy) or no longer improves (early stopping), to lower the learning rate, and which weights
 * to keep. */
#ifndef UNETCTL_TRAINER_RUN_GOAL_H
#define UNETCTL_TRAINER_RUN_GOAL_H

#include <stdbool.h>

#include "src/run/goal_text.h"
#include "trainer/metric/metric.h"

/* State between validations. Epochs are numbers of completed epochs. */
struct goal_state {
    double best;     /* IoU or accuracy */
    int best_epoch;  /* at which it was measured; 0: no validation yet */
    int reached;     /* epochs at which the quality was reached; 0: not yet */
    int stopped;     /* 1: the training ends after this validation */
    int cuts;        /* number of times that the rate was lowered */
    int cut_epoch;   /* at the last of these */
};

/* Returns whether the goal needs validations after epochs, not only at the end: after each epoch
 * unless train.eval_epochs is set. */
bool goal_is_watched(const struct goal *g);

/* Returns factor^cuts, the factor of the rate. */
double goal_rate(const struct goal *g, const struct goal_state *state);

/* Updates the state with the result of the validation after so many epochs. Returns whether its
 * quality (IoU or accuracy) is above that of all earlier validations, or it is the first. */
bool goal_note(const struct goal *g, struct goal_state *state, int epochs,
               const struct score_summary *s);

#endif
