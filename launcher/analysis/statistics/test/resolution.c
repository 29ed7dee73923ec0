/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/analysis/statistics/distribution.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    static const double two[] = {0.94, 0.95, 0.9}, whole[] = {1, 0, 3}, fine[] = {1. / 3, 0.5},
        three[] = {0.941, 0.95}, large[] = {1234.5, 0.25}, single[] = {0.94f, 0.951f},
        minutes[] = {600, 300, 180, 420, 120}, halves[] = {30.5, 15, 7.5, 4.5, 4, 16},
        quarters[] = {10.25, 7.75, 5.5, 3.75, 6.5}, twelfths[] = {25.083333, 12.583333, 6.416667,
        3.166667, 3.75}, images[] = {0.9, 0.893333, 0.886667, 0.846667}, ideal[] = {64, 32, 16, 8},
        few[] = {30, 15}, seconds[] = {30, 15, 8, 4}, own[] = {37.02, 18.51, 12.34, 9.255};

    near(resolution_of(two, 3), 0.01, 1e-12, "two decimals");
    near(resolution_of(three, 2), 0.001, 1e-12, "three decimals");
    near(resolution_of(whole, 3), 1, 0, "whole numbers");
    near(resolution_of(large, 2), 0.01, 1e-12, "the value with the most decimals decides");
    near(resolution_of(single, 2), 0.001, 1e-12, "single precision keeps three decimals");
    near(resolution_of(fine, 2), RESOLUTION_FINEST, 0, "values that were not rounded");
    near(resolution_of(fine, 0), RESOLUTION_FINEST, 0, "no values");
    near(resolution_of(seconds, 4), 1, 0, "whole seconds");
    near(resolution_of(minutes, 5), 60, 1e-9, "whole minutes");
    near(resolution_of(halves, 6), 0.5, 1e-9, "halves of seconds");
    near(resolution_of(quarters, 5), 0.25, 1e-9, "quarters");
    near(resolution_of(twelfths, 5), 1 / 12., 1e-12, "twelfths, cut off after six decimals");
    near(resolution_of(images, 4), 1 / 150., 1e-12, "a share of 150 images");
    near(resolution_of(ideal, 4), 1, 0, "multiples of the smallest value may be ideal scaling");
    near(resolution_of(few, 2), 1, 0, "two values are multiples of many steps");
    near(resolution_of(own, 4), 0.001, 1e-12, "a common part that no clock has is not a step");
    return done_testing();
}
