/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/evaluate.h"

#include "trainer/comm/comm.h"

int evaluate_images(struct network *n, struct dataset *ds, enum dataset_part part, size_t begin,
                    size_t end, size_t pixels, const volatile sig_atomic_t *interrupt,
                    struct iou_counts *counts, struct err *e)
{
    const float *logits;

    for (size_t i = begin; i < end; i++) {
        if (interrupt && *interrupt)
            return comm_set_interrupted(e, *interrupt);
        float *input = network_input(n, false, 1, e);
        float *target = input ? network_target(n, false, 1, e) : NULL;
        if (!target || dataset_get(ds, part, i, input, target, e) ||
            network_infer(n, 1, &logits, e))
            return -1;
        iou_add(counts, logits, target, pixels);
    }
    return 0;
}
