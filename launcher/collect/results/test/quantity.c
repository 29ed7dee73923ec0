/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/quantity.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    struct result r;

    result_init(&r);
    r.training_time = 100;
    near(quantity_of(&r, QUANTITY_WHOLE), 100, 0, "the whole is what is known");
    r.startup_s = 5, r.test_time = 2, r.energy_j = 7.2e6, r.iou = 0.5;
    near(quantity_of(&r, QUANTITY_WHOLE), 107, 0, "start-up and evaluation are in it");
    near(quantity_of(&r, QUANTITY_ENERGY), 2, 0, "kWh of joules");
    near(quantity_of(&r, QUANTITY_IOU), 0.5, 0, "what the row has");
    near(quantity_of(&r, QUANTITY_COMM), NAN, 0, "and has not");
    for (int q = 0; q < QUANTITY_COUNT; q++)
        ok(quantity_key((enum quantity)q) && quantity_name((enum quantity)q) &&
           quantity_definition((enum quantity)q),
           "%s is defined", quantity_key((enum quantity)q));
    return done_testing();
}
