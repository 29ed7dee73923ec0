/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/series.h"

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series found[SERIES_MAX];
static size_t nfound;
static struct series_facts facts;
static char notes[1024];

static void compute(const char *engine)
{
    struct buf b = {0};

    for (size_t i = 0; i < nfound; i++)
        series_destroy(&found[i]);
    results_sort(&table);
    if (series_compute(found, &nfound, "study", &table, engine, &facts, &b, &table_error))
        bail_out("%s", table_error.text);
    snprintf(notes, sizeof notes, "%s", b.data ? b.data : "");
    buf_destroy(&b);
}

static void check_known_numbers(void)
{
    table_add(&table, "embedded", 1, 1, 8);
    table_add(&table, "embedded", 2, 1, 5);
    table_add(&table, "embedded", 2, 2, 4);
    table_add(&table, "embedded", 2, 3, 6);
    table_add(&table, "embedded", 4, 1, 2)->state = RESULT_FAILED;
    table_add(&table, "embedded", 8, 1, 2)->oversubscribed = 1;
    table_add(&table, "horovod", 2, 1, 4);
    table_add(&table, "horovod", 6, 1, 2);
    compute("embedded");
    const struct series *s = &found[0];
    is_int(nfound, 1, "the runs are one series");
    is_int(s->npoints, 3, "a count without a good run has no point");
    const struct series_point *two = &s->points[1], *eight = &s->points[2];
    const struct summary *epoch = &two->q[QUANTITY_STEADY_EPOCH];
    ok(epoch->median == 5 && epoch->min == 4 && epoch->max == 6 && epoch->count == 3,
       "median and range of an epoch");
    near(epoch->spread, 0.2, 1e-12, "the relative spread of the epochs is right");
    ok(!interval_is_known(&epoch->interval), "three values have no interval of 95 %%");
    near(two->speedup[QUANTITY_STEADY_EPOCH].value, 1.6, 1e-12,
         "times are summarized before they are divided");
    near(two->efficiency[QUANTITY_STEADY_EPOCH].value, 0.8, 1e-12, "efficiency of steady epochs");
    near(eight->speedup[QUANTITY_TRAINING].value, 4, 1e-12, "speed-up by training time");
    near(eight->efficiency[QUANTITY_ONE_EPOCH].value, 0.5, 1e-12, "efficiency by the second epoch");
    near(eight->speedup[QUANTITY_FIRST_EPOCH].value, 4, 1e-12, "speed-up by the first epoch");
    near(eight->q[QUANTITY_WHOLE].median, 12 * 2, 1e-12,
         "the whole run includes what the logs have");
    near(s->points[0].efficiency[QUANTITY_STEADY_EPOCH].value, 1, 0,
         "the base case has an efficiency of 1");
    ok(eight->oversubscribed && !two->oversubscribed, "oversubscribed counts are marked");
    ok(isnan(two->q[QUANTITY_RATE].median) && !s->by_units && isnan(two->unit_efficiency.value) &&
           isnan(two->speedup[QUANTITY_COMM].value), "unknown quantities are NaN");
    near(eight->gpu_hours, 8 * 24 / 3600., 1e-12, "the GPU-hours of 8 GPUs are right");
    ok(s->mode == SERIES_BATCH_UNKNOWN && s->equal_epochs,
       "without a batch in the logs the mode is unknown");
    compute("horovod");
    near(found[0].points[1].speedup[QUANTITY_STEADY_EPOCH].value, 2, 1e-12,
         "the other engine has its own series");
    near(found[0].points[1].efficiency[QUANTITY_STEADY_EPOCH].value, 2. / 3, 1e-12,
         "without a run on 1 GPU the smallest count is the base case");
    compute("nobody");
    is_int(nfound, 0, "without runs there is no series");
    results_destroy(&table);
}

/* With several runs on each side the interval is Fieller's; with one run it is made of order
 * statistics of its epochs if it has a curve. */
static void check_intervals(void)
{
    static const enum interval_method want[] = {INTERVAL_NONE, INTERVAL_FIELLER, INTERVAL_FIELLER};
    const struct ratio *r;

    for (int gpus = 1; gpus <= 2; gpus++)
        for (long seed = 1; seed <= 12; seed++)
            table_add(&table, "a", gpus, seed, 10. / gpus + 0.01 * (double)(seed * 7 % 12));
    for (int i = 0; i < 3; i++) {
        size_t keep = i == 0 ? 1 : i == 1 ? 3 : 12;
        for (size_t k = 0; k < table.count; k++)
            table.rows[k].state = table.rows[k].seed <= (long)keep ? RESULT_DONE : RESULT_FAILED;
        compute("a");
        r = &found[0].points[1].speedup[QUANTITY_STEADY_EPOCH];
        is_int(r->interval.method, want[i],
               "the interval's method with %zu runs on each side", keep);
        ok(i == 0 || (r->interval.low <= r->value && r->value <= r->interval.high),
           "the interval contains the estimate");
    }
    results_destroy(&table);
    for (int gpus = 1; gpus <= 2; gpus++)
        table_add_curve(table_add(&table, "a", gpus, 1, 10. / gpus), 60, 10. / gpus);
    compute("a");
    r = &found[0].points[1].speedup[QUANTITY_STEADY_EPOCH];
    ok(r->interval.method == INTERVAL_EPOCHS && r->interval.level > 0.9,
       "the interval of single runs is over their epochs");
    results_destroy(&table);
    for (long seed = 1; seed <= 2; seed++) {
        table_add(&table, "a", 1, seed, seed == 1 ? 0.099 : 0.059);
        table_add(&table, "a", 2, seed, seed == 1 ? 0.129 : 0.145);
    }
    compute("a");
    r = &found[0].points[1].speedup[QUANTITY_STEADY_EPOCH];
    ok(r->interval.low == 0 && r->interval.high > 2, "no speed-up is negative");
    results_destroy(&table);
}

/* GPUs that drop a remainder process fewer images in less time, which does not count as speed. */
static void check_images(void)
{
    table_add(&table, "a", 1, 1, 10)->units = 100;
    table_add(&table, "a", 2, 1, 4)->units = 80;
    compute("a");
    ok(found[0].by_units, "the numbers of images are known");
    near(series_speedup(&found[0], &found[0].points[1])->value, 2, 1e-12,
         "speed-up counts images, not epochs");
    near(series_efficiency(&found[0], &found[0].points[1])->value, 1, 1e-12,
         "efficiency counts images, too");
    near(found[0].points[1].speedup[QUANTITY_STEADY_EPOCH].value, 2.5, 1e-12,
         "the speed-up of epochs is also there");
    near(found[0].points[1].unit_rate, 20, 1e-12, "the images per second are right");
    results_destroy(&table);

    /* Of 1792 images, 16 per GPU, 12 GPUs drop 64, unless the remainder is kept. */
    facts = (struct series_facts){.train_images = 1792, .batch_per_gpu = 16, .watts_per_gpu = 300};
    table_add(&table, "a", 1, 1, 37.6);
    table_add(&table, "a", 12, 1, 3.7);
    compute("a");
    near(found[0].points[1].q[QUANTITY_UNITS].median, 1728, 0,
         "facts of the user give the images");
    near(found[0].points[1].q[QUANTITY_ENERGY].median, 300. * 12 * 12 * 3.7 / 3.6e6, 1e-12,
         "facts of the user give the energy");
    ok(found[0].mode == SERIES_WEAK_BATCH, "facts of the user give the mode");
    facts.keep_remainder = true;
    compute("a");
    near(found[0].points[1].q[QUANTITY_UNITS].median, 1792, 0, "a remainder may be kept");
    facts = (struct series_facts){0};
    results_destroy(&table);
}

static void check_epochs(void)
{
    table_add(&table, "a", 1, 1, 10)->epochs = 100;
    table_add(&table, "a", 2, 1, 5)->epochs = 200;
    compute("a");
    ok(!found[0].equal_epochs && isnan(found[0].points[1].speedup[QUANTITY_TRAINING].value) &&
           isnan(found[0].points[1].speedup[QUANTITY_WHOLE].value),
       "trainings of different length are not compared");
    near(found[0].points[1].speedup[QUANTITY_STEADY_EPOCH].value, 2, 1e-12,
         "their epochs are compared");
    results_destroy(&table);
    for (long seed = 1; seed <= 2; seed++)
        for (int gpus = 1; gpus <= 2; gpus++)
            table_add(&table, "a", gpus, seed, 10. / gpus)->epochs = 100 * seed;
    compute("a");
    ok(isnan(found[0].points[1].speedup[QUANTITY_TRAINING].value),
       "nor are those of counts whose runs have different lengths");
    results_destroy(&table);
    for (long seed = 1; seed <= 6; seed++)
        table_add(&table, "a", 1, seed, seed == 6 ? 30 : 10 + 0.1 * (double)seed);
    compute("a");
    is_int(found[0].points[0].q[QUANTITY_STEADY_EPOCH].noutliers, 1, "an outlier is counted");
    near(found[0].points[0].q[QUANTITY_STEADY_EPOCH].max, 30, 0, "an outlier is not dropped");
    results_destroy(&table);
}

/* A study with 1, 2 and 4 GPUs with 16 images each, and with a global batch of 16; then a run on 8
 * GPUs that fits neither. */
static void check_modes(void)
{
    struct buf b = {0};

    for (int gpus = 1; gpus <= 4; gpus *= 2)
        table_add(&table, "a", gpus, 1, 8. / gpus)->batch_per_gpu = 16;
    compute("a");
    ok(nfound == 1 && found[0].mode == SERIES_WEAK_BATCH && !*notes,
       "one batch per GPU is weak scaling in the batch");
    series_describe_mode(&found[0], &b);
    ok(b.data && strstr(b.data, "16 images per GPU and step"), "the mode is described: %s", b.data);
    buf_destroy(&b);
    for (size_t i = 0; i < 3; i++)
        table.rows[i].units = 100 * table.rows[i].gpus;
    compute("a");
    ok(found[0].mode == SERIES_WEAK, "an epoch that grows with the GPUs is weak scaling");
    for (size_t i = 0; i < 3; i++)
        table.rows[i].batch_per_gpu = 16 / table.rows[i].gpus;
    compute("a");
    ok(nfound == 1 && found[0].mode == SERIES_STRONG, "one global batch is strong scaling");

    for (int gpus = 2; gpus <= 4; gpus *= 2)
        table_add(&table, "a", gpus, 2, 8. / gpus)->batch_per_gpu = 16;
    table_add(&table, "a", 8, 2, 1)->batch_per_gpu = 3;
    compute("a");
    ok(nfound == 2 && found[0].mode == SERIES_WEAK_BATCH && found[1].mode == SERIES_STRONG,
       "a mix of both modes is split");
    ok(found[0].npoints == 3 && found[1].npoints == 3 && found[0].mixed,
       "the base case is in both series");
    ok(found[0].points[1].rows[0].seed == 2 && found[1].points[1].rows[0].seed == 1,
       "each series has its own runs");
    ok(strstr(notes, "mix weak and strong scaling") && strstr(notes, "left out") &&
       strstr(notes, "a-8-2"), "the notes report the split");
    results_destroy(&table);
}

/* Adds a run of the engine "a" with a copy of settings, which the table frees. */
static void add_set(int gpus, long seed, const char *settings)
{
    table_add(&table, "a", gpus, seed, 8. / gpus)->settings = strdup(settings);
}

static void check_settings(void)
{
    struct series_list l;

    table_add(&table, "a", 1, 3, 1); /* its settings are unknown */
    add_set(1, 1, "data.height=96; model.base=16; train.global_batch=16");
    add_set(1, 2, "data.height=32; train.global_batch=16");
    add_set(2, 1, "data.height=32; train.global_batch=16");
    add_set(4, 1, "data.height=32; train.batch_per_gpu=16");
    add_set(6, 1, "data.height=32; train.batch_per_gpu=16");
    add_set(8, 1, "data.height=32; train.batch_per_gpu=16");
    results_sort(&table);
    if (series_list_compute(&l, "study", &table, &facts, NULL, &table_error))
        bail_out("%s", table_error.text);
    is_int(l.count, 4, "runs with other settings are other series");
    is_str(l.items[0].name, "a, data.height 32, train.batch_per_gpu 16",
           "the series with the most counts comes first, and its name has what differs");
    ok(l.items[0].npoints == 4 && l.items[1].npoints == 2 && l.items[1].points[0].rows[0].seed == 2,
       "on one GPU the batch of each GPU is a global batch, so the run is in both series");
    is_str(l.items[2].name, "a, data.height 96, model.base 16, train.global_batch 16",
           "other settings are in the name");
    is_str(l.items[3].name, "a, settings not known", "logs without settings are a series");
    ok(l.items[2].npoints == 1 && l.items[3].npoints == 1,
       "runs of different series are not compared");
    series_list_destroy(&l);
    results_destroy(&table);
}

/* A study with 2 GPUs in one process, 4 in a process each, and 8 on two nodes. */
static void check_strategies(void)
{
    struct series_list l;

    add_set(1, 1, "train.global_batch=16");
    add_set(2, 1, "train.global_batch=16");
    add_set(4, 1, "strategy=multi-worker; train.global_batch=16");
    add_set(8, 1, "train.global_batch=16");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].nodes = table.rows[i].gpus > 4 ? 2 : 1;
    results_sort(&table);
    if (series_list_compute(&l, "study", &table, &facts, NULL, &table_error))
        bail_out("%s", table_error.text);
    ok(l.count == 2 && l.items[0].npoints == 3 && l.items[1].npoints == 3 &&
           l.items[0].points[1].gpus == 2 && l.items[1].points[1].gpus == 4,
       "the strategy makes no difference on one GPU or on several nodes");
    is_str(l.items[1].name, "a, strategy multi-worker",
           "the strategy makes a difference to other runs");
    series_list_destroy(&l);
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].gpus == 2)
            table.rows[i].state = RESULT_FAILED;
    if (series_list_compute(&l, "study", &table, &facts, NULL, &table_error))
        bail_out("%s", table_error.text);
    ok(l.count == 1 && l.items[0].npoints == 3,
       "runs to which it makes no difference are not a series of their own");
    series_list_destroy(&l);
    results_destroy(&table);
}

/* Adds a run that ended at its limit: n intervals of about a second, each `part` of an epoch. */
static struct result *add_limited(int gpus, long seed, double epoch, double part)
{
    struct result *r = table_add(&table, "l", gpus, seed, epoch * part);

    r->limited = r->stepped = 1;
    r->epochs = 30, r->units = 1600 * part, r->units_per_s = 1600 / epoch;
    r->quality.iou = 0.1, r->loss = 9; /* as its log may have: of a network that has hardly begun */
    return r;
}

static struct result *add_whole(int gpus, long seed, double epoch)
{
    struct result *r = table_add(&table, "l", gpus, seed, epoch);

    r->units = 1600, r->units_per_s = 1600 / epoch, r->loss = 0.1;
    return r;
}

/* 1 to 8 GPUs ended at their limit, 1 and 4 have whole runs, too. */
static void check_limited(void)
{
    for (int gpus = 1; gpus <= 8; gpus++)
        for (long seed = 1; seed <= 2; seed++)
            add_limited(gpus, seed, 8. / gpus, seed * gpus / 16.);
    add_whole(1, 1, 8);
    add_whole(1, 2, 8);
    add_whole(4, 1, 2);
    add_whole(4, 2, 2);
    compute("l");
    const struct series *s = &found[0];
    const struct series_point *one = &s->points[0], *four = &s->points[3], *eight = &s->points[7];
    ok(nfound == 1 && s->npoints == 8 && s->limited && !s->stepped && s->equal_epochs,
       "limited and whole runs are one series, of epochs");
    ok(four->nruns == 4 && four->nlimited == 2 && four->work == 12 && eight->nlimited == 2,
       "limited runs are counted");
    ok(four->q[QUANTITY_STEADY_EPOCH].min == 2 && four->q[QUANTITY_STEADY_EPOCH].max == 2 &&
           four->q[QUANTITY_STEADY_EPOCH].count == 4 &&
           eight->q[QUANTITY_STEADY_EPOCH].median == 1 && eight->q[QUANTITY_UNITS].median == 1600,
       "their intervals count for the work of an epoch");
    near(series_efficiency(s, eight)->value, 1, 1e-12, "and give the speed of counts without");
    ok(four->q[QUANTITY_QUALITY].count == 2 && four->q[QUANTITY_QUALITY].median == 0.9 &&
           four->q[QUANTITY_TRAINING].count == 2 && four->q[QUANTITY_FIRST_EPOCH].count == 2 &&
           eight->q[QUANTITY_QUALITY].count == 0 && isnan(eight->q[QUANTITY_WHOLE].median) &&
           one->q[QUANTITY_LOSS].max == 0.1,
       "quality, loss and whole times are those of whole runs");
    near(four->speedup[QUANTITY_WHOLE].value, 4, 1e-12, "whole times are compared between them");
    ok(isnan(eight->speedup[QUANTITY_WHOLE].value), "and not of other counts");

    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].limited != 1)
            table.rows[i].state = RESULT_FAILED;
    facts.unit = "tokens";
    compute("l");
    s = &found[0];
    char work[48];
    series_describe_work(s, work, sizeof work);
    ok(s->stepped && !s->has_quality && s->npoints == 8 && s->mode == SERIES_BATCH_UNKNOWN,
       "limited runs alone are intervals without a quality");
    is_str(work, "100 tokens", "of the work of the first run's");
    near(series_efficiency(s, &s->points[7])->value, 1, 1e-12, "their speed is that of the work");
    near(s->points[7].q[QUANTITY_STEADY_EPOCH].median, 1 / 16., 1e-12, "as are their times");

    facts.mode = SERIES_WEAK;
    for (size_t i = 0; i < table.count; i++) {
        table.rows[i].units = table.rows[i].units_per_s = NAN;
        table.rows[i].median_epoch_s = 2;
    }
    compute("l");
    s = &found[0];
    ok(s->mode == SERIES_WEAK, "work.mode decides where the batch is unknown");
    near(series_efficiency(s, &s->points[7])->value, 1, 1e-12,
         "without counts of work, weak scaling has it grow with the GPUs");
    facts = (struct series_facts){0};
    results_destroy(&table);
}

/* Whole runs of intervals, of a loss of which less is better. */
static void check_steps(void)
{
    for (int gpus = 1; gpus <= 4; gpus *= 2) {
        struct result *r = table_add(&table, "l", gpus, 1, 1);
        r->stepped = 1, r->epochs = 40 / gpus, r->units = 100. * gpus;
        r->units_per_s = r->units;
        result_set_text(r->quality.metric, sizeof r->quality.metric, "val_loss");
        r->quality.value = 12.5, r->quality.lower = 1;
    }
    compute("l");
    const struct series *s = &found[0];
    ok(s->stepped && s->lower && !s->is_share && s->decimals == 2 && s->equal_epochs,
       "whole runs that did the same work have equal epochs");
    is_str(s->quality, "val_loss", "the quality has its name");
    near(s->points[2].q[QUANTITY_STEADY_EPOCH].median, 0.25, 1e-12, "times are of the same work");
    table.rows[2].epochs = 20;
    compute("l");
    ok(!found[0].equal_epochs, "twice the work is another training");
    table.rows[1].units = NAN;
    compute("l");
    ok(isnan(found[0].points[1].q[QUANTITY_STEADY_EPOCH].median) && !found[0].by_units,
       "a count whose work is unknown has no steady time");
    results_destroy(&table);
}

/* The steps of a clock are those of single epochs: medians of an even number of them hide some. */
static void check_resolution(void)
{
    static const double seconds[3][5] = {{40, 30, 31, 30, 31}, {21, 15, 16, 16, 15},
                                         {11, 7, 8, 7, 8}};

    for (int i = 0; i < 3; i++) {
        struct result *r = table_add(&table, "a", 1 << i, 1, 0);
        table_add_curve(r, 5, 1);
        memcpy(r->curve->seconds, seconds[i], sizeof seconds[i]);
        curve_measure(r->curve, r);
    }
    compute("a");
    const struct summary *steady = &found[0].points[2].q[QUANTITY_STEADY_EPOCH];
    near(steady->median, 7.5, 1e-12, "the median of whole seconds is half of one");
    near(steady->resolution, 1, 1e-12, "their resolution is a second");
    results_destroy(&table);
}

int main(void)
{
    check_known_numbers();
    check_resolution();
    check_intervals();
    check_images();
    check_epochs();
    check_modes();
    check_settings();
    check_strategies();
    check_limited();
    check_steps();
    compute("none");
    return done_testing();
}
