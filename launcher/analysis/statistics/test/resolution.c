/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/distribution.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    static const double two[] = {0.94, 0.95, 0.9}, whole[] = {1, 0, 3}, fine[] = {1. / 3, 0.5},
        three[] = {0.941, 0.95}, large[] = {1234.5, 0.25}, single[] = {0.94f, 0.951f};

    near(resolution_of(two, 3), 0.01, 1e-12, "two decimals");
    near(resolution_of(three, 2), 0.001, 1e-12, "three decimals");
    near(resolution_of(whole, 3), 1, 0, "whole numbers");
    near(resolution_of(large, 2), 0.01, 1e-12, "the value with the most decimals decides");
    near(resolution_of(single, 2), 0.001, 1e-12, "single precision keeps three decimals");
    near(resolution_of(fine, 2), RESOLUTION_FINEST, 0, "values that were not rounded");
    near(resolution_of(fine, 0), RESOLUTION_FINEST, 0, "no values");
    return done_testing();
}
