/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/ranks.h"

#include <stdlib.h>

struct place {
    double value;
    size_t index;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

int ranks_assign(const double *values, size_t n, size_t *twice, double *ties)
{
    struct place *order = calloc(n + 1, sizeof *order);

    *ties = 0;
    if (!order)
        return -1;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct place){values[i], i};
    qsort(order, n, sizeof *order, compare_places);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && order[end].value == order[i].value;)
            end++;
        double t = (double)(end - i);
        *ties += t * t * t - t;
        for (size_t j = i; j < end; j++)
            twice[order[j].index] = i + 1 + end; /* ranks i + 1 .. end */
    }
    free(order);
    return 0;
}
