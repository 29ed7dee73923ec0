/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/signed_rank.h"

#include <math.h>
#include <stdlib.h>

#include "launcher/analysis/statistics/distribution.h"
#include "launcher/analysis/statistics/ranks.h"

/* The share of the 2^n choices of signs whose doubled positive ranks sum up to at most limit. */
static double exact_share(const size_t *twice, size_t n, size_t limit)
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

static double approximate(size_t smaller, size_t total, size_t n, double ties)
{
    double w = (double)smaller / 2, mean = (double)total / 4, m = (double)n;
    double variance = m * (m + 1) * (2 * m + 1) / 24 - ties / 48;

    return fmin(1, 2 * distribution_normal_cdf((w - mean) / sqrt(variance)));
}

double signed_rank_test(const double *differences, size_t n)
{
    double *sizes = calloc(n + 1, sizeof *sizes), ties, p = NAN;
    size_t *twice = calloc(n + 1, sizeof *twice), *signs = calloc(n + 1, sizeof *signs);
    size_t known = 0, positive = 0, total = 0;

    for (size_t i = 0; sizes && signs && i < n; i++)
        if (differences[i] != 0) {
            signs[known] = differences[i] > 0;
            sizes[known++] = fabs(differences[i]);
        }
    if (!sizes || !twice || !signs || n == 0 || ranks_assign(sizes, known, twice, &ties))
        goto out;
    for (size_t i = 0; i < known; i++) {
        total += twice[i];
        positive += signs[i] ? twice[i] : 0;
    }
    size_t smaller = positive < total - positive ? positive : total - positive;
    if (known == 0)
        p = 1;
    else if (known <= SIGNED_RANK_EXACT)
        p = fmin(1, 2 * exact_share(twice, known, smaller));
    else
        p = approximate(smaller, total, known, ties);
out:
    free(sizes);
    free(twice);
    free(signs);
    return p;
}
