/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparison with scipy 1.10.1: stats.norm, stats.t, stats.binom, special.betainc. */
#include "src/base.h"
#include "launcher/analysis/statistics/distribution.h"

#include "launcher/analysis/test/near.h"

static const struct {
    double x, want;
} normal[] = {{-8, 6.22096057427174e-16}, {-3, 0.0013498980316300933}, {-1.5, 0.06680720126885807},
              {0, 0.5}, {0.3, 0.6179114221889526}, {2, 0.9772498680518208},
              {6, 0.9999999990134123}},
  normal_inverse[] = {{1e-12, -7.034483825301131}, {1e-6, -4.753424308822899},
                      {0.025, -1.9599639845400545}, {0.2, -0.8416212335729142}, {0.5, 0},
                      {0.8, 0.8416212335729143}, {0.975, 1.959963984540054},
                      {0.999999999, 5.997807019601637}};

static const struct {
    double x, df, want;
} t[] = {{-2, 1, 0.1475836176504332}, {-2.5, 3, 0.04385332350403277},
         {1.3, 7.5, 0.8839366105921957},
         {4, 2, 0.9714045207910317}, {-12, 30, 2.7900927075996303e-13}, {0, 5, 0.5},
         {-3, 1e6, 0.0013499312707108977}},
  t_inverse[] = {{0.975, 1, 12.706204736432095}, {0.975, 2, 4.302652729911275},
                 {0.975, 3, 3.182446305284263}, {0.975, 7.5, 2.333039626555376},
                 {0.8, 4, 0.94096457719753}, {0.995, 30, 2.7499956535670305},
                 {1e-6, 2, -707.1057205259351}, {0.975, 1e7, 1.959964221767205}, {0.5, 3, 0}};

static const struct {
    double x, a, b, want;
} beta[] = {{0.1, 0.5, 0.5, 0.2048327646991335}, {0.5, 3, 7, 0.91015625},
            {0.9, 20, 2, 0.36472996377170747}, {0.01, 100, 3000, 3.272881838652704e-23},
            {0.5, 1000, 1001, 0.5089195055724631}, {0, 2, 3, 0}, {1, 2, 3, 1}, {NAN, 2, 3, NAN}};

static const struct {
    long k;
    size_t n;
    double want;
} coins[] = {{0, 6, 0.015625}, {1, 9, 0.01953125}, {2, 12, 0.019287109375},
             {85, 199, 0.023443233816085738}, {2400, 5000, 0.00244182486875879}, {-1, 4, 0},
             {4, 4, 1}};

/* From scipy 1.17.1: stats.chi2.ppf. */
static const struct {
    double p, df, want;
} chi_square[] = {{0.2, 1, 0.0641847546673016}, {0.2, 4, 1.648776618065969},
                  {0.2, 30.5, 23.80935654664029}, {0.975, 2.5, 8.392295266912964}};

#define EACH(table) (size_t i = 0; i < sizeof(table) / sizeof(table)[0]; i++)

int main(void)
{
    for EACH (normal)
        near(distribution_normal_cdf(normal[i].x), normal[i].want, 1e-13,
             "the normal distribution at %g",
             normal[i].x);
    for EACH (normal_inverse)
        near(distribution_normal_quantile(normal_inverse[i].x), normal_inverse[i].want, 1e-9,
             "the normal quantile of %g", normal_inverse[i].x);
    for EACH (t)
        near(distribution_t_cdf(t[i].x, t[i].df), t[i].want, 1e-9,
             "Student's t at %g with df %g", t[i].x,
             t[i].df);
    for EACH (t_inverse)
        near(distribution_t_quantile(t_inverse[i].x, t_inverse[i].df), t_inverse[i].want, 1e-7,
             "Student's t quantile of %g with df %g", t_inverse[i].x, t_inverse[i].df);
    for EACH (beta)
        near(distribution_beta_cdf(beta[i].x, beta[i].a, beta[i].b), beta[i].want, 1e-9,
             "the incomplete beta function at %g with %g, %g", beta[i].x, beta[i].a, beta[i].b);
    for EACH (chi_square)
        near(distribution_chi_square_quantile(chi_square[i].p, chi_square[i].df),
             chi_square[i].want, 1e-9, "chi-square's quantile of %g with df %g", chi_square[i].p,
             chi_square[i].df);
    for EACH (coins)
        near(distribution_coins_cdf(coins[i].k, coins[i].n), coins[i].want, 1e-9,
             "at most %ld heads of %zu coins", coins[i].k, coins[i].n);
    ok(isnan(distribution_normal_quantile(0)) && isnan(distribution_normal_quantile(1.5)) &&
           isnan(distribution_t_quantile(0.5, 0)), "undefined values are NaN");
    return done_testing();
}
