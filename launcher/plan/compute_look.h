/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out what the runs of a study will compute on, from train.backend, the site (the profile of
 * the cluster), and the capabilities of unet-train. Only a job on the nodes can show that their
 * GPUs work (unetctl doctor --gpus N). */
#ifndef UNETCTL_LAUNCHER_PLAN_COMPUTE_LOOK_H
#define UNETCTL_LAUNCHER_PLAN_COMPUTE_LOOK_H

#include <stdbool.h>

#include "launcher/study/site.h"
#include "launcher/study/study.h"

struct compute_look {
    char backend[16];  /* "cuda", "simd" ...; "" if unknown or chosen by another program */
    char text[1024];   /* "the CPU (backend simd): train.backend is cpu"; "" if backend is */
    char problem[512]; /* what is wrong with this choice, or "" */
    const char *remedy; /* what to do about the problem; "" if the problem's text says it */
    bool fatal;        /* the problem would end every run at its start */
};

/* Returns whether unet-train is the trainer, rather than the program of another engine
 * (study.engine) or one that the site names. */
bool compute_look_applies(const struct study *study, const struct site *site);

/* Never fails: if unet-train does not answer, that is the problem. All texts are empty where
 * compute_look_applies returns false. */
void compute_look_open(const struct study *study, const struct site *site,
                       struct compute_look *dst);

#endif
