/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/test/sentences.h"

#include <math.h>
#include <regex.h>

#include "launcher/report/report_internal.h"
#include "t/tap.h"

#define GROUPS 10
#define HEADLINE_WORDS 29

/* A sentence that was found: the series or the difference that it is about, and its parts. */
struct found {
    const struct report_series *rs;
    const struct analysis_difference *difference;
    const struct sentences_truth *truth;
    const char *text;
    regmatch_t part[GROUPS];
};

typedef bool allowed_f(const struct found *f);

struct sentence {
    const char *pattern; /* with N, X and V for groups: whole numbers, numbers, signed numbers */
    allowed_f *allowed;
    regex_t compiled;
    int seen;
};

struct sentences_count sentences_counts[SENTENCES_NCOUNTS] = {
    [SENTENCES_USE] = {"\"Use N\"", 0, 0},
    [SENTENCES_DROPS] = {"\"efficiency drops\"", 0, 0},
    [SENTENCES_FALLS] = {"\"falls\"", 0, 0},
    [SENTENCES_NONE] = {"\"no larger count\"", 0, 0},
};

static void tally(int what, bool right)
{
    sentences_counts[what].said++;
    sentences_counts[what].wrong += !right;
}

static double number_of(const struct found *f, int group)
{
    return f->part[group].rm_so < 0 ? NAN : strtod(f->text + f->part[group].rm_so, NULL);
}

static bool starts(const struct found *f, const char *words)
{
    return strncmp(f->text, words, strlen(words)) == 0;
}

static const struct decision *decision_of(const struct found *f)
{
    return &f->rs->as->decision;
}

static const struct series *series_of(const struct found *f)
{
    return &f->rs->as->series;
}

/* Returns the count that the group names, or NULL. */
static const struct series_point *point_of(const struct found *f, int group)
{
    for (size_t i = 0; i < series_of(f)->npoints; i++)
        if (series_of(f)->points[i].gpus == number_of(f, group))
            return &series_of(f)->points[i];
    return NULL;
}

static const struct quality *quality_of(const struct found *f, const struct series_point *p)
{
    return &decision_of(f)->quality[p - series_of(f)->points];
}

static double round3(double v)
{
    return round(1000 * v);
}

/* Returns the interval by which the efficiency is judged, or NULL: those of single runs judge
 * nothing. It must be no narrower than that of the table. */
static const struct interval *judged_of(const struct found *f, const struct series_point *p)
{
    const struct interval *i = &decision_of(f)->judged[p - series_of(f)->points].interval,
                          *alone = &series_efficiency(series_of(f), p)->interval;

    return p->nruns > 1 && series_of(f)->points->nruns > 1 && interval_is_known(i) &&
                   i->low <= alone->low + 1e-12 && i->high >= alone->high - 1e-12
               ? i : NULL;
}

/* By the intervals: is the efficiency shown to suffice, and shown not to? */
static bool suffices(const struct found *f, const struct series_point *p)
{
    const struct interval *i = judged_of(f, p);

    return p == series_of(f)->points ||
           (i && round3(i->low) >= round3(decision_of(f)->rule.efficiency));
}

static bool drops(const struct found *f, const struct series_point *p)
{
    const struct interval *i = judged_of(f, p);

    return p != series_of(f)->points && i &&
           round3(i->high) < round3(decision_of(f)->rule.efficiency);
}

/* Runs without a quality count as collapsed, too; of runs that are equal in everything one does. */
static size_t count_collapsed(const struct found *f, const struct series_point *p)
{
    double below = series_of(f)->points->q[QUANTITY_QUALITY].median -
                   5 * decision_of(f)->rule.margin;
    size_t n = 0;

    for (size_t i = 0; i < p->nruns; i++)
        n += !(result_quality(&p->rows[i]) >= below - 1e-9);
    return n;
}

/* By the table of Clopper and Pearson's one-sided 95 % limits, more than 10 % are shown to. */
static bool collapses(const struct found *f, const struct series_point *p)
{
    static const size_t fewest[] = {0, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4};
    const struct quality *q = quality_of(f, p);

    if (q->nruns > 10)
        bail_out("%zu runs are not in the table", q->nruns);
    return !q->why && q->ncollapsed <= count_collapsed(f, p) && q->ncollapsed >= fewest[q->nruns] &&
           q->ncollapsed;
}

/* By the interval: does quality hold, and does it fall? */
static bool holds(const struct found *f, const struct series_point *p)
{
    const struct comparison *c = &quality_of(f, p)->change;

    return p == series_of(f)->points || decision_of(f)->by_time ||
           (interval_is_known(&c->interval) && c->interval.low > -decision_of(f)->rule.margin &&
            c->resolution <= 0.0021 && !quality_of(f, p)->ncollapsed &&
            p->work == series_of(f)->points->work);
}

static bool falls(const struct found *f, const struct series_point *p)
{
    const struct comparison *c = &quality_of(f, p)->change;

    return !quality_of(f, p)->why && interval_is_known(&c->interval) &&
           c->interval.high < -decision_of(f)->rule.margin;
}

static bool fails(const struct found *f, const struct series_point *p)
{
    return drops(f, p) || falls(f, p) || collapses(f, p);
}

static double true_change(const struct found *f, const struct series_point *p)
{
    return f->truth->quality(p->gpus) - f->truth->quality(series_of(f)->points->gpus);
}

static double true_efficiency(const struct found *f, const struct series_point *p)
{
    return f->truth->efficiency(f->rs, p->gpus);
}

/* Of the first count: its runs of seeds 1, 4, ... are of one fold. */
static bool is_mean_of_folds(const struct found *f)
{
    const struct series_point *p = point_of(f, 6);
    double sum[3] = {0}, mean = 0, least = INFINITY, most = -INFINITY;
    int n[3] = {0}, known = 0;

    for (size_t i = 0; p && i < p->nruns; i++) {
        double q = result_quality(&p->rows[i]);
        sum[(p->rows[i].seed + 2) % 3] += isfinite(q) ? q : 0;
        n[(p->rows[i].seed + 2) % 3] += isfinite(q);
    }
    for (int k = 0; k < 3; k++)
        if (n[k]) {
            mean += sum[k] / n[k];
            least = fmin(least, sum[k] / n[k]);
            most = fmax(most, sum[k] / n[k]);
            known++;
        }
    return known && known == (int)number_of(f, 5) &&
           fabs(mean / known - number_of(f, 2)) < 0.0051 &&
           fabs(least - number_of(f, 3)) < 0.0051 &&
           fabs(most - number_of(f, 4)) < 0.0051;
}

static bool is_always(const struct found *f)
{
    return true;
}

static bool is_suspect(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);
    const struct ratio *r = p ? series_efficiency(series_of(f), p) : NULL;

    return r && r->value > 1.1 && !(r->interval.low <= 1);
}

static bool did_drift(const struct found *f)
{
    const struct disturbance *d = &decision_of(f)->disturbance;

    return d->drift_p < DISTURBANCE_ALPHA && fabs(d->drift - 1) >= DISTURBANCE_EFFECT;
}

static bool is_node_slow(const struct found *f)
{
    const struct disturbance *d = &decision_of(f)->disturbance;

    return d->slow_p < DISTURBANCE_ALPHA && d->slow - 1 >= DISTURBANCE_EFFECT;
}

static bool is_unlearnt(const struct found *f)
{
    double best = NAN;

    for (size_t i = 0; i < series_of(f)->npoints; i++)
        best = fmax(best, series_of(f)->points[i].q[QUANTITY_QUALITY].median);
    return best < 0.1;
}

static bool is_used(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    if (!p || p == series_of(f)->points || !suffices(f, p) || !holds(f, p))
        return false;
    tally(SENTENCES_USE, true_efficiency(f, p) >= decision_of(f)->rule.efficiency &&
                             (decision_of(f)->by_time ||
                              true_change(f, p) > -decision_of(f)->rule.margin));
    return true;
}

/* "Use N" without a word on quality. */
static bool is_used_by_time(const struct found *f)
{
    return decision_of(f)->by_time && is_used(f);
}

static bool has_no_quality(const struct found *f)
{
    for (size_t i = 0; i < series_of(f)->npoints; i++)
        if (series_of(f)->points[i].q[QUANTITY_QUALITY].count)
            return false;
    return true;
}

static bool is_quality_shown(const struct found *f)
{
    const struct series_point *p = point_of(f, 2);

    return p && p != series_of(f)->points && holds(f, p);
}

static bool is_shown_slower(const struct found *f, const struct series_point *p)
{
    const struct interval *i = judged_of(f, p);

    return i && i->high * series_ideal(series_of(f), p->gpus) < 1;
}

/* The base case is used, since all larger counts are slower. */
static bool are_slower(const struct found *f)
{
    for (size_t i = 1; i < series_of(f)->npoints; i++)
        if (!is_shown_slower(f, &series_of(f)->points[i]))
            return false;
    return true;
}

static bool are_inefficient(const struct found *f)
{
    bool right = true;

    for (size_t i = 1; i < series_of(f)->npoints; i++) {
        const struct series_point *p = &series_of(f)->points[i];
        if (!drops(f, p))
            return false;
        right &= true_efficiency(f, p) < decision_of(f)->rule.efficiency;
    }
    tally(SENTENCES_NONE, right);
    return true;
}

static bool do_all_fail(const struct found *f)
{
    for (size_t i = 1; i < series_of(f)->npoints; i++)
        if (!fails(f, &series_of(f)->points[i]))
            return false;
    return true;
}

static bool is_within_reach(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);
    double efficiency = p ? series_efficiency(series_of(f), p)->value : NAN;

    return round3(efficiency) >= round3(decision_of(f)->rule.efficiency) && !fails(f, p) &&
           !(suffices(f, p) && holds(f, p) && !quality_of(f, p)->why);
}

static bool is_open(const struct found *f)
{
    for (size_t i = 1; i < series_of(f)->npoints; i++)
        if (!fails(f, &series_of(f)->points[i]))
            return true;
    return false;
}

static bool is_time_open(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    return p && !suffices(f, p) && !drops(f, p) &&
           fabs(number_of(f, 3) - series_efficiency(series_of(f), p)->value) < 0.0051;
}

static bool is_quality_open(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    return p && !falls(f, p) && !collapses(f, p) && !holds(f, p);
}

static bool is_quality_unknown(const struct found *f)
{
    const struct decision *d = decision_of(f);

    return d->quality[d->reach - series_of(f)->points].why != NULL;
}

static bool does_efficiency_drop(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    if (!p || !drops(f, p))
        return false;
    tally(SENTENCES_DROPS, true_efficiency(f, p) < decision_of(f)->rule.efficiency);
    return true;
}

static bool does_quality_fall(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    if (!p || !falls(f, p))
        return false;
    tally(SENTENCES_FALLS, true_change(f, p) <= -decision_of(f)->rule.margin);
    return true;
}

static bool do_runs_collapse(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    return p && collapses(f, p);
}

/* Each count that is named is shown to be inefficient and, if that is said, slower. */
static bool is_inefficient_beyond(const struct found *f)
{
    size_t named = 0;

    for (size_t i = 1; i < series_of(f)->npoints; i++) {
        const struct series_point *p = &series_of(f)->points[i];
        char name[32];
        snprintf(name, sizeof name, " %d GPUs (", p->gpus);
        const char *at = strstr(f->text, name), *slower = at ? strstr(at, ", slower") : NULL;
        if (!at)
            continue;
        named++;
        if (p->gpus <= decision_of(f)->reach->gpus || !drops(f, p) ||
            (slower && slower < strchr(at, ')')) !=
                (is_shown_slower(f, p) && series_of(f)->mode != SERIES_WEAK))
            return false;
    }
    return named > 0;
}

static bool is_not_faster(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    return p && series_speedup(series_of(f), p)->value <=
                    series_speedup(series_of(f), decision_of(f)->reach)->value;
}

static bool is_largest(const struct found *f)
{
    return point_of(f, 1) == &series_of(f)->points[series_of(f)->npoints - 1];
}

static bool is_model_used(const struct found *f)
{
    return model_is_usable(&f->rs->as->steady);
}

/* A range is printed just where all runs of both counts reach the target, and it holds the ratio of
 * the medians. Other numbers of epochs are said to be needed only where their range excludes 1. */
static bool is_equal_quality(const struct found *f)
{
    const struct convergence_point *base = f->rs->as->convergence.points,
                                   *p = base + (decision_of(f)->best - series_of(f)->points);
    bool ranges = p->nreached == p->nruns && base->nreached == base->nruns,
         differs = p->epochs_ratio_least > 1 || p->epochs_ratio_most < 1;

    return ranges == (strstr(f->text, "by the scatter of runs and epochs)") != NULL) &&
           (differs || !strstr(f->text, "x as many are needed")) &&
           (!ranges || (p->speedup_least <= p->speedup && p->speedup <= p->speedup_most));
}

static bool is_model_unused(const struct found *f)
{
    const struct model *m = &f->rs->as->steady;

    return m->fitted && m->ncounts >= 3 && !model_is_usable(m);
}

/* The whole interval of the model lies at the threshold or above up to the count. */
static bool is_reach(const struct found *f)
{
    const struct series *s = series_of(f);
    int last = (int)number_of(f, 2);

    if (!is_largest(f) || !is_model_used(f) || number_of(f, 3) != s->points[s->npoints - 1].gpus)
        return false;
    for (int n = s->points[s->npoints - 1].gpus + 1; n <= last; n++) {
        struct bounds b = model_speedup(&f->rs->as->steady, s->points[0].gpus, n);
        if (b.low < decision_of(f)->rule.efficiency * series_ideal(s, n))
            return false;
    }
    return true;
}

static bool is_lower(const struct found *f)
{
    for (size_t i = 1; i < series_of(f)->npoints; i++) {
        const struct series_point *p = &series_of(f)->points[i];
        if (quality_of(f, p)->change.difference < -decision_of(f)->rule.margin && !falls(f, p))
            return true;
    }
    return false;
}

static bool are_gaps(const struct found *f)
{
    for (const struct series_point *p = series_of(f)->points + 1; p < decision_of(f)->reach; p++)
        if (fails(f, p))
            return true;
    return false;
}

/* Each count that is named has runs that collapsed, and each such count is named. */
static bool are_collapsed(const struct found *f)
{
    for (size_t i = 1; i < series_of(f)->npoints; i++) {
        const struct series_point *p = &series_of(f)->points[i];
        char with[32];
        snprintf(with, sizeof with, " with %d GPUs (", p->gpus);
        const char *at = strstr(f->text, with);
        if ((at != NULL) != (quality_of(f, p)->ncollapsed && !quality_of(f, p)->why) ||
            (at && (strncmp(at + strcspn(at, ";)"), "; undecided", 11) == 0) ==
                       (collapses(f, p) || falls(f, p))))
            return false;
    }
    return true;
}

static bool is_next_open(const struct found *f)
{
    const struct series_point *p = point_of(f, 4);

    return p && !fails(f, p) && !(suffices(f, p) && holds(f, p) && !quality_of(f, p)->why);
}

static bool is_next_count(const struct found *f)
{
    return !point_of(f, 1) && number_of(f, 1) > decision_of(f)->reach->gpus;
}

static bool have_equal_seeds(const struct found *f)
{
    for (size_t i = 0; i < series_of(f)->npoints; i++)
        if (quality_of(f, &series_of(f)->points[i])->nrepeats)
            return true;
    return false;
}

static bool is_near(const struct found *f)
{
    for (size_t i = 1; i < series_of(f)->npoints; i++) {
        const struct series_point *p = &series_of(f)->points[i];
        if (interval_is_known(&series_efficiency(series_of(f), p)->interval) && !suffices(f, p) &&
            !drops(f, p))
            return true;
    }
    return false;
}

static bool is_one_run(const struct found *f)
{
    return series_of(f)->nrows == series_of(f)->npoints;
}

/* Of differences: the interval excludes equality, in the direction that is said. */
static bool is_different(const struct found *f)
{
    const struct interval *i = &f->difference->ratio.interval;

    return i->low > 1 || i->high < 1;
}

static bool is_not_different(const struct found *f)
{
    const struct interval *i = &f->difference->ratio.interval;

    return i->low <= 1 && i->high >= 1;
}

static bool is_equal(const struct found *f)
{
    const struct interval *i = &f->difference->ratio.interval;

    return is_not_different(f) && fmax(i->high, 1 / i->low) < 1.021;
}

static bool is_better(const struct found *f)
{
    const struct interval *i = &f->difference->compare.interval;

    return strstr(f->text, "; higher by ") ? i->low > 0 : i->high < 0;
}

static bool is_not_better(const struct found *f)
{
    const struct interval *i = &f->difference->compare.interval;

    return i->low <= 0 && i->high >= 0;
}

static bool is_untested(const struct found *f)
{
    return f->difference->compare.test == COMPARE_NONE;
}

static bool is_refused(const struct found *f)
{
    return f->difference->why_not && starts(f, "With ");
}

/* The count that the paragraph is about. */
static const struct series_point *point_of_paragraph(const struct found *f)
{
    const struct decision *d = decision_of(f);

    return d->best == d->base ? &series_of(f)->points[series_of(f)->npoints - 1] : d->best;
}

static bool is_shown(double shown, double value)
{
    return fabs(shown - value) <= 0.0051 || fabs(shown / value - 1) < 6e-4;
}

static bool is_base_epoch(const struct found *f)
{
    return is_shown(number_of(f, 1), series_of(f)->points->q[QUANTITY_STEADY_EPOCH].median);
}

static bool is_measured_speed(const struct found *f)
{
    const struct series_point *p = point_of(f, 1);

    return p && p == point_of_paragraph(f) &&
           is_shown(number_of(f, 3), series_speedup(series_of(f), p)->value) &&
           is_shown(number_of(f, 6), series_efficiency(series_of(f), p)->value) &&
           is_shown(number_of(f, 7), (double)p->gpus / series_of(f)->points->gpus);
}

static bool is_measured_quality(const struct found *f)
{
    const struct series_point *p = point_of(f, 4);

    return p && p == point_of_paragraph(f) &&
           fabs(number_of(f, 3) - p->q[QUANTITY_QUALITY].mean) < 1e-4 &&
           fabs(number_of(f, 5) - series_of(f)->points->q[QUANTITY_QUALITY].mean) < 1e-4;
}

static bool is_quality_unjudged(const struct found *f)
{
    return quality_of(f, point_of_paragraph(f))->why != NULL;
}

static bool does_paragraph_hold(const struct found *f)
{
    return holds(f, point_of_paragraph(f)) && !quality_of(f, point_of_paragraph(f))->why;
}

static bool does_paragraph_fall(const struct found *f)
{
    return falls(f, point_of_paragraph(f));
}

static bool is_paragraph_open(const struct found *f)
{
    return !does_paragraph_hold(f) && (!falls(f, point_of_paragraph(f)) ||
                                       collapses(f, point_of_paragraph(f)));
}

#define LABEL "( \\([^)]*\\))?"
#define INTERVAL "( \\(95 % interval( of the chosen count)? X-X\\)| \\(X-X by the epochs of " \
                 "single runs\\))?"
#define TARGET "( \\(the median over [^)]*\\))?"
#define RUNS " \\((X-X by the scatter of runs and epochs|N of N runs reach it, and N of N with " \
             "N GPUs?)\\)"
#define SPEED "(Xx (faster|slower) than with N GPUs?|Xx the images per second)" INTERVAL \
              "(, Xx (faster|slower) to (IoU|accuracy|a loss of) X)?"
#define NEEDED \
    "((about|more than) N (seeds|runs) per count would decide it|no practicable number of " \
    "(seeds|runs) would decide it|single runs show no scatter, so N (seeds|runs) per count come " \
    "first|values scatter less than the steps in which they are recorded: record more decimals)\\."
#define EFFICIENCY "X \\(((95 % interval X to X|X to X by the epochs of single runs|X to X " \
                   "between single runs, too few for an interval), )?threshold X\\)[^.]*"
#define SIMULTANEOUS " \\(95 % interval V to V(, simultaneous over N comparisons)?\\)\\."

static struct sentence headlines[] = {
    {"Measure the base case again: with (N) GPUs the efficiency is X, more than "
     "ideal" LABEL "\\.", is_suspect, {0}, 0},
    {"As measured: ", is_always, {0}, 0},
    {"No network has learnt its task, so no number of GPUs is advised" LABEL "\\.", is_unlearnt,
     {0}, 0},
    {"By time alone: ", is_unlearnt, {0}, 0},
    {"[Uu]se (N) GPUs?" LABEL ": " SPEED ", and (IoU|accuracy) holds\\.", is_used, {0}, 0},
    {"[Uu]se (N) GPUs?" LABEL ": " SPEED ", by speed alone\\.", is_used_by_time, {0}, 0},
    {"No run has a quality\\.", has_no_quality, {0}, 0},
    {"(IoU|Accuracy) has the mean and range over folds (V) \\((V) to (V), (N) of 3 folds\\) with (N) GPUs?"
     "(; V \\(V to V, N of 3 folds\\) with N GPUs?)*\\. Folds share most of their training images: "
     "intervals over them are narrower than over new images\\.", is_mean_of_folds, {0}, 0},
    {"(IoU|Accuracy) with (N) GPUs holds( on these N images)? \\(V against V; change V, 95 % "
     "interval V to V; N of N runs? collapsed, 95 % limit N %(; N of N with N GPUs?)?\\)\\.",
     is_quality_shown, {0}, 0},
    {"[Uu]se (N) GPUs?" LABEL ": every larger count measured is shown to be slower\\.",
     are_slower, {0}, 0},
    {"[Uu]se (N) GPUs?" LABEL ": every larger count measured is shown to have an efficiency "
     "below X or not to keep its (IoU|accuracy)\\.", do_all_fail, {0}, 0},
    {"[Uu]se (N) GPUs?" LABEL ": every larger count measured is shown to have an efficiency "
     "below X\\.",
     are_inefficient, {0}, 0},
    {"[Ww]ithin reach by time: up to (N) GPUs" LABEL ", " SPEED "(, by single runs, undecided)?\\.",
     is_within_reach, {0}, 0},
    {"Within reach by time: up to (N) GPUs \\(Xx\\)\\.", is_within_reach, {0}, 0},
    {"[Uu]ndecided" LABEL ": these runs do not show whether more than N GPUs? (is|are) worth "
     "using\\.", is_open, {0}, 0},
    {"Whether the efficiency with (N) GPUs? reaches (X) is undecided \\((X) as measured(, 95 % "
     "interval X to X|, X to X by the epochs of single runs|, X to X between single runs, too few "
     "for an interval)?\\); " NEEDED, is_time_open, {0}, 0},
    {"(IoU|Accuracy) is not (recorded|comparable, as [^.]*)\\.", is_quality_unknown, {0}, 0},
    {"(IoU|Accuracy) with (N) GPUs is undecided \\(V against V\\): it is recorded in steps of X, "
     "and the margin is X; record more decimals\\.", is_always, {0}, 0},
    {"(IoU|Accuracy) with (N) GPUs is undecided \\(V against V\\): on these N images it changes in "
     "steps of X, and the margin is X; that takes N images, or a margin of X\\.", is_always, {0},
     0},
    {"Accuracy with (N) GPUs is undecided \\(V against V(; N of N runs? collapsed, which does not "
     "show "
     "whether more than N % do|; the 95 % interval of the change, V to "
     "V, includes V|, one run on a side)\\); " NEEDED, is_quality_open, {0}, 0},
    {"IoU with (N) GPUs is undecided \\(V against V(; N of N runs? collapsed, which does not show "
     "whether more than N % do|; the 95 % interval of the change, V to V, "
     "includes V|, one run on a side)\\); " NEEDED, is_quality_open, {0}, 0},
    {NULL, NULL, {0}, 0}};

static struct sentence caveats[] = {
    {"No GPU was used: .*", is_always, {0}, 0},
    {"This speed-up measures the machine, .*", is_always, {0}, 0},
    {"With [0-9., ]+ GPUs some kernels failed their check .*", is_always, {0}, 0},
    {"Every count takes the time of one: an epoch takes .* s with N GPUs? and .* s with N\\. .*",
     is_always, {0}, 0},
    {"The logs have N epochs with N GPUs? and N with N, the same number for each GPU: .*",
     is_always, {0}, 0},
    {"The logs of N of N runs? cover less than half of their jobs, .*", is_always, {0}, 0},
    {"With N GPUs the efficiency is X by the means of steady (epoch|interval)s, but X by .*",
     is_always, {0}, 0},
    {"One (epoch|interval) of N of N runs? is far longer than the others, .*", is_always, {0}, 0},
    {"The quality is meaningless: .*", is_always, {0}, 0},
    {"N of N runs? scores? no better than one class everywhere would .*", is_always, {0}, 0},
    {"N runs? (has|have) no (IoU|accuracy) \\(the first is .*", is_always, {0}, 0},
    {"No network has learnt its task \\(the best (IoU|accuracy) is X\\): .*", is_unlearnt, {0}, 0},
    {"Runs of different seeds are equal in every loss and score \\(numbers of GPUs: [0-9., "
     "]+\\), so "
     "the seed changes nothing: equal runs count as one where (IoU|accuracy|quality) is compared\\.",
     have_equal_seeds, {0}, 0},
    {"Quality \\((IoU|accuracy)\\) is counted over different validation images: .*", is_always,
     {0}, 0},
    {"The logs do not say how many validation images were scored, .*", is_always, {0}, 0},
    {"The study mixes strong and weak scaling, .*", is_always, {0}, 0},
    {"The times changed while the study ran: .*", did_drift, {0}, 0},
    {"Among runs of the same count, those on node .*", is_node_slow, {0}, 0},
    {"[^ ]+ took X s per steady (epoch|interval), and the median of its count is X s\\. .*",
     is_always, {0}, 0},
    {"N GPUs are (slower|hardly faster, if at all,) than N \\(Xx\\)\\. If .*", is_always, {0}, 0},
    {"One run per count: intervals of times hold for these runs only, .*", is_one_run, {0}, 0},
    {"With [0-9., ]+ GPUs the interval of the efficiency includes the threshold of X: .*", is_near,
     {0}, 0},
    {"N of N runs have no result and are excluded; .*", is_always, {0}, 0},
    {"The base case is N GPUs, not 1\\. .*", is_always, {0}, 0},
    {"The logs do not say how much work an epoch did: .*", is_always, {0}, 0},
    {"Runs trained for different numbers of epochs: .*", is_always, {0}, 0},
    {"With (N) GPUs the efficiency of X is more than ideal\\. .*", is_suspect, {0}, 0},
    {"N values? of epoch time( or (IoU|accuracy))? lies? far from the median .*", is_always, {0}, 0},
    {NULL, NULL, {0}, 0}};

static struct sentence reasons[] = {
    {"Limit: with (N) GPUs? (efficiency drops to " EFFICIENCY "; |it is undecided whether the "
     "efficiency is sufficient: " EFFICIENCY "; )?(IoU|accuracy) falls by X( on these N "
     "images)? \\(95 % interval V to V, margin X\\)\\.", does_quality_fall, {0}, 0},
    {"Limit: with (N) GPUs? (efficiency drops to " EFFICIENCY "; |it is undecided whether the "
     "efficiency is sufficient: " EFFICIENCY "; )?N of N runs? collapsed \\([^)]*\\)\\.",
     do_runs_collapse, {0}, 0},
    {"Limit: with (N) GPUs? efficiency drops to " EFFICIENCY "\\.", does_efficiency_drop, {0}, 0},
    {"Limit: with (N) GPUs? it is undecided whether the efficiency is sufficient: " EFFICIENCY
     "\\.", is_always, {0}, 0},
    {"Limit: with (N) GPUs? there is no steady epoch to judge by\\.", is_always, {0}, 0},
    {"Limit: with (N) GPUs? the speed-up is X, not above the X with N\\.", is_not_faster, {0}, 0},
    {"Limit: none was measured; with (N) GPUs, the most, efficiency is X \\(threshold X\\)\\.",
     is_largest, {0}, 0},
    {"Limit: none was measured; with (N) GPUs, the most, efficiency is X \\(threshold X\\); the "
     "model predicts X or more up to (N), if no limit begins beyond (N), which runs up to N cannot "
     "show(; none of them crosses a node boundary, [^.]*: measure N)?\\.",
     is_reach, {0}, 0},
    {"Clearly not worth using: (N GPUs \\(efficiency X(, slower than with N)?\\)(, )?)+\\.",
     is_inefficient_beyond, {0}, 0},
    {"Runs collapsed \\((IoU|accuracy) more than X below the median of the base case, V, or "
     "none\\): "
     "(N of N with N GPUs \\((least V|none has a value)(; undecided, (about|more than) N runs "
     "would decide)?\\)(, )?)+\\.", are_collapsed, {0}, 0},
    {"Not every smaller count meets the rule: .*\\.", are_gaps, {0}, 0},
    {"In these runs (IoU|accuracy) is lower by more than X with [0-9., ]+ GPUs; more runs must "
     "show "
     "whether that is chance\\.", is_lower, {0}, 0},
    {"Over the whole run the efficiency is X(: of its .*)?\\.", is_always, {0}, 0},
    {"No model of the times is used: it misses measured counts by X % \\(limit X %\\), and those "
     "that are left out by X % \\(limit X %\\)\\.", is_model_unused, {0}, 0},
    {"The model of the times predicts a count left out within X %; the data do not tell apart why "
     "time is lost\\.", is_model_used, {0}, 0},
    {"Time to (IoU|accuracy|a loss of) X" TARGET ": (X)x (faster|slower) than with N GPUs?" RUNS
     ": each epoch until then is Xx (faster|slower), (and as many are needed|(but|and) Xx as many "
     "are needed "
     "\\(X-Xx\\)|and that more or fewer are needed is not shown \\(Xx(, X-Xx)?\\))\\.",
     is_equal_quality, {0}, 0},
    {"Critical batch: .*", is_always, {0}, 0},
    {"The work grows with the GPUs \\(weak scaling\\): .*", is_always, {0}, 0},
    {"Fastest whole run(, not shown to be faster than all others)?, (start-up and evaluation "
     "included|as logged): .*", is_always, {0}, 0},
    {"Worth measuring next: (N) seeds? (of each of the 3 folds )?with (N) and (N) GPUs \\(.*\\)\\.",
     is_next_open, {0}, 0},
    {"Worth measuring next: (N) GPUs? \\(.*\\)\\.", is_next_count, {0}, 0},
    {"Worth measuring next: no other count \\(.*\\)\\.", is_always, {0}, 0},
    {NULL, NULL, {0}, 0}};

static struct sentence differences[] = {
    {"With N GPUs?, steady epoch: .* is Xx faster than [^(]*" SIMULTANEOUS, is_different, {0}, 0},
    {"With N GPUs?, steady epoch: no difference is shown; .* was Xx as fast as [^(]*" SIMULTANEOUS,
     is_not_different, {0}, 0},
    {"With N GPUs?, steady epoch: .* are equally fast within N %" SIMULTANEOUS, is_equal, {0}, 0},
    {"With N GPUs?, steady epoch: .* was Xx as fast as .* in these runs" INTERVAL
     "; too few runs for a test\\.", is_untested, {0}, 0},
    {"With N GPUs?, (IoU|accuracy): .* V, .* V; (higher|lower) by V" SIMULTANEOUS, is_better, {0},
     0},
    {"With N GPUs?, (IoU|accuracy): .* V, .* V; no difference is shown: V" SIMULTANEOUS,
     is_not_better, {0}, 0},
    {"With N GPUs?, (IoU|accuracy): .* V, .* V; too few runs for a test\\.", is_untested, {0}, 0},
    {"With N GPUs?, [^:]*: not (known on both sides|compared, as [^.]*)\\.", is_refused, {0}, 0},
    {NULL, NULL, {0}, 0}};

static struct sentence paragraphs[] = {
    {"[^.]* was trained on [0-9, and]+ GPUs?( \\([^)]*\\)|, which were groups of (CPU cores|cores "
     "of [^,]*))?, "
     "(N runs?|N to N runs) per count \\(unetctl [0-9.]+\\)\\.", is_always, {0}, 0},
    {"How the work scales: [^.]*\\.", is_always, {0}, 0},
    {"Settings other than the built-in ones: .*\\.", is_always, {0}, 0},
    {"With N GPUs? an epoch takes (X) s \\(median over runs of the median over all epochs "
     "after warming up\\)\\.", is_base_epoch, {0}, 0},
    {"With (N) GPUs (it is|the images per second are) (X) times as (fast|many) \\((95 % interval X to "
     "X|X to X by the epochs of single runs|X to X between single runs, too few for an interval|"
     "single runs, without an interval)\\), an efficiency of (X); ideal scaling, the bound, would be "
     "(X) times\\.", is_measured_speed, {0}, 0},
    {"The whole training, first epoch included, is X times as fast\\.", is_always, {0}, 0},
    {"Communication that computing does not hide takes N % of an epoch with N GPUs\\.", is_always,
     {0}, 0},
    {"(IoU|Accuracy) on the validation [a-z]+( at the network's size| at each image's own size)? is "
     "(X) with (N) GPUs and (X) with N \\(means over runs\\)\\.", is_measured_quality, {0}, 0},
    {"No run has a quality: this is by speed alone\\.", has_no_quality, {0}, 0},
    {"The change is not judged: (IoU|accuracy) is [^.]*\\.", is_quality_unjudged, {0}, 0},
    {"Its change of V \\(95 % interval V to V, simultaneous over N counts?\\) shows that it holds by "
     "the margin of X; N of N runs? collapsed\\.", does_paragraph_hold, {0}, 0},
    {"Its change of V \\(95 % interval V to V, simultaneous over N counts?\\) shows that it falls by "
     "more than the margin of X; N of N runs? collapsed\\.", does_paragraph_fall, {0}, 0},
    {"Its change of V \\(95 % interval V to V, simultaneous over N counts?\\) (does not decide whether "
     "it holds|is of the other runs, which does not show that it holds) by the margin "
     "of X; N of N runs? collapsed\\.", is_paragraph_open, {0}, 0},
    {"The runs are too few to judge the change\\.", is_always, {0}, 0},
    {"No network has learnt its task, so the quality says nothing\\.", is_unlearnt, {0}, 0},
    {"The results of all runs are in results\\.csv\\.", is_always, {0}, 0},
    {NULL, NULL, {0}, 0}};

/* N: a whole number, X: a number of at least 0, V: any number; each within its own brackets only if
 * the pattern has them. */
static void compile(struct sentence *s)
{
    struct buf b = {0};

    buf_add(&b, "^");
    for (const char *at = s->pattern; *at; at++)
        if (*at == 'N' && !strchr("oU", at[1]))
            buf_add(&b, "[0-9]+");
        else if (*at == 'X')
            buf_add(&b, "[0-9.e+-]*[0-9]");
        else if (*at == 'V')
            buf_add(&b, "-?[0-9.e+-]*[0-9]");
        else
            buf_addf(&b, "%c", *at);
    if (regcomp(&s->compiled, b.data, REG_EXTENDED))
        bail_out("the pattern %s is invalid", b.data);
    buf_destroy(&b);
}

/* Checks text, a list of sentences. Returns NULL or what is wrong. */
static const char *check_text(struct sentence *list, struct found *f, const char *text)
{
    static char wrong[600];

    for (struct sentence *s = list; s->pattern && !list->seen; s++)
        compile(s);
    list->seen += !list->seen; /* compiled */
    while (*text) {
        struct sentence *s = list;
        f->text = text;
        while (s->pattern && regexec(&s->compiled, text, GROUPS, f->part, 0) != 0)
            s++;
        if (!s->pattern || !s->allowed(f)) {
            snprintf(wrong, sizeof wrong, "%s: %s", s->pattern ? "not allowed" : "not listed",
                     text);
            return wrong;
        }
        s->seen++;
        text += f->part[0].rm_eo;
    }
    return NULL;
}

/* Checks lines, one sentence or more each. */
static const char *check_lines(struct sentence *list, struct found *f, const char *lines)
{
    const char *wrong = NULL;

    while (*lines && !wrong) {
        char *line = strndup(lines, strcspn(lines, "\n"));
        wrong = check_text(list, f, line);
        free(line);
        lines += strcspn(lines, "\n");
        lines += *lines == '\n';
    }
    return wrong;
}

/* Returns the number of words of the headline, without those of a label in brackets. */
static size_t count_words(const struct report_series *rs)
{
    const char *text = rs->words.headline, *label = strstr(text, rs->label);
    size_t n = 0;

    for (; *text; text += strspn(text, " ")) {
        if (label && text == label - 1)
            text += strlen(rs->label) + 1;
        else
            n++;
        text += strcspn(text, " ");
    }
    return n;
}

const char *sentences_check_series(const struct report_series *rs,
                                   const struct sentences_truth *truth)
{
    struct found f = {.rs = rs, .truth = truth};
    const char *wrong = check_text(headlines, &f, rs->words.headline);

    if (!wrong && count_words(rs) > HEADLINE_WORDS)
        wrong = "the headline is too long";
    wrong = wrong ? wrong : check_lines(headlines, &f, rs->words.evidence);
    wrong = wrong ? wrong : check_lines(caveats, &f, rs->words.caveats);
    for (int i = WORDS_LIMITS; i < WORDS_NPARTS && !wrong; i++)
        wrong = check_lines(reasons, &f, rs->words.parts[i]);
    struct buf paragraph = {0};
    paragraph_describe(&paragraph, rs);
    wrong = wrong ? wrong : check_lines(paragraphs, &f, paragraph.data);
    buf_destroy(&paragraph);
    return wrong;
}

const char *sentences_check_differences(const struct report *r)
{
    const char *wrong = NULL;

    for (size_t i = 0; i < r->analysis.npairs && !wrong; i++) {
        const struct analysis_pair *p = &r->analysis.pairs[i];
        for (size_t k = 0; k < p->ndifferences && !wrong; k++) {
            struct found f = {.difference = &p->differences[k]};
            struct buf b = {0};
            difference_describe(&b, &p->differences[k], r->series[p->a].label,
                                r->series[p->b].label, &r->series[p->a].as->series);
            wrong = check_text(differences, &f, b.data);
            buf_destroy(&b);
        }
    }
    return wrong;
}

size_t sentences_seen(size_t *nlisted, struct buf *unseen)
{
    struct sentence *const lists[] = {headlines, caveats, reasons, differences, paragraphs};
    size_t seen = 0;

    *nlisted = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (struct sentence *s = lists[i]; s->pattern; s++) {
            ++*nlisted;
            seen += s->seen > (s == lists[i]);
            if (s->seen <= (s == lists[i]))
                buf_addf(unseen, "%.60s\n", s->pattern);
        }
    return seen;
}
