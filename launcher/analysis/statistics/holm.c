/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/holm.h"

#include <math.h>
#include <stdlib.h>

struct place {
    double p;
    size_t index;
};

static int compare_p_values(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->p > y->p) - (x->p < y->p);
}

int holm_correct(const double *p, size_t n, double *dst)
{
    struct place *order = calloc(n + 1, sizeof *order);
    size_t m = 0;
    double largest = 0;

    if (!order)
        return -1;
    for (size_t i = 0; i < n; i++) {
        dst[i] = p[i];
        if (!isnan(p[i]))
            order[m++] = (struct place){p[i], i};
    }
    qsort(order, m, sizeof *order, compare_p_values);
    for (size_t i = 0; i < m; i++) {
        largest = fmax(largest, fmin(1, order[i].p * (double)(m - i)));
        dst[order[i].index] = largest;
    }
    free(order);
    return 0;
}
