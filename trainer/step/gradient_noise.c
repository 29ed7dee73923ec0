/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of squared norms over batches and steps. */
#include "config.h"
#include "trainer/step/gradient_noise.h"

/* Floats are summed in independent lanes, so that the loop is vectorised. A block is short enough
 * for the precision of float; blocks are summed as doubles. */
#define LANES 16
#define BLOCK 1024

static double square_block(const float *grad, size_t n)
{
    float lanes[LANES] = {0};
    double sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += grad[i + k] * grad[i + k];
    for (; i < n; i++)
        lanes[i % LANES] += grad[i] * grad[i];
    for (size_t k = 0; k < LANES; k++)
        sum += (double)lanes[k];
    return sum;
}

double gradient_noise_square(const float *grad, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i += BLOCK)
        sum += square_block(grad + i, n - i < BLOCK ? n - i : BLOCK);
    return sum;
}

void gradient_noise_add_batch(struct gradient_noise *g, double square, size_t images, size_t items)
{
    if (images == 0)
        return;
    g->shares.square += square * (double)items / (double)images;
    g->shares.inverse_batch += 1 / (double)items;
}

void gradient_noise_add_step(struct gradient_noise *g, double square, size_t items)
{
    g->global.square += square;
    g->global.inverse_batch += 1 / (double)items;
    g->steps++;
}

struct gradient_norms gradient_noise_norms(const struct gradient_noise *g)
{
    if (!(g->steps > 0) || !(g->shares.inverse_batch > 0))
        return (struct gradient_norms){0};
    return (struct gradient_norms){
        .sq_local = g->shares.square / g->steps,
        .batch_local = g->steps / g->shares.inverse_batch,
        .sq_global = g->global.square / g->steps,
        .batch_global = g->steps / g->global.inverse_batch};
}
