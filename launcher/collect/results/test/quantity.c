/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/results/results.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    struct result r;

    result_init(&r);
    r.training_time = 100;
    near(quantity_of(&r, QUANTITY_WHOLE), 100, 0, "the whole run is the part that is known");
    r.startup_s = 5, r.test_time = 2, r.energy.gpus_j = 7.2e6, r.quality.iou = 0.5;
    near(quantity_of(&r, QUANTITY_WHOLE), 107, 0, "the whole run includes start-up and evaluation");
    near(quantity_of(&r, QUANTITY_ENERGY), 2, 0, "joules are converted to kWh");
    near(quantity_of(&r, QUANTITY_QUALITY), 0.5, 0, "a quantity of the row is returned");
    near(quantity_of(&r, QUANTITY_COMM), NAN, 0, "a quantity that the row lacks is NaN");
    for (int q = 0; q < QUANTITY_COUNT; q++)
        ok(quantities[q].key && quantities[q].name &&
           quantities[q].text,
           "%s is defined", quantities[q].key);
    return done_testing();
}
