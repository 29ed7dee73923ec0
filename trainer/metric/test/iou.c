/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/metric/iou.h"

#include <math.h>

#include "t/tap.h"

int main(void)
{
    struct iou_counts c = {0, 0, 0};

    ok(iou_value(&c) == 1 && iou_dice(&c) == 1, "nothing there, nothing predicted: 1, not 0/0");

    c = (struct iou_counts){2, 4, 5};
    is_int(iou_union(&c), 7, "union");
    ok(iou_value(&c) == 3.0 / 8.0, "IoU (I+1)/(U+1) = %g", iou_value(&c));
    ok(iou_dice(&c) == 5.0 / 10.0, "Dice (2I+1)/(P+T+1) = %g", iou_dice(&c));

    struct iou_counts miss = {0, 0, 2};
    ok(iou_value(&miss) == 1.0 / 3.0, "all missed: 1/(U+1) = %g", iou_value(&miss));

    /* 1,120 images of 1024 x 768 overflow 32 bits when summed as the reference does in floats. */
    struct iou_counts big = {INT64_C(880803840) * 4, INT64_C(880803840) * 4, INT64_C(880803840) * 5};
    ok(fabs(iou_value(&big) - 0.8) < 1e-9, "counts beyond 2^31: %.12f", iou_value(&big));
    return done_testing();
}
