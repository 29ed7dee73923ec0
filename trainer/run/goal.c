/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing of the settings, and the state after each validation. */
#include "config.h"
#include "trainer/run/goal.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
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

int goal_parse(struct goal *g, const char *until, int patience, struct err *e)
{
    const char *sign = strstr(until, ">=");
    size_t length = sign ? (size_t)(sign - until) : 0;
    char *end = NULL;

    *g = (struct goal){.patience = patience};
    if (!*until)
        return 0;
    for (size_t i = 0; i < NMETRICS && sign; i++)
        if (strlen(metrics[i].name) == length && strncmp(until, metrics[i].name, length) == 0)
            g->metric = metrics[i].name;
    g->value = sign ? strtod(sign + 2, &end) : 0;
    if (g->metric && end != sign + 2 && !*end && g->value > 0 && g->value <= 1)
        return 0;
    return err_set(e, ERR_CONFIG,
                   "train.until: '%s' is not METRIC>=VALUE, such as iou>=0.9; METRIC is iou, "
                   "dice, precision, recall or accuracy, VALUE is above 0 and at most 1",
                   until);
}

static double metric_value(const struct goal *g, const struct score_summary *s)
{
    for (size_t i = 0; i < NMETRICS; i++)
        if (g->metric == metrics[i].name)
            return *(const double *)((const char *)s + metrics[i].offset);
    return 0;
}

bool goal_is_watched(const struct goal *g)
{
    return g->metric || g->patience || g->plateau || g->keep_best;
}

int goal_parse_plateau(struct goal *g, const char *text, struct err *e)
{
    char *end;
    long epochs = strtol(text, &end, 10);

    if (!*text)
        return 0;
    if (end != text && *end == ':' && epochs >= 1 && epochs <= 1000000) {
        const char *at = end + 1;
        g->plateau = (int)epochs;
        g->factor = strtod(at, &end);
        if (end != at && !*end && g->factor > 0 && g->factor < 1)
            return 0;
    }
    return err_set(e, ERR_CONFIG, "train.lr_plateau: '%s' is not EPOCHS:FACTOR, such as 10:0.5; "
                   "FACTOR is between 0 and 1", text);
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
