/* SPDX-License-Identifier: BSD-3-Clause */
/* Decisions by the quality after an epoch: to stop before the last epoch, because a quality is
 * reached (time to accuracy) or does not improve (early stopping); to lower the learning rate;
 * which weights to keep. */
#ifndef UNETCTL_TRAINER_RUN_GOAL_H
#define UNETCTL_TRAINER_RUN_GOAL_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/metric/score.h"

struct goal {
    const char *metric; /* iou | dice | precision | recall | accuracy; NULL: none */
    double value;
    int patience;       /* stop after so many epochs without improvement; 0: never */
    int plateau;        /* lower the rate after so many; 0: never */
    double factor;      /* by which the rate is lowered */
    /* Set by the caller: */
    bool keep_best;     /* the result is the best weights, not the last */
    bool by_accuracy;   /* the best is that of the accuracy, not of the IoU */
};

/* State between validations. */
struct goal_state {
    double best;     /* IoU or accuracy */
    int best_epoch;  /* epochs completed then; 0: no validation yet */
    int reached;     /* epochs completed when the quality was reached; 0: not yet */
    int stopped;     /* 1: the training ends here */
    int cuts;        /* number of times that the rate was lowered */
    int cut_epoch;   /* epochs completed at the last one */
};

/* until: "" or METRIC>=VALUE, such as iou>=0.9. ERR_CONFIG. */
int goal_parse(struct goal *g, const char *until, int patience, struct err *e);

/* Does the goal need a validation after each epoch? */
bool goal_is_watched(const struct goal *g);

/* text: "" or EPOCHS:FACTOR, such as 10:0.5. ERR_CONFIG. */
int goal_parse_plateau(struct goal *g, const char *text, struct err *e);

/* The factor of the rate by the plateaus so far: factor^cuts. */
double goal_rate(const struct goal *g, const struct goal_state *state);

/* Adds the quality after so many epochs. Returns true if it is the best so far. */
bool goal_note(const struct goal *g, struct goal_state *state, int epochs,
               const struct score_summary *s);

#endif
