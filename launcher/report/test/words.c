/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report_internal.h"

#include <math.h>

#include "t/tap.h"

static struct series_point points[4];
static enum decision_state state[4], time_state[4];
static struct quality quality[4];
static struct ratio judged[4];
static struct analysis_series as;
static struct words words;
static char reasons[4000]; /* its parts from the limits on */

static struct interval around(double value, double width, enum interval_method method)
{
    return (struct interval){value - width, value + width, 0.95, method};
}

static struct ratio ratio(double value, double width)
{
    return (struct ratio){value, around(value, width, INTERVAL_FIELLER), NAN, NAN};
}

/* Sets up 1, 2, 4 and 8 GPUs, of which 4 is best and 8 too slow. IoU holds with all of them, and
 * there are enough repetitions. */
static void set_up(void)
{
    static const double speedups[] = {1, 1.9, 3.6, 4.8};

    as = (struct analysis_series){0};
    strcpy(as.series.engine, "embedded");
    as.series.points = points;
    as.series.quality = "IoU", as.series.unit = "images", as.series.decimals = 4;
    as.series.has_quality = as.series.is_share = true;
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
        p->q[QUANTITY_QUALITY].median = 0.9;
        state[i] = i < 3 ? DECISION_PASSES : DECISION_FAILS;
        time_state[i] = state[i];
        quality[i] = (struct quality){
            .state = QUALITY_HOLDS, .nruns = 3, .collapse_most = 0.632,
            .change = {.test = COMPARE_WELCH, .a = 0.964, .b = 0.962, .difference = -0.002,
                       .p = 0.4, .margin = 0.01, .enough = true, .nfamily = 3,
                       .interval = {-0.006, 0.0004, 0.95, INTERVAL_T}}};
        p->nruns = 3;
    }
    as.decision = (struct decision){.base = &points[0], .use = &points[2], .reach = &points[2],
                                    .best = &points[2], .speedup = ratio(3.6, 0.15),
                                    .efficiency = ratio(0.9, 0.04), .quality = quality,
                                    .rule = DECISION_RULE_INIT, .decided = true,
                                    .state = state, .time = time_state,
                                    .limit = &points[3], .next = 6,
                                    .limit_why = "efficiency drops to 0.60 (threshold 0.80)",
                                    .next_why = "the limit lies between 4 and 8"};
    as.convergence.metric = CONVERGENCE_NONE;
}

static const char *headline(const char *label)
{
    struct err e;

    for (int i = 0; i < 4; i++)
        judged[i] = *series_efficiency(&as.series, &points[i]);
    as.decision.judged = judged;

    words_destroy(&words);
    ok(words_compute(&words, &as, label, false, &e) == 0, "the words of a series are made");
    snprintf(reasons, sizeof reasons, "%s%s%s%s", words.limits, words.models, words.costs,
             words.advice);
    return words.headline;
}

static void check_headline(void)
{
    set_up();
    is_str(headline(NULL), "Use 4 GPUs: 3.6x faster than with 1 GPU (95 % interval of the chosen "
           "count 3.5-3.8), and IoU holds.", "the headline has the verdict");
    is_str(words.evidence, "IoU with 4 GPUs holds (0.9620 against 0.9640; change -0.0020, 95 % "
           "interval -0.0060 to 0.0004; 0 of 3 runs collapsed, 95 % limit 64 %).\n",
           "the evidence says why quality holds");
    is_str(words.caveats, "", "there is no caveat");
    points[2].efficiency[QUANTITY_STEADY_EPOCH] = ratio(22.95, 0.04);
    is_str(headline("hvd"), "Measure the base case again: with 4 GPUs the efficiency is 22.95, "
           "more than ideal (hvd).", "an impossible efficiency comes first");
    ok(strstr(words.evidence, "As measured: use 4 GPUs: 3.6x faster ") == words.evidence,
       "then the verdict");
    points[2].efficiency[QUANTITY_STEADY_EPOCH] = ratio(22.95, 22);
    ok(strstr(headline(NULL), "Use 4 GPUs") == words.headline,
       "unless its interval includes the ideal");
    points[2].efficiency[QUANTITY_STEADY_EPOCH] = ratio(0.9, 0.05);
    as.decision.unlearnt = true;
    is_str(headline(NULL), "No network has learnt its task, so no number of GPUs is advised.",
           "nothing is advised that has not learnt");
    ok(strstr(words.evidence, "By time alone: use 4 GPUs") == words.evidence, "but by time");
    as.decision.unlearnt = false;
    headline(NULL);
    ok(strstr(reasons, "Limit: with 8 GPUs efficiency drops to 0.60 (threshold 0.80).\n") ==
       reasons, "the limit is the first reason");
    ok(strstr(headline("hvd"), "Use 4 GPUs (hvd): 3.6x") == words.headline,
       "one of several series is named");

    as.decision.speedup = ratio(3.6, 0.02);
    ok(strstr(headline(NULL), "3.60x faster than with 1 GPU (95 % interval of the chosen count "
                              "3.58-3.62)"),
       "narrow intervals have two decimals");
    as.decision.speedup.interval.method = INTERVAL_EPOCHS;
    ok(!strstr(headline(NULL), "3.58"), "an interval over epochs is left to tables");
    as.decision.speedup.interval = interval_none();
    ok(strstr(headline(NULL), "3.60x faster than with 1 GPU, and IoU"),
       "without an interval none is mentioned");
}

/* Sets up a series of which only the base case is to be used, with these speed-ups on 2, 4 and 8
 * GPUs. */
static void use_none(double s2, double s4, double s8)
{
    const double s[] = {1, s2, s4, s8};

    set_up();
    as.decision.use = as.decision.reach = as.decision.best = as.decision.base;
    as.decision.limit = &points[1];
    for (int i = 0; i < 4; i++) {
        points[i].speedup[QUANTITY_STEADY_EPOCH] = ratio(s[i], 0.05);
        points[i].efficiency[QUANTITY_STEADY_EPOCH] = ratio(s[i] / (1 << i), 0.05 / (1 << i));
        time_state[i] = i && s[i] / (1 << i) < 0.75 ? DECISION_FAILS : DECISION_PASSES;
    }
}

static void check_none(void)
{
    use_none(0.9, 0.8, 0.5);
    is_str(headline(NULL), "Use 1 GPU: every larger count measured is shown to be slower.",
           "1 GPU is advised if every larger count is slower");
    use_none(1.2, 0.8, 0.5);
    is_str(headline(NULL), "Use 1 GPU: every larger count measured is shown to have an efficiency "
           "below 0.80.",
           "1 GPU is advised if no larger count is efficient");
    use_none(1.9, 2, 3);
    quality[1].state = QUALITY_FALLS;
    is_str(headline(NULL), "Use 1 GPU: every larger count measured is shown to have an efficiency "
           "below 0.80 or not to keep its IoU.",
           "1 GPU is advised if no larger count is efficient and good");
    use_none(0.98, 0.8, 0.5);
    is_str(headline(NULL), "Use 1 GPU: every larger count measured is shown to have an efficiency "
           "below 0.80.",
           "a speed-up whose interval includes 1 is not called slower");
    as.decision.decided = false;
    as.decision.time_seeds = (struct decision_seeds){.point = &points[1], .n = 7, .change = 0.49};
    points[1].efficiency[QUANTITY_STEADY_EPOCH] =
        (struct ratio){0.49, interval_none(), 0.32, 1.42};
    is_str(headline(NULL), "Undecided: these runs do not show whether more than 1 GPU is worth "
           "using.", "what intervals do not show is undecided");
    is_str(words.evidence, "Whether the efficiency with 2 GPUs reaches 0.80 is undecided (0.49 as "
           "measured, 0.32 to 1.42 between single runs, too few for an interval); about 7 runs per "
           "count would decide it.\n", "with the runs that would decide");
    points[1].efficiency[QUANTITY_STEADY_EPOCH] = ratio(0.79, 0.04);
    is_str(headline("hvd"), "Undecided (hvd): these runs do not show whether more than 1 GPU is "
           "worth using.", "so is an interval that includes the threshold");
    ok(strstr(words.evidence, "(0.79 as measured, 95 % interval 0.750 to 0.830); about 7 runs"),
       "with the interval");
}

static void check_undecided(void)
{
    set_up();
    as.decision.use = as.decision.base;
    quality[2].state = QUALITY_UNDECIDED;
    quality[2].change.b = 0.97;
    points[0].nruns = points[2].nruns = 1;
    quality[2].change.interval = interval_none();
    as.decision.seeds = (struct decision_seeds){.point = &points[2], .n = 24, .scatter = 0.01,
                                                .assumed = true};
    as.decision.next_seeds = 3;
    as.decision.next_point = &points[2];
    strcpy(as.decision.next_why, "they show the scatter");
    is_str(headline("hvd"), "Within reach by time: up to 4 GPUs (hvd), 3.6x faster than with 1 GPU "
           "(95 % interval of the chosen count 3.5-3.8), by single runs, undecided.",
           "time alone reaches further");
    is_str(words.evidence, "IoU with 4 GPUs is undecided (0.9700 against 0.9640, one run on a "
           "side); single runs show no scatter, so 3 seeds per count come first.\n",
           "one run per count leaves the IoU undecided");
    ok(strstr(reasons, "Worth measuring next: 3 seeds with 1 and 4 GPUs (they show the "
              "scatter).\n"), "seeds are suggested as the next measurement");
    points[0].nruns = points[2].nruns = 5;
    as.decision.seeds = (struct decision_seeds){.point = &points[2], .n = 9, .scatter = 0.004,
                                                .change = -0.0072};
    quality[2].change.interval = (struct interval){-0.013, 0.0004, 0.95, INTERVAL_T};
    headline(NULL);
    ok(strstr(words.evidence, " (0.9700 against 0.9640; the 95 % interval of the change, -0.0130 "
              "to 0.0004, includes -0.01); "
                              "about 9 seeds per count would decide it."),
       "several runs may leave the IoU undecided");
    as.decision.seeds.n = 0;
    headline(NULL);
    ok(strstr(words.evidence, "; no practicable number of seeds would decide it."),
       "an impracticable number of seeds is reported as such");
    quality[2].why = "recorded too coarsely";
    quality[2].change.resolution = 0.01;
    headline(NULL);
    ok(strstr(words.evidence, " is undecided (0.9700 against 0.9640): it is recorded in steps of "
              "0.01, and the margin is 0.01; record more decimals."),
       "coarse values decide nothing");
    as.series.counted = 150;
    quality[2].change.resolution = 1. / 150;
    headline(NULL);
    ok(strstr(words.evidence, "): on these 150 images it changes in steps of 0.0067, and the "
                              "margin "
              "is 0.01; that takes 500 images, or a margin of 0.034."), "nor do few images: %s",
       words.evidence);
    as.series.counted = 0;
    quality[2].why = NULL;
    quality[2].collapse_open = true, quality[2].ncollapsed = 1;
    as.decision.seeds = (struct decision_seeds){.point = &points[2], .n = 32, .collapse = true};
    headline(NULL);
    ok(strstr(words.evidence, "; 1 of 3 runs collapsed, which does not show whether more than 10 % "
              "do); about 32 seeds per count would decide it."), "nor does one run that collapsed");
    quality[2].collapse_open = false, quality[2].ncollapsed = 0;
    quality[2].state = QUALITY_UNKNOWN;
    quality[2].why = "not recorded";
    headline(NULL);
    is_str(words.evidence, "IoU is not recorded.\n", "a missing IoU is reported");

    set_up();
    as.decision.reach = &points[3];
    state[3] = DECISION_UNDECIDED;
    quality[3].state = QUALITY_UNDECIDED;
    headline(NULL);
    ok(strstr(words.evidence, "64 %).\nWithin reach by time: up to 8 GPUs (4.80x).\nIoU with 8 GPUs "
                              "is undecided"),
       "a larger count within reach is mentioned beside the one that passes");
    as.decision.limit = NULL;
    as.decision.model_reach = 12;
    as.steady.largest = 8;
    headline(NULL);
    ok(strstr(reasons, "Limit: none was measured; with 8 GPUs, the most, efficiency is 0.60 "
              "(threshold 0.80); the model predicts 0.80 or more up to 12, if no limit begins "
              "beyond 8, which runs up to 8 cannot show.\n") == reasons,
       "it is said that no limit was measured");
    quality[3].change.difference = -0.02;
    quality[2].change.difference = -0.02;
    quality[2].state = QUALITY_UNDECIDED;
    headline(NULL);
    ok(strstr(reasons, "In these runs IoU is lower by more than 0.01 with 4, 8 GPUs; "
              "more runs must show whether that is chance.\n"),
       "falls of the IoU that are not significant are mentioned");
}

static void check_reasons(void)
{
    set_up();
    quality[1].state = QUALITY_FALLS;
    state[1] = DECISION_FAILS;
    quality[1].change.difference = -0.5;
    headline(NULL);
    ok(strstr(reasons, "Not every smaller count meets the rule: 2 GPUs (IoU falls by "
              "0.5000).\n"), "a smaller count that fails is named");
    points[1].efficiency[QUANTITY_STEADY_EPOCH].value = 0.7983;
    time_state[1] = DECISION_FAILS;
    headline(NULL);
    ok(strstr(reasons, "2 GPUs (efficiency 0.798, IoU falls by 0.5000).\n"),
       "it is named with both reasons");
    quality[1].state = QUALITY_COLLAPSES;
    quality[1].ncollapsed = 2;
    headline(NULL);
    ok(strstr(reasons, "2 GPUs (efficiency 0.798, 2 of 3 runs collapsed).\n"),
       "so is one that collapses");
    ok(strstr(reasons, "Runs collapsed (IoU more than 0.05 below the median of the base case, "
              "0.9000, or none): 2 of 3 with 2 GPUs (least 0.0000).\n"),
       "and all such counts are listed");
    points[2].efficiency[QUANTITY_WHOLE].value = 0.7;
    for (int i = 0; i < 4; i++)
        points[i].q[QUANTITY_STARTUP].median = points[i].q[QUANTITY_EVALUATION].median = 3;
    points[0].q[QUANTITY_WHOLE].median = 400;
    points[2].q[QUANTITY_WHOLE].median = 150;
    headline(NULL);
    ok(strstr(reasons, "Over the whole run the efficiency is 0.70: of its 150.0 s, the first "
              "epoch takes 40.0 s, with 1 GPU it was 40.0 s of 400.0 s.\n"),
       "the loss of the whole run is explained by its first epoch");
    points[2].q[QUANTITY_STARTUP].median = 50;
    headline(NULL);
    ok(strstr(reasons, ": of its 150.0 s, start-up takes 50.0 s, with 1 GPU it was 3.0 s"),
       "the loss of the whole run is explained by the largest part");
    as.series.mode = SERIES_WEAK;
    ok(strstr(headline(NULL), "Use 4 GPUs: 3.6x the images per second (95"),
       "more work is not called faster");
    ok(strstr(reasons, "The work grows with the GPUs") &&
       !strstr(reasons, "Over the whole run"), "times of a growing work are not compared");
    as.series.mode = SERIES_STRONG;
    as.steady = (struct model){
        .fitted = true, .ncounts = 4, .largest = 8, .loo_error = 0.05, .largest_error = 0.02};
    headline(NULL);
    ok(strstr(reasons, "The model of the times predicts a count left out within 5.0 %; the data do "
              "not tell apart why time is lost.\n"),
       "the model is described");
    as.steady.loo_error = 0.44;
    headline(NULL);
    ok(strstr(reasons, "No model of the times is used: it misses measured counts by 0 % (limit 10 "
              "%), and those that are left out by 44 % (limit 25 %).\n") &&
           !strstr(reasons, "tell apart"),
       "a model that misses counts which are left out is not used");
    as.steady = (struct model){0};
    as.decision.ncaveats = 2;
    strcpy(as.decision.caveats[0].text, "First.");
    strcpy(as.decision.caveats[1].text, "Second.");
    headline(NULL);
    is_str(words.caveats, "First.\nSecond.\n", "caveats keep their order");
    as.advice.time = (struct advice_choice){.gpus = 8, .measured = true, .value = 599};
    points[3].q[QUANTITY_TRAINING].median = 580;
    as.advice.gpu_hours = (struct advice_choice){.gpus = 1, .measured = true, .value = 2.1};
    as.advice.energy = (struct advice_choice){.why = "energy was not recorded for 2 GPUs"};
    headline(NULL);
    ok(strstr(reasons, "Fastest whole run, start-up and evaluation included: 8 GPUs (599 s, "
              "of which 580 s are training); fewest GPU-hours: 1 GPU (2.1 GPU-hours); "
                             "energy was not recorded for 2 GPUs.\n"),
       "the best count for each purpose is listed");
    as.series.logged = true;
    headline(NULL);
    ok(strstr(reasons, "Fastest whole run, as logged: 8 GPUs (599 s, "),
       "also of logs without a job");
    as.series.logged = false;
    as.advice.time_overlaps = true;
    headline(NULL);
    ok(strstr(reasons, "Fastest whole run, not shown to be faster than all others, start-up and "
              "evaluation included: 8 GPUs (599 s, "), "where intervals overlap that is said");
    as.advice.energy = (struct advice_choice){.gpus = 1, .measured = true, .value = 0.63};
    headline(NULL);
    ok(strstr(reasons, "; the runs do not show which count needs the fewest joules, smallest "
              "median: 1 GPU (0.63 kWh).\n"), "energy is listed if it is known");
    as.advice.energy_separated = as.advice.energy_estimated = true;
    headline(NULL);
    ok(strstr(reasons, "; fewest joules: 1 GPU (0.63 kWh by --watts).\n"),
       "a count is named where intervals separate it");
    as.advice.energy_estimated = false, as.advice.energy_by = QUANTITY_NODE_ENERGY;
    headline(NULL);
    ok(strstr(reasons, "fewest joules: 1 GPU (0.63 kWh of whole nodes, by Slurm).\n"),
       "what Slurm counted is named as that");
    ok(strstr(reasons, "Worth measuring next: 6 GPUs (the limit lies between 4 and 8).\n"),
       "the next measurement is suggested");
    as.series.npoints = 1;
    is_str(headline("alone"), "alone ran on 1 GPU only: there is nothing to compare it with.",
           "one count has nothing to compare with");
}

static void check_convergence(void)
{
    static struct convergence_point points_of[4];

    set_up();
    as.convergence = (struct convergence){.metric = CONVERGENCE_SCORE, .target = 0.9,
                                          .points = points_of, .npoints = 4};
    points_of[0] = (struct convergence_point){.gpus = 1, .nruns = 3, .nreached = 3};
    points_of[2] = (struct convergence_point){.gpus = 4, .nruns = 3, .nreached = 3,
                                              .epoch_s_ratio = 1.81,
                                              .epochs_ratio = 1.04, .epochs_ratio_least = 1.01,
                                              .epochs_ratio_most = 1.08, .speedup = 1.74,
                                              .speedup_least = 1.7, .speedup_most = 1.79};
    headline(NULL);
    ok(strstr(reasons, "Time to IoU 0.9 (the median over the last quarter of the worst "
              "count's runs, worse by 3 times the scatter there, so that noise does not decide it): 1.74x faster "
              "than with 1 GPU (1.70-1.79 by the scatter of runs and epochs): each epoch until "
              "then is 1.81x faster, but 1.04x as many are needed (1.01-1.08x).\n"),
       "time to accuracy is divided into its factors");
    as.convergence.chosen = true;
    points_of[2].epochs_ratio_least = 0.97;
    headline(NULL);
    ok(strstr(reasons, "Time to IoU 0.9: 1.74x") && strstr(reasons, "faster, and that more or fewer "
              "are needed is not shown (1.04x, 0.97-1.08x).\n"),
       "a ratio of epochs whose range holds 1 is no difference; the user's target is not explained");
    ok(strstr(words.headline, "3.6x faster than with 1 GPU (95 % interval of the chosen count "
                              "3.5-3.8), 1.74x "
              "faster to IoU 0.9, and IoU holds."), "and stands beside the speed-up");
    points_of[2].speedup_least = 1.1;
    points_of[2].speedup_most = 2.9;
    headline(NULL);
    ok(!strstr(words.headline, "faster to IoU"), "unless single runs differ much");
    points_of[2].speedup_least = points_of[2].speedup_most = NAN;
    points_of[2].epochs_ratio_least = points_of[2].epochs_ratio_most = NAN;
    points_of[2].nreached = 2;
    headline(NULL);
    ok(strstr(reasons, "than with 1 GPU (2 of 3 runs reach it, and 3 of 3 with 1 GPU): each epoch "
              "until then is 1.81x faster, and that more or fewer are needed is not shown "
              "(1.04x).\n"),
       "runs that never reach it are counted");
    ok(!strstr(words.headline, "faster to IoU"), "and the headline has no time that some lack");
    points_of[2] = (struct convergence_point){.nruns = 1, .nreached = 1, .epoch_s_ratio = 1.5,
                                              .epochs_ratio = 2, .epochs_ratio_least = 1.8,
                                              .epochs_ratio_most = 2.2, .speedup = 0.75,
                                              .speedup_least = 0.7, .speedup_most = 0.8};
    headline(NULL);
    ok(strstr(reasons, "Time to IoU 0.9: 1.33x slower than with 1 GPU (0.70-0.80 by the scatter of "
              "runs and epochs): each epoch until then is 1.50x faster, but 2.00x as many"),
       "a speed-up below 1 is called slower");
}

static void check_noise(void)
{
    static struct result rows[2] = {{.global_batch = 4}, {.global_batch = 16}};
    static struct convergence_point points_of[4] = {[2] = {.epochs_ratio = 1.04}};

    set_up();
    points[0].rows = &rows[0];
    points[2].rows = &rows[1];
    as.noise = (struct noise_scale){.measured = true, .critical_batch = 0.2, .gpus = 0.05};
    headline(NULL);
    ok(strstr(reasons, "Critical batch: below 1 image, less than the smallest batch of 4: "
              "this training gains "
                             "nothing from larger batches. By it, the same progress takes 3.86x as "
                             "many images with 4 GPUs (batches of 16) as with 1 (batches of 4).\n"),
       "a critical batch below the smallest batch is explained");
    as.convergence = (struct convergence){.metric = CONVERGENCE_SCORE, .points = points_of,
                                          .npoints = 4};
    points_of[2].speedup = NAN;
    headline(NULL);
    ok(strstr(reasons, "Critical batch: not known. The norms of the gradients predict 3.86x "
              "as many images with 4 "
                             "GPUs as with 1, but 1.04x as many epochs were measured.\n"),
       "a critical batch that contradicts the epochs is not reported");
    as.noise.critical_batch = 300;
    headline(NULL);
    ok(strstr(reasons, "Critical batch: about 300 images; a step of a much larger batch "
              "hardly learns more.\n"), "a critical batch that agrees with the epochs is reported");
}

static const char *compared(const struct analysis_difference *d)
{
    static char text[400];
    struct buf b = {0};

    difference_describe(&b, d, "A", "B", &as.series);
    snprintf(text, sizeof text, "%s", b.data);
    buf_destroy(&b);
    return text;
}

static void check_compare(void)
{
    set_up();
    struct analysis_difference d = {.gpus = 8, .quantity = QUANTITY_STEADY_EPOCH,
                                    .ratio = ratio(1.25, 0.05)};

    d.compare = (struct comparison){.test = COMPARE_FIELLER, .p = 0.001, .significant = true,
                                    .nfamily = 4, .margin = 0.02};
    is_str(compared(&d), "With 8 GPUs, steady epoch: B is 1.25x faster than A (95 % interval "
           "1.20 to 1.30, simultaneous over 4 comparisons).", "a faster series is compared");
    d.compare.nfamily = 1;
    d.ratio = (struct ratio){0.8, {0.75, 0.85, 0.95, INTERVAL_FIELLER}, NAN, NAN};
    is_str(compared(&d), "With 8 GPUs, steady epoch: A is 1.25x faster than B (95 % interval "
           "1.18 to 1.33).", "a slower series is compared in the other direction");
    d.compare.significant = false;
    d.ratio = ratio(1.02, 0.07);
    is_str(compared(&d), "With 8 GPUs, steady epoch: no difference is shown; B was 1.02x as "
                         "fast as A "
           "(95 % interval 0.95 to 1.09).", "an interval that includes 1 shows no difference");
    d.ratio = ratio(1.001, 0.005);
    is_str(compared(&d), "With 8 GPUs, steady epoch: A and B are equally fast within 2 % (95 % "
           "interval 0.996 to 1.006).", "a narrow one shows equality");
    d.compare.test = COMPARE_NONE;
    d.ratio = (struct ratio){0.8, {0.5, 1, 0.95, INTERVAL_EPOCHS}, NAN, NAN};
    is_str(compared(&d), "With 8 GPUs, steady epoch: A was 1.25x as fast as B in these runs "
           "(1.00-2.00 by the epochs of single runs); too few runs for a test.",
           "single runs are compared as such");
    d.quantity = QUANTITY_QUALITY;
    d.compare = (struct comparison){.test = COMPARE_WELCH, .a = 0.9, .b = 0.87, .difference = -0.03,
                                    .significant = true, .nfamily = 2, .p = 1e-9,
                                    .interval = {-0.05, -0.01, 0.95, INTERVAL_T}};
    is_str(compared(&d), "With 8 GPUs, IoU: B 0.8700, A 0.9000; lower by 0.0300 (95 % interval "
           "0.0100 to 0.0500, simultaneous over 2 comparisons).", "a lower IoU is compared");
    as.series.quality = "val_loss", as.series.lower = true, as.series.decimals = 2;
    is_str(compared(&d), "With 8 GPUs, val_loss: B 0.87, A 0.90; lower by 0.03 (95 % interval 0.01 "
           "to 0.05, simultaneous over 2 comparisons); lower is better.", "and so is a lower loss");
    set_up();
    d.compare.significant = false;
    d.compare.interval.high = 0.01;
    is_str(compared(&d), "With 8 GPUs, IoU: B 0.8700, A 0.9000; no difference is shown: -0.0300 "
           "(95 % interval -0.0500 to 0.0100, simultaneous over 2 comparisons).",
           "an interval that includes 0 shows no difference");
    d.why_not = "not known on both sides";
    is_str(compared(&d), "With 8 GPUs, IoU: not known on both sides.",
           "an IoU that one side lacks is reported");
}

/* Words of intervals of steps, of a loss, of limited runs and of no quality at all. */
static void check_other_work(void)
{
    set_up();
    as.series.quality = "val_loss", as.series.lower = true, as.series.is_share = false;
    as.series.decimals = 3, as.series.unit = "tokens", as.series.stepped = true;
    is_str(headline(NULL), "Use 4 GPUs: 3.6x faster than with 1 GPU (95 % interval of the chosen "
           "count 3.5-3.8), and val_loss holds.", "the quality has its name");
    is_str(words.evidence, "val_loss with 4 GPUs holds (0.962 against 0.964; change -0.002, 95 % "
           "interval -0.006 to 0.000; 0 of 3 runs ended far worse, 95 % limit 64 %).\n",
           "runs may end far worse by a loss, too");
    quality[1].state = QUALITY_FALLS, quality[1].change.difference = 0.03;
    state[1] = DECISION_FAILS;
    headline(NULL);
    ok(strstr(reasons, "2 GPUs (val_loss rises by 0.030)"), "a loss rises: %s",
       reasons);
    as.series.mode = SERIES_WEAK;
    is_str(headline(NULL), "Use 4 GPUs: 3.6x the tokens per second (95 % interval of the chosen "
           "count 3.5-3.8), and val_loss holds.", "work has its unit");

    as.series.has_quality = false, as.series.mode = SERIES_STRONG, as.decision.by_time = true;
    is_str(headline(NULL), "Use 4 GPUs: 3.6x faster than with 1 GPU (95 % interval of the chosen "
           "count 3.5-3.8), by speed alone.", "without a quality the verdict is by time");
    is_str(words.evidence, "No run has a quality.\n", "and says so once");
    as.series.limited = true;
    for (size_t i = 0; i < as.series.npoints; i++)
        points[i].nlimited = points[i].nruns;
    headline(NULL);
    is_str(words.evidence, "All runs give the steady speed alone, so quality is not judged.\n",
           "or why");
    as.decision.next_whole[0] = 1;
    as.decision.next_whole[1] = 4;
    strcpy(as.decision.next_why, "IoU is not known there, as the runs give the steady speed alone");
    headline(NULL);
    ok(strstr(reasons, "Worth measuring next: whole runs with 1 and 4 GPUs (IoU is not known "
              "there, as the runs give the steady speed alone).\n"), "whole runs are proposed: %s",
       reasons);

    as.series.has_quality = as.series.is_share = true, as.series.quality = "IoU";
    as.decision.by_time = false, as.decision.use = &points[1];
    as.series.lower = false, quality[2].state = QUALITY_UNKNOWN;
    quality[2].why = "not known, as these runs give the steady speed alone";
    headline(NULL);
    ok(strstr(words.evidence, "IoU with 4 GPUs is not known, as these runs give the steady speed alone: this "
              "is by speed alone. Whole runs would show it.\n"), "a count without whole runs: %s",
       words.evidence);
}

int main(void)
{
    check_headline();
    check_none();
    check_undecided();
    check_reasons();
    check_convergence();
    check_noise();
    check_compare();
    check_other_work();
    words_destroy(&words);
    return done_testing();
}
