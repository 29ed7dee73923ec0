/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/analysis/statistics/distribution.h"
#include "src/mem.h"
#include "src/rng.h"
#include "src/stat.h"

struct interval interval_none(void)
{
    return (struct interval){NAN, NAN, NAN, INTERVAL_NONE};
}

bool interval_is_known(const struct interval *i)
{
    return i->method != INTERVAL_NONE;
}

const char *interval_method_name(enum interval_method method)
{
    static const char *const names[] = {
        [INTERVAL_NONE] = "none",
        [INTERVAL_ORDER] = "order statistics of the runs",
        [INTERVAL_FIELLER] = "Fieller (ratio of means, normal values)",
        [INTERVAL_PAIRS] = "Student's t of the logarithms of the ratios of pairs",
        [INTERVAL_BCA] = "bootstrap over runs (BCa)",
        [INTERVAL_PERCENTILE] = "bootstrap (percentile)",
        [INTERVAL_T] = "Student's t (normal values)",
        [INTERVAL_JACKKNIFE] = "jackknife of the logarithm",
        [INTERVAL_EPOCHS] = "order statistics within one run",
    };

    return names[method];
}

struct interval interval_ratio(const struct interval *a, const struct interval *b)
{
    if (!interval_is_known(a) || !interval_is_known(b) || !(b->low > 0))
        return interval_none();
    return (struct interval){a->low / b->high, a->high / b->low, fmax(0, a->level + b->level - 1),
                             a->method};
}

/* ---- proportions ---- */

#define STEPS 60

double proportion_upper(size_t k, size_t n, double level)
{
    double low = 0, high = 1;

    if (n == 0)
        return NAN;
    for (int i = 0; i < STEPS && k < n; i++) {
        double p = 0.5 * (low + high);
        if (distribution_beta_cdf(p, (double)k + 1, (double)(n - k)) < level)
            low = p;
        else
            high = p;
    }
    return high;
}

/* ---- medians ---- */

#define FAR 3.5
#define NORMAL_MAD 0.6745

static double coverage(size_t k, size_t n)
{
    return 1 - 2 * distribution_coins_cdf((long)k - 1, n);
}

struct interval median_interval(const double *sorted, size_t n, double level)
{
    size_t low = 1, high = (n + 1) / 2;

    if (n < 2 || coverage(1, n) < level)
        return interval_none();
    while (low < high) { /* the largest k that reaches the level */
        size_t k = low + (high - low + 1) / 2;
        if (coverage(k, n) >= level)
            low = k;
        else
            high = k - 1;
    }
    return (struct interval){sorted[low - 1], sorted[n - low], coverage(low, n), INTERVAL_ORDER};
}

double median_of_sorted(const double *sorted, size_t n)
{
    if (n == 0)
        return NAN;
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

size_t median_count_outliers(const double *sorted, size_t n, double *room)
{
    double median = median_of_sorted(sorted, n);
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        room[i] = fabs(sorted[i] - median);
    double distance = stat_median(room, n) * FAR / NORMAL_MAD;
    for (size_t i = 0; i < n && n >= MEDIAN_OUTLIER_FEWEST && distance > 0; i++)
        count += fabs(sorted[i] - median) > distance;
    return count;
}

/* ---- resampling ---- */

#define REPLICATES 999

/* Moves NaN to the end and sorts the other values. Returns the number of these others. */
static size_t sort_known(double *v, size_t n)
{
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i])) {
            double value = v[i];
            v[i] = v[known];
            v[known++] = value;
        }
    stat_sort(v, known);
    return known;
}

/* Returns the value below which the fraction p of the replicates lies. */
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
                             quantile(replicates, known, 0.5 + level / 2), level,
                             INTERVAL_PERCENTILE};
}

static double bca_acceleration(const double *jackknife, size_t n)
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

/* Returns the fraction of replicates below the estimate, plus half of those equal to it. */
static double share_below(const double *sorted, size_t n, double estimate)
{
    double below = 0;

    for (size_t i = 0; i < n && sorted[i] <= estimate; i++)
        below += sorted[i] < estimate ? 1 : 0.5;
    return below / (double)n;
}

struct interval bootstrap_bca(double *replicates, size_t n, double estimate,
                              const double *jackknife, size_t njack, double level)
{
    struct interval i = bootstrap_percentile(replicates, n, level);

    if (!interval_is_known(&i))
        return i;
    size_t known = n;
    while (known && isnan(replicates[known - 1]))
        known--;
    double z0 = distribution_normal_quantile(share_below(replicates, known, estimate));
    double a = bca_acceleration(jackknife, njack);
    double z = distribution_normal_quantile(0.5 + level / 2);
    if (!isfinite(z0) || !isfinite(a) || 1 - a * (z0 + z) <= 0 || 1 - a * (z0 - z) <= 0)
        return i;
    i.low =
        quantile(replicates, known, distribution_normal_cdf(z0 + (z0 - z) / (1 - a * (z0 - z))));
    i.high =
        quantile(replicates, known, distribution_normal_cdf(z0 + (z0 + z) / (1 - a * (z0 + z))));
    i.method = INTERVAL_BCA;
    return i;
}

/* Sets dst[i] to the median of sorted[0..n) without its i-th value. */
static void medians_without_one(const double *sorted, size_t n, double *dst)
{
    for (size_t i = 0; i < n; i++) {
        size_t half = (n - 1) / 2; /* of the n - 1 remaining values */
        size_t upper = half + (i <= half), lower = half - 1 + (i <= half - 1);
        dst[i] = (n - 1) % 2 ? sorted[upper] : 0.5 * (sorted[lower] + sorted[upper]);
    }
}

/* Jackknife of the ratio of medians, over the observations of both samples. */
static void jackknife_ratio(const double *a, size_t na, const double *b, size_t nb, double *dst)
{
    double median_a = median_of_sorted(a, na), median_b = median_of_sorted(b, nb);

    medians_without_one(a, na, dst);
    medians_without_one(b, nb, dst + na);
    for (size_t i = 0; i < na; i++)
        dst[i] /= median_b;
    for (size_t i = na; i < na + nb; i++)
        dst[i] = median_a / dst[i];
}

/* Returns the median of a resample of sorted[0..n). Instead of sorting, it counts how often each
 * value is drawn. */
static double resampled_median(const double *sorted, size_t n, uint64_t seed, uint64_t replicate,
                               uint32_t *drawn)
{
    size_t seen = 0, lower = 0, i = 0;
    uint32_t words[4];

    memset(drawn, 0, n * sizeof *drawn);
    for (size_t k = 0; k < n; k++) {
        if (k % 4 == 0)
            rng_block(seed, replicate, k / 4, words);
        drawn[(size_t)((uint64_t)words[k % 4] * n >> 32)]++;
    }
    for (; seen + drawn[i] < (n + 1) / 2; i++)
        seen += drawn[i];
    lower = i; /* the value of rank (n + 1) / 2, from 1 */
    for (; seen + drawn[i] < n / 2 + 1; i++)
        seen += drawn[i];
    return 0.5 * (sorted[lower] + sorted[i]);
}

int bootstrap_median_ratio(struct interval *dst, const double *a, size_t na, const double *b,
                           size_t nb, uint64_t seed, double level, struct err *e)
{
    *dst = interval_none();
    if (na < 3 || nb < 3)
        return 0;
    double *room = calloc(2 * (na + nb) + REPLICATES, sizeof *room);
    uint32_t *drawn = calloc(na + nb, sizeof *drawn);
    if (!room || !drawn) {
        free(room);
        free(drawn);
        return mem_fail(e);
    }
    double *sorted_a = room, *sorted_b = sorted_a + na, *jackknife = sorted_b + nb;
    double *replicates = jackknife + na + nb;
    memcpy(sorted_a, a, na * sizeof *a);
    memcpy(sorted_b, b, nb * sizeof *b);
    stat_sort(sorted_a, na);
    stat_sort(sorted_b, nb);
    for (uint64_t i = 0; i < REPLICATES; i++)
        replicates[i] = resampled_median(sorted_a, na, seed, 2 * i, drawn) /
                        resampled_median(sorted_b, nb, seed, 2 * i + 1, drawn);
    jackknife_ratio(sorted_a, na, sorted_b, nb, jackknife);
    *dst = bootstrap_bca(replicates, REPLICATES,
                         median_of_sorted(sorted_a, na) / median_of_sorted(sorted_b, nb),
                         jackknife, na + nb, level);
    free(room);
    free(drawn);
    return 0;
}
