/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/hypothesis.h"

#include "launcher/analysis/test/near.h"
#include "src/rng.h"

#define SAMPLES 4000

static void check(const double *values, size_t n, double w, double p, const char *what)
{
    struct shapiro_wilk got = shapiro_wilk_test(values, n);

    near(got.w, w, 1e-6, "%s: W", what);
    near(got.p, p, 1e-6, "%s: p", what);
}

/* Checks the fraction of normal samples that the test rejects. */
static void level(size_t n)
{
    double values[60];
    int refuted = 0;

    for (uint64_t s = 0; s < SAMPLES; s++) {
        for (size_t i = 0; i < n; i++)
            values[i] = rng_normal(n, s, i);
        refuted += shapiro_wilk_test(values, n).p < 0.05;
    }
    ok(refuted > 0.04 * SAMPLES && refuted < 0.06 * SAMPLES,
       "of %zu normal values, %.1f %% of tests at 5 %% reject "
       "normality", n, 100. * refuted / SAMPLES);
}

int main(void)
{
    /* Weights of men from Shapiro and Wilk 1965, section 3.3 (W = 0.79 there). Expected values
     * are from scipy 1.17.1's stats.shapiro, and for the first also R's shapiro.test (W =
     * 0.78881, p = 0.006704). */
    static const double men[] = {148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236};
    static const double three[] = {2, 1, 4}, far[] = {4.1, 4.3, 9.9}, four[] = {1, 1.5, 2.5, 2.6};
    static const double five[] = {4.02, 4.11, 3.97, 4.05, 4.60}, equal[] = {2, 2, 2};
    static const double bad[] = {1, NAN, 2}, p[] = {0.3, 0.04, NAN, 0.7, 0.5};
    static const double twenty[] = {0.11, 7.87, 4.61, 10.14, 7.95, 3.14, 0.46, 4.43, 0.21, 4.75,
                                    0.71, 1.52, 3.24, 0.93,  0.42, 4.97, 9.53, 4.55, 0.47, 6.66};
    double many[80];

    check(men, 11, 0.7888146948631716, 0.006703814061898823, "11 weights of men");
    check(three, 3, 0.9642857142857142, 0.6368868450289689, "3 values");
    check(far, 3, 0.7758302583025829, 0.05801676815778234, "3, one far off");
    check(four, 4, 0.8805784990571032, 0.3411125523168771, "4 values");
    check(five, 5, 0.7364917116227061, 0.022207189693141182, "5, one far off");
    check(twenty, 20, 0.9004728794391273, 0.04208957544308365, "20 values");
    for (int i = 0; i < 80; i++)
        many[i] = (i * 37 % 101) * (i * 37 % 101) / 100.;
    check(many, 80, 0.8925976991681588, 6.011975116544007e-06, "80 values");
    ok(isnan(shapiro_wilk_test(equal, 3).p), "equal values have no p-value");
    ok(isnan(shapiro_wilk_test(bad, 3).p), "values with NaN have no p-value");
    ok(isnan(shapiro_wilk_test(five, 2).p), "two values have no p-value");
    level(3);
    level(5);
    level(11);
    level(12);
    level(60);
    near(shapiro_wilk_combine(p, 5), 0.204815501932991, 1e-9, "Fisher's combination of p-values");
    ok(isnan(shapiro_wilk_combine(p, 0)), "the combination of no p-values is NaN");
    return done_testing();
}
