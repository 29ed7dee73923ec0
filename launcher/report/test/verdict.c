/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/verdict.h"

#include <math.h>

#include "t/tap.h"

static struct scaling_point points[4];
static struct scaling s = {.engine = "embedded", .points = points};
static struct buf words;

static struct scaling_spread exactly(double value)
{
    return (struct scaling_spread){value, value, value, 1};
}

/* 1, 2, 4, 8 GPUs: all pass but the last, which is slow. */
static struct verdict judge(void)
{
    static const double efficiencies[] = {1, 0.95, 0.9, 0.6};

    s.npoints = 4;
    for (int i = 0; i < 4; i++)
        points[i] = (struct scaling_point){
            .gpus = 1 << i, .nruns = 3, .efficiency = efficiencies[i],
            .efficiency_total = efficiencies[i], .speedup_steady = efficiencies[i] * (1 << i),
            .epoch_s = exactly(10 / efficiencies[i] / (1 << i)), .first_epoch_s = exactly(40),
            .iou = exactly(0.9), .comm_s = exactly(NAN), .data_s = exactly(NAN)};
    return verdict_compute(&s);
}

static const char *explain(const struct verdict *v)
{
    buf_destroy(&words);
    words = (struct buf){0};
    verdict_explain(v, &s, &words);
    return words.data;
}

static void check_rule(void)
{
    struct verdict v = judge();

    ok(v.worth == 4 && v.beyond == 8, "the largest count that is efficient enough");
    ok(v.enough_repeats && !v.oversubscribed, "three runs each are enough");
    ok(strstr(explain(&v), "4 GPUs are worth it (embedded): 3.60 times") == words.data,
       "the first words are the verdict");
    ok(strstr(words.data, "with 8 GPUs efficiency is 0.60, below 0.80; these logs do not say why"),
       "what limits is named");
    ok(!strstr(words.data, "repeats"), "and nothing is said of repeats");

    points[3].comm_s = exactly(points[3].epoch_s.median * 0.3), points[3].data_s = exactly(0);
    ok(strstr(explain(&v), "communication takes 30 % of an epoch"), "the cause, where records tell");

    points[2].iou = exactly(0.88);
    v = verdict_compute(&s);
    ok(v.worth == 2 && v.beyond == 4, "IoU that falls by more than 0.01 does not pass");
    ok(strstr(explain(&v), "IoU is 0.880, 0.020 below that of 1 GPU"), "and that is said");

    points[0].iou.min = 0.86;
    v = verdict_compute(&s);
    ok(v.worth == 4 && fabs(v.iou_margin - 0.04) < 1e-9, "unless the base case's seeds differ as much");

    judge();
    points[1].iou = exactly(0.5);
    v = verdict_compute(&s);
    ok(v.worth == 4 && strstr(explain(&v), "smaller number passes: 2 GPUs (efficiency 0.95, IoU 0.500)."),
       "a smaller count that does not pass is named");
}

static void check_words(void)
{
    struct verdict v = judge();

    points[3].oversubscribed = true;
    v = verdict_compute(&s);
    ok(strstr(explain(&v), "This speed-up measures the machine, not the method: with 8 GPUs") ==
           words.data,
       "shared cores are said up front");
    ok(strstr(words.data, "the workers share cores"), "and named as what limits");

    judge();
    points[1].nruns = 1;
    v = verdict_compute(&s);
    ok(!v.enough_repeats && strstr(explain(&v), "Not enough repeats") && strstr(words.data, "1 run per"),
       "too few repeats are said");

    judge();
    s.npoints = 3;
    v = verdict_compute(&s);
    ok(v.beyond == 0 && strstr(explain(&v), "beyond 4 GPUs is not known"), "no limit was found");

    s.npoints = 2;
    points[1].efficiency = NAN;
    v = verdict_compute(&s);
    ok(v.worth == 1 && strstr(explain(&v), "1 GPU (embedded): no larger"), "none is worth it");

    judge();
    points[0].gpus = 2, points[0].iou = exactly(NAN);
    v = verdict_compute(&s);
    ok(strstr(explain(&v), "base case is 2 GPUs") && strstr(words.data, "IoU of the base case is not"),
       "another base case and an unknown IoU are said");

    judge();
    points[1].efficiency = 1.3;
    v = verdict_compute(&s);
    ok(strstr(explain(&v), "An efficiency of 1.30 is more than ideal"), "what is too good is doubted");
    ok(!strstr(words.data, "has learnt"), "and nothing is said of a network that has learnt");
    for (int i = 0; i < 4; i++)
        points[i].iou = exactly(0.02);
    v = verdict_compute(&s);
    ok(strstr(explain(&v), "No network has learnt to segment (the best IoU is 0.020)"),
       "networks that have not learnt are told");

    judge();
    points[2].efficiency_total = 0.7;
    v = verdict_compute(&s);
    ok(strstr(explain(&v), "Start-up costs: over the whole training the efficiency is 0.70"),
       "the cost of the first epoch");
}

int main(void)
{
    check_rule();
    check_words();
    buf_destroy(&words);
    return done_testing();
}
