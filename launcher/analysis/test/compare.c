/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/compare.h"

#include "launcher/analysis/test/near.h"
#include "launcher/analysis/test/table.h"

static struct results a, b;
static struct comparison c;
static struct err e;

/* Fills both sides with IoU. Seeds count from 1; those of b are larger by `shift`. */
static void fill(const double *iou_a, size_t na, const double *iou_b, size_t nb, long shift)
{
    results_destroy(&a);
    results_destroy(&b);
    for (size_t i = 0; i < na; i++)
        table_add(&a, "x", 1, (long)i + 1, 1)->iou = iou_a[i];
    for (size_t i = 0; i < nb; i++)
        table_add(&b, "x", 2, (long)i + 1 + shift, 1)->iou = iou_b[i];
}

static void compare(void)
{
    if (compare_runs(&c, a.rows, a.count, b.rows, b.count, QUANTITY_IOU, 0.01, &e))
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
    ok(c.test == COMPARE_SIGNED_RANK && c.n == 10,
       "ten seeds on both sides are compared by signed ranks");
    near(c.p, 2. / 1024, 1e-12, "p is 2 / 2^10 if all pairs differ in one direction");
    near(c.difference, -0.0194, 1e-6, "the difference is the mean of the pairs");
    ok(c.significant && c.enough && c.needed <= 7,
       "the difference is significant, and %zu runs would be enough",
       c.needed);
    fill(x, 9, y, 9, 0);
    compare();
    ok(c.test == COMPARE_PAIRED_T && c.n == 9, "nine pairs are compared by Student's t");
    fill(x, 3, y, 3, 0);
    compare();
    ok(c.test == COMPARE_PAIRED_T && c.n == 3, "three pairs are compared by Student's t");
    fill(x, 7, y, 7, 100);
    compare();
    ok(c.test == COMPARE_RANK_SUM && !c.significant && !c.enough && c.needed > 7,
       "unpaired, the scatter hides the difference: %zu runs are needed", c.needed);
    fill(x, 3, y, 3, 100);
    compare();
    ok(c.test == COMPARE_WELCH, "three unpaired runs are compared by Welch's test");
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

/* The quantiles are t(0.975, 2) = 4.3027 and t(1 - 0.025 / 3, 2) = 7.6488. */
static void check_simultaneous(void)
{
    static const double x[] = {0.90, 0.80, 0.95}, y[] = {0.88, 0.79, 0.93};
    struct comparison list[4];

    fill(x, 3, y, 3, 0);
    compare();
    for (int i = 0; i < 4; i++)
        list[i] = c;
    list[3].difference = NAN;
    compare_correct(list, 4);
    near((c.difference - list[0].interval.low) / (c.difference - c.interval.low), 7.6488 / 4.3027,
         1e-3, "an interval that is simultaneous with two others is wider");
    ok(list[0].needed > c.needed, "simultaneous comparisons need more runs");
}

static void check_single(void)
{
    static const double x[] = {0.9}, y[] = {0.8}, unknown[] = {NAN};
    static const int good[] = {90, 80, 70, 95, 85, 75, 65, 60}, worse[] = {85, 74, 68, 92, 84, 70,
                                                                           61, 51};

    fill(x, 1, y, 1, 0);
    compare();
    ok(c.test == COMPARE_NONE && isnan(c.p) && !c.significant && !c.enough && c.needed == 0,
       "one run on each side is not tested");
    near(c.difference, -0.1, 1e-9, "its difference is reported");
    table_add_scores(a.rows, 8, good);
    table_add_scores(b.rows, 8, worse);
    compare();
    ok(c.test == COMPARE_IMAGES && c.nimages == 8 && !c.enough,
       "with scores, one run on each side is compared over the images");
    near(c.p, 2. / 256, 1e-12, "p is 2 / 2^8 if all eight images get worse");
    b.rows[0].scores->count = 3;
    compare();
    ok(c.test == COMPARE_NONE, "three common images are too few for a test");
    fill(x, 1, unknown, 1, 0);
    compare();
    ok(isnan(c.b) && isnan(c.difference), "an unknown IoU gives an unknown difference");
}

/* Without any scatter, every difference but 0 is significant. */
static void check_no_variance(void)
{
    static const double x[] = {0.9, 0.9, 0.9}, y[] = {0.9, 0.9, 0.9}, z[] = {0.8, 0.8, 0.8};

    fill(x, 3, y, 3, 0);
    compare();
    ok(c.p == 1 && !c.significant && c.enough, "equal values without scatter are not different");
    fill(x, 3, z, 3, 0);
    compare();
    ok(c.p < 0.05 && c.significant,
       "different values with little scatter are significantly different");
}

static void check_holm(void)
{
    /* Computed by hand: sorted, 0.01 0.02 0.03 0.04 times 4, 3, 2, 1, made non-decreasing: 0.04,
     * 0.06, 0.06, 0.06. */
    static const double p[] = {0.03, 0.01, NAN, 0.04, 0.02}, want[] = {0.06, 0.04, NAN, 0.06, 0.06};
    struct comparison five[5], two[2] = {{.p = 0.6}, {.p = 0.5}};
    struct comparison list[3] = {{.p = 0.02}, {.p = NAN}, {.p = 0.03}};

    compare_correct(list, 3);
    near(list[0].p_holm, 0.04, 1e-12, "the smallest p is multiplied by the number of tests");
    near(list[2].p_holm, 0.04, 1e-12, "corrected p-values do not decrease");
    ok(list[0].significant && !list[1].significant && isnan(list[1].p_holm),
       "a comparison without a test is not significant");
    for (int i = 0; i < 5; i++)
        five[i] = (struct comparison){.p = p[i]};
    compare_correct(five, 5);
    for (int i = 0; i < 5; i++)
        near(five[i].p_holm, want[i], 1e-12, "p-value %d", i);
    compare_correct(two, 2);
    near(two[0].p_holm, 1, 0, "a corrected p is at most 1");
    near(two[1].p_holm, 1, 0, "all corrected p are at most 1");
}

int main(void)
{
    check_pairs();
    check_unequal_seeds();
    check_simultaneous();
    check_single();
    check_no_variance();
    check_holm();
    for (int i = COMPARE_NONE; i <= COMPARE_RANK_SUM; i++)
        ok(compare_test_name((enum compare_test)i) != NULL, "test %d has a name", i);
    results_destroy(&a);
    results_destroy(&b);
    return done_testing();
}
