/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/quality.h"

#include <math.h>
#include <stdlib.h>

#include "launcher/analysis/statistics/proportion.h"
#include "src/mem.h"

#define TOLERANCE 1e-7 /* of comparisons with the margin: 0.94 - 0.95 is not quite -0.01 */

const char *quality_state_name(const struct quality *q)
{
    static const char *const names[] = {
        [QUALITY_UNKNOWN] = "unknown",
        [QUALITY_HOLDS] = "holds",
        [QUALITY_UNDECIDED] = "undecided",
        [QUALITY_FALLS] = "falls",
        [QUALITY_COLLAPSES] = "collapses",
    };

    return q->state == QUALITY_HOLDS && q->by_construction ? "holds by construction"
                                                           : names[q->state];
}

static double median_quality(const struct series_point *p)
{
    return p->q[QUANTITY_QUALITY].median;
}

bool quality_is_blind(const struct result *r)
{
    return result_quality(r) < r->constant + QUALITY_BLIND;
}

bool quality_is_unlearnt(const struct series *s)
{
    double best = NAN;

    for (size_t i = 0; i < s->npoints; i++)
        best = fmax(best, median_quality(&s->points[i]));
    return s->is_share && best < QUALITY_LEARNT;
}

const char *quality_fall_word(const struct series *s)
{
    return s->lower ? "rises" : "falls";
}

double quality_loss(const struct series *s, double change)
{
    return s->lower ? change : -change;
}

struct interval quality_losses(const struct series *s, const struct interval *changes)
{
    struct interval losses = *changes;

    if (!s->lower) {
        losses.low = -changes->high;
        losses.high = -changes->low;
    }
    return losses;
}

static bool is_blind(const struct series_point *p)
{
    size_t blind = 0;

    for (size_t i = 0; i < p->nruns; i++)
        blind += quality_is_blind(&p->rows[i]);
    return blind && blind == p->nruns - p->nlimited;
}

/* Returns why the quality of p cannot be compared with that of the base case, or NULL if it can. */
static const char *find_unusable(const struct series *s, const struct series_point *p,
                                 bool unlearnt)
{
    const struct series_point *base = s->points;

    if (isnan(median_quality(base)) || isnan(median_quality(p)))
        return p->nlimited == p->nruns ? "not known, as these runs give the steady speed alone"
               : base->nlimited == base->nruns
                   ? "not judged, as the runs of the base case ended at their limit"
                   : "not recorded";
    if (unlearnt)
        return "not comparable, as no network has learnt its task";
    if (base->work != p->work || !p->work)
        return s->stepped ? "not comparable, as the runs did different amounts of work"
                          : "not comparable, as the runs trained for different numbers of epochs";
    if (base->val_images && p->val_images && p->val_images != base->val_images)
        return "not comparable, as it is counted over different validation images";
    if (is_blind(base))
        return "not comparable, as networks score no better than one class everywhere";
    return NULL;
}

/* Copies the runs of p that have not collapsed, each distinct one once. Returns their number. */
static size_t pick_runs(struct result *dst, const struct series_point *p, double below)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nruns; i++)
        if (p->rows[i].limited != 1 && !(result_quality(&p->rows[i]) < below))
            dst[n++] = p->rows[i];
    return compare_distinct(dst, n, dst);
}

static void count_runs(struct quality *q, const struct series_point *p, double below,
                       struct result *room)
{
    size_t n = pick_runs(room, p, -INFINITY);

    q->nrepeats = p->nruns - p->nlimited - n;
    for (size_t i = 0; i < n; i++) {
        q->nruns += !isnan(result_quality(&room[i]));
        q->ncollapsed += result_quality(&room[i]) < below;
    }
    q->collapse_most = proportion_upper(q->ncollapsed, q->nruns, INTERVAL_LEVEL);
}

/* Returns whether more of the runs of q collapse than of the base case's. */
static bool collapses(const struct quality *q, const struct quality *base)
{
    return q->ncollapsed * base->nruns > base->ncollapsed * q->nruns;
}

static void classify(struct quality *q, const struct series *s, const struct series_point *p,
                     const struct quality *base)
{
    const struct comparison *c = &q->change;
    const struct interval losses = quality_losses(s, &c->interval);

    q->state = QUALITY_UNDECIDED;
    if (isnan(median_quality(p)) && collapses(q, base)) /* all runs of a look are lost */
        q->why = NULL;
    if (q->why)
        q->state = QUALITY_UNKNOWN;
    else if (collapses(q, base))
        q->state = QUALITY_COLLAPSES;
    else if (is_blind(p)) {
        q->state = QUALITY_UNKNOWN;
        q->why = "not comparable, as networks score no better than one class everywhere";
    } else if (losses.low > c->margin * (1 + TOLERANCE))
        q->state = QUALITY_FALLS;
    else if (q->by_construction)
        q->state = QUALITY_HOLDS;
    else if (c->test == COMPARE_NONE || c->test == COMPARE_IMAGES)
        return;
    else if (c->resolution > QUALITY_COARSE * c->margin * (1 + TOLERANCE))
        q->why = "recorded too coarsely";
    else if (losses.high < c->margin * (1 - TOLERANCE))
        q->state = QUALITY_HOLDS;
}

static const struct quality_look *find_look(const struct quality_looks *looks, int gpus)
{
    for (size_t i = 0; i < looks->n; i++)
        if (looks->items[i].gpus == gpus)
            return &looks->items[i];
    return NULL;
}

/* Keeps of the runs a[0..*na) and b[0..*nb), which are sorted by seed, those whose seeds both have
 * up to the last one. */
static void keep_pairs(struct result *a, size_t *na, struct result *b, size_t *nb, long last)
{
    size_t n = 0;

    for (size_t i = 0, k = 0; i < *na && k < *nb && a[i].seed <= last;) {
        if (a[i].seed == b[k].seed) {
            a[n] = a[i];
            b[n++] = b[k];
        }
        long seed = a[i].seed;
        i += seed <= b[k].seed;
        k += b[k].seed <= seed;
    }
    *na = *nb = n;
}

/* Returns whether the losses of the first epochs of n pairs are equal. */
static bool start_alike(const struct result *a, const struct result *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!a[i].curve || !b[i].curve || !a[i].curve->n || !b[i].curve->n)
            return false;
        double x = a[i].curve->loss[0], y = b[i].curve->loss[0];
        if (!(fabs(x - y) <= QUALITY_EQUAL * fmax(fabs(x), fabs(y))))
            return false;
    }
    return n > 0;
}

/* Counts the runs of a look that have no quality, as they failed or diverged, as collapsed. Those
 * of the base case (look NULL) are of the largest look. */
static void count_lost(struct quality *q, const struct series_point *p,
                       const struct quality_looks *looks, const struct quality_look *look)
{
    size_t most = 0;

    for (size_t i = 1; !look && i < looks->n; i++)
        most = looks->items[i].pairs > looks->items[most].pairs ? i : most;
    look = look ? look : looks->n ? &looks->items[most] : NULL;
    size_t lost = look ? look->pairs : 0;

    for (size_t i = 0; look && i < p->nruns; i++)
        lost -= lost > 0 && p->rows[i].limited != 1 && p->rows[i].seed <= look->last_seed &&
                !isnan(result_quality(&p->rows[i]));
    q->nruns += lost;
    q->ncollapsed += lost;
    q->collapse_most = proportion_upper(q->ncollapsed, q->nruns, INTERVAL_LEVEL);
}

static int compare_look(struct quality *q, const struct series_point *base,
                        const struct series_point *p, const struct quality_looks *looks,
                        double below, double margin, struct result *room, struct err *e)
{
    const struct quality_look *look = find_look(looks, p->gpus);
    size_t na = look ? pick_runs(room, base, below) : 0,
           nb = look ? pick_runs(room + na, p, below) : 0;
    struct result *b = room + na;

    if (look) {
        if (!look->pairs)
            q->why = "not judged yet, as the round that tests it is not over";
        count_lost(q, p, looks, look);
        keep_pairs(room, &na, b, &nb, look->last_seed);
    }
    q->by_construction = look && look->shared && start_alike(room, b, na);
    if (compare_quality(&q->change, room, na, b, nb, p->q[QUANTITY_QUALITY].resolution, margin, 1,
                        e))
        return -1;
    if (look)
        compare_set_level(&q->change, look->alpha, looks->family);
    return 0;
}

/* Compares the runs of p with those of the base case. If all runs of a side have collapsed, all of
 * both sides are compared. room is for all runs of both. */
static int compare_point(struct quality *q, const struct series *s, const struct series_point *p,
                         double below, double margin, size_t nfamily, struct result *room,
                         struct err *e)
{
    const struct series_point *base = s->points;

    if (p == base)
        return compare_quality(&q->change, room, 0, room, 0, NAN, margin, nfamily, e);
    size_t na = pick_runs(room, base, below), nb = pick_runs(room + na, p, below);

    if (!na || !nb) {
        na = pick_runs(room, base, -INFINITY);
        nb = pick_runs(room + na, p, -INFINITY);
    }
    return compare_quality(&q->change, room, na, room + na, nb,
                           p->q[QUANTITY_QUALITY].resolution, margin, nfamily, e);
}

int quality_compute(struct quality *dst, const struct series *s, double margin,
                    const struct quality_looks *looks, struct err *e)
{
    double below = s->is_share ? median_quality(s->points) - QUALITY_COLLAPSE * margin : -INFINITY;
    bool unlearnt = quality_is_unlearnt(s);
    size_t nfamily = 0;
    struct result *room = mem_zero(2 * s->nrows + 1, sizeof *room, e);
    int rc = room ? 0 : -1;

    for (size_t i = 1; i < s->npoints; i++)
        nfamily += !isnan(median_quality(&s->points[i]));
    for (size_t i = 0; i < s->npoints && rc == 0; i++) {
        dst[i] = (struct quality){.why = find_unusable(s, &s->points[i], unlearnt)};
        count_runs(&dst[i], &s->points[i], below, room);
        if (looks && i == 0)
            count_lost(&dst[i], &s->points[i], looks, NULL);
        rc = looks && i ? compare_look(&dst[i], s->points, &s->points[i], looks, below, margin,
                                       room, e)
                        : compare_point(&dst[i], s, &s->points[i], below, margin, nfamily, room,
                                        e);
        classify(&dst[i], s, &s->points[i], dst);
    }
    if (rc == 0 && !dst[0].why)
        dst[0].state = QUALITY_HOLDS;
    free(room);
    return rc;
}
