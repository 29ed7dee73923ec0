/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the weights after each of some optimizer steps, for t/torch_optim.py to repeat:
 *     trace adam|adamw|sgd|lars|lamb MOMENTUM 0|1 0|1 WEIGHT_DECAY CLIP
 * (Nesterov, momentum uncorrected). A matrix [3][4] and a vector [4]; gradient i of step t is
 * sin(t (i + 1)) + 0.1 w; the rate halves after the third step. */
#include "src/base.h"
#include "trainer/optim/optim.h"

#include <math.h>

#define STEPS 6

static const char *const kinds[] = {[OPTIM_ADAM] = "adam", [OPTIM_ADAMW] = "adamw",
                                    [OPTIM_SGD] = "sgd", [OPTIM_LARS] = "lars",
                                    [OPTIM_LAMB] = "lamb"};

static struct weights *make_weights(struct err *e)
{
    struct weights *w = weights_create(e);

    if (!w || weights_add(w, "matrix", WEIGHTS_PARAM, 2, (int64_t[]){3, 4}, e) ||
        weights_add(w, "vector", WEIGHTS_PARAM, 1, (int64_t[]){4}, e) || weights_alloc(w, e))
        return NULL;
    return w;
}

/* Returns where the k-th of the 16 numbers is; there may be padding between the tensors. */
static size_t index_of(const struct weights *w, int k)
{
    return k < 12 ? w->entries[0].offset + (size_t)k : w->entries[1].offset + (size_t)k - 12;
}

static void run_steps(struct optim *o, struct weights *w, double clip)
{
    for (int k = 0; k < 16; k++)
        w->value[index_of(w, k)] = (float)cos(k);
    for (int t = 1; t <= STEPS; t++) {
        for (int k = 0; k < 16; k++)
            w->grad[index_of(w, k)] =
                (float)(sin(t * (k + 1)) + 0.1 * (double)w->value[index_of(w, k)]);
        optim_step(o, w, t <= 3 ? 0.02 : 0.01, clip);
        for (int k = 0; k < 16; k++)
            printf("%.9g%c", (double)w->value[index_of(w, k)], k < 15 ? ' ' : '\n');
    }
}

int main(int argc, char **argv)
{
    struct optim_config c = {0};
    struct err e;

    if (argc != 7)
        return 2;
    while (strcmp(kinds[c.kind], argv[1]) != 0)
        c.kind++;
    c.momentum = atof(argv[2]);
    c.nesterov = atoi(argv[3]);
    c.uncorrected = atoi(argv[4]);
    c.weight_decay = atof(argv[5]);
    struct weights *w = make_weights(&e);
    struct optim *o = w ? optim_create(&c, w, &e) : NULL;
    if (!o) {
        fprintf(stderr, "trace: %s\n", e.text);
        return 1;
    }
    run_steps(o, w, atof(argv[6]));
    optim_destroy(o);
    weights_destroy(w);
    return 0;
}
