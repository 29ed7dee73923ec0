/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of invented runs for tests. */
#pragma once

#include "launcher/collect/results/results.h"
#include "t/tap.h"

static struct err table_error;

/* Adds a good run with 12 epochs and an IoU of 0.9. The median epoch takes `epoch` seconds, the
 * first 3 times and the second 1.25 times as long. */
__attribute__((unused)) static struct result *table_add(struct results *table, const char *engine,
                                                        int gpus, long seed, double epoch)
{
    struct result r;

    result_init(&r);
    snprintf(r.run, sizeof r.run, "%s-%d-%ld", engine, gpus, seed);
    result_set_text(r.engine, sizeof r.engine, engine);
    r.gpus = gpus, r.seed = seed, r.state = RESULT_DONE, r.epochs = 12;
    r.first_epoch_s = 3 * epoch, r.second_epoch_s = epoch * 1.25, r.median_epoch_s = epoch;
    r.training_time = 12 * epoch, r.quality.iou = 0.9;
    if (results_add(table, &r, &table_error))
        bail_out("%s", table_error.text);
    return &table->rows[table->count - 1];
}

/* Adds a curve of n epochs of about `epoch` seconds each, with losses 1 / (index + 1). */
__attribute__((unused)) static void table_add_curve(struct result *r, size_t n, double epoch)
{
    r->curve = curve_create(n, 0, &table_error);
    if (!r->curve)
        bail_out("%s", table_error.text);
    for (size_t i = 0; i < n; i++) {
        r->curve->seconds[i] = epoch * (1 + 0.001 * (double)(i * 7 % 11));
        r->curve->loss[i] = 1 / (double)(i + 1);
    }
}
