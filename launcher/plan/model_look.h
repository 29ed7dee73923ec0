/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks unet-train about a study's network. */
#ifndef UNETCTL_LAUNCHER_PLAN_MODEL_LOOK_H
#define UNETCTL_LAUNCHER_PLAN_MODEL_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/study/study.h"
#include "src/err.h"

struct model_look {
    /* numbers of trained values, of running means and variances, of tensors */
    int64_t parameters, state, tensors;
    bool of_classes;                    /* the network assigns one class to a whole image */
};

/* Returns 0, or -1 with ERR_CONFIG if the network cannot be built for the size of the study's
 * images. If loud, unet-train prints the reason to stderr. */
int model_look_open(const struct study *study, bool loud, struct model_look *dst, struct err *e);

#endif
