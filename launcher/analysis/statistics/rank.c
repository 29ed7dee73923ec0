/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/rank.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "launcher/analysis/statistics/distribution.h"

#define ROUNDING 1e-12 /* of differences of values of about 1 */

struct ranked_value {
    double value;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct ranked_value *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

/* Differences of decimal numbers that are equal on paper differ by rounding, such as 0.95 - 0.94
 * and 0.94 - 0.93. */
static bool is_tie(double a, double b)
{
    return fabs(a - b) <= ROUNDING;
}

int rank_assign(const double *values, size_t n, size_t *twice, double *ties)
{
    struct ranked_value *order = calloc(n + 1, sizeof *order);

    *ties = 0;
    if (!order)
        return -1;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct ranked_value){values[i], i};
    qsort(order, n, sizeof *order, compare_places);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && is_tie(order[i].value, order[end].value);)
            end++;
        double t = (double)(end - i);
        *ties += t * t * t - t;
        for (size_t j = i; j < end; j++)
            twice[order[j].index] = i + 1 + end; /* they share ranks i + 1 .. end */
    }
    free(order);
    return 0;
}

/* Returns the fraction of the 2^n choices of signs for which the doubled ranks with a positive
 * sign sum up to at most limit. */
static double exact_sign_share(const size_t *twice, size_t n, size_t limit)
{
    double *share = calloc(limit + 1, sizeof *share), sum = 0;

    if (!share)
        return NAN;
    share[0] = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t s = limit + 1; s-- > 0;)
            share[s] = 0.5 * share[s] + (s >= twice[i] ? 0.5 * share[s - twice[i]] : 0);
    for (size_t s = 0; s <= limit; s++)
        sum += share[s];
    free(share);
    return sum;
}

static double approximate_signs(size_t smaller, size_t total, size_t n, double ties)
{
    double w = (double)smaller / 2, mean = (double)total / 4, m = (double)n;
    double variance = m * (m + 1) * (2 * m + 1) / 24 - ties / 48;

    return fmin(1, 2 * distribution_normal_cdf((w - mean) / sqrt(variance)));
}

double rank_signed_test(const double *differences, size_t n)
{
    double *sizes = calloc(n + 1, sizeof *sizes), ties, p = NAN;
    size_t *twice = calloc(n + 1, sizeof *twice), *signs = calloc(n + 1, sizeof *signs);
    size_t known = 0, positive = 0, total = 0;

    for (size_t i = 0; sizes && signs && i < n; i++)
        if (!is_tie(differences[i], 0)) {
            signs[known] = differences[i] > 0;
            sizes[known++] = fabs(differences[i]);
        }
    if (!sizes || !twice || !signs || n == 0 || rank_assign(sizes, known, twice, &ties))
        goto out;
    for (size_t i = 0; i < known; i++) {
        total += twice[i];
        positive += signs[i] ? twice[i] : 0;
    }
    size_t smaller = positive < total - positive ? positive : total - positive;
    if (known == 0)
        p = 1;
    else if (known <= RANK_SIGNED_EXACT)
        p = fmin(1, 2 * exact_sign_share(twice, known, smaller));
    else
        p = approximate_signs(smaller, total, known, ties);
out:
    free(sizes);
    free(twice);
    free(signs);
    return p;
}
