/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known after the rounds of a sequential design: the series and its decision with repeated
 * confidence intervals, and what runs cost. */
#pragma once

#include "launcher/analysis/design/design.h"
#include "launcher/analysis/model/model.h"

struct design_view {
    const struct design *design;
    const struct results *table;
    const struct design_round *rounds;
    size_t nrounds;
    struct series_list list;
    const struct series *series; /* NULL: no run of the base case has a result */
    struct model *model;         /* of the steady epoch */
    struct decision decision;    /* if there are two counts */
    struct quality_looks looks;
    size_t family;               /* 0: no round of quality was made */
    struct sequential plan;      /* of one test, if there was such a round */
};

enum design_speed {
    DESIGN_UNMEASURED, /* no round has it */
    DESIGN_EFFICIENT,
    DESIGN_OPEN,       /* the interval includes the threshold, or there is none */
    DESIGN_SLOW        /* below the threshold, or no run has a result */
};

/* Returns 0, or -1 if memory ran out; then there is nothing to destroy. */
int design_view_create(struct design_view *v, const struct design *d, const struct results *table,
                       const struct design_round *rounds, size_t nrounds, struct err *e);
void design_view_destroy(struct design_view *v);

/* Returns the runs of a count in the rounds that repeat others, or in those that do not. */
size_t design_view_asked(const struct design_view *v, int gpus, bool limited, bool repeats);
/* Returns how many short runs the next look at a count has, or 0 if there is none. */
size_t design_view_next_look(const struct design_view *v, int gpus);
/* Returns how many outliers (DESIGN_OUTLIER) among the short runs of a count are not repeated
 * yet. */
size_t design_view_pending(const struct design_view *v, int gpus);
enum design_speed design_view_speed(const struct design_view *v, int gpus);
/* Returns the speed-up of a count, or the upper end of its interval if that is known. */
double design_view_speedup(const struct design_view *v, int gpus);
double design_view_speedup_most(const struct design_view *v, int gpus);
/* Returns the fastest efficient count, or the base case. */
int design_view_fastest(const struct design_view *v);

/* Adds whole runs of a count with those of the first n seeds that no round has, or n short runs
 * with further seeds. */
void design_view_add(const struct design_view *v, struct design_round *round, int gpus, size_t n,
                     bool limited);
/* Returns whether the seconds of some whole run are known. */
bool design_view_has_whole(const struct design_view *v);
/* Returns the GPU-hours of all rounds, measured or else expected. */
double design_view_spent(const struct design_view *v);

/* Fills pairs with those of each look, as far as there are seeds. Returns their number. */
size_t design_view_pairs(const struct design *d, size_t pairs[SEQUENTIAL_LOOKS]);
