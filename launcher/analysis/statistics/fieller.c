/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/fieller.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"
#include "src/stat.h"

/* Degrees of freedom of the variance va + vb, each the square of a mean's standard error. */
static double welch_df(double va, size_t na, double vb, size_t nb)
{
    double sum = va + vb;

    if (!(sum > 0))
        return (double)(na + nb - 2);
    return sum * sum / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
}

struct interval fieller_interval(const double *a, size_t na, const double *b, size_t nb,
                                 double level)
{
    if (na < 2 || nb < 2)
        return interval_none();
    double mean_a = stat_mean(a, na), mean_b = stat_mean(b, nb);
    double sa = stat_stddev(a, na), sb = stat_stddev(b, nb), r = mean_a / mean_b;
    double va = sa * sa / (double)na, vb = sb * sb / (double)nb;
    double t = distribution_t_quantile(0.5 + level / 2, welch_df(va, na, r * r * vb, nb));
    /* A quadratic in r: p r^2 - 2 q r + s <= 0. */
    double p = mean_b * mean_b - t * t * vb, q = mean_a * mean_b, s = mean_a * mean_a - t * t * va;
    double root = q * q - p * s;

    if (!(p > 0) || !(root >= 0))
        return interval_none();
    root = sqrt(root);
    return (struct interval){(q - root) / p, (q + root) / p, level, INTERVAL_FIELLER};
}
