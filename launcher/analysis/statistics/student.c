/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/student.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"
#include "src/stat.h"

#define MOST_NEEDED 1000000

static struct student unknown(double mean)
{
    return (struct student){mean, NAN, NAN, interval_none()};
}

/* Fills the result. Without any scatter, a difference is certain, and so is its absence. */
static struct student test_mean(double mean, double error, double df, double level)
{
    double t = distribution_t_quantile(0.5 + level / 2, df), p;

    if (!(error > 0))
        p = mean == 0 ? 1 : 0;
    else
        p = 2 * distribution_t_cdf(-fabs(mean / error), df);
    return (struct student){mean, df, p, {mean - t * error, mean + t * error, level, INTERVAL_T}};
}

struct student student_paired(const double *differences, size_t n, double level)
{
    double mean = stat_mean(differences, n);

    if (n < 2)
        return unknown(mean);
    return test_mean(mean, stat_stddev(differences, n) / sqrt((double)n), (double)n - 1, level);
}

/* Returns the degrees of freedom of the variance va + vb, which are squared standard errors of
 * means. */
static double welch_df(double va, size_t na, double vb, size_t nb)
{
    double sum = va + vb;

    if (!(sum > 0))
        return (double)(na + nb - 2);
    return sum * sum / (va * va / (double)(na - 1) + vb * vb / (double)(nb - 1));
}

struct student student_welch(const double *a, size_t na, const double *b, size_t nb, double level)
{
    double mean = stat_mean(b, nb) - stat_mean(a, na);

    if (na < 2 || nb < 2)
        return unknown(mean);
    double va = pow(stat_stddev(a, na), 2) / (double)na,
           vb = pow(stat_stddev(b, nb), 2) / (double)nb;
    return test_mean(mean, sqrt(va + vb), welch_df(va, na, vb, nb), level);
}

struct interval student_ratio(const double *a, size_t na, const double *b, size_t nb, double level)
{
    if (na < 2 || nb < 2)
        return interval_none();
    double mean_a = stat_mean(a, na), mean_b = stat_mean(b, nb);
    double sa = stat_stddev(a, na), sb = stat_stddev(b, nb), r = mean_a / mean_b;
    double va = sa * sa / (double)na, vb = sb * sb / (double)nb;
    double t = distribution_t_quantile(0.5 + level / 2, welch_df(va, na, r * r * vb, nb));
    /* The condition is quadratic in r: p r^2 - 2 q r + s <= 0. */
    double p = mean_b * mean_b - t * t * vb, q = mean_a * mean_b, s = mean_a * mean_a - t * t * va;
    double root = q * q - p * s;

    if (!(p > 0) || !(root >= 0))
        return interval_none();
    root = sqrt(root);
    return (struct interval){(q - root) / p, (q + root) / p, level, INTERVAL_FIELLER};
}

static size_t repeats(double df, double ratio, double alpha, double power, int nsamples)
{
    double t = distribution_t_quantile(1 - alpha / 2, df) + distribution_t_quantile(power, df);
    double n = ceil(nsamples * t * t * ratio * ratio - 1e-9);

    return n > MOST_NEEDED ? MOST_NEEDED + 1 : (size_t)n;
}

/* The required number falls as n grows, so the first n that is sufficient is the smallest. */
size_t student_needed(double sd, double difference, double alpha, double power, int nsamples)
{
    double ratio = sd / fabs(difference);

    if (!isfinite(ratio))
        return 0;
    size_t low = 1, high = 2;
    while (high <= MOST_NEEDED &&
           repeats(nsamples * ((double)high - 1), ratio, alpha, power, nsamples) > high) {
        low = high;
        high *= 2;
    }
    if (high > MOST_NEEDED)
        return 0;
    while (low + 1 < high) {
        size_t n = low + (high - low) / 2;
        if (repeats(nsamples * ((double)n - 1), ratio, alpha, power, nsamples) > n)
            low = n;
        else
            high = n;
    }
    return high;
}
