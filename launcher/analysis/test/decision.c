/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/decision.h"

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results table;
static struct series s[SERIES_MAX];
static struct advice advice;
static struct decision d;
static const struct series_facts facts;

/* 7 seeds each on 1, 2, 4, 8, 16 GPUs with efficiencies 1, .98, .95, .85, .5; IoU 0.9 and a scatter of
 * +-0.003 that seeds share. */
static void fill(size_t seeds)
{
    static const double efficiency[] = {1, 0.98, 0.95, 0.85, 0.5};

    results_destroy(&table);
    for (int i = 0; i < 5; i++)
        for (long seed = 1; seed <= (long)seeds; seed++) {
            double wobble = 1 + 0.001 * (double)((seed * 3 + i) % 7);
            struct result *r = table_add(&table, "x", 1 << i, seed, 32 * wobble / (1 << i) / efficiency[i]);
            r->images = 1792, r->val_images = 224, r->batch_per_gpu = 16;
            r->iou = 0.9 + 0.001 * (double)(seed - 4) + 0.0002 * (double)((seed * 5 + i) % 3);
        }
}

static void change_iou(int gpus, double by)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.rows[i].gpus == gpus)
            table.rows[i].iou += by;
}

static void compute(void)
{
    size_t n;

    decision_destroy(&d);
    series_destroy(&s[0]);
    results_sort(&table);
    if (series_compute(s, &n, "study", &table, "x", &facts, NULL, &table_error))
        bail_out("%s", table_error.text);
    advice_compute(&advice, &s[0], NULL, NULL, 0);
    if (decision_compute(&d, &s[0], &advice, &table, &table_error))
        bail_out("%s", table_error.text);
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
    is_int(d.best->gpus, 8, "the largest count that is efficient enough");
    near(d.speedup.value, 8 * 0.85, 0.01, "with its speed-up");
    ok(d.speedup.interval.method == INTERVAL_FIELLER && d.speedup.interval.low < 6.8 && d.speedup.interval.high > 6.7,
       "and its interval");
    ok(d.iou[3] == DECISION_IOU_HOLDS && !d.iou_change[3].significant && d.iou_change[3].enough, "IoU holds");
    is_int(d.beyond, 8, "beyond the knee GPUs cost more than they save");
    ok(d.limit && d.limit->gpus == 16 && strstr(d.limit_why, "efficiency is 0.50, below 0.80"),
       "what limits is named: %s", d.limit_why);
    is_int(d.ncaveats, 0, "nothing weakens it");
}

static void check_iou(void)
{
    fill(7); /* by ranks 2 / 2^7 * 4 = 0.0625 would be the least p */
    change_iou(8, -0.03);
    compute();
    ok(d.iou[3] == DECISION_IOU_FALLS && d.iou_change[3].significant, "seven seeds are enough");
    ok(d.best->gpus == 4, "a count whose IoU falls is not best");
    ok(strstr(d.limit_why, "its IoU is 0.8"), "and that is what limits: %s", d.limit_why);
    fill(1);
    compute();
    ok(d.best->gpus == 8 && caveat(CAVEAT_ONE_RUN), "one run each: IoU within the margin holds, with a caveat");
    change_iou(8, -0.03);
    compute();
    ok(d.iou[3] == DECISION_IOU_UNCERTAIN && d.best->gpus == 4, "a fall in one run is uncertain, and not taken");
    ok(strstr(d.limit_why, "repeats are too few to call that chance"), "in words: %s", d.limit_why);
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].iou = NAN;
    compute();
    ok(d.iou[3] == DECISION_IOU_UNKNOWN && d.best->gpus == 8, "without any IoU only speed counts");
}

static void check_caveats(void)
{
    fill(2);
    for (size_t i = 0; i < table.count; i++) {
        struct result *r = &table.rows[i];
        r->fake_gpus = 1;
        r->oversubscribed = r->gpus >= 4;
        r->iou /= 20;
        r->val_images = r->gpus < 16 ? 224 : 16;
        r->images = NAN;
        if (r->gpus == 16 && r->seed == 1)
            r->state = RESULT_FAILED;
    }
    compute();
    for (size_t i = 1; i < d.ncaveats; i++)
        ok(d.caveats[i - 1].kind < d.caveats[i].kind, "the heavier first: %s", d.caveats[i].text);
    ok(caveat(CAVEAT_FAKE_GPUS) && strstr(caveat(CAVEAT_FAKE_GPUS), "(1..16)"), "fake GPUs");
    ok(caveat(CAVEAT_FEW_CORES) && strstr(caveat(CAVEAT_FEW_CORES), "with 4..16 GPUs"), "few cores");
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT), "No network has learnt"),
       "nothing learnt");
    ok(caveat(CAVEAT_UNEQUAL_IMAGES) && strstr(caveat(CAVEAT_UNEQUAL_IMAGES), "224 with 1 GPU, 16 with 16"),
       "unequal images");
    ok(caveat(CAVEAT_FEW_RUNS) != NULL, "few runs");
    ok(caveat(CAVEAT_MISSING_COUNTS) && strstr(caveat(CAVEAT_MISSING_COUNTS), "1 of 10 runs"), "a run is missing");
    ok(caveat(CAVEAT_NO_IMAGES) != NULL, "images were not counted");
    for (size_t i = 0; i < table.count; i++) {
        table.rows[i].state = table.rows[i].gpus == 1 ? RESULT_FAILED : RESULT_DONE;
        table.rows[i].epochs = table.rows[i].gpus;
        table.rows[i].median_epoch_s /= table.rows[i].gpus;
    }
    compute();
    ok(caveat(CAVEAT_BASE) && strstr(caveat(CAVEAT_BASE), "The base case is 2 GPUs"), "another base case");
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].constant = table.rows[i].iou - (i ? 0.01 : 0.001);
    compute();
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT), "No network has learnt"),
       "better than one class everywhere");
    table.rows[table.count - 1].constant = table.rows[table.count - 1].iou;
    compute();
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT), "1 of 8 runs score no better"),
       "one run is not: %s", caveat(CAVEAT_NOT_LEARNT));
    for (size_t i = 0; i < table.count; i++)
        table.rows[i].constant = table.rows[i].iou = 1;
    compute();
    ok(caveat(CAVEAT_NOT_LEARNT) && strstr(caveat(CAVEAT_NOT_LEARNT), "the same single class"),
       "nothing to tell apart");
    ok(caveat(CAVEAT_UNEQUAL_EPOCHS) && caveat(CAVEAT_TOO_GOOD), "unequal epochs, and too good to be true");
}

int main(void)
{
    check_rule();
    check_iou();
    check_caveats();
    decision_destroy(&d);
    series_destroy(&s[0]);
    results_destroy(&table);
    return done_testing();
}
