/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/tables.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* "LOW..HIGH" of several runs; one run has no range. */
static void add_range(struct table *t, const struct scaling_spread *s, int decimals)
{
    if (s->count < 2)
        table_addf(t, "-");
    else
        table_addf(t, "%.*f..%.*f", decimals, s->min, decimals, s->max);
}

static void add_nodes(struct table *t, const struct scaling_point *p)
{
    if (p->nodes)
        table_addf(t, "%d", p->nodes);
    else
        table_addf(t, "-");
}

void tables_fill_speed(struct table *t, const struct scaling *s, const char *label)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"nodes", false}, {"runs", false}, {"first epoch s", false},
        {"steady epoch s", false}, {"its range", false}, {"training s", false},
        {"speed-up total", false}, {"speed-up steady", false}, {"speed-up epoch 1", false},
        {"efficiency total", false}, {"efficiency steady", false}, {"images/s", false},
        {"GPU hours", false}};

    table_init(t, columns, COUNT(columns),
               "Speed of %s, against %d GPU%s; medians over the runs of a count. Steady efficiency is "
               "by %s.", label, s->points[0].gpus, s->points[0].gpus == 1 ? "" : "s",
               s->by_images ? "images really processed per second" : "epoch times");
    for (size_t i = 0; i < s->npoints; i++) {
        const struct scaling_point *p = &s->points[i];
        table_addf(t, "%d", p->gpus);
        add_nodes(t, p);
        table_addf(t, "%zu", p->nruns);
        table_add_number(t, p->first_epoch_s.median, 2);
        table_add_number(t, p->epoch_s.median, 2);
        add_range(t, &p->epoch_s, 2);
        table_add_number(t, p->training_time.median, 1);
        table_add_number(t, p->speedup_total, 2);
        table_add_number(t, p->speedup_steady, 2);
        table_add_number(t, p->speedup_second, 2);
        table_add_number(t, p->efficiency_total, 3);
        table_add_number(t, p->efficiency, 3);
        table_add_number(t, p->images_per_s.median, 1);
        table_add_number(t, p->gpu_hours, p->gpu_hours < 0.1 ? 4 : 2);
    }
}

void tables_fill_quality(struct table *t, const struct scaling *s, const char *label)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"runs", false}, {"IoU", false}, {"its range", false}, {"Dice", false},
        {"final loss", false}, {"images per epoch", false}, {"test s", false}};

    table_init(t, columns, COUNT(columns),
               "Quality of %s; medians over the runs of a count, after the last epoch.", label);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct scaling_point *p = &s->points[i];
        table_addf(t, "%d", p->gpus);
        table_addf(t, "%zu", p->nruns);
        table_add_number(t, p->iou.median, 4);
        add_range(t, &p->iou, 4);
        table_add_number(t, p->dice.median, 4);
        table_add_number(t, p->loss.median, 4);
        table_add_number(t, p->images.median, 0);
        table_add_number(t, p->test_time.median, 3);
    }
}

bool tables_has_parts(const struct scaling *s)
{
    return !isnan(s->points[0].startup_s.median) || !isnan(s->points[0].comm_s.median);
}

void tables_fill_parts(struct table *t, const struct scaling *s, const char *label)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"start-up s", false}, {"steady epoch s", false},
        {"communication s", false}, {"of the epoch", false}, {"data s", false},
        {"more workers than cores", true}};

    table_init(t, columns, COUNT(columns),
               "Where the time of %s goes: start of the process to its first step; what a steady "
               "epoch waits for communication and data, as rank 0 saw it.", label);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct scaling_point *p = &s->points[i];
        double share = 100 * p->comm_s.median / p->epoch_s.median;
        table_addf(t, "%d", p->gpus);
        table_add_number(t, p->startup_s.median, 2);
        table_add_number(t, p->epoch_s.median, 2);
        table_add_number(t, p->comm_s.median, 3);
        if (isfinite(share))
            table_addf(t, "%.0f %%", share);
        else
            table_addf(t, "-");
        table_add_number(t, p->data_s.median, 3);
        table_addf(t, "%s", p->oversubscribed ? "yes" : "no");
    }
}

void tables_fill_short(struct table *t, const struct scaling *s)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"runs", false}, {"epoch s", false}, {"total s", false},
        {"speed-up", false}, {"steady", false}, {"efficiency", false}, {"IoU", false},
        {"loss", false}};

    table_init(t, columns, COUNT(columns), "%s", s->engine);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct scaling_point *p = &s->points[i];
        table_addf(t, "%d", p->gpus);
        table_addf(t, "%zu", p->nruns);
        table_add_number(t, p->epoch_s.median, 2);
        table_add_number(t, p->training_time.median, 1);
        table_add_number(t, p->speedup_total, 2);
        table_add_number(t, p->speedup_steady, 2);
        table_add_number(t, p->efficiency, 3);
        table_add_number(t, p->iou.median, 4);
        table_add_number(t, p->loss.median, 4);
    }
}

void tables_fill_runs(struct table *t, const struct results *results, size_t most)
{
    static const struct table_column columns[] = {
        {"run", true}, {"engine", true}, {"GPUs", false}, {"seed", false}, {"attempt", false},
        {"state", true}, {"epochs", false}, {"training s", false}, {"IoU", false}, {"host", true},
        {"note", true}};

    if (results->count > most)
        table_init(t, columns, COUNT(columns), "The first %zu of %zu runs and their states; results.csv has "
                   "them all.", most, results->count);
    else
        table_init(t, columns, COUNT(columns), "Every run and its state.");
    for (size_t i = 0; i < results->count && i < most; i++) {
        const struct result *r = &results->rows[i];
        table_addf(t, "%s", r->run);
        table_addf(t, "%s", r->engine);
        table_addf(t, "%d", r->gpus);
        table_addf(t, "%ld", r->seed);
        table_addf(t, "%d", r->attempt);
        table_addf(t, "%s", result_state_name(r->state));
        table_addf(t, "%ld", r->epochs);
        table_add_number(t, r->training_time, 1);
        table_add_number(t, r->iou, 4);
        table_addf(t, "%s", r->host);
        table_addf(t, "%s", r->note);
    }
}
