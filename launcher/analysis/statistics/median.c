/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/median.h"

#include <math.h>
#include <stdlib.h>

#include "launcher/analysis/statistics/distribution.h"

static double coverage(size_t k, size_t n)
{
    return 1 - 2 * distribution_coins_cdf((long)k - 1, n);
}

struct interval median_interval(const double *sorted, size_t n, double level)
{
    size_t low = 1, high = (n + 1) / 2;

    if (n < 2)
        return interval_none();
    while (low < high) { /* the largest k that covers; k = 1 when none does */
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

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void median_sort(double *values, size_t n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, compare_doubles);
}

static void swap(double *a, double *b)
{
    double t = *a;

    *a = *b;
    *b = t;
}

/* Hoare's selection: v[k] becomes what it would be after sorting, nothing smaller behind it. */
static void select_place(double *v, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        double pivot = v[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            swap(&v[i++], &v[j--]);
        }
        if (i == j && v[i] == pivot && k == i)
            return;
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
}

double median_select(double *values, size_t n)
{
    double below = -INFINITY;

    if (n == 0)
        return NAN;
    select_place(values, n, n / 2);
    if (n % 2)
        return values[n / 2];
    for (size_t i = 0; i < n / 2; i++)
        below = fmax(below, values[i]);
    return 0.5 * (below + values[n / 2]);
}
