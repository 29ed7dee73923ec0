/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/series_rows.h"

#include <math.h>
#include <string.h>

/* Forgets what a run that ended at its limit does not show: the end, and what the whole takes. */
static void forget_whole(struct result *r)
{
    double *const unknown[] = {&r->training_time, &r->test_time, &r->energy_j, &r->loss,
                               &r->cpu_energy_j, &r->node_energy_j,
                               &r->iou, &r->iou_own_size, &r->dice, &r->accuracy, &r->quality};

    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        *unknown[i] = NAN;
}

void series_rows_complete(struct result *r, const struct series_facts *facts)
{
    if (r->limited == 1)
        forget_whole(r);
    double whole = quantity_of(r, QUANTITY_WHOLE);
    r->work = r->epochs;

    if (!r->batch_per_gpu && r->global_batch)
        r->batch_per_gpu = r->global_batch % r->gpus ? 0 : r->global_batch / r->gpus;
    if (!r->batch_per_gpu)
        r->batch_per_gpu = facts->batch_per_gpu;
    if (!r->global_batch)
        r->global_batch = r->batch_per_gpu * r->gpus;
    if (isnan(r->images) && facts->train_images && r->stepped != 1) {
        long batch = facts->keep_remainder ? 1 : r->global_batch;
        r->images = batch ? (double)(facts->train_images / batch * batch) : NAN;
        r->images_per_s = r->median_epoch_s > 0 ? r->images / r->median_epoch_s : NAN;
    }
    if (facts->epoch) {
        size_t i = (size_t)facts->epoch;
        r->second_epoch_s = r->curve && i < r->curve->n ? r->curve->seconds[i] : NAN;
    }
    r->energy_estimated = isnan(r->energy_j) && facts->watts_per_gpu > 0;
    if (r->energy_estimated)
        r->energy_j = facts->watts_per_gpu * r->gpus * whole;
}

void series_rows_measure(struct series *s, const struct series_facts *facts)
{
    const struct result *first = s->rows;

    s->unit = facts->unit && *facts->unit ? facts->unit : "images";
    s->stepped = s->nrows > 0;
    for (size_t i = s->nrows; i-- > 0;) {
        const struct result *r = &s->rows[i];
        first = isnan(result_quality(r)) ? first : r;
        s->unit = *r->unit ? r->unit : s->unit;
        s->stepped &= r->stepped == 1;
    }
    for (size_t i = 0; i < s->nrows; i++) {
        memmove(s->rows[i].metric, first->metric, sizeof first->metric);
        s->rows[i].lower = first->lower;
    }
    s->has_quality = s->nrows && !isnan(result_quality(first));
    s->quality = s->nrows ? result_quality_word(first) : "IoU";
    s->is_share = s->nrows && result_quality_is_share(first);
    s->lower = s->nrows && !s->is_share && first->lower == 1;
    double size = s->nrows ? fabs(result_quality(first)) : NAN;
    s->decimals = s->is_share || !(size > 1e-9 && size < 1e9) ? 4 : 3 - (int)floor(log10(size));
    s->decimals = s->decimals < 0 ? 0 : s->decimals;
}

/* Returns the run whose work the intervals of a run on `gpus` GPUs are scaled to: the first of
 * the same count that has epochs, or else any that has, or if none has epochs the first. NULL if
 * their work is unknown. */
static const struct result *find_measure(const struct result *rows, size_t n, int gpus,
                                         bool epochs)
{
    const struct result *found = NULL;

    for (size_t i = 0; i < n; i++) {
        if (isnan(rows[i].images) || (epochs && rows[i].stepped == 1))
            continue;
        if (!found || (epochs && rows[i].gpus == gpus && found->gpus != gpus))
            found = &rows[i];
    }
    return found;
}

/* Returns the work of a whole run, as a multiple of an unknown unit that is the same for all. */
static double work_of(const struct result *r, bool weak)
{
    return (isnan(r->images) ? 1 : r->images) * (double)r->epochs / (weak ? r->gpus : 1);
}

static void scale_row(struct result *r, const struct result *measure, bool epochs, bool weak)
{
    double work = measure ? measure->images * (weak ? (double)r->gpus / measure->gpus : 1) : NAN;
    double factor = measure ? work / r->images : epochs ? NAN : 1;

    r->median_epoch_s *= factor;
    r->comm_s *= factor;
    r->data_s *= factor;
    r->epoch_energy_j *= factor;
    r->first_epoch_s = r->second_epoch_s = NAN;
    if (!isnan(r->images))
        r->images = work;
}

void series_rows_scale(struct result *rows, size_t n, bool weak)
{
    bool epochs = false, worked = false;
    double first = NAN;

    for (size_t i = 0; i < n; i++) {
        epochs |= rows[i].stepped != 1;
        worked |= !isnan(rows[i].images);
        if (isnan(first) && rows[i].stepped == 1 && rows[i].limited != 1)
            first = work_of(&rows[i], weak);
    }
    for (size_t i = 0; i < n && weak && !worked; i++)
        rows[i].images = rows[i].gpus;
    for (size_t i = 0; i < n; i++) {
        struct result *r = &rows[i];
        if (r->stepped != 1)
            continue;
        if (r->limited != 1)
            r->work = 1 + lround(SERIES_WORK_STEPS * work_of(r, weak) / first);
        scale_row(r, find_measure(rows, n, r->gpus, epochs), epochs, weak);
    }
}
