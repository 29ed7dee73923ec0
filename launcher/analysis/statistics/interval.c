/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/interval.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"
#include "src/stat.h"

struct interval interval_none(void)
{
    return (struct interval){NAN, NAN, NAN, INTERVAL_NONE};
}

bool interval_is_known(const struct interval *i)
{
    return i->method != INTERVAL_NONE;
}

const char *const interval_method_names[] = {
    [INTERVAL_NONE] = "none",
    [INTERVAL_ORDER] = "order statistics of the runs",
    [INTERVAL_FIELLER] = "Fieller (ratio of means, normal values)",
    [INTERVAL_PAIRS] = "Student's t of the logarithms of the ratios of pairs",
    [INTERVAL_T] = "Student's t (normal values)",
    [INTERVAL_JACKKNIFE] = "jackknife of the logarithm",
    [INTERVAL_EPOCHS] = "order statistics within one run",
};

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

double proportion_lower(size_t k, size_t n, double level)
{
    return 1 - proportion_upper(n - k, n, level);
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
