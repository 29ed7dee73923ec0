/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/analysis_internal.h"
#include "launcher/analysis/decision.h"

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results a, b;
static struct comparison c;
static struct err e;
static size_t nfamily = 1;
static double resolution = 1e-6;

/* Fills both sides with IoU. Seeds count from 1; those of b are larger by `shift`. */
static void fill(const double *iou_a, size_t na, const double *iou_b, size_t nb, long shift)
{
    results_destroy(&a);
    results_destroy(&b);
    for (size_t i = 0; i < na; i++)
        table_add(&a, "x", 1, (long)i + 1, 1)->quality.iou = iou_a[i];
    for (size_t i = 0; i < nb; i++)
        table_add(&b, "x", 2, (long)i + 1 + shift, 1)->quality.iou = iou_b[i];
}

static void compare(void)
{
    if (compare_quality(&c, a.rows, a.count, b.rows, b.count, resolution, 0.01, nfamily, &e))
        bail_out("%s", e.text);
}

/* The scatter over seeds is large, that within pairs small: only a paired test finds the
 * difference. */
static void check_pairs(void)
{
    static const double x[] = {0.90, 0.80, 0.95, 0.85, 0.88, 0.92, 0.83, 0.87, 0.91, 0.84};
    static const double y[] = {0.881, 0.779, 0.930, 0.832, 0.861,
                               0.899, 0.812, 0.851, 0.889, 0.822};

    fill(x, 10, y, 10, 0);
    compare();
    ok(c.test == COMPARE_PAIRED_T && c.n == 10, "ten seeds on both sides are compared in pairs");
    /* From scipy 1.17.1: stats.ttest_rel and its confidence_interval. */
    near(c.p, 3.3760607708560857e-12, 1e-6, "p is that of the paired test");
    near(c.interval.low, -0.02030486286511928 - 1e-6, 1e-6, "so is the interval's lower end");
    near(c.interval.high, -0.018495137134880706 + 1e-6, 1e-6, "and its upper end");
    near(c.difference, -0.0194, 1e-6, "the difference is the mean of the pairs");
    ok(c.significant && c.enough && c.needed <= 7,
       "the difference is significant, and %zu runs would be enough", c.needed);
    nfamily = 4;
    compare();
    near(c.interval.low, -0.020644373929271792 - 1e-6, 1e-6, "one of four simultaneous "
                                                             "intervals is wider");
    near(c.p, 4 * 3.3760607708560857e-12, 1e-6, "and p is corrected as much");
    double low = c.interval.low;
    nfamily = 1;
    compare();
    compare_set_level(&c, COMPARE_ALPHA / 4, 2);
    near(c.interval.low, low, 1e-9, "the level of a look gives the same interval");
    near(c.p, 4 * 3.3760607708560857e-12, 1e-6, "and the same p");
    compare_set_level(&c, 0, 2);
    ok(c.test == COMPARE_NONE && !interval_is_known(&c.interval), "before the first look is none");
    fill(x, 3, y, 3, 0);
    compare();
    ok(c.test == COMPARE_PAIRED_T && c.n == 3, "three pairs are compared as well");
    struct result *limited = table_add(&b, "x", 2, 4, 1);
    limited->limited = 1, limited->quality.iou = NAN;
    compare();
    ok(c.test == COMPARE_PAIRED_T && c.n == 3, "and a limited run beside them changes nothing");
    fill(x, 7, y, 7, 100);
    compare();
    ok(c.test == COMPARE_WELCH && !c.significant && !c.enough && c.needed > 7,
       "unpaired, the scatter hides the difference: %zu runs are needed", c.needed);
}

/* With seeds that only one side has, all runs count, and the change is that of the means shown. */
static void check_unequal_seeds(void)
{
    static const double x[] = {0.90, 0.80, 0.95}, y[] = {0.88, 0.79, 0.93, 0.86};

    fill(x, 3, y, 4, 0);
    compare();
    ok(c.test == COMPARE_WELCH && c.n == 3, "different seeds are not paired");
    near(c.a, (0.90 + 0.80 + 0.95) / 3, 1e-12, "the mean of one side includes all its runs");
    near(c.difference, c.b - c.a, 1e-12, "the change is the difference of the means");
    fill(x, 3, y, 3, 1);
    compare();
    ok(c.test == COMPARE_WELCH, "as many runs with other seeds are not paired");
}

static void check_single(void)
{
    static const double x[] = {0.9}, y[] = {0.8}, unknown[] = {NAN};

    fill(x, 1, y, 1, 0);
    compare();
    ok(c.test == COMPARE_NONE && isnan(c.p) && !c.significant && !c.enough && c.needed == 0,
       "one run on each side is not tested");
    near(c.difference, -0.1, 1e-9, "its difference is reported");
    fill(x, 1, unknown, 1, 0);
    compare();
    ok(isnan(c.b) && isnan(c.difference), "an unknown IoU gives an unknown difference");
}

/* Equal values may differ by their rounding, and equal differences of decimals differ in binary:
 * 0.94 - 0.95 is below -0.01, 0.93 - 0.94 above. */
static void check_no_variance(void)
{
    static const double x[] = {0.9, 0.9, 0.9}, z[] = {0.8, 0.8, 0.8};
    static const double p[] = {0.95, 0.94}, q[] = {0.94, 0.93};

    fill(x, 3, x, 3, 0);
    compare();
    ok(c.p == 1 && !c.significant && c.enough, "equal values without scatter are not different");
    fill(x, 3, z, 3, 0);
    compare();
    ok(c.p < 0.05 && c.p > 1e-12 && c.significant,
       "values that differ by more than their rounding are different, with p = %.2g", c.p);
    resolution = 0.2;
    compare();
    ok(!c.significant && c.interval.high > 0, "those that differ by their rounding are not");
    resolution = 0.001;
    fill(p, 2, q, 2, 0);
    compare();
    /* t(0.975, 1) = 12.706 times 0.001 / sqrt(6 2), the error of rounding, and the resolution */
    near(c.interval.low, -0.01 - 0.0036679 - 0.001, 1e-4, "the interval counts the rounding below");
    near(c.interval.high, -0.01 + 0.0036679 + 0.001, 1e-4, "and above");
    resolution = 1e-6;
}

static void add_times(struct results *r, int gpus, const double *t, size_t n, long first)
{
    results_destroy(r);
    for (size_t i = 0; i < n; i++)
        table_add(r, "x", gpus, first + (long)i, t[i]);
}

static void compare_epochs(void)
{
    if (compare_times(&c, a.rows, a.count, b.rows, b.count, QUANTITY_STEADY_EPOCH, resolution, 0.02,
                      nfamily, &e))
        bail_out("%s", e.text);
}

static void check_times(void)
{
    static const double x[] = {10.1, 10.4, 9.8}, y[] = {5.2, 5.3, 5.1}, zero[] = {0, 0, 0};

    add_times(&a, 1, x, 3, 1);
    add_times(&b, 2, y, 3, 1);
    compare_epochs();
    ok(c.test == COMPARE_PAIRED_RATIO && c.n == 3, "times are paired by seed");
    near(c.a / c.b, 10.1 / 5.2, 1e-12, "the ratio is that of the medians");
    /* From scipy 1.17.1: stats.ttest_1samp of the logarithms of the ratios. */
    near(c.p, 8.309290917194884e-05, 1e-6, "p is that of the ratios' logarithms");
    near(c.interval.low, 1.89207303, 1e-5, "lower end of the ratio");
    near(c.interval.high, 1.99319461, 1e-5, "upper end of the ratio");
    add_times(&b, 2, y, 3, 7);
    compare_epochs();
    ok(c.test == COMPARE_FIELLER && c.significant && c.p < 0.05,
       "without pairs Fieller's interval gives the test as well");
    add_times(&b, 2, x, 3, 7);
    compare_epochs();
    ok(!c.significant && c.interval.low < 1 && c.interval.high > 1, "equal times do not differ");
    add_times(&b, 2, y, 1, 7);
    compare_epochs();
    ok(c.test == COMPARE_NONE && isnan(c.p), "a single run is not tested");
    add_times(&b, 2, zero, 3, 1);
    compare_epochs();
    ok(c.test == COMPARE_NONE && !interval_is_known(&c.interval), "times of 0 are not compared");
    resolution = 1;
    add_times(&a, 1, (double[]){10, 10}, 2, 1);
    add_times(&b, 2, (double[]){9, 9}, 2, 1);
    compare_epochs();
    ok(!c.significant && c.p > 0.05, "whole seconds that differ by one are not different");
    resolution = 1e-6;
}

static void check_distinct(void)
{
    static const double x[] = {0.9, 0.9, 0.8};
    struct result kept[3];

    fill(x, 3, x, 3, 0);
    is_int(compare_distinct(a.rows, 3, NULL), 3, "without losses, equal scores are no proof");
    for (size_t i = 0; i < 3; i++)
        a.rows[i].loss = 0.25;
    is_int(compare_distinct(a.rows, 3, kept), 2, "runs equal in loss and score are one run");
    ok(kept[0].seed == 1 && kept[1].seed == 3, "the first of them is kept");
    for (size_t i = 0; i < 3; i++)
        table_add_curve(&a.rows[i], 4, 1);
    is_int(compare_distinct(a.rows, 3, NULL), 2, "so are those with equal curves");
    a.rows[1].curve->loss[2] = 0.7;
    is_int(compare_distinct(a.rows, 3, NULL), 3, "an epoch with another loss is another run");
}

static void check_needed(void)
{
    size_t known = compare_needed(0.01, INFINITY, 0.01, 1, true),
           four = compare_needed(0.01, 4, 0.01, 1, true);

    /* sd 0.01 seen with 4 degrees of freedom may be 0.01 sqrt(4 / 1.6488) = 0.01558. */
    ok(four > known && four == compare_needed(0.01 * sqrt(4 / 1.648776618065969), INFINITY, 0.01, 1,
                                              true),
       "a scatter that few runs showed needs more runs: %zu, not %zu", four, known);
    ok(compare_needed(0.01, 4, 0.01, 4, true) > four, "simultaneous comparisons need more runs");
    is_int(compare_needed(NAN, 4, 0.01, 1, true), 0, "an unknown scatter needs an unknown number");
}

int main(void)
{
    check_pairs();
    check_unequal_seeds();
    check_single();
    check_no_variance();
    check_times();
    check_distinct();
    check_needed();
    for (int i = COMPARE_NONE; i <= COMPARE_FIELLER; i++)
        ok(compare_test_names[i] != NULL, "test %d has a name", i);
    results_destroy(&a);
    results_destroy(&b);
    return done_testing();
}
