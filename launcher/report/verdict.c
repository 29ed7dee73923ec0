/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report_internal.h"

#include <math.h>

/* A smaller difference of efficiencies between steady epochs and whole runs is not mentioned. */
#define OVERHEAD_SHARE 0.05
/* The critical batch is not reported if what it predicts and the measured epochs differ by more
 * than this factor. */
#define DISAGREE 1.2
/* Times to a target whose range is wider are left out of the verdict: with 1.25 it has one that is
 * wrong by 10 % in up to 8 % of studies (make simulate, area target). */
#define APART 1.2

/* Adds " (95 % interval 5.6-5.9)", or similar words for an interval over epochs; nothing if it is
 * unknown. of (may be ""): " of the chosen count". */
static void add_interval_words(struct buf *b, const struct interval *i, int decimals,
                               const char *of)
{
    if (!interval_is_known(i))
        return;
    if (i->method == INTERVAL_EPOCHS)
        buf_addf(b, " (%.*f-%.*f by the epochs of single runs)", decimals, i->low, decimals,
                 i->high);
    else
        buf_addf(b, " (%.0f %% interval%s %.*f-%.*f)", 100 * i->level, of, decimals, i->low,
                 decimals, i->high);
}

/* Adds "1.81x faster", or for a ratio below 1 the inverse and "slower". */
static void add_speed(struct buf *b, double ratio, int decimals)
{
    buf_addf(b, "%.*fx %s", decimals, ratio < 1 ? 1 / ratio : ratio,
             ratio < 1 ? "slower" : "faster");
}

static void add_than(struct buf *b, const struct decision *d)
{
    buf_addf(b, " than with %d GPU%s", d->base->gpus, plural(d->base->gpus));
}

/* Adds how fast best is, relative to the base case, and to equal quality where that is known. An
 * interval over the epochs of single runs is left to tables. */
static void add_speedup(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    const struct convergence *c = &as->convergence;
    size_t best = (size_t)(d->best - as->series.points);
    char speed[64], from[64];
    const struct interval *known = &d->speedup.interval; /* a narrow one needs two decimals */
    int decimals = interval_is_known(known) && known->high - known->low >= 0.2 ? 1 : 2;

    if (as->series.mode == SERIES_WEAK) {
        buf_addf(b, "%.*fx the %s per second", decimals, d->speedup.value, as->series.unit);
    } else {
        add_speed(b, d->speedup.value, decimals);
        add_than(b, d);
    }
    if (known->method != INTERVAL_EPOCHS)
        add_interval_words(b, known, decimals,
                           as->series.npoints > 2 ? " of the chosen count" : "");
    series_describe_speed(&as->series, d->best, speed, sizeof speed);
    series_describe_speed(&as->series, d->base, from, sizeof from);
    if (as->series.stepped && d->base->q[QUANTITY_RATE].median > 0)
        buf_addf(b, ", %s against %.*s", speed, (int)strcspn(from, " "), from);
    if (c->metric == CONVERGENCE_NONE || best >= c->npoints || !isfinite(c->points[best].speedup))
        return;
    const struct convergence_point *p = &c->points[best];
    if (!(p->speedup_most <= APART * p->speedup_least)) /* without a range, too */
        return;
    buf_add(b, ", ");
    add_speed(b, p->speedup, 2);
    buf_addf(b, " to %s %.4g", c->metric == CONVERGENCE_SCORE ? as->series.quality : "a loss of",
             c->target);
}

static bool is_slower(const struct decision *d, const struct series *s, size_t i)
{
    return d->judged[i].interval.high * series_ideal(s, s->points[i].gpus) < 1;
}

static bool is_inefficient(const struct decision *d, const struct series *s, size_t i)
{
    return d->time[i] == DECISION_FAILS;
}

static void add_none(struct buf *b, const struct analysis_series *as)
{
    const struct series *s = &as->series;
    const struct decision *d = &as->decision;
    char counts[120];

    if (decision_list_counts(d, s, is_slower, counts, sizeof counts) == s->npoints - 1)
        buf_add(b, ": every larger count measured is shown to be slower.");
    else if (d->by_time ||
             decision_list_counts(d, s, is_inefficient, counts, sizeof counts) == s->npoints - 1)
        buf_addf(b, ": every larger count measured is shown to have an efficiency below %.2f.",
                 d->rule.efficiency);
    else
        buf_addf(b, ": every larger count measured is shown to have an efficiency below %.2f or "
                 "not to keep its %s.", d->rule.efficiency, s->quality);
}

/* Adds "; about 9 seeds per count would decide it". what: "seeds" or "runs". */
static void add_needed(struct buf *b, const struct decision_seeds *seeds, const char *what)
{
    if (seeds->assumed)
        buf_addf(b, "single runs show no scatter, so %zu %s per count come first.",
                 decision_next_runs(seeds), what);
    else if (seeds->coarse)
        buf_add(b, "values scatter less than the steps in which they are recorded: record more "
                "decimals.");
    else if (!seeds->n && seeds->collapse)
        buf_addf(b, "more than %d %s per count would decide it.", QUALITY_COLLAPSE_RUNS, what);
    else if (!seeds->n)
        buf_addf(b, "no practicable number of %s would decide it.", what);
    else
        buf_addf(b, "about %zu %s per count would decide it.", seeds->n, what);
}

/* Adds whether the efficiency of the count that time_seeds is about suffices, which is
 * undecided. */
static void add_open_time(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    const struct ratio *r = &d->judged[d->time_seeds.point - as->series.points];
    char bounds[SERIES_BOUNDS];

    series_describe_bounds(&as->series, r, 3, bounds);
    buf_addf(b, "Whether the efficiency with %d GPU%s reaches %.2f is undecided (%.*f as measured%s%s); ",
             d->time_seeds.point->gpus, plural(d->time_seeds.point->gpus), d->rule.efficiency,
             decision_efficiency_decimals(d, r->value), r->value, *bounds ? ", " : "", bounds);
    add_needed(b, &d->time_seeds, "runs");
    buf_add(b, "\n");
}

/* Adds a sentence on why the quality with reach GPUs is undecided, and what would decide it. */
static void add_open_quality(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    const struct quality *q = &d->quality[d->reach - as->series.points];
    const struct comparison *c = &q->change;
    const struct series *s = &as->series;
    const char *quality = series_quality_title(s);

    if (q->state == QUALITY_UNKNOWN && s->limited) {
        buf_addf(b, "%s with %d GPU%s is %s: this is by speed alone.%s\n", quality,
                 d->reach->gpus, plural(d->reach->gpus), q->why,
                 d->rule.looks ? "" : " Whole runs would show it.");
        return;
    }
    if (q->state == QUALITY_UNKNOWN) {
        buf_addf(b, "%s is %s.\n", quality, q->why);
        return;
    }
    buf_addf(b, "%s with %d GPU%s is undecided (", quality, d->reach->gpus, plural(d->reach->gpus));
    if (isnan(c->b))
        buf_add(b, "none");
    else
        buf_addf(b, "%.*f", s->decimals, c->b);
    buf_addf(b, " against %.*f", s->decimals, c->a);
    if (q->why && s->counted) {
        buf_addf(b, "): on these %ld images it changes in steps of %.2g, and the margin is %.3g; "
                 "that takes %.0f images, or a margin of %.3f.\n", s->counted, c->resolution,
                 c->margin, ceil(1 / (QUALITY_COARSE * c->margin) - 1e-6),
                 ceil(1000 * c->resolution / QUALITY_COARSE - 1e-6) / 1000);
        return;
    }
    if (q->why) {
        buf_addf(b, "): it is recorded in steps of %.3g, and the margin is %.3g; record more "
                 "decimals.\n", c->resolution, c->margin);
        return;
    }
    if (q->collapse_open)
        buf_addf(b, "; %zu of %zu run%s %s, which does not show whether more than %.0f %% do",
                 q->ncollapsed, q->nruns, plural((long)q->nruns), series_collapsed(s),
                 100 * QUALITY_COLLAPSE_SHARE);
    else if (interval_is_known(&c->interval))
        buf_addf(b, "; the 95 %% interval of the change, %.*f to %.*f, includes %s%.3g", s->decimals,
                 table_round(c->interval.low, s->decimals), s->decimals,
                 table_round(c->interval.high, s->decimals), s->lower ? "" : "-", c->margin);
    else
        buf_add(b, ", one run on a side");
    buf_add(b, "); ");
    if (d->rule.looks)
        buf_add(b, "the rounds of the sequential study do not decide it.");
    else
        add_needed(b, &d->seeds, series_folds(&as->series) ? "runs" : "seeds");
    buf_add(b, "\n");
}

/* Adds how far the speed-up to equal quality varies: it has no interval (analysis.h). */
static void add_speedup_range(struct buf *b, const struct convergence *c, size_t i)
{
    const struct convergence_point *p = &c->points[i], *base = c->points;

    if (!isnan(p->speedup_least))
        buf_addf(b, " (%.2f-%.2f by the scatter of runs and epochs)", p->speedup_least,
                 p->speedup_most);
    else
        buf_addf(b, " (%zu of %zu runs reach it, and %zu of %zu with %d GPU%s)", p->nreached,
                 p->nruns, base->nreached, base->nruns, base->gpus, plural(base->gpus));
}

static void add_held(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    const struct quality *q = &d->quality[d->use - as->series.points];
    const struct comparison *c = &q->change;
    const struct series *s = &as->series;
    int decimals = s->decimals;

    if (q->by_construction) {
        buf_addf(b, "%s with %d GPUs holds by construction, which was not tested: the first losses of "
                 "equal seeds are equal to %.1f %%.\n", series_quality_title(s), d->use->gpus,
                 100 * QUALITY_EQUAL);
        return;
    }
    buf_addf(b, "%s with %d GPUs holds", series_quality_title(s), d->use->gpus);
    if (s->counted)
        buf_addf(b, " on these %ld images", s->counted);
    buf_addf(b, " (%.*f against %.*f; change %.*f, 95 %% interval %.*f to %.*f; %zu of %zu run%s "
                "%s, 95 %% limit %.0f %%", decimals, c->b, decimals, c->a, decimals,
             table_round(c->difference, decimals), decimals,
             table_round(c->interval.low, decimals), decimals,
             table_round(c->interval.high, decimals), q->ncollapsed, q->nruns,
             plural((long)q->nruns), series_collapsed(s), ceil(100 * q->collapse_most - 1e-9));
    if (d->quality->ncollapsed)
        buf_addf(b, "; %zu of %zu with %d GPU%s", d->quality->ncollapsed, d->quality->nruns,
                 d->base->gpus, plural(d->base->gpus));
    buf_add(b, ").\n");
}

static void add_label(struct buf *b, const char *label)
{
    if (label)
        buf_addf(b, " (%s)", label);
}

static void add_verdict(struct buf *b, const struct analysis_series *as, const char *label)
{
    const struct decision *d = &as->decision;

    if (!d->decided && d->reach == d->base) {
        buf_add(b, "Undecided");
        add_label(b, label);
        buf_addf(b, ": these runs do not show whether more than %d GPU%s %s worth using.",
                 d->base->gpus, plural(d->base->gpus), d->base->gpus == 1 ? "is" : "are");
    } else if (d->best != d->use) {
        buf_addf(b, "Within reach by time: up to %d GPUs", d->reach->gpus);
        add_label(b, label);
        buf_add(b, ", ");
        add_speedup(b, as);
        buf_add(b, decision_is_single(d, d->reach) ? ", by single runs, undecided." : ".");
    } else {
        buf_addf(b, "Use %d GPU%s", d->use->gpus, plural(d->use->gpus));
        add_label(b, label);
        if (d->use == d->base) {
            add_none(b, as);
            return;
        }
        buf_add(b, ": ");
        add_speedup(b, as);
        if (d->by_time)
            buf_add(b, ", by speed alone.");
        else
            buf_addf(b, ", and %s holds.", as->series.quality);
    }
}

static bool is_all_limited(const struct series *s)
{
    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].nlimited < s->points[i].nruns)
            return false;
    return true;
}

static void add_evidence(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    bool open = !d->decided && d->reach == d->base, used = d->best == d->use && d->use != d->base;
    size_t reach = (size_t)(d->reach - as->series.points);

    if (d->by_time)
        buf_add(b, is_all_limited(&as->series)
                       ? "All runs give the steady speed alone, so quality is not judged.\n"
                       : "No run has a quality.\n");
    else if (used)
        add_held(b, as);
    if (used && d->reach != d->use)
        buf_addf(b, "Within reach by time: up to %d GPUs (%.2fx).\n", d->reach->gpus,
                 d->judged[reach].value * series_ideal(&as->series, d->reach->gpus));
    if (!open && d->best == d->use && !(used && d->reach != d->use))
        return;
    if (d->time_seeds.point)
        add_open_time(b, as);
    if (reach && !d->by_time && d->quality[reach].state != QUALITY_HOLDS)
        add_open_quality(b, as);
}

/* Adds the verdict, or what forbids one: that nothing is learnt, or that the base case is suspect.
 * Then the verdict is the first line of the evidence. */
static void add_headline(struct buf *b, struct buf *evidence, const struct analysis_series *as,
                         const char *label)
{
    const struct decision *d = &as->decision;
    const struct series_point *p = decision_find_too_good(d, &as->series);
    bool suspect = p == d->best && p;

    if (d->unlearnt)
        buf_add(b, "No network has learnt its task, so no number of GPUs is advised");
    else if (suspect)
        buf_addf(b, "Measure the base case again: with %d GPUs the efficiency is %.2f, more than "
                 "ideal", p->gpus, series_efficiency(&as->series, p)->value);
    if (d->unlearnt || suspect) {
        add_label(b, label);
        buf_add(b, ".");
        buf_add(evidence, d->unlearnt ? "By time alone: " : "As measured: ");
        size_t begin = evidence->length;
        add_verdict(evidence, as, NULL);
        if (evidence->length > begin)
            evidence->data[begin] = (char)tolower(evidence->data[begin]);
        buf_add(evidence, "\n");
    } else {
        add_verdict(b, as, label);
    }
    add_evidence(evidence, as);
}

static void add_limit(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    double efficiency = d->judged[d->reach - as->series.points].value;

    if (d->limit) {
        buf_addf(b, "Limit: with %d GPU%s %s.\n", d->limit->gpus, plural(d->limit->gpus),
                 d->limit_why);
        return;
    }
    buf_addf(b, "Limit: none was measured; with %d GPUs, the most, efficiency is %.*f (threshold "
             "%.2f)", d->reach->gpus, decision_efficiency_decimals(d, efficiency), efficiency,
             d->rule.efficiency);
    if (d->model_reach > d->reach->gpus) {
        buf_addf(b, "; the model predicts %.2f or more up to %d", d->rule.efficiency,
                 d->model_reach);
        model_assume(&as->steady, d->model_reach, b);
    }
    buf_add(b, ".\n");
}

static bool is_beyond(const struct decision *d, const struct series *s, size_t i)
{
    return s->points[i].gpus > d->reach->gpus && &s->points[i] != d->limit &&
           d->time[i] == DECISION_FAILS;
}

/* Adds the counts beyond reach whose efficiency is shown to fail, if another count is undecided. */
static void add_beyond(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    const struct series *s = &as->series;
    const char *before = "Clearly not worth using: ";
    bool open = !d->decided || (d->limit && d->time[d->limit - s->points] != DECISION_FAILS);

    for (size_t i = 0; i < s->npoints && open; i++) {
        if (!is_beyond(d, s, i))
            continue;
        double efficiency = d->judged[i].value;
        buf_addf(b, "%s%d GPUs (efficiency %.*f", before, s->points[i].gpus,
                 decision_efficiency_decimals(d, efficiency), efficiency);
        if (is_slower(d, s, i) && s->mode != SERIES_WEAK)
            buf_addf(b, ", slower than with %d", d->base->gpus);
        buf_add(b, ")");
        before = ", ";
    }
    buf_add(b, *before == ',' ? ".\n" : "");
}

/* Adds the counts between base and reach that fail, since the rule looks for the fastest count
 * only. */
static void add_gaps(struct buf *b, const struct analysis_series *as)
{
    const char *before = "Not every smaller count meets the rule: ";
    const struct decision *d = &as->decision;

    for (const struct series_point *p = d->base + 1; p < d->reach; p++) {
        size_t i = (size_t)(p - as->series.points);
        double efficiency = d->judged[i].value;
        const struct quality *q = &d->quality[i];
        if (d->state[i] != DECISION_FAILS)
            continue;
        bool slow = d->time[i] == DECISION_FAILS;
        buf_addf(b, "%s%d GPUs (", before, p->gpus);
        if (slow)
            buf_addf(b, "efficiency %.*f", decision_efficiency_decimals(d, efficiency), efficiency);
        if (q->state == QUALITY_FALLS)
            buf_addf(b, "%s%s %s by %.*f", slow ? ", " : "", as->series.quality,
                     quality_fall_word(&as->series), as->series.decimals,
                     quality_loss(&as->series, q->change.difference));
        if (q->state == QUALITY_COLLAPSES)
            buf_addf(b, "%s%zu of %zu run%s %s", slow ? ", " : "", q->ncollapsed, q->nruns,
                     plural((long)q->nruns), series_collapsed(&as->series));
        buf_add(b, ")");
        before = ", ";
    }
    if (*before == ',')
        buf_add(b, ".\n");
}

/* Adds the counts with collapsed runs, and how many would decide whether these are too many. */
static void add_collapses(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    const struct series *s = &as->series;
    const char *before = NULL;

    for (size_t i = 1; i < s->npoints; i++) {
        const struct quality *q = &d->quality[i];
        const struct summary *values = &s->points[i].q[QUANTITY_QUALITY];
        if (!q->ncollapsed || q->why)
            continue;
        if (!before)
            buf_addf(b, "Runs %s (%s more than %.3g %s the median of the base case, %.*f, "
                     "or none): ", series_collapsed(s), s->quality,
                     quality_far(s, d->rule.margin), s->lower ? "above" : "below", s->decimals,
                     d->base->q[QUANTITY_QUALITY].median);
        buf_addf(b, "%s%zu of %zu with %d GPUs (", before ? before : "", q->ncollapsed, q->nruns,
                 s->points[i].gpus);
        if (isnan(values->min))
            buf_add(b, "none has a value");
        else
            buf_addf(b, "%s %.*f", s->lower ? "most" : "least", s->decimals,
                     s->lower ? values->max : values->min);
        if (q->state == QUALITY_UNDECIDED && q->collapse_needed)
            buf_addf(b, "; undecided, about %zu runs would decide", q->collapse_needed);
        else if (q->state == QUALITY_UNDECIDED && q->collapse_open)
            buf_addf(b, "; undecided, more than %d runs would decide", QUALITY_COLLAPSE_RUNS);
        buf_add(b, ")");
        before = ", ";
    }
    if (before)
        buf_add(b, ".\n");
}

static bool is_lower_by_chance(const struct decision *d, const struct series *s, size_t i)
{
    return d->quality[i].state == QUALITY_UNDECIDED &&
           quality_loss(s, d->quality[i].change.difference) > d->rule.margin;
}

/* Adds mean and range over the folds of a count, each fold by the mean of its runs. */
static void add_point_folds(struct buf *b, const struct series *s, const struct series_point *p,
                            const char *before)
{
    int folds = series_folds(s), known = 0;
    double sum = 0, least = INFINITY, most = -INFINITY;

    for (int f = 0; f < folds; f++) {
        double of_fold = 0;
        int n = 0;
        for (size_t i = 0; i < p->nruns; i++)
            if ((p->rows[i].seed - 1) % folds == f && isfinite(result_quality(&p->rows[i]))) {
                of_fold += result_quality(&p->rows[i]);
                n++;
            }
        if (!n)
            continue;
        known++;
        sum += of_fold / n;
        least = fmin(least, of_fold / n);
        most = fmax(most, of_fold / n);
    }
    if (known)
        buf_addf(b, "%s%.*f (%.*f to %.*f, %d of %d folds) with %d GPU%s", before, s->decimals,
                 sum / known, s->decimals, least, s->decimals, most, known, folds, p->gpus,
                 plural(p->gpus));
}

static void add_folds(struct buf *b, const struct series *s)
{
    size_t begin = b->length;
    char title[80];

    snprintf(title, sizeof title, "%s has the mean and range over folds ", series_quality_title(s));
    for (size_t i = 0; i < s->npoints && series_folds(s); i++)
        add_point_folds(b, s, &s->points[i], b->length == begin ? title : "; ");
    if (b->length > begin)
        buf_add(b, ". Folds share most of their training images: intervals over them are narrower "
                "than over new images.\n");
}

static void add_lower(struct buf *b, const struct analysis_series *as)
{
    char counts[120];

    if (decision_list_counts(&as->decision, &as->series, is_lower_by_chance, counts, sizeof counts))
        buf_addf(b,
                 "In these runs %s is %s by more than %.3g with %s GPUs; more runs must show "
                 "whether that is chance.\n",
                 as->series.quality, as->series.lower ? "higher" : "lower",
                 as->decision.rule.margin, counts);
}

/* Adds the efficiency of the whole run if it is lower than that of steady epochs, and as the cause
 * the part besides them that exceeds the ideal, its time in the base case over the ideal speed-up,
 * most. Adds nothing if the difference is at most OVERHEAD_SHARE, or in weak scaling. */
static void add_overhead(struct buf *b, const struct analysis_series *as)
{
    const struct series_point *p = as->decision.best, *base = as->decision.base;
    double lost = p->efficiency[QUANTITY_STEADY_EPOCH].value - p->efficiency[QUANTITY_WHOLE].value;
    double ideal = series_ideal(&as->series, p->gpus), most = 0;
    const enum quantity parts[] = {QUANTITY_STAGE, QUANTITY_STARTUP, QUANTITY_FIRST_EPOCH,
                                   QUANTITY_EVALUATION};
    enum quantity cause = QUANTITY_COUNT;

    if (!(lost > OVERHEAD_SHARE) || as->series.mode == SERIES_WEAK)
        return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        double excess = p->q[parts[i]].median - base->q[parts[i]].median / ideal;
        /* a log's times may exceed those of its job, as a caveat says */
        if (excess > most && p->q[parts[i]].median <= p->q[QUANTITY_WHOLE].median) {
            most = excess;
            cause = parts[i];
        }
    }
    buf_addf(b, "Over the whole run the efficiency is %.2f", p->efficiency[QUANTITY_WHOLE].value);
    if (cause != QUANTITY_COUNT)
        buf_addf(b, ": of its %.1f s, %s takes %.1f s, with %d GPU%s it was %.1f s of %.1f s",
                 p->q[QUANTITY_WHOLE].median,
                 cause == QUANTITY_FIRST_EPOCH ? "the first epoch" : quantities[cause].name,
                 p->q[cause].median, base->gpus, plural(base->gpus), base->q[cause].median,
                 base->q[QUANTITY_WHOLE].median);
    buf_add(b, ".\n");
}

static void add_model_words(struct buf *b, const struct analysis_series *as)
{
    const struct model *m = &as->steady;

    if (!m->fitted || m->ncounts < 3)
        return;
    if (!model_is_usable(m)) {
        buf_addf(b, "No model of the times is used: it misses measured counts by %.0f %% (limit "
                 "%.0f %%), and those that are left out by %.0f %% (limit %.0f %%).\n",
                 100 * m->error, 100 * MODEL_POOR_FIT, 100 * m->loo_error,
                 100 * MODEL_POOR_LEFT_OUT);
        return;
    }
    buf_addf(b, "The model of the times predicts a count left out within %.1f %%; the data do not "
             "tell apart why time is lost.\n", 100 * m->loo_error);
}

/* Adds "14 GPUs (599 s)". */
static void add_choice(struct buf *b, const char *before, const struct advice_choice *c,
                       const char *unit)
{
    if (!c->gpus)
        return;
    buf_addf(b, "%s%d GPU%s (", before, c->gpus, plural(c->gpus));
    if (c->value < 0.001)
        buf_add(b, "below 0.001");
    else
        buf_addf(b, "%.4g", c->value);
    buf_addf(b, " %s%s%s)", unit, c->measured ? "" : ", predicted by the model",
             c->extrapolated ? ", far beyond what was measured" : "");
}

/* Adds the fastest count, with the time of its job, or of what logs have of it, and that of its
 * training alone. */
static void add_fastest(struct buf *b, const struct analysis_series *as)
{
    const struct advice_choice *c = &as->advice.time;
    const struct series_point *p = series_find(&as->series, c->gpus);
    double training = p ? p->q[QUANTITY_TRAINING].median : NAN;

    buf_addf(b, "%sastest whole run%s, %s: %d GPU%s (%.4g s", as->series.limited ? "f" : "F",
             as->advice.time_overlaps ? ", not shown to be faster than all others" : "",
             as->series.logged ? "as logged" : "start-up and evaluation included", c->gpus,
             plural(c->gpus), c->value);
    if (training < c->value)
        buf_addf(b, ", of which %.4g s are %s", training,
                 as->series.stepped ? "steps" : "training");
    buf_add(b, ")");
}

/* Adds the count with the fewest joules, where the intervals of the counts show it. */
static void add_energy(struct buf *b, const struct advice *a)
{
    const char *by = a->energy_estimated                    ? "kWh by --watts"
                     : a->energy_by == QUANTITY_NODE_ENERGY ? "kWh of whole nodes, by Slurm"
                                                            : "kWh";

    if (!a->energy_separated)
        buf_add(b, "; the runs do not show which count needs the fewest joules");
    add_choice(b, a->energy_separated ? "; fewest joules: " : ", smallest median: ", &a->energy, by);
    buf_add(b, ".\n");
}

static void add_advice_words(struct buf *b, const struct analysis_series *as, bool deadline)
{
    const struct advice *a = &as->advice;

    if (as->series.mode == SERIES_WEAK) {
        buf_add(b, "The work grows with the GPUs (weak scaling): a whole run with more of them is "
                "not faster or cheaper, it does more work.\n");
    } else if (a->time.gpus && a->gpu_hours.gpus) {
        if (as->series.limited)
            buf_add(b, "Of the counts with whole runs: ");
        add_fastest(b, as);
        buf_addf(b, "; fewest GPU-hours%s",
                 a->hours_overlap ? ", not shown to be fewer than all others" : "");
        add_choice(b, ": ", &a->gpu_hours, "GPU-hours");
        if (!a->energy.gpus)
            buf_addf(b, "; %s.\n", a->energy.why);
        else
            add_energy(b, a);
    }
    if (deadline && a->deadline.gpus) {
        add_choice(b, "Within the deadline: ", &a->deadline, "s");
        if (!a->deadline.measured)
            model_assume(&as->whole, a->deadline.gpus, b);
        buf_add(b, ".\n");
    } else if (deadline) {
        buf_addf(b, "The deadline: %s.\n", a->deadline.why);
    }
}

static void add_next(struct buf *b, const struct analysis_series *as)
{
    const struct decision *d = &as->decision;
    int folds = series_folds(&as->series);

    if (d->next_whole[0]) {
        buf_addf(b, "Worth measuring next: whole runs with %d", d->next_whole[0]);
        if (d->next_whole[1])
            buf_addf(b, " and %d", d->next_whole[1]);
        buf_addf(b, " GPU%s (%s).\n", plural(d->next_whole[1] ? 2 : d->next_whole[0]), d->next_why);
    } else if (d->next_seeds && folds) {
        size_t seeds = (d->next_seeds - 1) / (size_t)folds + 1;
        buf_addf(b, "Worth measuring next: %zu seed%s of each of the %d folds with %d and %d GPUs "
                 "(%zu runs or more of each number; %s).\n", seeds, plural((long)seeds), folds,
                 d->base->gpus, d->next_point->gpus, d->next_seeds, d->next_why);
    } else if (d->next_seeds)
        buf_addf(b, "Worth measuring next: %zu seeds with %d and %d GPUs (%s).\n", d->next_seeds,
                 d->base->gpus, d->next_point->gpus, d->next_why);
    else if (d->next)
        buf_addf(b, "Worth measuring next: %d GPU%s (%s).\n", d->next, plural(d->next),
                 d->next_why);
    else
        buf_addf(b, "Worth measuring next: no other count (%s).\n", d->next_why);
}

static void add_convergence(struct buf *b, const struct analysis_series *as)
{
    const struct convergence *c = &as->convergence;
    size_t best = (size_t)(as->decision.best - as->series.points);

    if (c->metric == CONVERGENCE_NONE || best == 0 || best >= c->npoints ||
        isnan(c->points[best].speedup))
        return;
    buf_addf(b,
             "Time to %s %.4g%s: ", c->metric == CONVERGENCE_SCORE ? as->series.quality : "a loss of",
             c->target, c->chosen ? "" : WORDS_TARGET);
    add_speed(b, c->points[best].speedup, 2);
    add_than(b, &as->decision);
    add_speedup_range(b, c, best);
    double epochs = c->points[best].epochs_ratio, least = c->points[best].epochs_ratio_least,
           most = c->points[best].epochs_ratio_most;
    if (isnan(epochs)) {
        buf_add(b, ".\n");
        return;
    }
    buf_add(b, ": each epoch until then is ");
    add_speed(b, c->points[best].epoch_s_ratio, 2);
    if (fabs(epochs - 1) < 0.005)
        buf_add(b, ", and as many are needed.\n");
    else if (least > 1 || most < 1)
        buf_addf(b, ", %s %.2fx as many are needed (%.2f-%.2fx).\n",
                 (c->points[best].epoch_s_ratio > 1) == (epochs > 1) ? "but" : "and", epochs, least,
                 most);
    else if (isnan(least))
        buf_addf(b, ", and that more or fewer are needed is not shown (%.2fx).\n", epochs);
    else
        buf_addf(b, ", and that more or fewer are needed is not shown (%.2fx, %.2f-%.2fx).\n",
                 epochs, least, most);
}

/* Adds what the critical batch predicts for more GPUs, unless that was measured, or that all
 * counts have the same batch. */
static void add_batches(struct buf *b, const struct analysis_series *as,
                        const struct series_point *p, double factor, double measured)
{
    const struct series_point *base = as->decision.base;
    long from = base->rows[0].global_batch, to = p->rows[0].global_batch;

    if (isnan(factor))
        return;
    if (from == to)
        buf_addf(b, " All counts train with batches of %ld, so none of them learns less per image.",
                 to);
    else if (isnan(measured))
        buf_addf(b, " By it, the same progress takes %.2fx as many images with %d GPUs (batches of "
                 "%ld) as with %d (batches of %ld).", factor, p->gpus, to, base->gpus, from);
}

static void add_noise(struct buf *b, const struct analysis_series *as)
{
    const struct noise_scale *n = &as->noise;
    const struct decision *d = &as->decision;
    const struct convergence *c = &as->convergence;
    const struct series_point *last = &as->series.points[as->series.npoints - 1];
    const struct series_point *p = d->best == d->base ? last : d->best;
    size_t at = (size_t)(p - as->series.points);
    int decimals = n->critical_batch < 10 ? 2 : 0;

    if (!n->measured)
        return;
    long smallest = d->base->rows[0].global_batch;
    double factor = noise_scale_images(n, smallest, p->rows[0].global_batch);
    bool reached = c->metric != CONVERGENCE_NONE && at < c->npoints;
    double measured = reached ? c->points[at].epochs_ratio : NAN; /* to those of the base case */
    if (fabs(log(factor / measured)) > log(DISAGREE)) {
        buf_addf(b, "Critical batch: not known. The norms of the gradients predict %.2fx as many "
                 "images with %d GPUs as with %d, but %.2fx as many epochs were measured.\n",
                 factor, p->gpus, d->base->gpus, measured);
        return;
    }
    if (n->critical_batch < 1)
        buf_add(b, "Critical batch: below 1 image");
    else
        buf_addf(b, "Critical batch: about %.*f images", decimals, n->critical_batch);
    if (n->critical_batch >= 1)
        add_interval_words(b, &n->interval, decimals, "");
    if (n->critical_batch >= 1 && n->over_epochs && interval_is_known(&n->interval))
        buf_add(b, " over the epochs of the runs");
    if (smallest && n->critical_batch < (double)smallest)
        buf_addf(b, ", less than the smallest batch of %ld: this training gains nothing from "
                 "larger batches.", smallest);
    else
        buf_add(b, "; a step of a much larger batch hardly learns more.");
    add_batches(b, as, p, factor, measured);
    buf_add(b, "\n");
}

int words_compute(struct words *w, const struct analysis_series *as, const char *label,
                  bool deadline, struct err *e)
{
    struct buf parts[WORDS_NPARTS] = {0}, *next = &parts[WORDS_LIMITS];
    bool failed = false;

    if (as->series.npoints < 2) {
        buf_addf(&parts[WORDS_HEADLINE],
                 "%s ran on %d GPU%s only: there is nothing to compare it with.",
                 label ? label : as->series.engine, as->series.points[0].gpus,
                 plural(as->series.points[0].gpus));
        add_folds(&parts[WORDS_EVIDENCE], &as->series);
    } else {
        add_headline(&parts[WORDS_HEADLINE], &parts[WORDS_EVIDENCE], as, label);
        for (size_t i = 0; i < as->decision.ncaveats; i++)
            buf_addf(&parts[WORDS_CAVEATS], "%s\n", as->decision.caveats[i].text);
        add_folds(&parts[WORDS_EVIDENCE], &as->series);
        add_limit(next, as);
        add_beyond(next, as);
        add_gaps(next, as);
        add_collapses(next, as);
        add_lower(next++, as);
        add_overhead(next, as);
        add_model_words(next, as);
        add_convergence(next, as);
        add_noise(next++, as);
        add_advice_words(next++, as, deadline);
        add_next(next, as);
    }
    for (int i = 0; i < WORDS_NPARTS; i++)
        failed |= !(w->parts[i] = buf_steal(&parts[i]));
    if (!failed)
        return 0;
    words_destroy(w);
    return mem_fail(e);
}

void words_destroy(struct words *w)
{
    for (int i = 0; i < WORDS_NPARTS; i++)
        free(w->parts[i]);
    *w = (struct words){0};
}
