/* SPDX-License-Identifier: BSD-3-Clause */
/* Tunes the size of gradient buckets, the slices of the gradients that are summed over the ranks,
 * by the times of the first steps. The sizes alternate, so that a short disturbance of the machine
 * does not affect one of them only. The largest size whose median time is within BUCKET_TUNER_TIE
 * of the best is chosen. All ranks add the time of the slowest rank and so choose the same size. */
#ifndef UNETCTL_TRAINER_STEP_BUCKET_TUNER_H
#define UNETCTL_TRAINER_STEP_BUCKET_TUNER_H

#include <stdbool.h>
#include <stddef.h>

#define BUCKET_TUNER_SIZES 8
#define BUCKET_TUNER_WARMUP 3 /* steps without timing */
#define BUCKET_TUNER_ROUNDS 5 /* steps of each size */
#define BUCKET_TUNER_TIE 0.02 /* fraction of the best median */

struct bucket_tuner {
    size_t sizes[BUCKET_TUNER_SIZES]; /* elements of a bucket, increasing; the last is nparams */
    double times[BUCKET_TUNER_SIZES][BUCKET_TUNER_ROUNDS]; /* seconds */
    double medians[BUCKET_TUNER_SIZES]; /* seconds, valid when done */
    int nsizes, nsteps, choice;
    bool done;
};

/* The sizes are 256 KiB, four times as much, and so on, at most BUCKET_TUNER_SIZES; the last is all
 * nparams floats. */
void bucket_tuner_begin(struct bucket_tuner *t, size_t nparams);

/* Returns the size for the next step; when done, the chosen one. */
size_t bucket_tuner_size(const struct bucket_tuner *t);

/* Adds the time of a step. Returns true if this step completes the choice; does nothing after
 * that. */
bool bucket_tuner_add(struct bucket_tuner *t, double seconds);

#endif
