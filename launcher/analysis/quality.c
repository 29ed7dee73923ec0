/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/decision.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"
#include "launcher/analysis/statistics/hypothesis.h"
#include "launcher/analysis/statistics/interval.h"
#include "src/stat.h"

/* The values of both sides, and the differences (of times, of logarithms) of pairs with the same
 * seed. */
struct sides {
    double *a, *b, *pairs;
    size_t na, nb, npairs;
};

const char *const compare_test_names[] = {
    [COMPARE_NONE] = "none",
    [COMPARE_PAIRED_T] = "Student's t, runs paired by seed",
    [COMPARE_WELCH] = "Welch's t",
    [COMPARE_PAIRED_RATIO] = "Student's t of logarithms, runs paired by seed",
    [COMPARE_FIELLER] = "Fieller",
};

/* Returns the first row from i on that a comparison of q is about, or n: of quality, whole runs. */
static size_t next_used(const struct result *rows, size_t i, size_t n, enum quantity q)
{
    while (q == QUANTITY_QUALITY && i < n && rows[i].limited == 1)
        i++;
    return i;
}

/* Pairs the values of both sides, which are sorted by seed. If a seed exists on one side only, or a
 * value is unknown, there are no pairs: they would leave out runs, and their difference would not
 * be that of the means that a report shows. */
static void pair_up(struct sides *s, const struct result *a, size_t na, const struct result *b,
                    size_t nb, enum quantity q)
{
    size_t i = next_used(a, 0, na, q), k = next_used(b, 0, nb, q);

    for (; i < na || k < nb; i = next_used(a, i + 1, na, q), k = next_used(b, k + 1, nb, q)) {
        double x = i < na ? quantity_of(&a[i], q) : NAN, y = k < nb ? quantity_of(&b[k], q) : NAN;
        double difference = q == QUANTITY_QUALITY ? y - x : log(x / y);
        if (!isfinite(difference) || a[i].seed != b[k].seed) {
            s->npairs = 0;
            return;
        }
        s->pairs[s->npairs++] = difference;
    }
}

/* Returns room for the sides, which the caller frees, or NULL. */
static double *collect_sides(struct sides *s, const struct result *a, size_t na,
                             const struct result *b, size_t nb, enum quantity q, struct err *e)
{
    double *room = mem_zero(2 * (na + nb) + 1, sizeof *room, e);

    if (!room)
        return NULL;
    *s = (struct sides){.a = room, .b = room + na, .pairs = room + na + nb};
    s->na = quantity_collect(a, na, q, s->a);
    s->nb = quantity_collect(b, nb, q, s->b);
    pair_up(s, a, na, b, nb, q);
    return room;
}

static struct comparison start(double resolution, double margin, size_t nfamily)
{
    return (struct comparison){.a = NAN, .b = NAN, .difference = NAN, .interval = interval_none(),
                               .resolution = resolution, .df = NAN, .sd = NAN, .p = NAN,
                               .nfamily = nfamily ? nfamily : 1, .margin = margin};
}

/* The level of one interval, so that all of the family hold together at INTERVAL_LEVEL. */
static double single_level(const struct comparison *c)
{
    return 1 - (1 - INTERVAL_LEVEL) / (double)c->nfamily;
}

static double correct_p(const struct comparison *c, double p)
{
    return fmin(1, p * (double)c->nfamily);
}

static void set_needed(struct comparison *c, bool paired)
{
    c->needed = compare_needed(c->sd, INFINITY, c->margin, c->nfamily, paired);
    c->enough = c->needed > 0 && c->n >= c->needed;
}

/* The standard error of a difference of means below which rounding hides the scatter: rounding
 * alone, to steps of the resolution, has a variance of resolution^2 / 12 on each side. */
static double least_error(const struct comparison *c)
{
    return c->resolution / sqrt(6 * (double)c->n);
}

static void test_means(struct comparison *c, const struct sides *s)
{
    bool paired = s->npairs >= 2;
    double level = single_level(c);
    struct student t = paired ? student_paired(s->pairs, s->npairs, level)
                              : student_welch(s->a, s->na, s->b, s->nb, level);

    c->n = paired ? s->npairs : s->na < s->nb ? s->na : s->nb;
    c->sd = paired ? stat_stddev(s->pairs, s->npairs)
                   : hypot(stat_stddev(s->a, s->na), stat_stddev(s->b, s->nb)) / sqrt(2);
    c->df = t.df;
    if (interval_is_known(&t.interval)) {
        c->test = paired ? COMPARE_PAIRED_T : COMPARE_WELCH;
        double half = distribution_t_quantile(0.5 + level / 2, t.df) *
                          fmax(t.error, least_error(c)) + c->resolution;
        c->interval = (struct interval){t.mean - half, t.mean + half, INTERVAL_LEVEL, INTERVAL_T};
        c->p = correct_p(c, student_p(&t, c->resolution));
        c->significant = c->interval.low > 0 || c->interval.high < 0;
    }
    set_needed(c, paired);
}

int compare_quality(struct comparison *c, const struct result *a, size_t na,
                    const struct result *b, size_t nb, double resolution, double margin,
                    size_t nfamily, struct err *e)
{
    struct sides s;
    double *room = collect_sides(&s, a, na, b, nb, QUANTITY_QUALITY, e);

    *c = start(resolution, margin, nfamily);
    if (!room)
        return -1;
    c->a = s.na ? stat_mean(s.a, s.na) : NAN;
    c->b = s.nb ? stat_mean(s.b, s.nb) : NAN;
    c->difference = c->b - c->a;
    test_means(c, &s);
    free(room);
    return 0;
}

void compare_set_level(struct comparison *c, double alpha, size_t nfamily)
{
    c->nfamily = nfamily ? nfamily : 1;
    c->needed = 0;
    c->enough = false;
    if (!(alpha > 0)) {
        c->test = COMPARE_NONE;
        c->interval = interval_none();
    }
    if (!interval_is_known(&c->interval))
        return;
    double error = (c->interval.high - c->difference - c->resolution) /
                   distribution_t_quantile(0.5 + INTERVAL_LEVEL / 2, c->df);
    double half = distribution_t_quantile(1 - alpha / 2, c->df) * error + c->resolution;
    c->interval.low = c->difference - half;
    c->interval.high = c->difference + half;
    c->p = fmin(1, c->p * COMPARE_ALPHA / alpha);
    c->significant = c->interval.low > 0 || c->interval.high < 0;
}

/* Returns the relative error of the ratio by rounding, half a step on each side. */
static double ratio_rounding(const struct comparison *c)
{
    return 0.5 * (c->resolution / c->a + c->resolution / c->b);
}

struct interval compare_widen(struct interval i, double ratio, double rounding)
{
    if (interval_is_known(&i)) {
        i.low = fmin(fmax(0, i.low * (1 - rounding)), ratio);
        i.high = fmax(i.high * (1 + rounding), ratio);
    }
    return i;
}

static void set_ratio(struct comparison *c, struct interval i)
{
    i.level = INTERVAL_LEVEL;
    c->interval = compare_widen(i, c->a / c->b, ratio_rounding(c));
    c->significant = c->interval.low > 1 || c->interval.high < 1;
}

static void test_pair_ratios(struct comparison *c, const struct sides *s)
{
    struct student t = student_paired(s->pairs, s->npairs, single_level(c));

    c->test = COMPARE_PAIRED_RATIO;
    c->n = s->npairs;
    c->df = t.df;
    c->sd = stat_stddev(s->pairs, s->npairs);
    c->p = correct_p(c, student_p(&t, ratio_rounding(c)));
    set_ratio(c, (struct interval){exp(t.interval.low), exp(t.interval.high), INTERVAL_LEVEL,
                                   INTERVAL_PAIRS});
}

static void test_ratio(struct comparison *c, const struct sides *s)
{
    struct interval i = student_ratio(s->a, s->na, s->b, s->nb, single_level(c));

    c->n = s->na < s->nb ? s->na : s->nb;
    c->sd = hypot(stat_stddev(s->a, s->na) / stat_mean(s->a, s->na),
                  stat_stddev(s->b, s->nb) / stat_mean(s->b, s->nb)) / sqrt(2);
    if (!interval_is_known(&i))
        return;
    c->test = COMPARE_FIELLER;
    c->p = correct_p(c, student_ratio_p(s->a, s->na, s->b, s->nb, c->resolution / 2));
    set_ratio(c, i);
}

int compare_times(struct comparison *c, const struct result *a, size_t na, const struct result *b,
                  size_t nb, enum quantity q, double resolution, double margin, size_t nfamily,
                  struct err *e)
{
    struct sides s;
    double *room = collect_sides(&s, a, na, b, nb, q, e);

    *c = start(resolution, margin, nfamily);
    if (!room)
        return -1;
    stat_sort(s.a, s.na);
    stat_sort(s.b, s.nb);
    c->a = median_of_sorted(s.a, s.na);
    c->b = median_of_sorted(s.b, s.nb);
    if (c->a > 0 && c->b > 0) {
        c->difference = c->b - c->a;
        if (s.npairs >= 2)
            test_pair_ratios(c, &s);
        else
            test_ratio(c, &s);
        set_needed(c, s.npairs >= 2);
    }
    free(room);
    return 0;
}

static bool have_equal_losses(const struct result *x, const struct result *y)
{
    const struct curve *a = x->curve, *b = y->curve;

    if (isnan(x->loss) || x->loss != y->loss || x->epochs != y->epochs)
        return false;
    for (size_t i = 0; a && b && i < a->n && i < b->n; i++)
        if (!stat_are_same(a->loss[i], b->loss[i]))
            return false;
    return true;
}

static bool are_same_run(const struct result *x, const struct result *y)
{
    return have_equal_losses(x, y) && stat_are_same(x->quality.iou, y->quality.iou) &&
           stat_are_same(x->quality.dice, y->quality.dice) &&
           stat_are_same(x->quality.accuracy, y->quality.accuracy) &&
           stat_are_same(x->quality.value, y->quality.value);
}

size_t compare_distinct(const struct result *rows, size_t n, struct result *kept)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        bool repeated = false;
        for (size_t k = 0; k < i && !repeated; k++)
            repeated = are_same_run(&rows[k], &rows[i]);
        if (!repeated && kept)
            kept[count] = rows[i];
        count += !repeated;
    }
    return count;
}

size_t compare_needed(double sd, double df, double distance, size_t nfamily, bool paired)
{
    double limit = isfinite(df) ? student_upper_sd(sd, df, COMPARE_SCATTER_LEVEL) : sd;

    return student_needed(limit, distance, COMPARE_ALPHA / (double)nfamily, COMPARE_POWER,
                          paired ? 1 : 2);
}

/* ---- quality of the counts ---- */

#define NORMAL_APART 0.9539 /* median distance of two normal values, in standard deviations */
#define TOLERANCE 1e-7 /* of comparisons with the margin: 0.94 - 0.95 is not quite -0.01 */

const char *quality_state_name(const struct quality *q, const struct series *s)
{
    static const char *const names[] = {
        [QUALITY_UNKNOWN] = "unknown",
        [QUALITY_HOLDS] = "holds",
        [QUALITY_UNDECIDED] = "undecided",
        [QUALITY_FALLS] = "falls",
        [QUALITY_COLLAPSES] = "collapses",
    };

    if (q->state == QUALITY_COLLAPSES && s && !s->is_share)
        return "far worse";
    return q->state == QUALITY_HOLDS && q->by_construction ? "holds by construction"
                                                           : names[q->state];
}

static double median_quality(const struct series_point *p)
{
    return p->q[QUANTITY_QUALITY].median;
}

bool quality_is_blind(const struct result *r)
{
    return result_quality(r) < r->quality.constant + QUALITY_BLIND;
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

/* Returns whether a run without a quality lost it, as its log names one or others of its count have
 * one. */
static bool is_lost(const struct series_point *p, const struct result *r)
{
    return r->limited != 1 && isnan(result_quality(r)) &&
           (*r->quality.metric || !isnan(median_quality(p)));
}

double quality_far(const struct series *s, double margin)
{
    double *apart = calloc(s->nrows + 1, sizeof *apart);
    size_t n = 0;

    for (size_t i = 1; apart && i < s->nrows; i++) {
        double change = result_quality(&s->rows[i]) - result_quality(&s->rows[i - 1]);
        if (s->rows[i].gpus == s->rows[i - 1].gpus && isfinite(change))
            apart[n++] = fabs(change);
    }
    stat_sort(apart, n);
    double scatter = n ? apart[(n - 1) / 2] / NORMAL_APART : 0;
    free(apart);
    return fmax(QUALITY_COLLAPSE * margin, QUALITY_COLLAPSE_SCATTER * scatter);
}

static bool has_collapsed(const struct series *s, double far, const struct result *r)
{
    return quality_loss(s, result_quality(r) - median_quality(s->points)) > far * (1 + TOLERANCE);
}

/* Copies the whole runs of p, or of them those that have not collapsed, each distinct one once.
 * Returns their number. */
static size_t pick_runs(struct result *dst, const struct series *s, const struct series_point *p,
                        bool all, double far)
{
    size_t n = 0;

    for (size_t i = 0; i < p->nruns; i++)
        if (p->rows[i].limited != 1 &&
            (all || !(has_collapsed(s, far, &p->rows[i]) || is_lost(p, &p->rows[i]))))
            dst[n++] = p->rows[i];
    return compare_distinct(dst, n, dst);
}

size_t quality_collapse_needed(size_t k, size_t n)
{
    for (size_t m = n + 1; m <= QUALITY_COLLAPSE_RUNS; m++) {
        size_t collapsed = (size_t)lround((double)(k * m) / (double)n);
        if (proportion_lower(collapsed, m, INTERVAL_LEVEL) > QUALITY_COLLAPSE_SHARE ||
            proportion_upper(collapsed, m, INTERVAL_LEVEL) < QUALITY_COLLAPSE_SHARE)
            return m;
    }
    return 0;
}

/* Counts `more` further runs as collapsed, and sets what follows from the share that has. */
static void set_collapse(struct quality *q, size_t more)
{
    q->nruns += more;
    q->ncollapsed += more;
    q->collapse_least = proportion_lower(q->ncollapsed, q->nruns, INTERVAL_LEVEL);
    q->collapse_most = proportion_upper(q->ncollapsed, q->nruns, INTERVAL_LEVEL);
    q->collapse_open = q->ncollapsed && !(q->collapse_least > QUALITY_COLLAPSE_SHARE) &&
                       !(q->collapse_most < QUALITY_COLLAPSE_SHARE);
    q->collapse_needed =
        q->collapse_open ? quality_collapse_needed(q->ncollapsed, q->nruns) : 0;
}

static void count_runs(struct quality *q, const struct series *s, const struct series_point *p,
                       double far, struct result *room)
{
    size_t n = pick_runs(room, s, p, true, far);

    q->nrepeats = p->nruns - p->nlimited - n;
    for (size_t i = 0; i < n; i++) {
        bool lost = is_lost(p, &room[i]);
        q->nruns += lost || !isnan(result_quality(&room[i]));
        q->ncollapsed += lost || has_collapsed(s, far, &room[i]);
    }
    set_collapse(q, 0);
}

static void classify(struct quality *q, const struct series *s, const struct series_point *p)
{
    const struct comparison *c = &q->change;
    const struct interval losses = quality_losses(s, &c->interval);
    bool collapses = q->collapse_least > QUALITY_COLLAPSE_SHARE,
         falls = losses.low > c->margin * (1 + TOLERANCE);

    q->state = QUALITY_UNDECIDED;
    if (isnan(median_quality(p)) && q->ncollapsed) /* none of its runs has a quality */
        q->why = NULL;
    if (q->why)
        q->state = QUALITY_UNKNOWN;
    else if (collapses && !(falls && q->ncollapsed == q->nruns)) /* all of them: a shift */
        q->state = QUALITY_COLLAPSES;
    else if (is_blind(p)) {
        q->state = QUALITY_UNKNOWN;
        q->why = "not comparable, as networks score no better than one class everywhere";
    } else if (falls)
        q->state = QUALITY_FALLS;
    else if (q->collapse_open)
        return;
    else if (q->by_construction)
        q->state = QUALITY_HOLDS;
    else if (c->test == COMPARE_NONE)
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

/* Counts the runs of a look that have no result, or no quality that a name is known of, as
 * collapsed. Those of the base case (look NULL) are of the largest look. */
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
                (!isnan(result_quality(&p->rows[i])) || is_lost(p, &p->rows[i]));
    set_collapse(q, lost);
}

static int compare_look(struct quality *q, const struct series *s, const struct series_point *p,
                        const struct quality_looks *looks, double margin, struct result *room,
                        struct err *e)
{
    const struct quality_look *look = find_look(looks, p->gpus);
    double far = quality_far(s, margin);
    size_t na = look ? pick_runs(room, s, s->points, false, far) : 0,
           nb = look ? pick_runs(room + na, s, p, false, far) : 0;
    struct result *b = room + na;

    if (look) {
        if (!look->pairs)
            q->why = "not judged, as the round that tests it is not over or mixes programs";
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
                         double margin, size_t nfamily, struct result *room, struct err *e)
{
    const struct series_point *base = s->points;
    double far = quality_far(s, margin);

    if (p == base)
        return compare_quality(&q->change, room, 0, room, 0, NAN, margin, nfamily, e);
    size_t na = pick_runs(room, s, base, false, far),
           nb = pick_runs(room + na, s, p, false, far);

    if (!na || !nb) {
        na = pick_runs(room, s, base, true, far);
        nb = pick_runs(room + na, s, p, true, far);
    }
    return compare_quality(&q->change, room, na, room + na, nb,
                           p->q[QUANTITY_QUALITY].resolution, margin, nfamily, e);
}

int quality_compute(struct quality *dst, const struct series *s, double margin,
                    const struct quality_looks *looks, struct err *e)
{
    bool unlearnt = quality_is_unlearnt(s);
    size_t nfamily = 0;
    struct result *room = mem_zero(2 * s->nrows + 1, sizeof *room, e);
    int rc = room ? 0 : -1;

    for (size_t i = 1; i < s->npoints; i++)
        nfamily += !isnan(median_quality(&s->points[i]));
    for (size_t i = 0; i < s->npoints && rc == 0; i++) {
        dst[i] = (struct quality){.why = find_unusable(s, &s->points[i], unlearnt)};
        count_runs(&dst[i], s, &s->points[i], quality_far(s, margin), room);
        if (looks && i == 0)
            count_lost(&dst[i], &s->points[i], looks, NULL);
        rc = looks && i ? compare_look(&dst[i], s, &s->points[i], looks, margin, room, e)
                        : compare_point(&dst[i], s, &s->points[i], margin, nfamily, room, e);
        classify(&dst[i], s, &s->points[i]);
    }
    if (rc == 0 && !dst[0].why)
        dst[0].state = QUALITY_HOLDS;
    free(room);
    return rc;
}
