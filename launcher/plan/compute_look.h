/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at what the runs of a study will compute on: train.backend, the site, and what unet-train
 * can do. Whether a node's GPUs work is known there alone (unetctl doctor --gpus N). */
#ifndef UNETCTL_LAUNCHER_PLAN_COMPUTE_LOOK_H
#define UNETCTL_LAUNCHER_PLAN_COMPUTE_LOOK_H

#include <stdbool.h>

#include "launcher/study/site.h"
#include "launcher/study/study.h"

struct compute_look {
    char backend[16];  /* "cuda", "simd" ...; "": not known, or another program decides */
    char text[1024];   /* "the CPU (backend simd): the site's GPUs are fake", or "" likewise */
    char problem[512]; /* what is wrong with that, or "" */
    const char *remedy; /* of the problem; "" where the problem includes it */
    bool fatal;        /* it ends every run at once */
};

/* Does unet-train train, and not a program of the site's or another engine's? */
bool compute_look_applies(const struct study *study, const struct site *site);

/* Never fails: a unet-train that does not answer is reported as a problem. */
void compute_look_open(const struct study *study, const struct site *site,
                       struct compute_look *dst);

#endif
