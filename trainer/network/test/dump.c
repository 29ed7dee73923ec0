/* SPDX-License-Identifier: BSD-3-Clause */
/* Trains a small network for a few steps and writes what t/torch_unet.py compares with PyTorch:
 * weights, data, loss, gradients, inference, weights after each Adam step.
 *
 *   dump BACKEND BASE DEPTH|MODEL CHANNELS HEIGHT WIDTH BATCH none|local CLASSES LOSS STEPS DIR
 *
 * none, local: the batch norm; LOSS: [weighted-]ce or focal (gamma 2), dice or tversky (0.3, 0.7),
 * or two with a + between. DIR/data.bin has all numbers as raw floats; DIR/index.txt a line "KIND
 * STEP NAME COUNT" for each piece in the same order. */
#include "src/base.h"

#include <math.h>

#include "src/rng.h"
#include "trainer/network/network.h"
#include "trainer/optim/optim.h"

#define LEARNING_RATE 1e-3

struct dump {
    FILE *index, *data;
};

static FILE *open_in(const char *dir, const char *name)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static void write_piece(struct dump *d, const char *kind, int step, const char *name,
                        const float *values, size_t count)
{
    fprintf(d->index, "%s %d %s %zu\n", kind, step, name, count);
    fwrite(values, sizeof *values, count, d->data);
}

static void put_weights(struct dump *d, const struct weights *w, int step)
{
    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        const float *from = entry->role == WEIGHTS_PARAM ? w->value : w->state;

        write_piece(d, "weight", step, entry->name, from + entry->offset, entry->count);
    }
}

static void put_grads(struct dump *d, const struct weights *w, int step)
{
    for (size_t i = 0; i < w->nentries; i++)
        if (w->entries[i].role == WEIGHTS_PARAM)
            write_piece(d, "grad", step, w->entries[i].name, w->grad + w->entries[i].offset,
                        w->entries[i].count);
}

static int report_error(const struct err *e)
{
    fprintf(stderr, "dump: %s\n", e->text);
    return 1;
}

static const float weights[] = {0.5F, 2, 1, 0.25F, 3};

/* Returns a target: in 0..1, or with several classes a class or -1, for a pixel that is ignored. */
static float target_value(int classes, double u)
{
    return (float)(classes == 1 ? u : floor(u * (classes + 1)) - 1);
}

/* Buffers of different graphs share memory, so each is filled just before its use. */
static int fill_buffers(struct network *n, const struct network_config *c, bool training, int batch,
                        struct dump *d, int step, struct err *e)
{
    size_t npixels = (size_t)batch * (size_t)c->height * (size_t)c->width;
    size_t channels = (size_t)c->channels, ntargets = (size_t)batch * network_targets(n);
    float *input = network_input(n, training, batch, e);
    float *target = network_target(n, training, batch, e);

    if (!input || !target)
        return -1;
    for (size_t i = 0; i < npixels * channels; i++)
        input[i] = (float)rng_uniform(1, (uint64_t)step, i);
    for (size_t i = 0; i < ntargets; i++)
        target[i] = target_value(c->classes, rng_uniform(2, (uint64_t)step, i));
    write_piece(d, "input", step, "-", input, npixels * channels);
    write_piece(d, "target", step, "-", target, ntargets);
    return 0;
}

/* The sum of the targets' class weights; images: as many as the batch has. */
static double find_loss_divisor(struct network *n, const struct network_config *c, int images,
                                const float *target)
{
    size_t values = (size_t)c->height * (size_t)c->width * (size_t)c->channels;
    size_t targets = network_targets(n);
    size_t nbytes = record_size(RECORD_NUMBERS, values, RECORD_NUMBERS, targets);
    struct record *r = calloc(1, nbytes);
    struct record_batch batch = {r, nbytes, nbytes, 1};
    double sum = 0;

    for (int i = 0; r && i < images; i++) {
        *r = (struct record){RECORD_NUMBERS, RECORD_NUMBERS, 1, 0};
        memcpy(record_target(r, values), target + (size_t)i * targets, targets * sizeof *target);
        sum += network_loss_divisor(n, &batch);
    }
    free(r);
    return sum;
}

static int dump_steps(struct network *n, const struct network_config *c, int batch, int steps,
                      struct dump *d, struct err *e)
{
    size_t ntargets = (size_t)batch * network_targets(n);
    struct weights *w = network_weights(n);
    struct optim *optim = optim_create(&(struct optim_config){0}, w, e);
    const float *logits;
    int rc = -1;

    put_weights(d, w, 0);
    for (int step = 1; optim && step <= steps; step++) {
        struct network_step whole = {.images = batch};
        double loss_sum = 0;
        float loss;

        if (fill_buffers(n, c, true, batch, d, step, e) < 0)
            goto out;
        whole.loss_divisor =
            find_loss_divisor(n, c, batch, network_target(n, true, batch, e));
        if (network_train(n, batch, whole, &loss_sum, NULL, NULL, e) < 0)
            goto out;
        loss = (float)(loss_sum / (double)ntargets);
        write_piece(d, "loss", step, "-", &loss, 1);
        put_grads(d, w, step);
        optim_step(optim, w, LEARNING_RATE, 0);
        put_weights(d, w, step);
    }
    if (!optim || fill_buffers(n, c, false, batch, d, steps + 1, e) < 0 ||
        network_infer(n, batch, &logits, e) < 0)
        goto out;
    write_piece(d, "logits", steps + 1, "-", logits, ntargets * (size_t)c->classes);
    rc = 0;
out:
    optim_destroy(optim);
    return rc;
}

int main(int argc, char **argv)
{
    struct network_config c = {.model = "unet", .threads = 1, .seed = 1244};
    struct network *n;
    const char *loss;
    struct dump d;
    struct err e;
    int rc;

    if (argc != 13) {
        fprintf(stderr, "usage: dump BACKEND BASE DEPTH|MODEL CHANNELS HEIGHT WIDTH BATCH "
                        "none|local CLASSES [weighted-]LOSS STEPS DIR\n");
        return 2;
    }
    c.backend = argv[1];
    c.base = atoi(argv[2]);
    if (atoi(argv[3]) == 0)
        c.model = argv[3];
    else
        c.depth = atoi(argv[3]);
    c.channels = atoi(argv[4]);
    c.height = atoi(argv[5]);
    c.width = atoi(argv[6]);
    c.batch_norm = strcmp(argv[8], "none") == 0 ? BATCH_NORM_NONE : BATCH_NORM_LOCAL;
    c.classes = atoi(argv[9]);
    c.weighs_dice = strncmp(argv[10], "weighted-", 9) == 0;
    c.class_weights = c.weighs_dice ? weights : NULL;
    loss = argv[10] + (c.weighs_dice ? 9 : 0);
    c.focal_gamma = strstr(loss, "focal") ? 2 : 0;
    if (strstr(loss, "tversky"))
        c.tversky[0] = 0.3, c.tversky[1] = 0.7;
    c.loss = strchr(loss, '+') ? LOSS_CE_DICE
             : strcmp(loss, "dice") == 0 || strcmp(loss, "tversky") == 0 ? LOSS_DICE : LOSS_CE;
    n = network_create(&c, &e);
    if (!n)
        return report_error(&e);
    d.index = open_in(argv[12], "index.txt");
    d.data = open_in(argv[12], "data.bin");
    rc = dump_steps(n, &c, atoi(argv[7]), atoi(argv[11]), &d, &e) < 0 ? report_error(&e) : 0;
    network_destroy(n);
    if (fclose(d.index) != 0 || fclose(d.data) != 0)
        rc = 1;
    return rc;
}
