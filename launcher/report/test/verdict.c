/* SPDX-License-Identifier: BSD-3-Clause */
/* Studies of many shapes from fixed seeds: 150, or a thousand with EXHAUSTIVE set. The statements
 * of their reports on what to use, what limits it, what costs least and what to measure next are
 * checked against the numbers: the verdict is derived again from the runs and from the cells of the
 * printed tables, and numbers in these sentences are looked up in those tables. */
#include "src/base.h"
#include "launcher/report/report_internal.h"

#include <jansson.h>
#include <math.h>

#include "launcher/analysis/statistics/hypothesis.h"
#include "launcher/analysis/test/table.h"
#include "launcher/report/test/sentences.h"
#include "src/rng.h"

#define STUDIES 150
#define EXHAUSTIVE_STUDIES 1000
#define MOST_FAILURES 20

enum {
    COUNTS,
    TIMES,
    NOISE,
    SEEDS,
    QUALITY,
    SCATTER,
    MODE,
    LOST,
    TWO,
    CURVE,
    GRADIENT,
    IMAGES,
    STEPS,
    COLLAPSE,
    EQUAL,
    FOLDS,
    DRAWS
};

static uint64_t study;
static int failures;
static char all[1 << 17]; /* the whole text of this study's report */

/* Returns a number in 0..n-1, which depends on the study and the choice. */
static unsigned draw(int choice, unsigned n)
{
    uint32_t words[4];

    rng_block(25, study, (uint64_t)choice, words);
    return words[0] % n;
}

__attribute__((format(printf, 2, 3))) static void expect(bool good, const char *fmt, ...)
{
    char what[512];
    va_list ap;

    if (good || failures >= MOST_FAILURES)
        return;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    failures++;
    printf("# study %lu: %s\n", (unsigned long)study, what);
    if (getenv("VERBOSE"))
        puts(all);
}

static const int counts[][9] = {
    {1, 2}, {1, 2, 4}, {1, 2, 4, 8}, {1, 3, 16}, {2, 4, 8}, {1, 8, 9}, {1, 2, 3, 4, 5, 6, 7, 8},
    {4, 5}, {1, 64}};

static double time_of(int engine, int gpus)
{
    double n = gpus;

    switch ((draw(TIMES, 7) + (unsigned)engine) % 7) {
    case 0: return 30 / n;                        /* ideal scaling */
    case 1: return 30 * (0.97 / n + 0.03);        /* Amdahl */
    case 2: return 30 * (1 + 0.1 * (n - 1));      /* slower with every GPU */
    case 3: return 30 * (1 / n + 0.01 * (n - 1)); /* fastest at a middle count */
    case 4: return 30 / pow(n, 1.15);             /* faster than ideal */
    case 5: return n < 3 ? 40 : 30 / n;           /* slow at small counts only */
    default: return 30 * (0.6 / n + 0.4);
    }
}

static double true_quality(int gpus)
{
    switch (draw(QUALITY, 7)) {
    case 0: return NAN;
    case 1: return 0.9 - 0.02 * log2(gpus);
    case 2: return 0.9 - (gpus >= 4 ? 0.3 : 0);
    case 3: return 0.9 + 0.01 * log2(gpus);
    case 4: return 0.02;
    case 5: return 0.9 - (gpus > 1 ? 0.0105 : 0);
    default: return 0.9;
    }
}

/* Some studies record few decimals. */
static double quality_of(int gpus, long seed)
{
    static const double scatters[] = {0, 0.001, 0.004, 0.01, 0.05};
    static const double steps[] = {0, 0, 0, 0.001, 0.01};
    double scatter =
        scatters[draw(SCATTER, 5)] * rng_normal(7, study, (uint64_t)(gpus * 100 + seed));
    double step = steps[draw(STEPS, 5)], quality = true_quality(gpus);

    quality += draw(QUALITY, 7) == 4 ? 0.01 * fabs(scatter) : scatter;
    if (draw(COLLAPSE, 5) == 0 && gpus > 1 &&
        rng_uniform(6, study, (uint64_t)(gpus * 100 + seed)) < 0.1)
        quality = 0.3;
    return step > 0 ? step * round(quality / step) : quality;
}

static void set_batch(struct result *r)
{
    switch (draw(MODE, 4)) {
    case 0: /* unknown */ return;
    case 1: r->global_batch = 64 * 9 * 7 * 5; break;
    case 2: r->batch_per_gpu = 16; break;
    default: r->batch_per_gpu = 16;
    }
    r->units = draw(MODE, 4) == 3 ? 1600 * r->gpus : 20160;
    r->units_per_s = r->units / r->median_epoch_s;
}

static void add_run(struct results *table, int engine, int gpus, long seed)
{
    static const double noises[] = {0, 0.001, 0.02, 0.2};
    double noise = noises[draw(NOISE, 4)] *
                   rng_normal(8, study, (uint64_t)(engine * 100000 + gpus * 100 + seed));
    double grown = draw(MODE, 4) == 3 ? gpus : 1;
    struct result *r = table_add(table, engine ? "y" : "x", gpus, seed,
                                 fmax(0.05, 1 + noise) * grown * time_of(engine, gpus));

    result_set_text(r->host, sizeof r->host, "n1");
    r->quality.iou = quality_of(gpus, seed);
    r->loss = draw(EQUAL, 6) ? rng_uniform(5, study, (uint64_t)(gpus * 100 + seed)) : 0.5;
    set_batch(r);
    if (draw(FOLDS, 8) == 0)
        r->settings = strdup("data.folds=3");
    if (draw(IMAGES, 4) == 0)
        r->quality.val_images = gpus > 3 ? 20 : 40;
    if (draw(GRADIENT, 3) == 0) {
        r->grad_sq = 1;
        r->grad_var = draw(GRADIENT, 2) ? 0.2 : 400;
    }
    if (draw(CURVE, 2) == 0)
        table_add_curve(r, 12, r->median_epoch_s);
    if (draw(LOST, 4) == 0 && rng_normal(9, study, (uint64_t)(gpus * 100 + seed)) > 1)
        r->state = RESULT_FAILED;
}

static void fill(struct results *table)
{
    static const long seeds[] = {1, 1, 2, 3, 5, 10};
    long n = seeds[draw(SEEDS, 6)];
    const int *gpus = counts[draw(COUNTS, sizeof counts / sizeof *counts)];

    int nengines = draw(TWO, 4) == 0 ? 2 : 1;

    for (int engine = 0; engine < nengines; engine++)
        for (int i = 0; i < 9 && gpus[i]; i++)
            for (long seed = 1; seed <= n; seed++)
                add_run(table, engine, gpus[i], seed);
    results_sort(table);
}

/* Returns what is said of a series beyond the verdict and what weakens it, in a static buffer. */
static const char *reasons_of(const struct report_series *rs)
{
    static char reasons[1 << 14];

    snprintf(reasons, sizeof reasons, "%s%s%s%s", rs->words.limits, rs->words.models,
             rs->words.costs, rs->words.advice);
    return reasons;
}

/* Returns the number right after the string `before` in text, or NaN if there is none. */
static double number_behind(const char *text, const char *before)
{
    const char *at = strstr(text, before);
    double value;

    return at && sscanf(at + strlen(before), "%lf", &value) == 1 ? value : NAN;
}

static const char *cell(const struct table *t, size_t row, const char *head)
{
    if (!t->ncells) /* of quality, where no run has one */
        return "-";
    for (size_t i = 0; i < t->ncolumns; i++)
        if (strcmp(t->columns[i].head, head) == 0)
            return t->cells[row * t->ncolumns + i];
    bail_out("no column '%s'", head);
}

static double value(const struct table *t, size_t row, const char *head)
{
    return strtod(cell(t, row, head), NULL);
}

static size_t row_of(const struct table *t, int gpus)
{
    for (size_t i = 0; i < t->ncells / t->ncolumns; i++)
        if (value(t, i, "GPUs") == gpus)
            return i;
    return 0;
}

/* Returns the judgement of the efficiency of a row, by the interval of its speed-up, which must not
 * contradict that by the wider one that holds for all counts together. */
static enum decision_state judge_time(const struct analysis_series *as, const struct table *speed,
                                      size_t row)
{
    double ideal = series_ideal(&as->series, as->series.points[row].gpus), low, high;
    const char *printed = cell(speed, row, "interval");

    if (sscanf(printed, "%lf..%lf", &low, &high) != 2 || strstr(printed, "range") ||
        strstr(printed, "epochs") || as->decision.time[row] == DECISION_UNDECIDED)
        return DECISION_UNDECIDED;
    if (low / ideal > DECISION_EFFICIENCY + 0.006)
        return DECISION_PASSES;
    if (high / ideal < DECISION_EFFICIENCY - 0.006)
        return DECISION_FAILS;
    return as->decision.time[row]; /* close to the threshold rounding hides it */
}

/* Applies the rule to the printed cells of a row. */
static enum decision_state judge_row(const struct analysis_series *as, const struct table *speed,
                                     const struct table *quality, size_t row)
{
    double low = NAN, high = NAN;
    const char *judged = cell(quality, row, "judgement");

    if (row == 0)
        return DECISION_PASSES;
    if (as->decision.by_time)
        return judge_time(as, speed, row);
    sscanf(cell(quality, row, "its interval"), "%lf..%lf", &low, &high);
    if (strcmp(judged, "holds") == 0)
        expect(low >= -DECISION_IOU_MARGIN, "holds with %s", cell(quality, row, "its interval"));
    else if (strcmp(judged, "falls") == 0)
        expect(high <= -DECISION_IOU_MARGIN, "falls with %s", cell(quality, row, "its interval"));
    if (judge_time(as, speed, row) == DECISION_FAILS || strcmp(judged, "falls") == 0 ||
        strcmp(judged, "collapses") == 0)
        return DECISION_FAILS;
    return strcmp(judged, "holds") == 0 ? judge_time(as, speed, row) : DECISION_UNDECIDED;
}

/* The chosen row must be the fastest of at most this state; among equal printed speed-ups the
 * unrounded ones decide. */
static void check_choice(const struct analysis_series *as, const struct table *speed,
                         const struct table *quality)
{
    const struct decision *d = &as->decision;

    for (size_t i = 0; i < as->series.npoints; i++) {
        enum decision_state state = judge_row(as, speed, quality, i);
        expect(state == d->state[i], "row %zu: state %d by the table, %d by the decision", i, state,
               d->state[i]);
        double s = value(speed, i, "steady");
        if (state == DECISION_PASSES)
            expect(s <= value(speed, row_of(speed, d->use->gpus), "steady"), "row %zu is faster",
                   i);
        if (state <= DECISION_UNDECIDED && value(speed, i, "efficiency") > DECISION_EFFICIENCY)
            expect(s <= value(speed, row_of(speed, d->reach->gpus), "steady"), "row %zu is faster",
                   i);
    }
    expect(d->state[d->use - as->series.points] == DECISION_PASSES, "use does not pass");
    expect(d->speedup.value >= 1, "use is slower than the base case");
}

/* Derives quality again from the runs: means, and, where runs are paired by seed, Bonferroni's
 * interval. */
static void check_quality(const struct analysis_series *as)
{
    const struct series *s = &as->series;

    for (size_t i = 1; i < s->npoints; i++) {
        const struct quality *q = &as->decision.quality[i];
        const struct comparison *c = &q->change;
        double pairs[16];
        size_t n = s->points[i].nruns;
        if (isnan(c->difference))
            continue;
        if (q->ncollapsed || as->decision.quality[0].ncollapsed || q->nrepeats ||
            as->decision.quality[0].nrepeats)
            continue;
        expect(fabs(c->b - s->points[i].q[QUANTITY_QUALITY].mean) < 1e-12, "a mean is another");
        expect(fabs(c->b - c->a - c->difference) < 1e-12,
               "a change is not the difference of the means");
        for (size_t k = 0; k < n; k++) {
            if (n < 2 || n != s->points[0].nruns ||
                s->points[0].rows[k].seed != s->points[i].rows[k].seed)
                goto next;
            pairs[k] = s->points[i].rows[k].quality.iou - s->points[0].rows[k].quality.iou;
        }
        if (!interval_is_known(&c->interval) || c->sd < c->resolution)
            goto next; /* rounding counts as scatter */
        struct student t = student_paired(pairs, n, 1 - 0.05 / (double)(s->npoints - 1));
        expect(fabs(t.interval.low - c->resolution - c->interval.low) < 1e-9 &&
                   fabs(t.interval.high + c->resolution - c->interval.high) < 1e-9,
               "count %zu: %.5f..%.5f, not "
               "%.5f..%.5f",
               i, c->interval.low, c->interval.high, t.interval.low, t.interval.high);
    next:;
    }
}

/* Did all runs of a count, and of the base case, enter the comparison of quality? */
static bool compares_all(const struct decision *d, size_t i)
{
    return !d->quality[0].ncollapsed && !d->quality[0].nrepeats && !d->quality[i].ncollapsed &&
           !d->quality[i].nrepeats;
}

static void check_headline(const struct report_series *rs, const struct table *speed,
                           const struct table *quality)
{
    const struct decision *d = &rs->as->decision;
    char h[2000];
    snprintf(h, sizeof h, "%s\n%s", rs->words.headline, rs->words.evidence);
    size_t row = row_of(speed, d->best->gpus), reached = row_of(speed, d->reach->gpus);
    double use = fmax(number_behind(h, "Use "), number_behind(h, ": use ")),
           reach = number_behind(h, "ithin reach by time: up to ");
    double times =
        number_behind(h, rs->as->series.npoints && reach > 0 && !(use > 0) ? " GPUs, " : ": ");
    bool holds = strstr(h, " holds (") != NULL, open = d->reach == d->base && !d->decided;
    const char *against = strstr(h, "(0.");
    double a, b;

    expect((use > 0) != (d->use != d->best || open), "one of two forms: %s", h);
    if (use > 0)
        expect(use == d->use->gpus, "use %g, not %d", use, d->use->gpus);
    expect((reach > 0) == (d->reach != d->use), "what is undecided is within reach");
    if (reach > 0)
        expect(reach == d->reach->gpus, "reach %g, not %d", reach, d->reach->gpus);
    expect(holds == (strcmp(cell(quality, row, "judgement"), "holds") == 0 && d->use != d->base),
           "holds is said where it is judged so");
    if (!isnan(times) && !rs->label[1] && d->best != d->base && !strstr(h, "measured: ") &&
        !strstr(h, "alone: ") && !open)
        expect(fabs(times - value(speed, row, "steady")) <= 0.056, "%g times, the table has %s",
               times, cell(speed, row, "steady"));
    if (against && sscanf(against, "(%lf against %lf", &a, &b) == 2 &&
        compares_all(d, holds ? row : reached)) {
        /* a mean in the middle of two decimals may be rounded to either */
        expect(fabs(b - value(quality, 0, rs->as->series.quality)) < 1.1e-4, "quality %g", b);
        expect(fabs(a - value(quality, holds ? row : reached, rs->as->series.quality)) < 1.1e-4,
               "quality %g", a);
    }
    if (holds)
        expect(number_behind(h, "; change ") == value(quality, row, "change"), "a change: %s", h);
}

static void check_next(const struct report_series *rs)
{
    const struct decision *d = &rs->as->decision;
    const struct series *s = &rs->as->series;
    const char *line = strstr(reasons_of(rs), "Worth measuring next: ");
    int last = s->points[s->npoints - 1].gpus;
    double n = number_behind(reasons_of(rs), "Worth measuring next: ");

    expect(line != NULL, "nothing is said of what to measure next");
    if (d->next_seeds) {
        const struct series_point *p = d->next_point;
        size_t fewest = d->base->nruns < p->nruns ? d->base->nruns : p->nruns;
        if (series_folds(s))
            expect(strstr(line, " of each of the 3 folds with ") &&
                       n * 3 >= (double)d->next_seeds && (n - 1) * 3 < (double)d->next_seeds,
                   "seeds of folds decide first");
        else
            expect(n == (double)d->next_seeds && strstr(line, " seeds with "), "seeds decide first");
        expect(d->next_seeds > fewest || d->quality[p - s->points].nrepeats,
               "%zu seeds were run already", d->next_seeds);
        return;
    }
    if (isnan(n)) {
        expect(d->limit && (d->limit - d->reach == 1 || d->time_seeds.point),
               "there is nothing to measure next");
        return;
    }
    expect(!series_find(s, (int)n), "%g GPUs were measured", n);
    if (d->limit)
        expect(n > d->reach->gpus && n < d->limit->gpus, "%g is not at the limit", n);
    else
        expect(n > last && n <= 2 * last, "%g lies too far out", n);
}

static void check_limit(const struct report_series *rs, const struct table *speed)
{
    const struct decision *d = &rs->as->decision;
    const struct series *s = &rs->as->series;
    double gpus = number_behind(reasons_of(rs), "Limit: with "),
           efficiency = number_behind(reasons_of(rs), " GPUs efficiency drops to "),
           most = number_behind(reasons_of(rs), "the most, efficiency is ");

    expect(isnan(gpus) == (d->reach == &s->points[s->npoints - 1]), "a limit");
    if (!isnan(gpus)) {
        expect(gpus > d->reach->gpus, "a limit below what is used");
        if (!isnan(efficiency))
            expect(efficiency < DECISION_EFFICIENCY &&
                       fabs(efficiency - value(speed, row_of(speed, (int)gpus), "efficiency")) <=
                           0.0056,
                   "efficiency %g at the limit", efficiency);
    } else {
        expect(most >= DECISION_EFFICIENCY, "efficiency %g at the largest count", most);
    }
    if (d->model_reach)
        expect(d->model_reach >= d->reach->gpus && d->model_reach <= 2 * d->reach->gpus,
               "the model reaches %d", d->model_reach);
}

/* The count that a sentence names must have the smallest value of the column. */
static void check_least(const struct report_series *rs, const char *before, enum quantity q)
{
    const struct series *s = &rs->as->series;
    double gpus = number_behind(reasons_of(rs), before);

    for (size_t i = 0; i < s->npoints && !isnan(gpus); i++) {
        const struct series_point *p = &s->points[i];
        double least = NAN, mine = q == QUANTITY_COUNT ? p->gpu_hours : p->q[q].median;
        for (size_t k = 0; k < s->npoints; k++)
            if (s->points[k].gpus == gpus)
                least = q == QUANTITY_COUNT ? s->points[k].gpu_hours : s->points[k].q[q].median;
        expect(least <= mine, "%s%g is not the least", before, gpus);
    }
}

static void check_reasons(const struct report_series *rs)
{
    const struct analysis_series *as = rs->as;
    size_t slower = 0, most = 0;

    check_least(rs, "evaluation included: ", QUANTITY_WHOLE);
    check_least(rs, "fewest GPU-hours: ", QUANTITY_COUNT);
    for (size_t i = 0; i < as->series.npoints; i++) {
        slower += series_speedup(&as->series, &as->series.points[i])->value < 1;
        most = as->series.points[i].nruns > most ? as->series.points[i].nruns : most;
    }
    expect(!strstr(rs->words.headline, "every larger count measured is slower") ||
               slower == as->series.npoints - 1,
           "not all are slower");
    expect((strstr(rs->words.caveats, "One run per count") != NULL) == (most == 1),
           "one run per count");
    expect(most > 1 || !strstr(rs->words.evidence, "holds ("), "one run shows nothing");
    expect(!strstr(reasons_of(rs), "gains nothing from larger batches") ||
               as->noise.critical_batch < (double)as->decision.base->rows[0].global_batch,
           "a critical batch");
    expect(!strstr(reasons_of(rs), "By it, the same progress") ||
               !strstr(reasons_of(rs), "as many are needed"),
           "what was measured is predicted, too");
    expect(!strstr(reasons_of(rs), "predicts a count left out") || model_is_usable(&as->steady),
           "a model that cannot be used is described");
}

/* A critical batch may be reported only if it agrees with the epochs, where these were measured. */
static void check_noise(const struct report_series *rs)
{
    const struct analysis_series *as = rs->as;
    const struct series *s = &as->series;
    size_t i = as->decision.best == s->points ? s->npoints - 1
                                              : (size_t)(as->decision.best - s->points);
    double measured = i < as->convergence.npoints ? as->convergence.points[i].epochs_ratio : NAN;
    double predicted = noise_scale_images(&as->noise, s->points[0].rows[0].global_batch,
                                          s->points[i].rows[0].global_batch);

    if (fabs(log(predicted / measured)) > log(1.25))
        expect(strstr(reasons_of(rs), "Critical batch: not known.") != NULL,
               "%.2fx as many images are predicted, %.2fx as many epochs measured", predicted,
               measured);
}

/* Checks that the text has no phrase that no report may contain, that "x faster" and "x slower"
 * follow factors of 1 or more, and that rule nine, if it is met, says "GPUs and seeds were varied"
 * just if some count has several runs. */
static void check_phrases(const struct report *r)
{
    static const char *const never[] = {" 0 GPUs",  "(1 GPUs", " 1 GPUs", " 1 epochs", " 1 runs",
                                        " 1 seeds", "-nan",    " nan",    "(nan",      " inf",
                                        "-0.000 ",  "-0.0000", "(null)",  ":  ",       ". ."};
    const char *at = all;
    size_t most = 0;

    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        expect(!strstr(all, never[i]), "'%s' is said", never[i]);
    while ((at = strpbrk(at, "0123456789"))) {
        char *end;
        double v = strtod(at, &end);
        if (strncmp(end, "x faster", 8) == 0 || strncmp(end, "x slower", 8) == 0)
            expect(v >= 1, "%gx %.6s", v, end + 2);
        at = end;
    }
    for (size_t i = 0; i < r->nseries; i++)
        for (size_t k = 0; k < r->series[i].as->series.npoints; k++)
            most = fmax(most, r->series[i].as->series.points[k].nruns);
    expect((strstr(r->analysis.rules[8].why, "GPUs and seeds were varied") == NULL) ==
                   (most == 1) ||
               r->analysis.rules[8].state != RULE_MET,
           "what was varied");
}

/* The efficiency by images that the runs of a series were drawn from. */
static double true_efficiency(const struct report_series *rs, int gpus)
{
    int engine = rs->as->series.engine[0] == 'y', base = rs->as->series.points[0].gpus;

    return time_of(engine, base) * base / (time_of(engine, gpus) * gpus);
}

/* Checks all intervals within o: they have both ends, and what they are about is known. */
static void check_intervals(const json_t *o)
{
    static const char *const about[] = {"value", "median", "difference", "critical_batch"};
    const json_t *interval = json_object_get(o, "interval"), *each;
    const char *key;
    size_t i;

    if (json_is_object(interval)) {
        bool known = false;
        for (i = 0; i < sizeof about / sizeof *about; i++)
            known |= json_is_number(json_object_get(o, about[i]));
        expect(known, "JSON has an interval of nothing");
        expect(json_is_number(json_object_get(interval, "low")) &&
                   json_is_number(json_object_get(interval, "high")),
               "JSON has an interval without ends");
        expect(json_number_value(json_object_get(interval, "level")) >= 0.95 - 1e-9,
               "JSON has an interval of level %g",
               json_number_value(json_object_get(interval, "level")));
    }
    json_object_foreach((json_t *)o, key, each)
    {
        const char *end = strstr(key, "_interval");
        char of[64];
        snprintf(of, sizeof of, "%.*s", end ? (int)(end - key) : 0, key);
        if (end && json_is_object(each))
            expect(json_is_number(json_object_get(o, of)), "JSON has %s without %s", key, of);
        check_intervals(each);
    }
    json_array_foreach(o, i, each)
        check_intervals(each);
}

static void check_json(const struct report *r)
{
    char *text = json_encode_report(r);
    json_t *o = json_loads(text, 0, NULL);

    expect(o != NULL, "the JSON cannot be read");
    check_intervals(o);
    json_decref(o);
    free(text);
}

static void check_sentences(const struct report_series *rs)
{
    static const struct sentences_truth truth = {true_efficiency, true_quality};
    const char *wrong = sentences_check_series(rs, &truth);

    expect(!wrong, "%s", wrong);
}

static void check_series(const struct report_series *rs)
{
    struct table speed, quality;

    if (rs->as->series.npoints < 2)
        return;
    tables_fill_short(&speed, rs);
    tables_fill_quality(&quality, rs);
    check_sentences(rs);
    check_choice(rs->as, &speed, &quality);
    check_quality(rs->as);
    check_headline(rs, &speed, &quality);
    check_next(rs);
    check_limit(rs, &speed);
    check_reasons(rs);
    check_noise(rs);
    table_destroy(&speed);
    table_destroy(&quality);
}

/* Shows all nodes below n on a terminal. */
static void show_all(struct node *n)
{
    for (n = n->first; n; n = n->next) {
        n->outputs |= TO_TEXT;
        show_all(n);
    }
}

static void say_all(const struct report *r)
{
    const struct text_form form = {.columns = 100000};
    struct doc d;
    struct buf b = {0};

    report_document(&d, r, REPORT_VERDICT | REPORT_NUMBERS | REPORT_RULES | REPORT_PARAGRAPHS,
                    NULL);
    show_all(&d.root);
    text_write(&d, &form, &b);
    snprintf(all, sizeof all, "%s", b.data);
    buf_destroy(&b);
    doc_destroy(&d);
}

/* Makes the study's results, and checks what a report says about them. Returns false if there is
 * nothing to compare, and thus no report. */
static bool check_study(void)
{
    struct analysis_source source = {.title = "study"};
    struct analysis_options options = ANALYSIS_OPTIONS_INIT;
    struct report r;
    struct err e;

    fill(&source.results);
    options.facts.base = counts[draw(COUNTS, sizeof counts / sizeof *counts)][0];
    bool made = report_create(&r, &source, 1, &options, &e) == 0;
    if (made) {
        say_all(&r);
        for (size_t i = 0; i < r.nseries; i++)
            check_series(&r.series[i]);
        const char *wrong = sentences_check_differences(&r);
        expect(!wrong, "%s", wrong);
        check_phrases(&r);
        check_json(&r);
        report_destroy(&r);
    } else if (e.code != ERR_STATS && e.code != ERR_DATA) {
        bail_out("study %lu: %s", (unsigned long)study, e.text);
    }
    results_destroy(&source.results);
    return made;
}

/* What is said of the truth must be wrong in at most 5 % of the cases, plus three standard
 * errors. */
static void check_truth(void)
{
    for (int i = 0; i < SENTENCES_NCOUNTS; i++) {
        const struct sentences_count *c = &sentences_counts[i];
        ok(c->said > 5 && c->wrong <= (0.05 + 3 * sqrt(0.05 * 0.95 / c->said)) * c->said,
           "%s is said %d times, and wrong %d times", c->what, c->said, c->wrong);
    }
}

static void check_coverage(void)
{
    struct buf unseen = {0};
    size_t nlisted, seen = sentences_seen(&nlisted, &unseen);

    if (!ok(seen > 0.7 * (double)nlisted, "%zu of %zu listed sentences are printed", seen, nlisted))
        printf("%s\n", unseen.data);
    buf_destroy(&unseen);
}

int main(void)
{
    int made = 0, studies = getenv("EXHAUSTIVE") ? EXHAUSTIVE_STUDIES : STUDIES;

    for (study = 0; study < (uint64_t)studies; study++)
        made += check_study();
    ok(made > 0.9 * studies, "%d of %d studies have a report", made, studies);
    is_int(failures, 0, "each statement of the reports agrees with the numbers");
    check_truth();
    check_coverage();
    return done_testing();
}
