/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/prepare/survey.h"

#include "t/tap.h"

int main(void)
{
    is_int(survey_otsu((uint8_t[]){10, 10, 10, 200, 200}, 5), 10, "two values: the lower one");
    is_int(survey_otsu((uint8_t[]){5, 5, 5}, 3), 255, "one value: nothing is above");
    is_int(survey_otsu((uint8_t[]){0, 255}, 2), 0, "the ends of the range");

    /* Variances n0 n1 (m0-m1)^2 of a threshold at 1, 2 and 8: 1*3*(1-19/3)^2 = 85.3,
     * 2*2*(1.5-8.5)^2 = 196, 3*1*(11/3-9)^2 = 85.3. */
    is_int(survey_otsu((uint8_t[]){1, 2, 8, 9}, 4), 2, "four values by hand");
    return done_testing();
}
