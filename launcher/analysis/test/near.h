/* SPDX-License-Identifier: BSD-3-Clause */
/* near(got, want, relative error, "what") checks a number in tests. If want is 0, the error is
 * absolute. */
#pragma once

#include <math.h>

#include "t/tap.h"

#define near(got, want, tolerance, ...)                                                   \
    do {                                                                                  \
        double near_g = (got), near_w = (want);                                           \
        bool near_ok = isnan(near_w) ? isnan(near_g)                                      \
                       : isinf(near_w)                                                    \
                           ? near_g == near_w                                             \
                           : fabs(near_g - near_w) <= (tolerance) *                       \
                                 (near_w == 0 ? 1 : fabs(near_w));                        \
        if (!ok(near_ok, __VA_ARGS__))                                                    \
            printf("# got %.17g, want %.17g\n", near_g, near_w);                          \
    } while (0)
