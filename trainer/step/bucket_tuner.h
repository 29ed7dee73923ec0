/* SPDX-License-Identifier: BSD-3-Clause */
/* Tunes the size of gradient buckets by the times of the first steps: a few steps with each size,
 * in turns, so that a short disturbance of the machine has no influence. Chooses the largest size
 * whose median is within TIE of the best. The times are those of the slowest rank, equal on all
 * ranks, so all choose the same. */
#ifndef UNETCTL_TRAINER_STEP_BUCKET_TUNER_H
#define UNETCTL_TRAINER_STEP_BUCKET_TUNER_H

#include <stdbool.h>
#include <stddef.h>

#define BUCKET_TUNER_SIZES 8
#define BUCKET_TUNER_WARMUP 3 /* steps without timing */
#define BUCKET_TUNER_ROUNDS 5 /* steps of each size */
#define BUCKET_TUNER_TIE 0.02

struct bucket_tuner {
    size_t sizes[BUCKET_TUNER_SIZES]; /* numbers per bucket, increasing; the last is all */
    double times[BUCKET_TUNER_SIZES][BUCKET_TUNER_ROUNDS];
    double medians[BUCKET_TUNER_SIZES]; /* valid when done */
    int nsizes, nsteps, choice;
    bool done;
};

/* Sizes are 256 KiB, each four times the one before, up to all nparams floats. */
void bucket_tuner_begin(struct bucket_tuner *t, size_t nparams);

/* The size for the next step; when done, the chosen one. */
size_t bucket_tuner_size(const struct bucket_tuner *t);

/* Adds the time of a step. Returns true when this completes the choice. */
bool bucket_tuner_add(struct bucket_tuner *t, double seconds);

#endif
