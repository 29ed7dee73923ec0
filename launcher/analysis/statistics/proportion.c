/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/proportion.h"

#include <math.h>

#include "launcher/analysis/statistics/distribution.h"

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
