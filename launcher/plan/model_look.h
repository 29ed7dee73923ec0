/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at a study's network through unet-train, which knows what it consists of. */
#ifndef UNETCTL_LAUNCHER_PLAN_MODEL_LOOK_H
#define UNETCTL_LAUNCHER_PLAN_MODEL_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "launcher/study/study.h"
#include "src/err.h"

struct model_look {
    int64_t parameters, state, tensors; /* state: running means and variances */
    bool of_classes;                    /* an image has one class as a whole */
};

/* 0; -1 with ERR_CONFIG: it cannot be built at the study's size; if loud, unet-train prints the
 * reason to stderr. */
int model_look_open(const struct study *study, bool loud, struct model_look *dst, struct err *e);

#endif
