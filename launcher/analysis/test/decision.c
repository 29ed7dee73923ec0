/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/decision.h"

#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series s[SERIES_MAX];
static struct decision d;
static const struct series_facts facts;
static struct model model; /* not fitted, unless a test does */
static struct decision_rule rule = DECISION_RULE_INIT;

/* Fills a table with 1, 2, 4, 8, 16 GPUs whose efficiencies are about 1, .98, .95, .85, .5. IoU is
 * about 0.9, with a scatter of +-0.003 over seven seeds, which is nearly the same at each count. */
static void fill(size_t seeds)
{
    static const double efficiency[] = {1, 0.98, 0.95, 0.85, 0.5};

    results_destroy(&table);
    for (int i = 0; i < 5; i++)
        for (long seed = 1; seed <= (long)seeds; seed++) {
            double wobble = 1 + 0.001 * (double)((seed * 3 + i) % 7);
            struct result *r = table_add(&table, "x", 1 << i, seed, 32 * wobble / (1 << i) /
                                         efficiency[i]);
            r->units = 1792, r->quality.val_images = 224, r->batch_per_gpu = 16;
            r->quality.iou =
                0.9 + 0.001 * (double)(seed - 4) + 0.0002 * (double)((seed * 5 + i) % 3);
        }
}

static void change_iou(int gpus, double by)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].gpus == gpus)
            table.rows[i].quality.iou += by;
}

static void change_time(int gpus, double epoch)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].gpus == gpus || table.rows[i].gpus == 1)
            table.rows[i].median_epoch_s = table.rows[i].gpus == 1 ? 32 : epoch;
}

static void compute(void)
{
    size_t n;

    decision_destroy(&d);
    series_destroy(&s[0]);
    results_sort(&table);
    if (series_compute(s, &n, "study", &table, "x", &facts, NULL, &table_error))
        bail_out("%s", table_error.text);
    if (decision_compute(&d, &s[0], &rule, &model, &table_error))
        bail_out("%s", table_error.text);
    caveats_compute(&d, &s[0], &table);
}

static const char *caveat(enum caveat_kind kind)
{
    for (size_t i = 0; i < d.ncaveats; i++)
        if (d.caveats[i].kind == kind)
            return d.caveats[i].text;
    return NULL;
}

static void check_rule(void)
{
    fill(7);
    compute();
    ok(d.use->gpus == 8 && d.reach == d.use && d.best == d.use,
       "the fastest efficient count is used");
    near(d.speedup.value, 8 * 0.85, 0.01, "its speed-up is reported");
    ok(d.speedup.interval.method == INTERVAL_FIELLER && d.speedup.interval.low < 6.8 &&
       d.speedup.interval.high > 6.7, "its speed-up has Fieller's interval");
    ok(d.quality[3].state == QUALITY_HOLDS && d.state[3] == DECISION_PASSES && d.seeds.n == 0,
       "its IoU holds");
    ok(d.limit && d.limit->gpus == 16 &&
       strstr(d.limit_why, "efficiency drops to 0.50 (95 % interval 0.498 to 0.502, threshold "
                           "0.80)"),
       "the limit is the next larger count: %s", d.limit_why);
    is_int(d.next, 11, "a count between use and limit is measured next: %s", d.next_why);
    is_int(d.ncaveats, 0, "there are no caveats");
    fill(7);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].gpus = table.rows[i].gpus == 16 ? 9 : table.rows[i].gpus;
    change_time(8, 4.2);
    change_time(9, 4.4);
    compute();
    ok(d.use->gpus == 8 && d.state[4] == DECISION_PASSES &&
       strstr(d.limit_why, "not above the 7.6"),
       "a larger count that is efficient, but slower, is not used: %s", d.limit_why);
    fill(7);
    change_time(8, 32 / 8 / 0.7996);
    compute();
    is_int(d.use->gpus, 8, "an efficiency that prints as 0.800 reaches 0.80");
    change_time(8, 32 / 8 / 0.7990);
    compute();
    ok(d.use->gpus == 4 && strstr(d.limit_why, "drops to 0.799 (95 % interval 0.799 to 0.799, thr"),
       "close below it has three decimals: %s", d.limit_why);
}

static void check_iou(void)
{
    fill(7);
    change_iou(8, -0.03);
    compute();
    ok(d.quality[3].state == QUALITY_FALLS && d.state[3] == DECISION_FAILS,
       "seven seeds show a fall of the IoU");
    ok(d.use->gpus == 4 && d.reach == d.use, "a count whose IoU falls is not used");
    ok(strstr(d.limit_why, "IoU falls by 0.0300 (95 % interval 0.0"), "the fall is the limit: %s",
       d.limit_why);
    fill(7);
    change_iou(8, -0.0094);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.iou +=
            table.rows[i].gpus < 8 ? 0 : table.rows[i].seed % 2 ? 0.0006 : -0.0006;
    compute();
    ok(d.quality[3].state == QUALITY_UNDECIDED && d.use->gpus == 4 && d.reach->gpus == 8 &&
       d.best == d.use,
       "a change as large as the margin stays undecided: %.4f..%.4f",
       d.quality[3].change.interval.low,
       d.quality[3].change.interval.high);
    ok(d.seeds.n > 7 && !d.seeds.assumed && d.seeds.change < -0.009,
       "%zu seeds are needed, from the observed change", d.seeds.n);
    ok(strstr(d.next_why, "on a change of IoU that stays -0.0093, at up to the scatter that the "
              "standard deviation of 0.0"),
       "the reason for the seeds is explained: %s", d.next_why);
    fill(1);
    compute();
    ok(d.use->gpus == 1 && d.reach->gpus == 8 && d.best == d.reach && caveat(CAVEAT_ONE_RUN),
       "with one run per count, 8 GPUs are within reach");
    ok(d.quality[3].state == QUALITY_UNDECIDED && d.seeds.assumed,
       "an IoU within the margin is undecided with one run");
    near(d.seeds.scatter, DECISION_IOU_MARGIN, 0, "the scatter is assumed");
    /* the smallest n with n >= 2 (t(1 - 0.05 / 8, 2n - 2) + t(0.8, 2n - 2))^2 */
    is_int(d.seeds.n, 24, "24 seeds are needed");
    ok(d.next == 0 && d.next_seeds == DECISION_PILOT && d.next_point->gpus == 8,
       "the first of them, which show the scatter, are measured next");
    is_str(d.next_why, "they show the scatter over runs; if its standard deviation is 0.01, 24 "
           "show with a power of 0.8 that an unchanged IoU holds; decide once, with all of them: "
           "each look is another chance to err",
           "the text says what the number of seeds assumes");
    change_iou(8, -0.3);
    compute();
    ok(d.quality[3].state == QUALITY_UNDECIDED && d.quality[3].collapse_open &&
       d.reach->gpus == 8, "one run far below the base case decides nothing");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.iou = NAN;
    compute();
    ok(d.quality[3].state == QUALITY_UNKNOWN && d.reach->gpus == 8 &&
       strstr(d.quality[3].why, "not recorded"), "an IoU that was not recorded is unknown");
    ok(d.seeds.n == 0 && d.next_seeds == DECISION_PILOT && d.next_point->gpus == 8,
       "without an IoU, runs decide on the efficiency: %s", d.next_why);
    fill(7);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.iou /= 20;
    compute();
    ok(d.quality[3].state == QUALITY_UNKNOWN && strstr(d.quality[3].why, "no network has learnt"),
       "the IoU of networks that have not learnt is unknown");
    fill(7);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.val_images = table.rows[i].gpus == 8 ? 28 : 224;
    compute();
    ok(d.quality[3].state == QUALITY_UNKNOWN && d.quality[2].state == QUALITY_HOLDS &&
       d.use->gpus == 4,
       "the IoU on other images is unknown");
}

static const char *verdict_of(int gpus)
{
    static const char *const names[] = {"passes", "undecided", "fails"};

    for (size_t i = 0; i < s[0].npoints; i++)
        if (s[0].points[i].gpus == gpus)
            return names[d.time[i]];
    return "none";
}

static void check_slower(void)
{
    results_destroy(&table);
    for (int gpus = 1; gpus <= 4; gpus *= 2)
        for (long seed = 1; seed <= 3; seed++)
            table_add(&table, "x", gpus, seed, 10.123 * gpus + 0.01 * (double)seed);
    compute();
    ok(d.use == d.base && d.reach == d.base && d.decided && d.limit->gpus == 2,
       "1 GPU is used if every larger count is slower");
    ok(d.next == 0 && d.next_seeds == 0 && strstr(d.next_why, "1 and 2"),
       "no count lies between the two: %s", d.next_why);
}

/* What intervals do not show is undecided. */
static void check_unbounded(void)
{
    static const double times[] = {10.0, 10.1, 5.1, 15.5};

    results_destroy(&table);
    for (int i = 0; i < 4; i++)
        table_add(&table, "x", 1 + i / 2, 1 + i % 2, times[i]);
    compute();
    is_str(verdict_of(2), "undecided", "runs of 5.1 and 15.5 s show no efficiency");
    ok(!d.decided && d.use == d.base && d.time_seeds.point->gpus == 2,
       "so nothing is decided, and more runs are needed");
    ok(strstr(d.limit_why, "undecided whether the efficiency is sufficient: 0.49 (0.32 to 0.99 "
                           "between single runs, too few for an interval, threshold 0.80)"),
       "the limit is not known: %s", d.limit_why);
    table.rows[2].median_epoch_s = 2;
    table.rows[3].median_epoch_s = 6;
    compute();
    ok(!caveat(CAVEAT_TOO_GOOD), "an efficiency of 1.26 (0.83 to 2.53) is not more than ideal");
    results_destroy(&table);
    for (int i = 0; i < 2; i++)
        table_add(&table, "x", 1 + i, 1, 10.1 / (1 + i) / (i ? 0.5 : 1));
    compute();
    is_str(verdict_of(2), "undecided", "single runs without epochs show none either");
    ok(d.next_seeds > 1 && d.time_seeds.assumed, "%zu runs show the scatter: %s", d.next_seeds,
       d.next_why);
    results_destroy(&table);
    for (int i = 0; i < 2; i++)
        table_add_curve(table_add(&table, "x", 1 + i, 1, 10.1), 20, 10.1);
    compute();
    is_str(verdict_of(2), "undecided", "nor do the epochs of single runs");
    ok(strstr(d.limit_why, " by the epochs of single runs, threshold 0.80)"), "whose range is "
       "printed: %s", d.limit_why);
    ok(!caveat(CAVEAT_GAP), "no epoch is far longer than the others");
    table.rows[1].curve->seconds[9] = 4000;
    compute();
    ok(caveat(CAVEAT_GAP) && strstr(caveat(CAVEAT_GAP), "One epoch of 1 of 2 runs is far longer "
                                    "than the others, that of x-2-1 4000 s instead of 10.1 s"),
       "an hour in a run of minutes is named: %s", caveat(CAVEAT_GAP));
    results_destroy(&table);
    for (int i = 0; i < 6; i++)
        table_add(&table, "x", 1 + i / 3, 1 + i % 3, i < 3 ? 10.123 + 0.1 * i : 0);
    compute();
    is_str(verdict_of(2), "undecided", "times of 0 show nothing");
    rule = (struct decision_rule){0.4, 0.05, false, true, NULL};
    results_destroy(&table);
    for (int i = 0; i < 6; i++)
        table_add(&table, "x", 1 + i / 3, 1 + i % 3, (i < 3 ? 10.123 : 9.123) + 0.01 * i)
            ->quality.iou = i < 3 ? 0.9012 : 0.8612;
    compute();
    ok(d.use->gpus == 2 && d.quality[1].state == QUALITY_HOLDS,
       "a study may set another threshold and margin");
    rule = (struct decision_rule)DECISION_RULE_INIT;
}

/* Fits the model to 3 runs with each of 1, 2, 4 and 8 GPUs, and fills the table with them. */
static void fill_law(double serial, double noise)
{
    static const struct model_law_known nothing;
    struct model_sample samples[12];
    size_t k = 0;

    results_destroy(&table);
    for (int i = 0; i < 4; i++)
        for (long seed = 1; seed <= 3; seed++, k++) {
            double wobble = 1 + noise * (double)((seed * 3 + i) % 5 - 2);
            samples[k] = (struct model_sample){
                1 << i, 100 * wobble * ((1 - serial) / (1 << i) + serial), 0};
            table_add(&table, "x", 1 << i, seed,
                      samples[k].value * (1 + 1e-4 * (double)seed))->quality.iou = 0.90123;
        }
    if (model_fit(&model, samples, k, &nothing, &table_error))
        bail_out("%s", table_error.text);
}

/* If all counts pass, a model that can be used says how far scaling continues; without one, nothing
 * does. */
static void check_model(void)
{
    fill_law(0.001, 0);
    struct model fitted = model;
    model = (struct model){0};
    compute();
    ok(d.use->gpus == 8 && !d.limit && d.model_reach == 0 && d.next == 16,
       "without a model, twice the largest count is measured next");
    model = fitted;
    compute();
    is_int(d.model_reach, 16, "a model is used up to twice the largest count");
    model.loo_error = 0.44;
    compute();
    ok(d.model_reach == 0 && d.next == 16,
       "a model that misses counts which are left out is not used");
    fill_law(0.024, 0.005);
    compute();
    /* 1 / (1 + 0.024 (N - 1)) >= 0.8 up to N = 11.4 */
    ok(d.model_reach >= 8 && d.model_reach <= 11,
       "the interval says where efficiency may drop (%d)", d.model_reach);
    ok(d.next >= 10 && d.next <= 12 && d.next == d.model_expected,
       "the last count that is expected to be efficient is measured next (%d)", d.next);
    ok(d.model_reach == d.next || strstr(d.next_why, "interval includes less"),
       "what the interval leaves open is said: %s", d.next_why);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].nodes = table.rows[i].gpus > 4 ? 2 : 1;
    compute();
    ok(d.next == 12 && strstr(d.next_why, "drops"), "in whole nodes (%d)", d.next);
    for (size_t i = 0; i < table.count; i++) {
        table.rows[i].global_batch = 64;
        table.rows[i].batch_per_gpu = 64 / table.rows[i].gpus;
    }
    compute();
    is_int(d.next, 16, "one that shares the batch");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].global_batch = 8, table.rows[i].batch_per_gpu = 8 / table.rows[i].gpus;
    compute();
    ok(!d.next && strstr(d.next_why, "share the batch of 8"), "or none: %s", d.next_why);
    fill_law(0.034, 0.0001);
    compute();
    ok(d.model_reach == 8 && d.next == 9 && strstr(d.next_why, "drops"),
       "where less is expected for the next count, that is measured (%d)", d.next);
    model = (struct model){0};
}

/* What suggests that a program does not do what its study takes for granted. */
static void check_guard_rails(void)
{
    fill(2);
    compute();
    ok(!caveat(CAVEAT_FLAT) && !caveat(CAVEAT_ALL_RANKS) && !caveat(CAVEAT_SHORT_LOGS) &&
           !caveat(CAVEAT_LONG_LOGS),
       "a program that scales, prints once and logs its job has no such caveat");
    for (size_t i = 0; i < table.count; i++) {
        struct result *r = &table.rows[i];
        r->median_epoch_s = 10 + 0.01 * (double)i;
        r->epochs = 20 * r->gpus;
        r->training_time = r->gpus == 4 && r->seed == 2 ? 6 : 45;
        r->job_s = 50;
    }
    compute();
    ok(caveat(CAVEAT_FLAT) && strstr(caveat(CAVEAT_FLAT), "Every count takes the time of one: an "
                                     "epoch takes 10 s with 1 GPU and 10.09 s with 16"),
       "equal times: %s", caveat(CAVEAT_FLAT));
    ok(caveat(CAVEAT_ALL_RANKS) && strstr(caveat(CAVEAT_ALL_RANKS),
                                          "20 epochs with 1 GPU and 320 with 16"),
       "rows of all ranks: %s", caveat(CAVEAT_ALL_RANKS));
    ok(caveat(CAVEAT_SHORT_LOGS) && strstr(caveat(CAVEAT_SHORT_LOGS), "of 1 of 10 runs") &&
           strstr(caveat(CAVEAT_SHORT_LOGS), "that of x-4-2 6 s of 50 s"),
       "a log of a small part of the job: %s", caveat(CAVEAT_SHORT_LOGS));
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].training_time = table.rows[i].gpus == 4 && table.rows[i].seed == 2 ? 60 : 57;
    compute();
    ok(caveat(CAVEAT_LONG_LOGS) && !caveat(CAVEAT_SHORT_LOGS) &&
           strstr(caveat(CAVEAT_LONG_LOGS), "of 1 of 10 runs") &&
           strstr(caveat(CAVEAT_LONG_LOGS), "that of x-4-2 to 60 s of 50 s"),
       "a log of more than the job: %s", caveat(CAVEAT_LONG_LOGS));
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].limited = 1;
    compute();
    ok(caveat(CAVEAT_LONG_LOGS), "also of a run that ended at its limit");
    for (size_t i = 0; i < table.count; i++) {
        table.rows[i].limited = 0, table.rows[i].job_s = 2.1;
        table.rows[i].training_time = table.rows[i].gpus == 1 ? 2 : 0.96;
    }
    compute();
    ok(caveat(CAVEAT_SHORT_LOGS) && strstr(caveat(CAVEAT_SHORT_LOGS), "of 8 of 10 runs"),
       "short jobs of which logs cover less than half: %s", caveat(CAVEAT_SHORT_LOGS));
}

static void check_caveats(void)
{
    fill(2);
    for (size_t i = 0; i < table.count; i++) {
        struct result *r = &table.rows[i];
        r->fake_gpus = 1;
        r->oversubscribed = r->gpus >= 4;
        r->quality.iou /= 20;
        r->quality.val_images = r->gpus < 16 ? 224 : 16;
        r->units = NAN;
        if (r->gpus == 8)
            result_set_text(r->kernels.refused, sizeof r->kernels.refused, "rank 3: conv2d");
        if (r->gpus == 16 && r->seed == 1)
            r->state = RESULT_FAILED;
    }
    compute();
    for (size_t i = 1; i < d.ncaveats; i++)
        ok(d.caveats[i - 1].kind < d.caveats[i].kind,
           "caveats are sorted by severity: %s", d.caveats[i].text);
    ok(caveat(CAVEAT_FAKE_GPUS) && strstr(caveat(CAVEAT_FAKE_GPUS), "(1..16)"),
       "fake GPUs are a caveat");
    ok(caveat(CAVEAT_FEW_CORES) && strstr(caveat(CAVEAT_FEW_CORES), "with 4..16 GPUs"),
       "too few cores are a caveat");
    ok(caveat(CAVEAT_KERNELS) && strstr(caveat(CAVEAT_KERNELS), "With 8 GPUs some kernels"),
       "replaced kernels are a caveat: %s", caveat(CAVEAT_KERNELS));
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT), "No network has learnt"),
       "networks that have not learnt are a caveat");
    ok(caveat(CAVEAT_UNEQUAL_IMAGES) && strstr(caveat(CAVEAT_UNEQUAL_IMAGES),
                                               "224 with 1 GPU, 16 with 16"),
       "unequal images are a caveat");
    ok(caveat(CAVEAT_MISSING_COUNTS) && strstr(caveat(CAVEAT_MISSING_COUNTS), "1 of 10 runs"),
       "a missing run is a caveat");
    ok(caveat(CAVEAT_NO_IMAGES) != NULL, "uncounted images are a caveat");
    for (size_t i = 0; i < table.count; i++) {
        table.rows[i].state = table.rows[i].gpus == 1 ? RESULT_FAILED : RESULT_DONE;
        table.rows[i].epochs = table.rows[i].gpus;
        table.rows[i].median_epoch_s /= table.rows[i].gpus;
    }
    compute();
    ok(caveat(CAVEAT_BASE) && strstr(caveat(CAVEAT_BASE), "The base case is 2 GPUs"),
       "another base case is a caveat");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.constant = table.rows[i].quality.iou - (i ? 0.01 : 0.001);
    compute();
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT), "No network has learnt"),
       "a network no better than one class everywhere is a caveat");
    table.rows[table.count - 1].quality.constant = table.rows[table.count - 1].quality.iou;
    compute();
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT),
                                           "1 of 8 runs score no better"),
       "one such run is a caveat: %s", caveat(CAVEAT_NOT_LEARNT));
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.constant = table.rows[i].quality.iou = 1;
    compute();
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT), "the same single class"),
       "masks with a single class are a caveat");
    ok(d.quality[1].state == QUALITY_UNKNOWN && strstr(d.quality[1].why, "numbers of epochs"),
       "the IoU of unequal trainings is not compared");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].epochs = 12;
    compute();
    ok(d.quality[1].state == QUALITY_UNKNOWN && strstr(d.quality[1].why, "one class everywhere"),
       "nor that of blind networks");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].epochs = table.rows[i].gpus;
    compute();
    ok(caveat(CAVEAT_UNEQUAL_EPOCHS) && caveat(CAVEAT_TOO_GOOD),
       "unequal epochs and an impossible efficiency are caveats");
    ok(strstr(caveat(CAVEAT_TOO_GOOD), ", and images left out are not excluded") &&
       !strstr(caveat(CAVEAT_TOO_GOOD), "devices"),
       "uncounted images and unknown devices are not excluded: %s", caveat(CAVEAT_TOO_GOOD));
    for (size_t i = 0; i < table.count; i++) {
        table.rows[i].units = 1792;
        result_set_text(table.rows[i].device, sizeof table.rows[i].device, "V100");
    }
    compute();
    ok(strstr(caveat(CAVEAT_TOO_GOOD), "Excluded by the records: images left out (all were "
                                       "counted), other devices (all are V100)"),
       "records do: %s", caveat(CAVEAT_TOO_GOOD));
}

/* Makes the quality a loss, of which less is better, or takes it away. */
static void make_loss(bool known)
{
    for (size_t i = 0; i < table.count; i++) {
        struct result *r = &table.rows[i];
        result_set_text(r->quality.metric, sizeof r->quality.metric, "val_loss");
        r->quality.value = known ? 20 - r->quality.iou : NAN;
        r->quality.lower = 1;
    }
}

static void check_lower(void)
{
    enum decision_state state[5];
    double change[5];

    fill(7);
    change_iou(4, -0.008);
    change_iou(8, -0.02);
    compute();
    for (int i = 0; i < 5; i++)
        state[i] = d.state[i], change[i] = d.quality[i].change.difference;
    ok(d.quality[3].state == QUALITY_FALLS, "IoU falls with 8 GPUs");
    make_loss(true);
    rule.chosen = true;
    compute();
    bool same = true;
    for (int i = 1; i < 5; i++)
        same &= state[i] == d.state[i] &&
                fabs(change[i] + d.quality[i].change.difference) < 1e-9;
    ok(same && d.quality[3].state == QUALITY_FALLS, "and a loss that rises as much");
    ok(!d.unlearnt && d.quality[3].ncollapsed == 0, "of a loss neither is known");

    struct buf words = {0};
    rule.chosen = false;
    compute();
    near(d.rule.margin, 0.191, 1e-3, "of values beyond 1 the built-in margin is a share");
    ok(d.quality[3].state == QUALITY_HOLDS, "so a loss of 19.1 that rises by 0.02 holds");
    decision_describe_rule(&words, &rule, &s[0], "val_loss");
    ok(strstr(words.data, "it holds where that lies below 1 % of the base case's") &&
           strstr(words.data, "quality.margin sets another margin."), "and the rule says it");
    buf_destroy(&words);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.value = 0.004 + (20 - table.rows[i].quality.value - 0.8) / 100;
    compute();
    near(d.rule.margin, 0.01 * s[0].points[0].q[QUANTITY_QUALITY].median, 1e-12,
         "that of an error of 0.005 is a share, too");
    rule = (struct decision_rule){DECISION_EFFICIENCY, 0.002, true, true, NULL};
    compute();
    near(d.rule.margin, 0.002 * s[0].points[0].q[QUANTITY_QUALITY].median, 1e-12,
         "a margin may be a part of the base case");
    ok(d.quality[3].state == QUALITY_HOLDS, "and 0.02 of 19.1 is less than it");
    rule = (struct decision_rule)DECISION_RULE_INIT;

    fill(7);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].quality.iou = 0.05;
    make_loss(true);
    compute();
    ok(!d.unlearnt && !caveat(CAVEAT_NOT_LEARNT), "a low loss has learnt nothing less");
    table.rows[table.count - 1].quality.value = NAN;
    compute();
    ok(strstr(caveat(CAVEAT_NO_QUALITY), "1 run has no val_loss (the first is x-16-7, with 16 GPUs)"),
       "a run without it is named: %s", caveat(CAVEAT_NO_QUALITY));
    make_loss(false);
    compute();
    ok(!caveat(CAVEAT_NO_QUALITY), "not where none has one");
    ok(d.by_time && d.use->gpus == 8 && d.decided && d.seeds.n == 0,
       "without a quality the decision is by efficiency");
    ok(d.next_point == NULL || d.next_seeds == 0 || d.time_seeds.point,
       "and nothing is advised about it");
}

/* Limited runs beside whole ones: their quality is not judged, nor does it hide the pairs. */
static void check_limited(void)
{
    fill(7);
    compute();
    struct comparison before = d.quality[3].change;
    for (int i = 0; i < 5; i++)
        for (long seed = 8; seed <= 9; seed++) {
            struct result *r = table_add(&table, "x", 1 << i, seed, 0.1);
            *r = table.rows[i * 7];
            r->seed = seed, r->limited = 1, r->quality.iou = 0.2;
        }
    compute();
    ok(s[0].points[3].nruns == 9 && d.quality[3].nruns == 7 && d.quality[3].ncollapsed == 0 &&
           d.quality[3].change.test == before.test &&
           d.quality[3].change.difference == before.difference,
       "limited runs change no comparison of quality");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].limited = table.rows[i].limited == 1 || table.rows[i].gpus == 8;
    compute();
    ok(d.quality[3].state == QUALITY_UNKNOWN && strstr(d.quality[3].why, "the steady speed alone") &&
           d.use->gpus == 4 && d.reach->gpus == 8,
       "a count of limited runs alone is within reach by time");
}

/* Makes the first n of a count's runs worse, or takes their quality if by is NaN. */
static void worsen(int gpus, long n, double by)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].gpus == gpus && table.rows[i].seed <= n)
            table.rows[i].quality.value += by, table.rows[i].quality.iou -= by;
}

/* Counts collapse where Clopper and Pearson's one-sided 95 % limit is above 10 %; fewer runs that
 * do decide nothing, of IoU, of a loss, and of values that are NaN. */
static void check_collapse(void)
{
    static const struct { size_t runs; long most; } open[] = {{3, 1}, {5, 2}, {10, 3}};

    for (int kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < 3; i++)
            for (long more = 0; more < 2; more++) {
                const char *of = kind == 0 ? "IoU" : kind == 1 ? "a loss" : "NaN";
                fill(open[i].runs);
                if (kind)
                    make_loss(true);
                for (int gpus = 2; gpus <= 8; gpus *= 2)
                    worsen(gpus, open[i].most + more, kind == 2 ? NAN : kind ? 1.5 : 0.5);
                compute();
                const struct quality *q = &d.quality[3];
                is_int(q->ncollapsed, open[i].most + more, "runs of %s collapse", of);
                if (more)
                    ok(q->state == QUALITY_COLLAPSES && d.use == d.base && d.reach == d.base,
                       "%ld of %zu by %s: counts collapse", open[i].most + 1, open[i].runs, of);
                else
                    ok(q->state == QUALITY_UNDECIDED && q->collapse_open && d.use == d.base &&
                       d.reach->gpus == 8 && !d.decided && d.quality[0].ncollapsed == 0,
                       "%ld of %zu by %s: undecided, and not used", open[i].most, open[i].runs, of);
            }
    fill(5);
    for (int gpus = 2; gpus <= 8; gpus *= 2)
        worsen(gpus, 1, 0.5);
    compute();
    is_int(d.quality[3].collapse_needed, quality_collapse_needed(1, 5), "runs would decide");
    ok(d.next_seeds == quality_collapse_needed(1, 5) &&
       strstr(d.next_why, "if as many do as so far"),
       "%zu of them: %s", d.next_seeds, d.next_why);
    /* P(X >= 7) of 33 at 10 % is 0.04; P(X <= 4) of 89 0.048 */
    is_int(quality_collapse_needed(1, 5), 33, "a share of 20 %% is shown to be more by 33 runs");
    is_int(quality_collapse_needed(1, 20), 89, "one of 5 %% to be less by 89");
    is_int(quality_collapse_needed(1, 10), 0, "one of 10 %% by no number up to 100");
    ok(proportion_lower(2, 3, 0.95) > 0.1 && proportion_lower(3, 5, 0.95) > 0.1 &&
       proportion_lower(4, 10, 0.95) > 0.1 && proportion_lower(1, 3, 0.95) < 0.1 &&
       proportion_lower(2, 5, 0.95) < 0.1 && proportion_lower(3, 10, 0.95) < 0.1,
       "limits are right");
}

/* 135, 134 and 133 of 150 images, then of 1,500. */
static void check_counted(void)
{
    for (int images = 150; images <= 1500; images *= 10) {
        fill(3);
        for (size_t i = 0; i < table.count; i++) {
            struct result *r = &table.rows[i];
            strcpy(r->quality.metric, "accuracy");
            r->quality.val_images = images;
            r->quality.accuracy = round(1e6 * (images * 0.9 + 1 - (double)r->seed) / images) / 1e6;
        }
        compute();
        const struct quality *q = &d.quality[3];
        is_int(s[0].counted, images, "it is a share of %d images", images);
        near(q->change.resolution, 1. / images, 1e-12, "its steps are those of an image");
        ok(images == 150 ? q->state == QUALITY_UNDECIDED && strstr(q->why, "coarsely")
                         : q->state == QUALITY_HOLDS && q->change.interval.low < -0.0006,
           "equal counts of %d images: %s, interval %.4f to %.4f", images,
           quality_state_name(q, NULL), q->change.interval.low, q->change.interval.high);
    }
    fill(3);
    compute();
    is_int(s[0].counted, 0, "an IoU is no share of the images");
}

/* What passes at 95 % alone may not among four counts. */
static void check_choice(void)
{
    fill(7);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].median_epoch_s =
            32 * (1 + 0.004 * (double)((table.rows[i].seed * 3) % 7)) / table.rows[i].gpus /
            (table.rows[i].gpus == 1 ? 1 : table.rows[i].gpus == 8 ? 0.809 : 0.6);
    compute();
    const struct interval *alone = &series_efficiency(&s[0], &s[0].points[3])->interval,
                          *judged = &d.judged[3].interval;
    ok(d.nfamily == 4 && alone->low >= 0.8 && judged->low < 0.7995 && d.use == d.base &&
       d.reach->gpus == 8, "%.4f alone, %.4f among four counts", alone->low, judged->low);
}

int main(void)
{
    check_rule();
    check_iou();
    check_slower();
    check_unbounded();
    check_model();
    check_guard_rails();
    check_caveats();
    check_lower();
    check_limited();
    check_collapse();
    check_counted();
    check_choice();
    decision_destroy(&d);
    series_destroy(&s[0]);
    results_destroy(&table);
    return done_testing();
}
