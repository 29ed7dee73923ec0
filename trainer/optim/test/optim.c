/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/optim/optim.h"

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

static struct weights *weights_of(int64_t n)
{
    struct err e;
    struct weights *w = weights_create(&e);

    if (!w || weights_add(w, "w", WEIGHTS_PARAM, 1, &n, &e) || weights_alloc(w, &e))
        bail_out("%s", e.text);
    return w;
}

static struct optim *create_adam(const struct weights *w)
{
    struct err e;
    struct optim *o = optim_create(&(struct optim_config){0}, w, &e);

    if (!o)
        bail_out("%s", e.text);
    return o;
}

static void test_trajectory(void)
{
    struct weights *w = weights_of(4);
    struct optim *o = create_adam(w);
    size_t next = 0;

    memcpy(w->value, start, sizeof start);
    for (int t = 1; t <= 10; t++) {
        w->grad[0] = (float)sin(t), w->grad[1] = 0.1f * (float)t;
        w->grad[2] = -1e-6f * (float)t, w->grad[3] = 0;
        optim_step(o, w, 0.01, 0);
        if (t != trajectory[next].step)
            continue;
        for (int i = 0; i < 4; i++)
            ok(fabs((double)w->value[i] - trajectory[next].weights[i]) < 1e-6,
               "weight %d after step %d: %.8f", i, t, (double)w->value[i]);
        next++;
    }
    is_int(o->steps, 10, "steps are counted");
    optim_destroy(o);
    weights_destroy(w);
}

/* Each weight is updated independently: alone or among others, with the same bits. */
static void test_independence(void)
{
    struct weights *many = weights_of(1001), *one = weights_of(1);
    struct optim *o = create_adam(many), *p = create_adam(one);

    for (int i = 0; i < 1001; i++)
        many->value[i] = 0.25f;
    one->value[0] = 0.25f;
    for (int t = 1; t <= 5; t++) {
        for (int i = 0; i < 1001; i++)
            many->grad[i] = (float)cos(t * (i - 1000));
        one->grad[0] = many->grad[1000];
        optim_step(o, many, 0.003, 0);
        optim_step(p, one, 0.003, 0);
    }
    ok(many->value[1000] == one->value[0], "the last of 1001 weights equals the same weight alone");
    optim_destroy(o);
    optim_destroy(p);
    optim_destroy(NULL);
    weights_destroy(many);
    weights_destroy(one);
}

int main(void)
{
    test_trajectory();
    test_independence();
    return done_testing();
}
