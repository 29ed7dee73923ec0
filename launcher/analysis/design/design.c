/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/design/design.h"

#include "launcher/analysis/design/design_internal.h"
#include "launcher/analysis/statistics/interval.h"
#include "src/rng.h"
#include "src/stat.h"

const char *const design_state_names[] = {
    [DESIGN_CONTINUE] = "continue",       [DESIGN_DECIDED] = "decided",
    [DESIGN_UNDECIDED] = "undecided",     [DESIGN_BUDGET] = "budget",
    [DESIGN_UNREACHABLE] = "unreachable", [DESIGN_FAILED] = "failed",
};

static const char *const how_names[] = {
    [DESIGN_NOT_TESTED] = "not tested",
    [DESIGN_HOLDS] = "holds",
    [DESIGN_FALLS] = "falls",
    [DESIGN_FUTILE] = "unlikely to be shown to hold",
    [DESIGN_NOT_SHOWN] = "not shown to hold",
    [DESIGN_LAPSED] = "not shown to hold, as runs collapsed or ended far worse",
    [DESIGN_BY_CONSTRUCTION] = "holds by construction",
    [DESIGN_SPEED_ALONE] = "by speed alone",
};

/* Returns the unmeasured candidate between two counts that is the closest to their middle of
 * ratios, or 0. */
static int find_middle(const struct design_view *v, int low, int high)
{
    double middle = log((double)low * high) / 2, closest = INFINITY;
    int found = 0;

    for (size_t i = 0; i < v->design->ncounts; i++) {
        int gpus = v->design->counts[i];
        double distance = fabs(log(gpus) - middle);
        if (gpus > low && gpus < high && distance < closest &&
            design_view_speed(v, gpus) == DESIGN_UNMEASURED) {
            closest = distance;
            found = gpus;
        }
    }
    return found;
}

#define explain(round, ...) snprintf((round)->reason, sizeof (round)->reason, __VA_ARGS__)

/* Adds the short runs that the next look at a count lacks. Returns their number. */
static size_t add_look_runs(const struct design_view *v, struct design_round *next, int gpus)
{
    size_t wanted = design_view_next_look(v, gpus), asked = design_view_asked(v, gpus, true, false),
           before = next->nruns;

    if (wanted > asked)
        design_view_add(v, next, gpus, wanted - asked, true);
    return next->nruns - before;
}

/* Adds n base runs to a round of short runs, or makes it empty if there are none left. */
static void add_base(const struct design_view *v, struct design_round *next, size_t n)
{
    size_t before = next->nruns;

    design_view_add(v, next, v->design->counts[0], n, true);
    if (next->nruns == before)
        *next = (struct design_round){0};
}

/* Returns whether the first round is expected to keep the budget, and may exceed it: start-up is
 * unknown, and a short run may take DESIGN_UNKNOWN times as long, or as long as a whole one. */
static bool is_unbounded(const struct design *d, const struct design_round *first)
{
    double most = DESIGN_UNKNOWN * first->gpu_hours,
           whole = d->whole_s > 0 ? d->whole_s / d->short_s * first->gpu_hours : INFINITY;

    return fmin(most, whole) > d->max_gpu_hours &&
           first->gpu_hours * (1 + DESIGN_RESERVE) <= d->max_gpu_hours;
}

static void begin_speed(const struct design_view *v, struct design_round *next)
{
    const struct design *d = v->design;
    int base = d->counts[0], last = d->counts[d->ncounts - 1], middle = find_middle(v, base, last);

    design_view_add(v, next, base, design_view_next_look(v, base), true);
    if (middle)
        add_look_runs(v, next, middle);
    add_look_runs(v, next, last);
    explain(next, "speed: the base case, the largest count and the middle");
    if (v->nrounds || !is_unbounded(d, next))
        return;
    *next = (struct design_round){0};
    design_view_add(v, next, base, 1, true);
    explain(next, "speed: one run of the base case, as what it takes besides its steps is unknown");
}

/* Adds a run for each outlier, and as many or 3 of the base case. */
static void repeat_outliers(const struct design_view *v, struct design_round *next)
{
    size_t most = 3;

    for (size_t i = 1; i < v->design->ncounts; i++) {
        size_t n = design_view_pending(v, v->design->counts[i]);
        design_view_add(v, next, v->design->counts[i], n, true);
        most = n > most ? n : most;
    }
    if (!next->nruns)
        return;
    bool one = next->nruns == 1;
    explain(next, "speed: %zu short run%s by more than %.0f %% from the median of %s count %s "
            "repeated", next->nruns, one ? " that differs" : "s that differ", 100 * DESIGN_OUTLIER,
            one ? "its" : "their", one ? "is" : "are");
    next->repeats = true;
    add_base(v, next, most);
}

/* Adds the runs of the next look at counts whose efficiency is open and that may be faster than the
 * fastest efficient one, or at `only`, and of the base case as many as the most of these have. */
static void repeat_speed(const struct design_view *v, struct design_round *next, int only)
{
    const struct design *d = v->design;
    double best = design_view_speedup(v, design_view_fastest(v));
    size_t most = 0;
    int open = 0;

    for (size_t i = 1; i < d->ncounts; i++) {
        int gpus = d->counts[i];
        if (only ? gpus != only : design_view_speed(v, gpus) != DESIGN_OPEN ||
                                      design_view_speedup_most(v, gpus) < best)
            continue;
        size_t n = add_look_runs(v, next, gpus);
        most = n > most ? n : most;
        open = n ? gpus : open;
    }
    if (!open)
        return;
    if (design_view_speed(v, open) != DESIGN_OPEN)
        explain(next, "speed: %d GPUs, before their quality is tested", open);
    else
        explain(next, "speed: whether the efficiency of %d GPU%s reaches %.2f is open", open,
                plural(open), d->rule.efficiency);
    add_base(v, next, most);
}

/* Adds a count between the largest efficient one and the next larger one that is slow, if any. */
static void narrow_speed(const struct design_view *v, struct design_round *next)
{
    const struct design *d = v->design;
    int low = d->counts[0], high = d->counts[d->ncounts - 1] + 1;

    for (size_t i = 1; i < d->ncounts; i++)
        if (design_view_speed(v, d->counts[i]) == DESIGN_EFFICIENT)
            low = d->counts[i];
    for (size_t i = d->ncounts; i-- > 1 && d->counts[i] > low;)
        if (design_view_speed(v, d->counts[i]) == DESIGN_SLOW)
            high = d->counts[i];
    int middle = find_middle(v, low, high);
    if (!middle)
        return;
    size_t n = add_look_runs(v, next, middle);
    explain(next, "speed: the largest efficient count lies between %d and %d", low, high);
    add_base(v, next, n);
}

/* Adds the count of which the model knows least among those that may be faster than the best. */
static void learn_speed(const struct design_view *v, struct design_round *next)
{
    const struct design *d = v->design;
    int base = d->counts[0], best = design_view_fastest(v), found = 0;
    double widest = 0, speedup = design_view_speedup(v, best) / (1 - DESIGN_TIME_MARGIN);

    if (!model_is_usable(v->model))
        return;
    for (size_t i = 1; i < d->ncounts && d->counts[i] < best; i++) {
        struct bounds b = model_speedup(v->model, base, d->counts[i]);
        double width = (b.high - b.low) / b.expected;
        if (design_view_speed(v, d->counts[i]) != DESIGN_UNMEASURED || b.high < speedup ||
            width <= widest)
            continue;
        widest = width;
        found = d->counts[i];
    }
    if (!found)
        return;
    size_t n = add_look_runs(v, next, found);
    explain(next, "speed: the model knows least of %d GPUs, which may be faster than %d", found,
            best);
    add_base(v, next, n);
}

static void choose_speed(const struct design_view *v, struct design_round *next)
{
    if (v->nrounds == 0 || (v->nrounds == 1 && v->rounds[0].nruns == 1 && v->series))
        begin_speed(v, next);
    if (!next->nruns && v->series && v->series->npoints > 1)
        repeat_outliers(v, next);
    if (!v->series || v->series->npoints < 2 || v->family)
        return;
    if (!next->nruns)
        repeat_speed(v, next, 0);
    if (!next->nruns)
        narrow_speed(v, next);
    if (!next->nruns)
        learn_speed(v, next);
}

/* Sets the estimate and how the test of a look ended by its margin, or that it continues. */
static void judge_look(const struct design_view *v, const struct quality *q, struct design_test *t)
{
    const struct comparison *c = &q->change;
    double error = fmax(c->sd / sqrt((double)c->n), c->resolution / sqrt(6 * (double)c->n)),
           distance = c->margin - quality_loss(v->series, c->difference);
    bool last = t->look == v->plan.nlooks;

    t->interval = c->interval;
    if (c->n < 2 || !(t->look > 0)) {
        t->how = t->look == 0 ? DESIGN_NOT_TESTED : last ? DESIGN_NOT_SHOWN : DESIGN_FUTILE;
        return;
    }
    double value = distance / fmax(error, 1e-12);
    double z = sequential_normal(value, c->df);
    t->how = q->state == QUALITY_HOLDS   ? DESIGN_HOLDS
             : q->state == QUALITY_FALLS ? DESIGN_FALLS
             : last                      ? DESIGN_NOT_SHOWN
             : sequential_is_futile(&v->plan, t->look - 1, z) ? DESIGN_FUTILE : DESIGN_NOT_TESTED;
    if (t->how == DESIGN_NOT_TESTED)
        return;
    double estimate = sequential_estimate(&v->plan, t->look - 1, value, c->df);
    t->estimate = quality_loss(v->series, c->margin - estimate * fmax(error, 1e-12));
}

static struct design_test judge(const struct design_view *v, const struct quality_look *look)
{
    const struct series_point *p = v->series ? series_find(v->series, look->gpus) : NULL;
    struct design_test t = {.gpus = look->gpus, .look = look->look, .pairs = look->pairs,
                            .estimate = NAN, .interval = interval_none()};

    if (!p || !v->decision.quality) {
        t.how = DESIGN_NOT_SHOWN;
        return t;
    }
    const struct quality *q = &v->decision.quality[p - v->series->points];
    t.collapse_most = q->collapse_most;
    if (q->state == QUALITY_COLLAPSES)
        t.how = DESIGN_FALLS;
    else if (q->collapse_open)
        t.how = DESIGN_LAPSED;
    else if (q->state == QUALITY_UNKNOWN)
        t.how = DESIGN_NOT_SHOWN;
    else if (q->state == QUALITY_HOLDS && q->by_construction)
        t.how = DESIGN_BY_CONSTRUCTION;
    else
        judge_look(v, q, &t);
    return t;
}

static bool holds(const struct design_view *v, const struct design_test *t)
{
    return (t->how == DESIGN_HOLDS || t->how == DESIGN_BY_CONSTRUCTION) &&
           design_view_speed(v, t->gpus) == DESIGN_EFFICIENT;
}

/* Fills counts with the candidates whose quality may be tested: those that may be efficient and
 * faster than low, above it and below high. Returns their number. */
static size_t list_testable(const struct design_view *v, int low, int high, int *counts)
{
    size_t n = 0;

    for (size_t i = 1; i < v->design->ncounts; i++) {
        int gpus = v->design->counts[i];
        enum design_speed speed = design_view_speed(v, gpus);
        bool efficient = speed == DESIGN_EFFICIENT ||
                         (speed == DESIGN_OPEN && design_view_next_look(v, gpus)),
             fast = efficient && design_view_speedup(v, gpus) * (1 - DESIGN_TIME_MARGIN) >
                                     design_view_speedup(v, low);
        if (gpus > low && gpus < high && (fast || speed == DESIGN_UNMEASURED))
            counts[n++] = gpus;
    }
    return n;
}

/* Returns the count to test next, or 0; *held becomes the fastest that holds, or the base case. */
static int choose_test(const struct design_view *v, const struct design_outcome *outcome, int *held)
{
    int counts[DESIGN_COUNTS], fastest = design_view_fastest(v), high = 0;

    *held = v->design->counts[0];
    for (const struct design_test *t = outcome->tests; t < outcome->tests + outcome->ntests; t++)
        if (holds(v, t) && design_view_speedup(v, t->gpus) > design_view_speedup(v, *held))
            *held = t->gpus;
    if (!outcome->ntests)
        return fastest > *held ? fastest : 0;
    for (const struct design_test *t = outcome->tests; t < outcome->tests + outcome->ntests; t++)
        if (t->gpus > *held && (!high || t->gpus < high))
            high = t->gpus;
    for (size_t i = 0; i < outcome->ntests; i++)
        if (outcome->tests[i].how == DESIGN_LAPSED)
            return 0;
    if (!high || outcome->ntests >= v->family)
        return 0;
    size_t n = list_testable(v, *held, high, counts);
    return n ? counts[n / 2] : 0;
}

static void add_look(const struct design_view *v, struct design_round *next, int gpus, size_t look)
{
    size_t pairs[SEQUENTIAL_LOOKS], nlooks = design_view_pairs(v->design, pairs);
    int counts[DESIGN_COUNTS];
    size_t n = list_testable(v, v->design->counts[0], gpus + 1, counts);

    next->tested = gpus;
    next->look = look;
    next->pairs = look ? pairs[look - 1] : 1;
    next->family = v->family ? v->family : 1;
    while (!v->family && next->family < DESIGN_TESTED && n > (size_t)1 << (next->family - 1))
        next->family++;
    design_view_add(v, next, v->design->counts[0], next->pairs, false);
    design_view_add(v, next, gpus, next->pairs, false);
    if (look)
        explain(next, "quality: %zu pair%s of %d and %d GPUs, look %zu of %zu", next->pairs,
                plural((long)next->pairs), gpus, v->design->counts[0], look, nlooks);
    else
        explain(next, "quality: does one pair of %d and %d GPUs begin with equal losses", gpus,
                v->design->counts[0]);
}

static void choose_quality(const struct design_view *v, struct design_round *next,
                           struct design_outcome *outcome)
{
    const struct design_test *last = NULL;

    for (size_t i = 0; i < v->looks.n; i++) {
        outcome->tests[i] = judge(v, &v->looks.items[i]);
        outcome->ntests = i + 1;
        last = &outcome->tests[i];
    }
    int test = choose_test(v, outcome, &outcome->gpus);
    outcome->how = last ? last->how : DESIGN_NOT_TESTED;
    for (size_t i = 0; i < outcome->ntests; i++)
        if (outcome->tests[i].gpus == outcome->gpus)
            outcome->how = outcome->tests[i].how;
    if (last && last->how == DESIGN_NOT_TESTED &&
        design_view_speed(v, last->gpus) == DESIGN_EFFICIENT)
        add_look(v, next, last->gpus, last->look + 1);
    else if (test && design_view_speed(v, test) != DESIGN_EFFICIENT)
        repeat_speed(v, next, test);
    else if (test)
        add_look(v, next, test, v->design->shared ? 0 : 1);
}

/* Returns DESIGN_FAILED if no larger count has a result, DESIGN_UNREACHABLE if all that have one
 * are slow, and otherwise DESIGN_UNDECIDED. */
static enum design_state judge_speed(const struct design_view *v)
{
    bool slow = true;

    if (!v->series || v->series->npoints < 2)
        return DESIGN_FAILED;
    for (size_t i = 1; i < v->design->ncounts; i++)
        slow &= design_view_speed(v, v->design->counts[i]) != DESIGN_OPEN;
    return slow ? DESIGN_UNREACHABLE : DESIGN_UNDECIDED;
}

/* Returns whether the quality of the smallest count that may be tested is shown to fall. */
static bool all_fall(const struct design_view *v, const struct design_outcome *outcome)
{
    const struct design_test *lowest = outcome->tests;
    int counts[DESIGN_COUNTS];

    for (size_t i = 1; i < outcome->ntests; i++)
        if (outcome->tests[i].gpus < lowest->gpus)
            lowest = &outcome->tests[i];
    return lowest->how == DESIGN_FALLS &&
           !list_testable(v, v->design->counts[0], lowest->gpus, counts);
}

/* Returns the test of the count that is advised, which there is. */
static const struct design_test *find_test(const struct design_outcome *outcome)
{
    const struct design_test *t = outcome->tests;

    while (t->gpus != outcome->gpus)
        t++;
    return t;
}

static void explain_end(const struct design_view *v, struct design_outcome *outcome)
{
    const struct design *d = v->design;
    char *why = outcome->why;
    size_t size = sizeof outcome->why;
    bool larger = outcome->gpus > d->counts[0];

    if (outcome->state == DESIGN_FAILED)
        snprintf(why, size, v->series ? "no run of more than %d GPU%s has a result, so there is "
                 "nothing to compare" : "no run of the base case, %d GPU%s, has a result",
                 d->counts[0], plural(d->counts[0]));
    else if (outcome->state == DESIGN_UNREACHABLE)
        snprintf(why, size, "no count above %d is shown to be faster with an efficiency of at "
                 "least %.2f", d->counts[0], d->rule.efficiency);
    else if (outcome->how == DESIGN_SPEED_ALONE)
        snprintf(why, size, "%d GPUs are the fastest count measured whose efficiency is shown to "
                 "be at least %.2f; quality is not asked of", outcome->gpus, d->rule.efficiency);
    else if (larger && outcome->how == DESIGN_BY_CONSTRUCTION)
        snprintf(why, size, "%d GPUs are the fastest count measured that is shown to be efficient "
                 "and whose quality holds by construction, not tested", outcome->gpus);
    else if (larger)
        snprintf(why, size, "%d GPUs are the fastest count measured that is shown to be efficient "
                 "and whose quality is shown to hold, but for runs that collapse or end far worse (at "
                 "most %.0f %%)", outcome->gpus, ceil(100 * find_test(outcome)->collapse_most - 1e-9));
    else if (outcome->ntests)
        snprintf(why, size, "the quality of %d GPU%s is %s%s",
                 outcome->tests[outcome->ntests - 1].gpus,
                 plural(outcome->tests[outcome->ntests - 1].gpus),
                 outcome->how == DESIGN_FALLS ? "shown to fall" : how_names[outcome->how],
                 outcome->state == DESIGN_DECIDED ? ", and no smaller count is left"
                                                  : ", and no further count may be tested");
    else
        snprintf(why, size, "the runs do not show a count above %d that is faster and has an "
                 "efficiency of %.2f", d->counts[0], d->rule.efficiency);
}

static void end(const struct design_view *v, struct design_outcome *outcome)
{
    bool larger = outcome->gpus > v->design->counts[0];

    outcome->state = larger                  ? DESIGN_DECIDED
                     : !outcome->ntests      ? judge_speed(v)
                     : all_fall(v, outcome) ? DESIGN_DECIDED : DESIGN_UNDECIDED;
    explain_end(v, outcome);
}

/* Returns the GPU-hours without which a round is not begun: its own; those of the look behind it if
 * it is a first one, which hardly decides alone; and a reserve while no run of its kind is
 * measured, since what it takes besides its epochs is unknown. */
static double least_hours(const struct design_view *v, const struct design_round *next)
{
    size_t pairs[SEQUENTIAL_LOOKS], nlooks = design_view_pairs(v->design, pairs);
    struct design_round both = {.nruns = 0};

    if (!next->tested)
        return next->gpu_hours * (v->nrounds ? 1 : 1 + DESIGN_RESERVE);
    if (next->look == 1 && nlooks > 1) {
        design_view_add(v, &both, v->design->counts[0], pairs[1], false);
        design_view_add(v, &both, next->tested, pairs[1], false);
    }
    return fmax(next->gpu_hours, both.gpu_hours) *
           (design_view_has_whole(v) ? 1 : 1 + DESIGN_RESERVE);
}

static void limit_budget(const struct design_view *v, const struct design_round *next,
                         struct design_outcome *outcome)
{
    double left = v->design->max_gpu_hours - outcome->gpu_hours, least = least_hours(v, next);

    if (least <= left)
        return;
    outcome->state = DESIGN_BUDGET;
    snprintf(outcome->why, sizeof outcome->why,
             "the next round (%s) is expected to take %.3g GPU-hours%s, and %.3g of %.3g are left: "
             "raise --max-gpu-hours, or see 'unetctl plan --until-decided'",
             next->reason, least,
             least > next->gpu_hours ? " with what follows or is unknown" : "",
             fmax(0, left), v->design->max_gpu_hours);
}

int design_next(const struct design *d, const struct results *table,
                const struct design_round *rounds, size_t nrounds, struct design_round *next,
                struct design_outcome *outcome, struct err *e)
{
    struct design_view v;

    *next = (struct design_round){0};
    *outcome = (struct design_outcome){.gpus = d->counts[0]};
    if (design_view_create(&v, d, table, rounds, nrounds, e))
        return -1;
    outcome->gpu_hours = design_view_spent(&v);
    choose_speed(&v, next);
    if (v.series && !next->nruns && d->quality)
        choose_quality(&v, next, outcome);
    else if (v.series) {
        outcome->gpus = d->quality ? outcome->gpus : design_view_fastest(&v);
        outcome->how = d->quality ? DESIGN_NOT_TESTED : DESIGN_SPEED_ALONE;
    }
    if (next->nruns)
        limit_budget(&v, next, outcome);
    else
        end(&v, outcome);
    design_view_destroy(&v);
    return 0;
}

static void describe_test(const struct design_test *t, struct buf *b)
{
    buf_addf(b, " With %d GPUs it %s", t->gpus,
             t->how == DESIGN_NOT_TESTED ? "is not decided yet" : "");
    if (t->how != DESIGN_NOT_TESTED)
        buf_addf(b, "%s%s", t->how == DESIGN_FUTILE || t->how == DESIGN_NOT_SHOWN ||
                                 t->how == DESIGN_LAPSED ? "is " : "",
                 how_names[t->how]);
    if (t->look)
        buf_addf(b, " at look %zu, over %zu pairs", t->look, t->pairs);
    if (interval_is_known(&t->interval) && !isnan(t->estimate))
        buf_addf(b, " (change %.4g, median-unbiased; repeated confidence interval %.4g to %.4g)",
                 t->estimate, t->interval.low, t->interval.high);
    buf_add(b, ".");
}

void design_describe(const struct design *d, const struct design_round *rounds, size_t nrounds,
                     const struct design_outcome *outcome, struct buf *b)
{
    size_t pairs[SEQUENTIAL_LOOKS], n = design_view_pairs(d, pairs), whole = 0;

    for (size_t i = 0; i < nrounds; i++)
        whole += rounds[i].tested > 0;
    buf_addf(b, "The study was sequential: %zu round%s, each chosen from the results of those "
             "before, %zu of them of whole runs. Speed was measured by short runs and compared "
             "with base runs of the same round, at most %d times for a count, with a one-sided level "
             "of %.3g that all counts and looks share; short runs that differed by more than %.0f %% "
             "from the median of their count were repeated once.",
             nrounds, plural((long)nrounds), whole, DESIGN_SPEED_NLOOKS, DESIGN_ALPHA,
             100 * DESIGN_OUTLIER);
    if (whole) {
        buf_addf(b, " Quality was tested at most at %zu count%s, at", rounds[nrounds - 1].family,
                 plural((long)rounds[nrounds - 1].family));
        for (size_t i = 0; i < n; i++)
            buf_addf(b, "%s%zu", i == 0 ? " " : i + 1 < n ? ", " : " and ", pairs[i]);
        buf_addf(b, " pairs of equal seeds, with a one-sided level of %.3g that all counts and "
                 "looks share (alpha spending after O'Brien and Fleming, Student's t); its "
                 "intervals are repeated confidence intervals.", DESIGN_ALPHA);
    }
    if (outcome->state == DESIGN_CONTINUE)
        buf_add(b, " It is not decided yet.");
    for (size_t i = 0; i < outcome->ntests; i++)
        describe_test(&outcome->tests[i], b);
}

/* ---- simulated studies ---- */

#define MOST_SERIAL 0.05

/* What random numbers are used for. */
enum { TIME = 71, QUALITY, SERIAL = 74 };

int design_expect_run(const struct design_truth *t, const struct design *d,
                      const struct design_run *run, size_t round, uint64_t study,
                      struct results *table, struct err *e)
{
    int gpus = run->gpus;
    uint64_t number = ((uint64_t)gpus << 32) + ((uint64_t)run->seed << 1) + run->limited;
    double epoch = t->time(t->arg, gpus) *
                   fmax(0.01, 1 + t->noise * rng_normal(TIME, study, number));
    struct result r;

    result_init(&r);
    snprintf(r.run, sizeof r.run, "%d-%ld-%d", gpus, run->seed, run->limited);
    snprintf(r.engine, sizeof r.engine, "x");
    snprintf(r.quality.metric, sizeof r.quality.metric, "score");
    r.gpus = gpus, r.seed = run->seed, r.state = RESULT_DONE, r.limited = run->limited;
    r.median_epoch_s = epoch, r.epochs = t->epochs;
    if (run->limited) {
        r.limited_s = d->short_s;
    } else {
        r.training_time = (double)t->epochs * epoch;
        r.quality.value = 1 + DESIGN_EXPECT_MARGIN * t->scatter *
                                  rng_normal(QUALITY, study, number);
    }
    if (t->edit)
        t->edit(t->arg, round, study, &r);
    if (!run->limited && d->shared) {
        if (!(r.curve = curve_create(1, 0, e)))
            return -1;
        r.curve->loss[0] = 1;
    }
    return results_add(table, &r, e);
}

static int make_study(const struct design_truth *t, const struct design *d, uint64_t study,
                      struct design_round *rounds, struct results *table,
                      struct design_outcome *outcome, struct err *e)
{
    for (int n = 0; n < DESIGN_ROUNDS; n++) {
        if (design_next(d, table, rounds, (size_t)n, &rounds[n], outcome, e))
            return -1;
        if (outcome->state != DESIGN_CONTINUE)
            return n;
        for (size_t i = 0; i < rounds[n].nruns; i++)
            if (design_expect_run(t, d, &rounds[n].runs[i], (size_t)n, study, table, e))
                return -1;
        results_sort(table);
    }
    return DESIGN_ROUNDS;
}

int design_expect_study(const struct design_truth *t, const struct design *d, uint64_t study,
                        struct design_outcome *outcome, struct err *e)
{
    struct design own = *d;
    struct results table = {0};
    struct design_round *rounds = mem_alloc(DESIGN_ROUNDS, sizeof *rounds, e);

    own.rule.margin = DESIGN_EXPECT_MARGIN;
    own.rule.is_share = false;
    int n = rounds ? make_study(t, &own, study, rounds, &table, outcome, e) : -1;
    free(rounds);
    results_destroy(&table);
    return n;
}

/* The seconds of a base case's epoch, the base case, and a serial part. */
struct amdahl {
    double whole, base, serial;
};

static double amdahl(const void *arg, int gpus)
{
    const struct amdahl *a = arg;

    return a->whole * (a->serial + (1 - a->serial) * a->base / gpus);
}

int design_expect(const struct design *d, struct design_cost *dst, struct err *e)
{
    struct design own = *d;
    struct amdahl law = {d->whole_s > 0 ? d->whole_s : 1, d->counts[0], 0};
    struct design_truth t = {.time = amdahl, .arg = &law, .epochs = 1,
                             .noise = DECISION_TIME_SCATTER, .scatter = sqrt(0.5)};
    double hours[DESIGN_EXPECT_STUDIES], rounds[DESIGN_EXPECT_STUDIES];
    size_t n = DESIGN_EXPECT_STUDIES, decided = 0;

    own.max_gpu_hours = INFINITY;
    own.whole_s = law.whole;
    own.epochs = 1;
    for (size_t i = 0; i < n; i++) {
        struct design_outcome v;
        law.serial = MOST_SERIAL * rng_uniform(SERIAL, i, 0);
        int made = design_expect_study(&t, &own, i, &v, e);
        if (made < 0)
            return -1;
        hours[i] = v.gpu_hours;
        rounds[i] = made;
        decided += v.state != DESIGN_UNDECIDED && v.gpu_hours <= d->max_gpu_hours;
    }
    stat_sort(hours, n);
    stat_sort(rounds, n);
    *dst = (struct design_cost){median_of_sorted(hours, n), hours[n * 9 / 10],
                                (double)decided / (double)n, median_of_sorted(rounds, n)};
    return 0;
}
