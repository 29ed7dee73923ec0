/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/goal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct { const char *name; size_t offset; } metrics[] = {
    {"iou", offsetof(struct score_summary, iou)},
    {"dice", offsetof(struct score_summary, dice)},
    {"precision", offsetof(struct score_summary, precision)},
    {"recall", offsetof(struct score_summary, recall)},
    {"accuracy", offsetof(struct score_summary, accuracy)},
    {"acc", offsetof(struct score_summary, accuracy)},
};
#define NMETRICS (sizeof metrics / sizeof *metrics)

static double metric_value(const struct goal *g, const struct score_summary *s)
{
    for (size_t i = 0; i < NMETRICS; i++)
        if (strcmp(g->metric, metrics[i].name) == 0)
            return *(const double *)((const char *)s + metrics[i].offset);
    return 0;
}

bool goal_is_watched(const struct goal *g)
{
    return g->metric || g->patience || g->plateau || g->keep_best;
}

double goal_rate(const struct goal *g, const struct goal_state *state)
{
    return state->cuts ? pow(g->factor, state->cuts) : 1;
}

bool goal_note(const struct goal *g, struct goal_state *state, int epochs,
               const struct score_summary *s)
{
    double quality = g->by_accuracy ? s->accuracy : s->iou;

    bool better = state->best_epoch == 0 || quality > state->best;

    if (better) {
        state->best = quality;
        state->best_epoch = epochs;
    }
    if (g->metric && !state->reached && metric_value(g, s) >= g->value)
        state->reached = epochs;
    state->stopped = state->reached > 0 ||
                     (g->patience > 0 && epochs - state->best_epoch >= g->patience);
    int since = state->cut_epoch > state->best_epoch ? state->cut_epoch : state->best_epoch;
    if (g->plateau > 0 && epochs - since >= g->plateau) {
        state->cuts++;
        state->cut_epoch = epochs;
    }
    return better;
}
