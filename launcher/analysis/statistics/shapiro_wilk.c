/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/shapiro_wilk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/analysis/statistics/distribution.h"
#include "src/stat.h"

#define PI 3.14159265358979323846

/* Returns c[0] + c[1] x + ... */
static double polynomial(const double *c, size_t n, double x)
{
    double sum = 0;

    while (n-- > 0)
        sum = sum * x + c[n];
    return sum;
}

/* Computes weights[0..n/2), those of the largest values in descending order. The weights of the
 * smallest values are their negatives. */
static void find_weights(double *weights, size_t n)
{
    static const double last[] = {0, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056};
    static const double last_but_one[] = {0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633};
    size_t half = n / 2, fixed = n > 5 ? 2 : 1;
    double sum = 0, rest = 0, u = 1 / sqrt((double)n);

    for (size_t i = 0; i < half; i++) { /* approximately the expected order statistics */
        weights[i] = -distribution_normal_quantile(((double)i + 0.625) / ((double)n + 0.25));
        sum += 2 * weights[i] * weights[i];
    }
    for (size_t i = fixed; i < half; i++)
        rest += 2 * weights[i] * weights[i];
    weights[0] = weights[0] / sqrt(sum) + polynomial(last, 6, u);
    if (fixed == 2)
        weights[1] = weights[1] / sqrt(sum) + polynomial(last_but_one, 6, u);
    if (n == 3)
        weights[0] = sqrt(0.5);
    double taken = 2 * weights[0] * weights[0];
    taken += fixed == 2 ? 2 * weights[1] * weights[1] : 0;
    for (size_t i = fixed; i < half; i++)
        weights[i] *= sqrt((1 - taken) / rest);
}

static double p_of(double w, size_t n)
{
    static const double small_mean[] = {0.5440, -0.39978, 0.025054, -0.0006714};
    static const double small_log_sd[] = {1.3822, -0.77857, 0.062767, -0.0020322};
    static const double mean[] = {-1.5861, -0.31082, -0.083751, 0.0038915};
    static const double log_sd[] = {-0.4803, -0.082676, 0.0030302};
    double size = (double)n, y = log1p(-w);

    if (n == 3)
        return fmax(0, 6 / PI * (asin(sqrt(w)) - asin(sqrt(0.75))));
    if (n <= 11) {
        double gamma = -2.273 + 0.459 * size;
        if (y >= gamma)
            return 0;
        y = -log(gamma - y);
        return distribution_normal_cdf(-(y - polynomial(small_mean, 4, size)) /
                                       exp(polynomial(small_log_sd, 4, size)));
    }
    return distribution_normal_cdf(-(y - polynomial(mean, 4, log(size))) /
                                   exp(polynomial(log_sd, 3, log(size))));
}

struct shapiro_wilk shapiro_wilk_test(const double *values, size_t n)
{
    struct shapiro_wilk result = {NAN, NAN};
    double mean = stat_mean(values, n), squares = 0, between = 0;
    double *room = n <= SHAPIRO_WILK_MOST ? calloc(2 * n + 1, sizeof *room) : NULL;

    if (!room || n < SHAPIRO_WILK_FEWEST || !isfinite(mean))
        goto out;
    double *sorted = room, *weights = room + n;
    memcpy(sorted, values, n * sizeof *sorted);
    stat_sort(sorted, n);
    if (sorted[0] == sorted[n - 1])
        goto out;
    find_weights(weights, n);
    for (size_t i = 0; i < n; i++)
        squares += (sorted[i] - mean) * (sorted[i] - mean);
    for (size_t i = 0; i < n / 2; i++)
        between += weights[i] * (sorted[n - 1 - i] - sorted[i]);
    result.w = fmin(1, between * between / squares);
    result.p = result.w < 1 ? p_of(result.w, n) : 1;
out:
    free(room);
    return result;
}

double shapiro_wilk_combine(const double *p, size_t n)
{
    double half = 0, term = 1, sum = 0; /* half of Fisher's chi-square statistic */
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) {
            half -= log(fmax(p[i], 1e-300));
            known++;
        }
    for (size_t i = 0; i < known; i++) { /* its upper tail, for 2 x known degrees of freedom */
        sum += term;
        term *= half / (double)(i + 1);
    }
    return known ? fmin(1, exp(-half) * sum) : NAN;
}
