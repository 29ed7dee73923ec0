/* SPDX-License-Identifier: BSD-3-Clause */
/* The images of a step. With several parts (train.accumulate) they are loaded into a buffer and
 * copied to the network part by part; else they are loaded into the network's input. */
#ifndef UNETCTL_TRAINER_STEP_STEP_INPUT_H
#define UNETCTL_TRAINER_STEP_STEP_INPUT_H

#include "src/err.h"
#include "trainer/data/set/loader.h"
#include "trainer/data/set/shard.h"
#include "trainer/network/network.h"

struct step_input {
    struct network *network;
    int parts;
    size_t image, target;    /* numbers of each */
    float *images, *targets; /* NULL with one part */
};

/* images: of a step, at most. Must be closed after an error, too. */
int step_input_open(struct step_input *in, struct network *n, const struct network_config *config,
                    int parts, size_t images, struct err *e);
void step_input_close(struct step_input *in);

/* Waits until the network's input for n images is free. */
int step_input_wait(const struct step_input *in, size_t n, struct err *e);

/* The loader's next n images. */
int step_input_load(const struct step_input *in, struct loader *loader, size_t n, struct err *e);

/* The range of part i among n images; copies a part to the network's input. */
struct shard_range step_input_part(const struct step_input *in, size_t n, int i);
int step_input_place(const struct step_input *in, struct shard_range part, struct err *e);

/* The sum of network_weigh over the parts of n images. */
int step_input_weigh(const struct step_input *in, size_t n, double *weight, struct err *e);

#endif
