/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/buf.h"
#include "t/tap.h"

static struct series_point points[4];
static enum decision_iou iou[4];
static struct comparison change[4];
static struct analysis_series as;
static struct words words;

static struct interval around(double value, double width, enum interval_method method)
{
    return (struct interval){value - width, value + width, 0.95, method};
}

static struct ratio ratio(double value, double width)
{
    return (struct ratio){value, around(value, width, INTERVAL_FIELLER)};
}

/* 1, 2, 4, 8 GPUs; 4 is best, 8 is too slow; IoU of 4 as near as it gets, with repeats enough. */
static void set_up(void)
{
    static const double speedups[] = {1, 1.9, 3.6, 4.8};

    as = (struct analysis_series){0};
    strcpy(as.series.engine, "embedded");
    as.series.points = points;
    as.series.quality = "IoU";
    as.series.npoints = 4;
    memset(points, 0, sizeof points);
    for (int i = 0; i < 4; i++) {
        struct series_point *p = &points[i];
        p->gpus = 1 << i;
        for (int q = 0; q < QUANTITY_NTIMES; q++) {
            p->speedup[q] = ratio(speedups[i], 0.05);
            p->efficiency[q] = ratio(speedups[i] / (1 << i), 0.05);
        }
        p->q[QUANTITY_STEADY_EPOCH].median = 10 / speedups[i];
        p->q[QUANTITY_FIRST_EPOCH].median = 40;
        p->q[QUANTITY_IOU].median = 0.9;
        iou[i] = DECISION_IOU_HOLDS;
        change[i] = (struct comparison){.test = COMPARE_WELCH, .a = 0.964, .b = 0.962, .difference = -0.002,
                                        .p_holm = 0.4, .margin = 0.01, .enough = true};
    }
    as.decision = (struct decision){.base = &points[0], .best = &points[2], .speedup = ratio(3.6, 0.15),
                                    .efficiency = ratio(0.9, 0.04), .iou = iou, .iou_change = change,
                                    .beyond = 4, .beyond_model = NAN, .limit = &points[3],
                                    .limit_why = "efficiency is 0.60, below 0.80"};
    as.convergence.metric = CONVERGENCE_NONE;
}

static const char *headline(const char *label)
{
    struct err e;

    words_destroy(&words);
    ok(words_compute(&words, &as, label, false, &e) == 0, "words are found");
    return words.headline;
}

static void check_headline(void)
{
    set_up();
    is_str(headline(NULL), "Use 4 GPUs: 3.6x faster than 1 (95 % interval 3.5-3.8), IoU unchanged (0.962 vs 0.964, "
           "difference not significant). Beyond 4 the extra GPUs cost more than they save.", "the verdict");
    is_str(words.caveats, "", "without a caveat");
    ok(strstr(words.reasons, "What limits: with 8 GPUs efficiency is 0.60, below 0.80.\n") == words.reasons,
       "what limits is the first reason");
    ok(strstr(headline("hvd"), "Use 4 GPUs (hvd): 3.6x") == words.headline, "one of several is named");

    as.decision.speedup = ratio(3.6, 0.02);
    ok(strstr(headline(NULL), "3.60x faster than 1 (95 % interval 3.58-3.62)"), "narrow intervals have two decimals");
    as.decision.speedup.interval.method = INTERVAL_EPOCHS;
    ok(strstr(headline(NULL), "(3.58-3.62 by the epochs of single runs)"), "one of epochs is told as that");
    as.decision.speedup.interval = interval_none();
    ok(strstr(headline(NULL), "3.60x faster than 1, IoU"), "no interval, no words of it");

    set_up();
    as.decision.best = as.decision.base;
    ok(strstr(headline(NULL), "Use 1 GPU: no larger number that was measured is worth it.") == words.headline,
       "one GPU may be best");
}

static void check_iou(void)
{
    set_up();
    change[2].enough = false;
    ok(strstr(headline(NULL), "difference not significant, but too few runs to see one of 0.010)"),
       "not enough repeats are not called unchanged");
    change[2].test = COMPARE_NONE;
    ok(strstr(headline(NULL), "IoU 0.962 vs 0.964 (one run each: no test)"), "without a test nothing is claimed");
    change[2] = (struct comparison){.test = COMPARE_WELCH, .a = 0.964, .b = 0.960, .difference = -0.004,
                                    .significant = true, .margin = 0.01, .enough = true};
    ok(strstr(headline(NULL), "IoU lower by less than 0.010 (0.960 vs 0.964)"), "a small fall");
    change[2].difference = 0.004;
    ok(strstr(headline(NULL), "IoU better (0.960 vs 0.964, significant)"), "a rise");
    iou[2] = DECISION_IOU_UNKNOWN;
    ok(strstr(headline(NULL), "IoU not known."), "no IoU");
}

static void check_beyond(void)
{
    set_up();
    as.decision.beyond = 0;
    ok(strstr(headline(NULL), "the most that was measured, extra GPUs save more than they cost."), "no knee was seen");
    as.decision.beyond_model = 11.6;
    ok(strstr(headline(NULL), "by the fitted law that ends at about 12."), "the law's knee is called that");
    as.decision.best = as.decision.base;
    ok(!strstr(headline(NULL), "save"), "nothing is saved where nothing is worth it");
    set_up();
    as.decision.limit = NULL;
    headline(NULL);
    ok(strstr(words.reasons, "beyond 4 GPUs is not known"), "no limit was found");
}

static void check_reasons(void)
{
    set_up();
    iou[1] = DECISION_IOU_FALLS;
    points[1].q[QUANTITY_IOU].median = 0.5;
    headline(NULL);
    ok(strstr(words.reasons, "not every smaller number passes: 2 GPUs (efficiency 0.95, IoU 0.500).\n"),
       "a smaller count that fails is named");
    points[2].efficiency[QUANTITY_WHOLE].value = 0.7;
    for (int i = 0; i < 4; i++)
        points[i].q[QUANTITY_STARTUP].median = points[i].q[QUANTITY_EVALUATION].median = 3;
    points[0].q[QUANTITY_WHOLE].median = 400;
    points[2].q[QUANTITY_WHOLE].median = 150;
    headline(NULL);
    ok(strstr(words.reasons, "Over the whole run the efficiency is 0.70: of its 150.0 s, the first epoch takes 40.0 s, "
              "with 1 GPU it was 40.0 s of 400.0 s.\n"), "what a whole run loses by");
    points[2].q[QUANTITY_STARTUP].median = 50;
    headline(NULL);
    ok(strstr(words.reasons, ": of its 150.0 s, start-up takes 50.0 s, with 1 GPU it was 3.0 s"), "by what loses most");
    as.series.mode = SERIES_WEAK;
    ok(strstr(headline(NULL), "Use 4 GPUs: 3.6x the images per second of 1 (95"), "more work is not faster");
    ok(strstr(words.reasons, "The work grows with the GPUs") && !strstr(words.reasons, "Over the whole run"),
       "and its times are not compared");
    as.series.mode = SERIES_STRONG;
    struct model law = {.law = MODEL_IDEAL, .coefficient = {40}, .fitted = true, .loo_error = 0.05,
                        .peak = INFINITY};
    as.steady_choice = &law;
    headline(NULL);
    ok(strstr(words.reasons, "The law that fits best: ideal, T(N) = 40 / N; a count left out is predicted within 5.0 %"),
       "the law");
    law.loo_error = 0.493;
    headline(NULL);
    ok(strstr(words.reasons, "No law fits well; the best is ideal,"), "one that foretells nothing");
    as.steady_choice = NULL;
    as.decision.ncaveats = 2;
    strcpy(as.decision.caveats[0].text, "First.");
    strcpy(as.decision.caveats[1].text, "Second.");
    headline(NULL);
    is_str(words.caveats, "First.\nSecond.\n", "caveats in their order");
    as.advice.time = (struct advice_choice){.gpus = 8, .measured = true, .value = 599};
    as.advice.gpu_hours = (struct advice_choice){.gpus = 1, .measured = true, .value = 2.1};
    as.advice.next = 6;
    strcpy(as.advice.next_why, "the gap is widest");
    headline(NULL);
    ok(strstr(words.reasons, "Fastest whole run, start-up and evaluation included: 8 GPUs (599 s); fewest GPU-hours: 1 GPU (2.1 GPU-hours); "
                             "energy was not recorded"), "the best for each");
    as.advice.energy = (struct advice_choice){.gpus = 1, .measured = true, .value = 0.63};
    headline(NULL);
    ok(strstr(words.reasons, "; least energy: 1 GPU (0.63 kWh).\n"), "energy, where it is known");
    ok(strstr(words.reasons, "Worth measuring next: 6 GPUs (the gap is widest).\n"), "what next");
    as.series.npoints = 1;
    is_str(headline("alone"), "alone ran on 1 GPU only: there is nothing to compare it with.", "one count");
}

static void check_compare(void)
{
    struct analysis_difference d = {.gpus = 8, .quantity = QUANTITY_STEADY_EPOCH, .ratio = ratio(1.25, 0.05)};
    struct buf b = {0};

    d.compare = (struct comparison){.test = COMPARE_WELCH, .p_holm = 0.001, .significant = true};
    words_compare(&b, &d, "A", "B", "IoU");
    is_str(b.data, "With 8 GPUs, steady epoch: B is 1.25x faster than A (95 % interval 1.20-1.30); significant "
           "(p = 0.001).", "a faster one");
    buf_destroy(&b);
    b = (struct buf){0};
    d.ratio = (struct ratio){0.8, {0.5, 1, 0.95, INTERVAL_FIELLER}};
    d.compare.test = COMPARE_NONE;
    words_compare(&b, &d, "A", "B", "IoU");
    is_str(b.data, "With 8 GPUs, steady epoch: A is 1.25x faster than B (95 % interval 1.00-2.00); too few runs for a "
           "test.", "a slower one is turned round");
    buf_destroy(&b);
}

int main(void)
{
    check_headline();
    check_iou();
    check_beyond();
    check_reasons();
    check_compare();
    words_destroy(&words);
    return done_testing();
}
