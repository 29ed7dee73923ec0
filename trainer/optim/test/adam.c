/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/optim/adam.h"

#include <math.h>

#include "t/tap.h"

/* Gradients sin t, t/10, -t/10^6 and 0; lr 0.01. The weights after steps 1, 2 and 10 were computed
 * with the formula of the paper in double precision. */
static const float start[4] = {1.0f, -2.0f, 0.5f, 0.0f};
static const struct { int step; double weights[4]; } trajectory[] = {
    {1, {0.9900000001, -2.0099999990, 0.5099009901, 0.0}},
    {2, {0.9799873152, -2.0196518186, 0.5194921596, 0.0}},
    {10, {0.9634542711, -2.0984589083, 0.5980900824, 0.0}},
};

int main(void)
{
    struct err e;
    struct adam *a = adam_create(4, &e);
    float w[4], g[4];
    size_t next = 0;

    memcpy(w, start, sizeof w);
    for (int t = 1; t <= 10; t++) {
        g[0] = (float)sin(t), g[1] = 0.1f * (float)t, g[2] = -1e-6f * (float)t, g[3] = 0;
        adam_step(a, w, g, 0.01);
        if (t != trajectory[next].step)
            continue;
        for (int i = 0; i < 4; i++)
            ok(fabs((double)w[i] - trajectory[next].weights[i]) < 1e-6,
               "weight %d after step %d: %.8f", i, t, (double)w[i]);
        next++;
    }
    adam_destroy(a);
    adam_destroy(NULL);

    /* A weight's path is its own: alone or among others, the same bits. */
    struct adam *many = adam_create(1001, &e), *one = adam_create(1, &e);
    float value[1001], grad[1001], alone = 0.25f;
    for (int i = 0; i < 1001; i++)
        value[i] = 0.25f;
    for (int t = 1; t <= 5; t++) {
        for (int i = 0; i < 1001; i++)
            grad[i] = (float)cos(t * (i - 1000));
        adam_step(many, value, grad, 0.003);
        adam_step(one, &alone, &grad[1000], 0.003);
    }
    ok(value[1000] == alone, "the last of 1001 weights equals the same weight alone");
    adam_destroy(many);
    adam_destroy(one);
    return done_testing();
}
