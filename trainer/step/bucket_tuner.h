/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the size of the buckets in which gradients are summed while backward goes on, by the time
 * of the first steps: a few with each size, in turns, so that a machine which is disturbed for a
 * while does not decide; then the largest size whose median is within TIE of the best. The times
 * are those of the slowest rank, equal on all of them, so all choose the same. */
#ifndef UNETCTL_TRAINER_STEP_BUCKET_TUNER_H
#define UNETCTL_TRAINER_STEP_BUCKET_TUNER_H

#include <stdbool.h>
#include <stddef.h>

#define BUCKET_TUNER_SIZES 8
#define BUCKET_TUNER_WARMUP 3 /* steps that are not counted */
#define BUCKET_TUNER_ROUNDS 5 /* steps of each size */
#define BUCKET_TUNER_TIE 0.02

struct bucket_tuner {
    size_t sizes[BUCKET_TUNER_SIZES]; /* numbers of a bucket, rising; the last one is all */
    double times[BUCKET_TUNER_SIZES][BUCKET_TUNER_ROUNDS];
    double medians[BUCKET_TUNER_SIZES]; /* when it is done */
    int nsizes, nsteps, choice;
    bool done;
};

/* Sizes from 256 KiB on, each four times the one before, up to all nparams floats. */
void bucket_tuner_begin(struct bucket_tuner *t, size_t nparams);

/* The size for the next step; when it is done, the one chosen. */
size_t bucket_tuner_size(const struct bucket_tuner *t);

/* The step took so long. True when this made it done. */
bool bucket_tuner_add(struct bucket_tuner *t, double seconds);

#endif
