/* SPDX-License-Identifier: BSD-3-Clause */
/* What the quality after an epoch decides: the end before the last epoch, because a quality is
 * reached (time to accuracy) or gets no better (early stopping); a lower learning rate; the weights
 * that stay. */
#ifndef UNETCTL_TRAINER_RUN_GOAL_H
#define UNETCTL_TRAINER_RUN_GOAL_H

#include <stdbool.h>

#include "src/err.h"
#include "trainer/metric/score.h"

struct goal {
    const char *metric; /* iou | dice | precision | recall | accuracy; NULL: no quality to reach */
    double value;
    int patience;       /* epochs without a better one; 0: no matter */
    int plateau;        /* epochs without a better one until the rate is lowered; 0: never */
    double factor;      /* of the rate then */
    /* For the caller to set: */
    bool keep_best;     /* the best weights are the result, not the last */
    bool by_accuracy;   /* better is more accuracy, not more IoU */
};

/* What a goal remembers from one validation to the next. */
struct goal_state {
    double best;     /* IoU or accuracy */
    int best_epoch;  /* number of epochs done then; 0: none was validated yet */
    int reached;     /* epochs that were done when the quality was reached; 0: not yet */
    int stopped;     /* 1: the training ends here */
    int cuts;        /* how often the rate was lowered */
    int cut_epoch;   /* epochs that were done then */
};

/* until: "" or METRIC>=VALUE, such as iou>=0.9. ERR_CONFIG. */
int goal_parse(struct goal *g, const char *until, int patience, struct err *e);

/* Does anything depend on the quality after each epoch? */
bool goal_is_watched(const struct goal *g);

/* text: "" or EPOCHS:FACTOR, such as 10:0.5. ERR_CONFIG. */
int goal_parse_plateau(struct goal *g, const char *text, struct err *e);

/* What the plateaus so far have made of the rate: factor^cuts. */
double goal_rate(const struct goal *g, const struct goal_state *state);

/* After so many epochs this was the quality. True: it is the best so far. */
bool goal_note(const struct goal *g, struct goal_state *state, int epochs,
               const struct score_summary *s);

#endif
