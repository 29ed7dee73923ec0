/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/analysis/distribution.h"
#include "launcher/analysis/median.h"
#include "src/rng.h"

#define REPLICATES 1999

void bootstrap_resample(const double *src, size_t n, uint64_t seed, uint64_t replicate, double *dst)
{
    uint32_t words[4];

    for (size_t i = 0; i < n; i++) {
        if (i % 4 == 0)
            rng_block(seed, replicate, i / 4, words);
        dst[i] = src[(size_t)((uint64_t)words[i % 4] * n >> 32)];
    }
}

/* Moves NaN to the end, sorts the rest; its number. */
static size_t sort_known(double *v, size_t n)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            v[known++] = v[i];
    median_sort(v, known);
    return known;
}

/* The value with a share p of the replicates below it. */
static double quantile(const double *sorted, size_t n, double p)
{
    double place = p * (double)(n + 1);

    if (place <= 1)
        return sorted[0];
    if (place >= (double)n)
        return sorted[n - 1];
    size_t low = (size_t)place;
    double part = place - (double)low;
    return part > 0 ? (1 - part) * sorted[low - 1] + part * sorted[low] : sorted[low - 1];
}

struct interval bootstrap_percentile(double *replicates, size_t n, double level)
{
    size_t known = sort_known(replicates, n);

    if (n < 2 || known < n - n / 10)
        return interval_none();
    return (struct interval){quantile(replicates, known, 0.5 - level / 2),
                             quantile(replicates, known, 0.5 + level / 2), level, INTERVAL_PERCENTILE};
}

static double acceleration(const double *jackknife, size_t n)
{
    double mean = 0, squares = 0, cubes = 0;

    for (size_t i = 0; i < n; i++)
        mean += jackknife[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = mean - jackknife[i];
        squares += d * d;
        cubes += d * d * d;
    }
    return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

/* The share of replicates below the estimate, half of those equal to it. */
static double share_below(const double *sorted, size_t n, double estimate)
{
    double below = 0;

    for (size_t i = 0; i < n && sorted[i] <= estimate; i++)
        below += sorted[i] < estimate ? 1 : 0.5;
    return below / (double)n;
}

struct interval bootstrap_bca(double *replicates, size_t n, double estimate, const double *jackknife,
                              size_t njack, double level)
{
    struct interval i = bootstrap_percentile(replicates, n, level);

    if (!interval_is_known(&i))
        return i;
    size_t known = n;
    while (known && isnan(replicates[known - 1]))
        known--;
    double z0 = distribution_normal_quantile(share_below(replicates, known, estimate));
    double a = acceleration(jackknife, njack), z = distribution_normal_quantile(0.5 + level / 2);
    if (!isfinite(z0) || !isfinite(a) || 1 - a * (z0 + z) <= 0 || 1 - a * (z0 - z) <= 0)
        return i;
    i.low = quantile(replicates, known, distribution_normal_cdf(z0 + (z0 - z) / (1 - a * (z0 - z))));
    i.high = quantile(replicates, known, distribution_normal_cdf(z0 + (z0 + z) / (1 - a * (z0 + z))));
    i.method = INTERVAL_BCA;
    return i;
}

/* dst[i]: the median of sorted[0..n) without its i-th value. */
static void leave_one_out(const double *sorted, size_t n, double *dst)
{
    for (size_t i = 0; i < n; i++) {
        size_t half = (n - 1) / 2; /* of the n - 1 that remain */
        size_t upper = half + (i <= half), lower = half - 1 + (i <= half - 1);
        dst[i] = (n - 1) % 2 ? sorted[upper] : 0.5 * (sorted[lower] + sorted[upper]);
    }
}

/* Of the ratio of medians, over the observations of both samples. */
static void jackknife_ratio(const double *a, size_t na, const double *b, size_t nb, double *dst)
{
    double median_a = median_of_sorted(a, na), median_b = median_of_sorted(b, nb);

    leave_one_out(a, na, dst);
    leave_one_out(b, nb, dst + na);
    for (size_t i = 0; i < na; i++)
        dst[i] /= median_b;
    for (size_t i = na; i < na + nb; i++)
        dst[i] = median_a / dst[i];
}

int bootstrap_median_ratio(struct interval *dst, const double *a, size_t na, const double *b, size_t nb,
                           uint64_t seed, double level, struct err *e)
{
    *dst = interval_none();
    if (na < 3 || nb < 3)
        return 0;
    double *room = calloc(3 * (na + nb) + REPLICATES, sizeof *room);
    if (!room)
        return err_set(e, ERR_INTERNAL, "out of memory for a bootstrap of %zu values", na + nb);
    double *sorted_a = room, *sorted_b = sorted_a + na, *draw_a = sorted_b + nb, *draw_b = draw_a + na;
    double *jackknife = draw_b + nb, *replicates = jackknife + na + nb;
    memcpy(sorted_a, a, na * sizeof *a);
    memcpy(sorted_b, b, nb * sizeof *b);
    median_sort(sorted_a, na);
    median_sort(sorted_b, nb);
    for (uint64_t i = 0; i < REPLICATES; i++) {
        bootstrap_resample(sorted_a, na, seed, 2 * i, draw_a);
        bootstrap_resample(sorted_b, nb, seed, 2 * i + 1, draw_b);
        replicates[i] = median_select(draw_a, na) / median_select(draw_b, nb);
    }
    jackknife_ratio(sorted_a, na, sorted_b, nb, jackknife);
    *dst = bootstrap_bca(replicates, REPLICATES, median_of_sorted(sorted_a, na) / median_of_sorted(sorted_b, nb),
                         jackknife, na + nb, level);
    free(room);
    return 0;
}
