/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/run/goal_text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const metrics[] = {"iou", "dice", "precision", "recall", "accuracy", "acc"};
#define NMETRICS (sizeof metrics / sizeof *metrics)

int goal_text_parse(struct goal *g, const char *until, int patience, struct err *e)
{
    const char *sign = strstr(until, ">=");
    size_t length = sign ? (size_t)(sign - until) : 0;
    char *end = NULL;

    *g = (struct goal){.patience = patience};
    if (!*until)
        return 0;
    for (size_t i = 0; i < NMETRICS && sign; i++)
        if (strlen(metrics[i]) == length && strncmp(until, metrics[i], length) == 0)
            g->metric = metrics[i];
    g->value = sign ? strtod(sign + 2, &end) : 0;
    if (g->metric && end != sign + 2 && !*end && g->value > 0 && g->value <= 1)
        return 0;
    return err_set(e, ERR_CONFIG,
                   "train.until: '%s' is not METRIC>=VALUE, such as iou>=0.9; METRIC is iou, "
                   "dice, precision, recall or accuracy, VALUE is above 0 and at most 1",
                   until);
}

int goal_text_parse_plateau(struct goal *g, const char *text, struct err *e)
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
