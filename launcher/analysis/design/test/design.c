/* SPDX-License-Identifier: BSD-3-Clause */
/* Designs from the first round to the outcome, on runs that are drawn (design.h) and then
 * edited. How often verdicts are right, analysis/test/simulate_sequential.c shows. */
#include "src/base.h"
#include "launcher/analysis/design/design.h"

#include "launcher/analysis/analysis.h"
#include "launcher/analysis/test/near.h"

static struct err e;
static struct design_round *rounds;
static struct design_outcome outcome;
static size_t nrounds;
static double serial = 0.03;
static double fall; /* margins that counts from falls_from on lose */
static int falls_from;

static double amdahl(const void *arg, int gpus)
{
    return 100 * (*(const double *)arg + (1 - *(const double *)arg) / gpus);
}

static double startup_s, evaluation_s; /* of each run, of whole ones; 0: none */
static bool drifts; /* by 20 % from round to round, and a run is an outlier */

static void change(const void *arg, size_t round, uint64_t study, struct result *r)
{
    bool outlier = r->limited == 1 && r->gpus == 8 && r->seed == 2;

    (void)arg, (void)study;
    r->quality.value -= r->gpus >= falls_from ? fall * DESIGN_EXPECT_MARGIN : 0;
    r->startup_s = startup_s > 0 ? startup_s : NAN;
    r->test_time = evaluation_s > 0 && r->limited != 1 ? evaluation_s : NAN;
    if (drifts) {
        r->median_epoch_s *= (1 + 0.2 * (double)round) * (outlier ? 1.5 : 1);
        r->training_time = (double)r->epochs * r->median_epoch_s;
    }
}

static struct design make_design(void)
{
    struct design d = DESIGN_INIT;

    d.ncounts = 8;
    for (int i = 0; i < 8; i++)
        d.counts[i] = i ? 2 * i : 1;
    for (d.nseeds = 0; d.nseeds < DESIGN_SEEDS; d.nseeds++)
        d.seeds[d.nseeds] = (long)d.nseeds + 1;
    d.whole_s = 7200;
    d.epochs = 72;
    return d;
}

static struct design_truth make_truth(void)
{
    fall = startup_s = evaluation_s = 0;
    drifts = false;
    return (struct design_truth){.time = amdahl, .arg = &serial, .epochs = 72, .noise = 0.01,
                                 .scatter = 0.3, .edit = change};
}

static void run_round(const struct design *d, const struct design_truth *t,
                      const struct design_round *round, void (*edit)(struct result *),
                      struct results *table)
{
    for (size_t i = 0; i < round->nruns; i++) {
        if (design_expect_run(t, d, &round->runs[i], (size_t)(round - rounds), 1, table, &e))
            bail_out("%s", e.text);
        if (edit)
            edit(&table->rows[table->count - 1]);
    }
    results_sort(table);
}

/* Makes rounds until the end. table (may be NULL) gets their results. */
static void make(const struct design *d, const struct design_truth *t,
                 void (*edit)(struct result *), struct results *table)
{
    struct results own = {0}, *used = table ? table : &own;

    for (nrounds = 0; nrounds < DESIGN_ROUNDS; nrounds++) {
        if (design_next(d, used, rounds, nrounds, &rounds[nrounds], &outcome, &e))
            bail_out("%s", e.text);
        if (outcome.state != DESIGN_CONTINUE)
            break;
        run_round(d, t, &rounds[nrounds], edit, used);
    }
    printf("# %zu rounds, %.1f GPU-hours, %s: %s\n", nrounds, outcome.gpu_hours,
           design_state_names[outcome.state], outcome.why);
    results_destroy(&own);
}

static bool has_whole(int gpus)
{
    for (size_t i = 0; i < nrounds; i++)
        for (size_t k = 0; k < rounds[i].nruns; k++)
            if (rounds[i].runs[k].gpus == gpus && !rounds[i].runs[k].limited)
                return true;
    return false;
}

static void check_course(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();

    make(&d, &t, NULL, NULL);
    ok(rounds[0].tested == 0 && rounds[0].nruns == 18, "short runs of three counts come first");
    is_int(outcome.state, DESIGN_DECIDED, "the design decides");
    is_int(outcome.gpus, 8, "for the fastest count with an efficiency of 0.80");
    is_int(outcome.how, DESIGN_HOLDS, "whose quality holds");
    ok(!has_whole(10) && !has_whole(14), "slow counts never run in full");
    falls_from = 6, fall = 4;
    make(&d, &t, NULL, NULL);
    is_int(outcome.gpus, 4, "if quality falls from 6 GPUs on, it is 4");
    is_int(outcome.tests[0].how, DESIGN_FALLS, "that of 8 falls");
    is_int(outcome.ntests, 3, "three counts are tested");
    ok(outcome.tests[0].interval.high < -0.01, "the interval says that it falls");
    falls_from = 2, fall = 6;
    make(&d, &t, NULL, NULL);
    ok(outcome.state == DESIGN_DECIDED && outcome.gpus == 1 && outcome.how == DESIGN_FALLS,
       "if it falls from 2 on, it is 1: %s", outcome.why);
    d.quality = false;
    make(&d, &t, NULL, NULL);
    is_int(outcome.gpus, 8, "if no quality is asked of, it is 8 again");
    is_int(outcome.how, DESIGN_SPEED_ALONE, "by speed alone");
    ok(!has_whole(1), "and there are no whole runs");
}

/* Wherever quality begins to fall, the count before is found. */
static void check_search(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();

    serial = 0.005;
    for (size_t i = 1; i < d.ncounts; i++) {
        falls_from = d.counts[i], fall = 3;
        make(&d, &t, NULL, NULL);
        ok(outcome.gpus == d.counts[i - 1] && outcome.ntests <= DESIGN_TESTED &&
           rounds[nrounds - 1].family == DESIGN_TESTED, "if quality falls from %d on, %d GPUs are "
           "found by %zu tests", falls_from, outcome.gpus, outcome.ntests);
    }
    serial = 0.03;
}

/* A report's analysis has the same intervals, and advises the same count. */
static void check_analysis(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();
    struct analysis_source source = {.title = "study"};
    struct analysis_options options = ANALYSIS_OPTIONS_INIT;
    struct quality_looks looks;
    struct analysis a;
    struct buf b = {0};

    make(&d, &t, NULL, &source.results);
    if (design_view_looks(&d, &source.results, rounds, nrounds, &looks, &e))
        bail_out("%s", e.text);
    options.rule.looks = &looks;
    if (analysis_create(&a, &source, 1, &options, &e))
        bail_out("%s", e.text);
    const struct decision *dec = &a.series[0].decision;
    is_int(dec->use->gpus, outcome.gpus, "an analysis with the looks advises the verdict's count");
    const struct comparison *c = &dec->quality[dec->use - dec->base].change;
    const struct design_test *test = &outcome.tests[outcome.ntests - 1];
    ok(c->interval.low == test->interval.low && c->interval.high == test->interval.high,
       "its interval is the repeated one");
    is_int(c->nfamily, looks.family, "simultaneous over the counts that may be tested");
    ok(dec->seeds.n == 0, "and it advises no further seeds");
    double width = c->interval.high - c->interval.low;
    decision_describe_rule(&b, &options.rule, &a.series[0].series, "score");
    ok(strstr(b.data, "a repeated confidence interval over pairs of seeds"), "the rule says so");
    buf_destroy(&b);
    analysis_destroy(&a);
    options.rule.looks = NULL;
    if (analysis_create(&a, &source, 1, &options, &e))
        bail_out("%s", e.text);
    dec = &a.series[0].decision;
    c = &dec->quality[series_find(&a.series[0].series, outcome.gpus) - dec->base].change;
    /* Student's t of the second look's level over that of 95 % */
    near(width / (c->interval.high - c->interval.low), 4.767 / 2.447, 1e-2,
         "that of a fixed sample is narrower");
    analysis_destroy(&a);
    results_destroy(&source.results);
    design_describe(&d, rounds, nrounds, &outcome, &b);
    ok(strstr(b.data, "The study was sequential") && strstr(b.data, "repeated confidence interval"),
       "the description says so: %s", b.data);
    buf_destroy(&b);
}

static bool are_equal(const struct design_round *a, const struct design_round *b)
{
    bool equal = a->nruns == b->nruns && a->tested == b->tested && a->look == b->look &&
                 a->pairs == b->pairs && a->family == b->family && !strcmp(a->reason, b->reason);

    for (size_t i = 0; equal && i < a->nruns; i++)
        equal = a->runs[i].gpus == b->runs[i].gpus && a->runs[i].seed == b->runs[i].seed &&
                a->runs[i].limited == b->runs[i].limited &&
                a->runs[i].gpu_hours == b->runs[i].gpu_hours;
    return equal;
}

/* A design that is asked again after each round has the same rounds, and no run twice. */
static void check_again(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();
    struct results table = {0};
    struct design_round *again = calloc(1, sizeof *again);
    struct design_outcome v;
    bool same = true, once = true;

    falls_from = 4, fall = 2;
    make(&d, &t, NULL, NULL);
    for (size_t n = 0; n < nrounds; n++) {
        if (design_next(&d, &table, rounds, n, again, &v, &e))
            bail_out("%s", e.text);
        same &= v.state == DESIGN_CONTINUE && are_equal(again, &rounds[n]);
        run_round(&d, &t, &rounds[n], NULL, &table);
    }
    for (size_t i = 0; i < table.count; i++)
        for (size_t k = 0; k < i; k++)
            once &= strcmp(table.rows[i].run, table.rows[k].run) != 0;
    ok(same, "the same results give the same rounds");
    ok(once, "no run is made twice");
    results_destroy(&table);
    free(again);
}

static void check_construction(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();

    d.shared = true;
    make(&d, &t, NULL, NULL);
    is_int(outcome.how, DESIGN_BY_CONSTRUCTION, "equal first losses of a shared batch suffice");
    is_int(outcome.tests[0].pairs, 1, "of one pair");
    ok(strstr(outcome.why, "by construction, not tested"), "the verdict says so: %s", outcome.why);
}

static void start_apart(struct result *r)
{
    if (r->curve)
        r->curve->loss[0] *= 1 + 0.002 * (r->gpus > 1);
}

static void diverge(struct result *r)
{
    if (r->gpus > 1)
        r->quality.value = NAN;
}

static void ignore_seed(struct result *r)
{
    r->quality.value = r->loss = r->limited ? NAN : 0.5;
}

static void collapse(struct result *r)
{
    strcpy(r->quality.metric, "iou");
    r->quality.iou = r->limited == 1 ? NAN : r->quality.value - 0.1 -
                                             (r->gpus == 8 && r->seed == 2 ? 0.5 : 0);
}

static void never_start(struct result *r)
{
    if (r->gpus > 1)
        result_discard(r, RESULT_FAILED, "no such device");
}

static void fail(struct result *r)
{
    result_discard(r, RESULT_FAILED, "no such device");
}

/* Results that are bad in a way that users meet. */
static void check_bad_results(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();

    make(&d, &t, fail, NULL);
    is_int(outcome.state, DESIGN_FAILED, "a base case that never starts ends the study");
    is_int(nrounds, 1, "after its first round");
    make(&d, &t, never_start, NULL);
    is_int(outcome.state, DESIGN_FAILED, "and so do larger counts that never start");
    make(&d, &t, diverge, NULL);
    is_int(outcome.state, DESIGN_DECIDED, "counts whose runs all have no quality count as failed");
    ok(outcome.gpus == 1 && outcome.how == DESIGN_FALLS, "and the base case remains");
    make(&d, &t, ignore_seed, NULL);
    ok(outcome.state == DESIGN_UNDECIDED && outcome.tests[0].look == 1,
       "equal runs of all seeds do not show that quality holds");
    make(&d, &t, collapse, NULL);
    ok(outcome.state == DESIGN_UNDECIDED && outcome.tests[0].how == DESIGN_LAPSED &&
       outcome.ntests == 1 && outcome.gpus == 1, "a count of which a run collapses is not advised, "
       "nor is a smaller one tried until one has none: %s", outcome.why);
    d.shared = true;
    make(&d, &t, start_apart, NULL);
    is_int(outcome.how, DESIGN_HOLDS, "unequal first losses are followed by a test");
}

/* Each round of short runs has base runs, and an outlier is repeated once. */
static void check_rounds(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();
    struct results table = {0};
    struct quality_looks looks;
    size_t repeats = 0, without = 0;

    drifts = true;
    make(&d, &t, NULL, &table);
    for (size_t i = 0; i < nrounds; i++) {
        bool base = false;
        for (size_t k = 0; k < rounds[i].nruns; k++)
            base |= rounds[i].runs[k].gpus == 1;
        without += !base;
        repeats += rounds[i].repeats;
        if (rounds[i].repeats)
            ok(rounds[i].nruns == 4 && rounds[i].runs[0].gpus == 8, "a run is repeated: %s",
               rounds[i].reason);
    }
    ok(!without && repeats == 1, "each round has runs of the base case, one repeats");
    ok(outcome.state == DESIGN_DECIDED && outcome.gpus == 8, "a drift of 20 %% a round changes no "
       "verdict");
    if (design_view_looks(&d, &table, rounds, nrounds, &looks, &e))
        bail_out("%s", e.text);
    for (size_t i = 0; i < looks.nspeed; i++)
        if (looks.speed[i].gpus == 8)
            near(looks.speed[i].efficiency, 1 / (8 * (serial + (1 - serial) / 8)), 0.01,
                 "nor an efficiency");
    results_destroy(&table);
}

/* What a run takes besides its epochs counts, and a first look is not bought without the second. */
static void check_budget(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();

    startup_s = 60, evaluation_s = 400;
    make(&d, &t, NULL, NULL);
    double all = outcome.gpu_hours;
    for (double limit = 10; limit < 1.2 * all; limit += 5) {
        d.max_gpu_hours = limit;
        make(&d, &t, NULL, NULL);
        bool first = nrounds && rounds[nrounds - 1].tested && rounds[nrounds - 1].look == 1;
        ok(outcome.gpu_hours <= limit && !(outcome.state == DESIGN_BUDGET && first),
           "%.0f GPU-hours: %.1f are spent", limit, outcome.gpu_hours);
    }
    startup_s = 600;
    for (double limit = 4; limit < 50; limit += 6) {
        d.max_gpu_hours = limit;
        make(&d, &t, NULL, NULL);
        ok(outcome.gpu_hours <= limit, "and %.1f of %.0f with a start-up of 5 short runs",
           outcome.gpu_hours, limit);
    }
    d.max_gpu_hours = 20;
    make(&d, &t, fail, NULL);
    ok(outcome.state == DESIGN_FAILED && nrounds == 1, "nothing follows a first run that fails");
}

static void check_limits(void)
{
    struct design d = make_design();
    struct design_truth t = make_truth();

    d.max_gpu_hours = 0.5;
    make(&d, &t, NULL, NULL);
    ok(outcome.state == DESIGN_BUDGET && nrounds == 0, "no round exceeds the budget: %s",
       outcome.why);
    d.max_gpu_hours = 20;
    make(&d, &t, NULL, NULL);
    ok(outcome.state == DESIGN_BUDGET && nrounds > 0 && outcome.gpu_hours < 20,
       "also after some rounds: %s", outcome.why);
    d.max_gpu_hours = INFINITY;
    serial = 0.5;
    make(&d, &t, NULL, NULL);
    ok(outcome.state == DESIGN_UNREACHABLE && outcome.gpus == 1, "an efficiency may not be "
       "reached: %s", outcome.why);
    serial = 0.03;
    d.nseeds = 6;
    make(&d, &t, NULL, NULL);
    ok(outcome.ntests > 0 && outcome.tests[0].pairs <= 6, "there are no more pairs than seeds");
    d.ncounts = 2;
    make(&d, &t, NULL, NULL);
    ok(outcome.state == DESIGN_DECIDED && outcome.gpus == 2, "two counts suffice");
}

static void check_expect(void)
{
    struct design d = make_design();
    struct design_cost cost;

    d.max_gpu_hours = 65;
    if (design_expect(&d, &cost, &e))
        bail_out("%s", e.text);
    ok(cost.median > 30 && cost.most > cost.median && cost.most < 200 && cost.decided > 0.2 &&
       cost.decided < 0.7, "the expected cost: %.1f GPU-hours, at most %.1f; %.2f decide within 65",
       cost.median, cost.most, cost.decided);
}

int main(void)
{
    rounds = calloc(DESIGN_ROUNDS, sizeof *rounds);
    check_course();
    check_search();
    check_analysis();
    check_again();
    check_construction();
    check_bad_results();
    check_rounds();
    check_budget();
    check_limits();
    check_expect();
    free(rounds);
    return done_testing();
}
