/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/compare.h"

#include <math.h>
#include <stdlib.h>

#include "launcher/analysis/statistics/distribution.h"
#include "launcher/analysis/statistics/rank.h"
#include "launcher/analysis/statistics/student.h"
#include "src/mem.h"
#include "src/stat.h"

/* The fewest values for which rank tests are used. The smallest p-value of a rank test of few
 * values is not small, and Holm's correction multiplies it by up to the number of comparisons. With
 * these numbers, values that all differ in one direction are significant among 25 comparisons of
 * pairs or 23 of runs: 25 x 2 / 2^10 and 23 x 2 / C(12, 6) are below COMPARE_ALPHA. */
#define PAIRS_RANKED 10
#define RUNS_RANKED 6

/* The fewest common images for which two single runs are tested. Differences that all have one
 * direction are significant in a single comparison, 2 / 2^6 being below COMPARE_ALPHA, but not
 * after Holm's correction for two or more. */
#define IMAGES_FEWEST 6

/* The values of both sides, and the differences of pairs with the same seed. */
struct sides {
    double *a, *b, *pairs;
    size_t na, nb, npairs;
};

const char *compare_test_name(enum compare_test test)
{
    static const char *const names[] = {
        [COMPARE_NONE] = "none",
        [COMPARE_IMAGES] = "Wilcoxon signed-rank over images of one pair of runs",
        [COMPARE_PAIRED_T] = "Student's t, runs paired by seed",
        [COMPARE_SIGNED_RANK] = "Wilcoxon signed-rank, runs paired by seed",
        [COMPARE_WELCH] = "Welch's t",
        [COMPARE_RANK_SUM] = "Mann-Whitney",
    };

    return names[test];
}

/* Pairs the values of both sides, which are sorted by seed. If a seed exists on one side only, or a
 * value is unknown, there are no pairs: they would leave out runs, and their difference would not
 * be that of the means that a report shows. */
static void pair_up(struct sides *s, const struct result *a, size_t na, const struct result *b,
                    size_t nb, enum quantity q)
{
    for (size_t i = 0; na == nb && i < na; i++) {
        double difference = quantity_of(&b[i], q) - quantity_of(&a[i], q);
        if (a[i].seed != b[i].seed || !isfinite(difference)) {
            s->npairs = 0;
            return;
        }
        s->pairs[s->npairs++] = difference;
    }
}

static void test_pairs(struct comparison *c, const struct sides *s)
{
    struct student t = student_paired(s->pairs, s->npairs, INTERVAL_LEVEL);

    c->n = s->npairs;
    c->interval = t.interval;
    c->df = t.df;
    c->sd = stat_stddev(s->pairs, s->npairs);
    if (s->npairs < PAIRS_RANKED) {
        c->test = COMPARE_PAIRED_T;
        c->p = t.p;
    } else {
        c->test = COMPARE_SIGNED_RANK;
        c->p = rank_signed_test(s->pairs, s->npairs);
    }
}

static void test_runs(struct comparison *c, const struct sides *s)
{
    struct student t = student_welch(s->a, s->na, s->b, s->nb, INTERVAL_LEVEL);

    c->n = s->na < s->nb ? s->na : s->nb;
    c->interval = t.interval;
    c->df = t.df;
    c->sd = hypot(stat_stddev(s->a, s->na), stat_stddev(s->b, s->nb)) / sqrt(2);
    if (c->n < RUNS_RANKED) {
        c->test = isnan(t.p) ? COMPARE_NONE : COMPARE_WELCH;
        c->p = t.p;
    } else {
        c->test = COMPARE_RANK_SUM;
        c->p = rank_sum_test(s->a, s->na, s->b, s->nb);
    }
}

/* Compares two trained networks on the same images. */
static int test_images(struct comparison *c, const struct scores *a, const struct scores *b,
                       struct err *e)
{
    size_t most = a->count < b->count ? a->count : b->count;
    double *iou_a = mem_zero(2 * most, sizeof *iou_a, e);

    if (!iou_a)
        return -1;
    double *iou_b = iou_a + most;
    size_t n = scores_match(a, b, iou_a, iou_b);
    for (size_t i = 0; i < n; i++)
        iou_b[i] -= iou_a[i];
    if (n >= IMAGES_FEWEST) {
        c->test = COMPARE_IMAGES;
        c->nimages = n;
        c->p = rank_signed_test(iou_b, n);
    }
    free(iou_a);
    return 0;
}

size_t compare_needed(const struct comparison *c, double distance, size_t nfamily)
{
    bool paired = c->test == COMPARE_PAIRED_T || c->test == COMPARE_SIGNED_RANK;

    return student_needed(c->sd, distance, COMPARE_ALPHA / (double)nfamily, COMPARE_POWER,
                          paired ? 1 : 2);
}

static void set_needed(struct comparison *c, size_t nfamily)
{
    c->needed = compare_needed(c, c->margin, nfamily);
    c->enough = c->needed > 0 && c->n >= c->needed;
}

int compare_runs(struct comparison *c, const struct result *a, size_t na, const struct result *b,
                 size_t nb, enum quantity q, double margin, struct err *e)
{
    size_t most = na < nb ? na : nb;
    double *room = mem_zero(na + nb + most, sizeof *room, e);
    struct sides s = {0};
    int rc = 0;

    *c = (struct comparison){.a = NAN, .b = NAN, .difference = NAN,
                             .interval = interval_none(), .df = NAN, .sd = NAN,
                             .p = NAN, .p_holm = NAN, .margin = margin};
    if (!room)
        return -1;
    s.a = room;
    s.b = room + na;
    s.pairs = s.b + nb;
    s.na = quantity_collect(a, na, q, s.a);
    s.nb = quantity_collect(b, nb, q, s.b);
    pair_up(&s, a, na, b, nb, q);
    c->a = s.na ? stat_mean(s.a, s.na) : NAN;
    c->b = s.nb ? stat_mean(s.b, s.nb) : NAN;
    c->difference = c->b - c->a;
    if (s.npairs >= 2)
        test_pairs(c, &s);
    else
        test_runs(c, &s);
    if (c->test == COMPARE_NONE && q == QUANTITY_IOU && na == 1 && nb == 1 && a->scores &&
        b->scores)
        rc = test_images(c, a->scores, b->scores, e);
    set_needed(c, 1);
    c->p_holm = c->p;
    c->significant = c->p < COMPARE_ALPHA;
    free(room);
    return rc;
}

/* Widens the interval so that all nfamily intervals hold simultaneously at the level. */
static void widen_interval(struct comparison *c, size_t nfamily)
{
    double alpha = 1 - INTERVAL_LEVEL;
    double factor = distribution_t_quantile(1 - alpha / 2 / (double)nfamily, c->df) /
                    distribution_t_quantile(1 - alpha / 2, c->df);

    if (!interval_is_known(&c->interval))
        return;
    c->interval.low = c->difference - factor * (c->difference - c->interval.low);
    c->interval.high = c->difference + factor * (c->interval.high - c->difference);
}

static int compare_p_values(const void *a, const void *b)
{
    const struct comparison *x = *(const struct comparison *const *)a,
                            *y = *(const struct comparison *const *)b;

    return (x->p > y->p) - (x->p < y->p);
}

/* Holm's correction (Scand. J. Stat. 6, 1979). NaN means that there was no test; it remains, and
 * is not counted. If memory runs out, Bonferroni's correction is used, which is never smaller. */
static void correct_p_values(struct comparison *c, size_t n)
{
    struct comparison **order = calloc(n + 1, sizeof *order);
    double largest = 0;
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        c[i].p_holm = isnan(c[i].p) ? NAN : fmin(1, c[i].p * (double)n);
        if (order && !isnan(c[i].p))
            order[m++] = &c[i];
    }
    if (m)
        qsort(order, m, sizeof *order, compare_p_values);
    for (size_t i = 0; i < m; i++) {
        largest = fmax(largest, fmin(1, order[i]->p * (double)(m - i)));
        order[i]->p_holm = largest;
    }
    free(order);
}

void compare_correct(struct comparison *c, size_t n)
{
    size_t nfamily = 0;

    correct_p_values(c, n);
    for (size_t i = 0; i < n; i++)
        nfamily += !isnan(c[i].difference);
    for (size_t i = 0; i < n; i++) {
        c[i].significant = c[i].p_holm < COMPARE_ALPHA;
        if (isnan(c[i].difference))
            continue;
        widen_interval(&c[i], nfamily);
        set_needed(&c[i], nfamily);
    }
}
