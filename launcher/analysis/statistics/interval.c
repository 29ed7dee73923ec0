/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/interval.h"

#include <math.h>

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
