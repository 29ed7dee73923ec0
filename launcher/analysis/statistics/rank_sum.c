/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/rank_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/analysis/statistics/distribution.h"
#include "launcher/analysis/statistics/ranks.h"

/* Of all choices of k out of n doubled ranks, the share with a sum of at most low, plus that of at
 * least high. */
static double exact_share(const size_t *twice, size_t n, size_t k, size_t low, size_t high)
{
    size_t total = 0, width;
    double extreme = 0, all = 0;

    for (size_t i = 0; i < n; i++)
        total += twice[i];
    width = total + 1;
    double *ways = calloc((k + 1) * width, sizeof *ways);
    if (!ways)
        return NAN;
    ways[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = k; j-- > 0;)
            for (size_t s = 0; s + twice[i] <= total; s++)
                ways[(j + 1) * width + s + twice[i]] += ways[j * width + s];
    for (size_t s = 0; s <= total; s++) {
        all += ways[k * width + s];
        extreme += s <= low || s >= high ? ways[k * width + s] : 0;
    }
    free(ways);
    return extreme / all;
}

static double approximate(double sum, size_t na, size_t nb, double ties)
{
    double m = (double)na, k = (double)nb, n = m + k;
    double variance = m * k / 12 * (n + 1 - ties / (n * (n - 1)));

    return variance > 0
               ? 2 * distribution_normal_cdf(-fabs(sum - m * (n + 1) / 2) / sqrt(variance))
               : 1;
}

double rank_sum_test(const double *a, size_t na, const double *b, size_t nb)
{
    size_t n = na + nb, sum = 0, mean = na * (n + 1); /* doubled */
    double *values = calloc(n + 1, sizeof *values), ties, p = NAN;
    size_t *twice = calloc(n + 1, sizeof *twice);

    if (!values || !twice || na == 0 || nb == 0)
        goto out;
    memcpy(values, a, na * sizeof *a);
    memcpy(values + na, b, nb * sizeof *b);
    if (ranks_assign(values, n, twice, &ties))
        goto out;
    for (size_t i = 0; i < na; i++)
        sum += twice[i];
    size_t off = sum > mean ? sum - mean : mean - sum;
    p = n <= RANK_SUM_EXACT ? exact_share(twice, n, na, mean - off, mean + off)
                            : approximate((double)sum / 2, na, nb, ties);
out:
    free(values);
    free(twice);
    return isnan(p) ? p : fmin(1, p);
}
