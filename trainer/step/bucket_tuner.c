/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps without timing, then rounds over all sizes, then the choice by medians. */
#include "config.h"
#include "trainer/step/bucket_tuner.h"

#include <string.h>

#include "src/stat.h"

#define SMALLEST ((size_t)(256 << 10) / sizeof(float))
#define FACTOR 4

void bucket_tuner_begin(struct bucket_tuner *t, size_t nparams)
{
    *t = (struct bucket_tuner){0};
    for (size_t size = SMALLEST; size < nparams && t->nsizes < BUCKET_TUNER_SIZES - 1;
         size *= FACTOR)
        t->sizes[t->nsizes++] = size;
    t->sizes[t->nsizes++] = nparams;
    t->done = t->nsizes == 1;
}

static int size_of_step(const struct bucket_tuner *t)
{
    return t->nsteps < BUCKET_TUNER_WARMUP ? 0 : (t->nsteps - BUCKET_TUNER_WARMUP) % t->nsizes;
}

size_t bucket_tuner_size(const struct bucket_tuner *t)
{
    return t->sizes[t->done ? t->choice : size_of_step(t)];
}

static void choose_size(struct bucket_tuner *t)
{
    double best = 0;

    for (int i = 0; i < t->nsizes; i++) {
        t->medians[i] = stat_median(t->times[i], BUCKET_TUNER_ROUNDS);
        if (i == 0 || t->medians[i] < best)
            best = t->medians[i];
    }
    for (int i = 0; i < t->nsizes; i++)
        if (t->medians[i] <= best * (1 + BUCKET_TUNER_TIE))
            t->choice = i;
    t->done = true;
}

bool bucket_tuner_add(struct bucket_tuner *t, double seconds)
{
    if (t->done)
        return false;
    if (t->nsteps >= BUCKET_TUNER_WARMUP)
        t->times[size_of_step(t)][(t->nsteps - BUCKET_TUNER_WARMUP) / t->nsizes] = seconds;
    if (++t->nsteps == BUCKET_TUNER_WARMUP + t->nsizes * BUCKET_TUNER_ROUNDS)
        choose_size(t);
    return t->done;
}
