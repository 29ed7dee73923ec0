/* SPDX-License-Identifier: BSD-3-Clause */
/* Each batch goes to the network's own buffers (network_input, network_target). */
#include "config.h"
#include "trainer/step/step_input.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

int step_input_open(struct step_input *in, struct network *n, const struct network_config *config,
                    int parts, size_t images, struct err *e)
{
    *in = (struct step_input){
        .network = n, .parts = parts, .target = network_targets(n),
        .image = (size_t)config->height * (size_t)config->width * (size_t)config->channels};
    if (parts == 1)
        return 0;
    in->images = mem_zero(images * in->image, sizeof *in->images, e);
    in->targets = mem_zero(images * in->target, sizeof *in->targets, e);
    return in->images && in->targets ? 0 : err_prefix(e, "train.accumulate");
}

void step_input_close(struct step_input *in)
{
    free(in->images);
    free(in->targets);
}

int step_input_wait(const struct step_input *in, size_t n, struct err *e)
{
    return n == 0 || in->parts > 1 || network_input(in->network, true, (int)n, e) ? 0 : -1;
}

int step_input_load(const struct step_input *in, struct loader *loader, size_t n, struct err *e)
{
    float *images = in->images, *targets = in->targets;

    if (in->parts == 1 && n > 0) {
        images = network_input(in->network, true, (int)n, e);
        targets = images ? network_target(in->network, true, (int)n, e) : NULL;
        if (!targets)
            return -1;
    }
    return loader_next(loader, images, targets, e);
}

struct shard_range step_input_part(const struct step_input *in, size_t n, int i)
{
    return shard_eval(n, in->parts, i);
}

bool step_input_is_idle(const struct step_input *in, size_t items, int replicas, int i)
{
    size_t n = items / (size_t)replicas, rest = items % (size_t)replicas;
    struct shard_range least = step_input_part(in, n, i);
    struct shard_range most = step_input_part(in, n + (rest > 0), i);

    return least.begin == least.end && most.begin == most.end;
}

int step_input_place(const struct step_input *in, struct shard_range part, struct err *e)
{
    size_t n = part.end - part.begin;

    if (in->parts == 1 || n == 0)
        return 0;
    float *input = network_input(in->network, true, (int)n, e);
    float *target = input ? network_target(in->network, true, (int)n, e) : NULL;
    if (!target)
        return -1;
    memcpy(input, in->images + part.begin * in->image, n * in->image * sizeof *input);
    memcpy(target, in->targets + part.begin * in->target, n * in->target * sizeof *target);
    return 0;
}

int step_input_loss_divisor(const struct step_input *in, size_t n, double *divisor, struct err *e)
{
    double w;

    *divisor = 0;
    for (int i = 0; i < in->parts; i++) {
        struct shard_range part = step_input_part(in, n, i);
        if (step_input_place(in, part, e) ||
            network_loss_divisor(in->network, (int)(part.end - part.begin), &w, e))
            return -1;
        *divisor += w;
    }
    return 0;
}
