/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/stat.h"

struct member {
    size_t src, dst; /* in struct result, in struct scaling_point */
};

#define MEMBER(from, to) {offsetof(struct result, from), offsetof(struct scaling_point, to)}

static const struct member members[] = {
    MEMBER(first_epoch_s, first_epoch_s),
    MEMBER(second_epoch_s, second_epoch_s),
    MEMBER(median_epoch_s, epoch_s),
    MEMBER(training_time, training_time),
    MEMBER(test_time, test_time),
    MEMBER(startup_s, startup_s),
    MEMBER(comm_s, comm_s),
    MEMBER(data_s, data_s),
    MEMBER(images, images),
    MEMBER(images_per_s, images_per_s),
    MEMBER(loss, loss),
    MEMBER(iou, iou),
    MEMBER(dice, dice),
};
enum { NMEMBERS = sizeof members / sizeof members[0] };

static double member_of(const struct result *r, const struct member *m)
{
    return *(const double *)((const char *)r + m->src);
}

/* values: room for n numbers. */
static struct scaling_spread spread_of(const struct result *rows, size_t n, const struct member *m,
                                       double *values)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        if (rows[i].state == RESULT_DONE && !isnan(member_of(&rows[i], m)))
            values[known++] = member_of(&rows[i], m);
    return (struct scaling_spread){.median = stat_median(values, known),
                                   .min = stat_min(values, known),
                                   .max = stat_max(values, known),
                                   .count = known};
}

/* rows[0..n): the runs of one engine and count. */
static void sum_up(struct scaling_point *p, const struct result *rows, size_t n, double *values)
{
    p->gpus = rows[0].gpus;
    for (size_t i = 0; i < n; i++)
        if (rows[i].state == RESULT_DONE) {
            p->nruns++;
            p->nodes = rows[i].nodes;
            p->oversubscribed |= rows[i].oversubscribed == 1;
        }
    for (int i = 0; i < NMEMBERS; i++)
        *(struct scaling_spread *)((char *)p + members[i].dst) =
            spread_of(rows, n, &members[i], values);
}

static double ratio(double a, double b)
{
    return a > 0 && b > 0 ? a / b : NAN;
}

/* Images in a second of a steady epoch; NaN when they were not counted. Of medians, as speed-ups
 * are: the median of an even number of rates is not the rate of the median time. */
static double image_rate(const struct scaling_point *p)
{
    return ratio(p->images.median, p->epoch_s.median);
}

static void compare_with_base(struct scaling *s)
{
    const struct scaling_point *base = s->points;

    s->by_images = s->npoints > 0;
    for (size_t i = 0; i < s->npoints; i++)
        s->by_images &= image_rate(&s->points[i]) > 0;
    for (size_t i = 0; i < s->npoints; i++) {
        struct scaling_point *p = &s->points[i];
        double share = 1 / scaling_ideal(s, p->gpus);
        p->speedup_total = ratio(base->training_time.median, p->training_time.median);
        p->speedup_steady = ratio(base->epoch_s.median, p->epoch_s.median);
        p->speedup_second = ratio(base->second_epoch_s.median, p->second_epoch_s.median);
        p->efficiency_total = p->speedup_total * share;
        p->efficiency = share * (s->by_images ? ratio(image_rate(p), image_rate(base))
                                              : p->speedup_steady);
        p->gpu_hours = p->gpus * p->training_time.median / 3600;
    }
}

int scaling_compute(struct scaling *s, const struct results *table, const char *engine, struct err *e)
{
    double *values = calloc(table->count + 1, sizeof *values);
    size_t i = 0, end;

    *s = (struct scaling){.points = calloc(table->count + 1, sizeof *s->points)};
    result_set_text(s->engine, sizeof s->engine, engine);
    if (!values || !s->points) {
        free(values);
        scaling_destroy(s);
        return err_set(e, ERR_INTERNAL, "out of memory for %zu runs", table->count);
    }
    for (; i < table->count; i = end) {
        const struct result *row = &table->rows[i];
        for (end = i; end < table->count && table->rows[end].gpus == row->gpus &&
                      strcmp(table->rows[end].engine, row->engine) == 0;)
            end++;
        if (strcmp(row->engine, engine) || row->gpus < 1)
            continue;
        struct scaling_point *p = &s->points[s->npoints];
        sum_up(p, row, end - i, values);
        if (p->nruns)
            s->npoints++;
        else
            *p = (struct scaling_point){0};
    }
    free(values);
    compare_with_base(s);
    return 0;
}

void scaling_destroy(struct scaling *s)
{
    free(s->points);
    s->points = NULL;
    s->npoints = 0;
}

const char *scaling_next_engine(const struct results *table, size_t *row)
{
    const char *engine;

    if (*row >= table->count)
        return NULL;
    engine = table->rows[*row].engine;
    while (*row < table->count && strcmp(table->rows[*row].engine, engine) == 0)
        ++*row;
    return engine;
}

double scaling_ideal(const struct scaling *s, int gpus)
{
    return (double)gpus / s->points[0].gpus;
}
