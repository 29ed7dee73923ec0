/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/resolution.h"

#include <math.h>
#include <stdbool.h>

#define DECIMALS 6         /* of RESOLUTION_FINEST */
#define SINGLE 1.2e-7      /* the relative error of single precision, twice */
#define ALMOST 1e-9        /* what double precision leaves */

static bool are_multiples(const double *values, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++) {
        double scaled = values[i] * scale;
        if (!(fabs(scaled - round(scaled)) <= fabs(scaled) * SINGLE + ALMOST))
            return false;
    }
    return true;
}

double resolution_of(const double *values, size_t n)
{
    double scale = 1;

    for (int i = 0; i < DECIMALS && n; i++, scale *= 10)
        if (are_multiples(values, n, scale))
            return 1 / scale;
    return RESOLUTION_FINEST;
}
