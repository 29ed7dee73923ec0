/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/models/models.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/ops/ops.h"

#define STAGES 3

static int check(const struct network_config *config, struct err *e)
{
    if (config->base < 1 || config->base > 1024)
        return err_set(e, ERR_CONFIG, "%s: base is %d; it can be 1 to 1024", config->model,
                       config->base);
    if (config->classes < 2 || config->classes > 250)
        return err_set(e, ERR_CONFIG, "%s: %d classes; it tells 2 to 250 apart", config->model,
                       config->classes);
    if (config->channels < 1 || config->channels > 64)
        return err_set(e, ERR_CONFIG, "%s: images have 1 to 64 channels, not %d", config->model,
                       config->channels);
    if (config->height < 4 || config->width < 4 || config->height > 65535 || config->width > 65535)
        return err_set(e, ERR_CONFIG, "%s: images of %dx%d; from 4x4 on it works", config->model,
                       config->height, config->width);
    if (config->loss != LOSS_CE)
        return err_set(e, ERR_CONFIG, "%s: Dice is a loss of masks; use train.loss: ce",
                       config->model);
    return 0;
}

/* What a network is built with, behind its name: "resnet44-projection". */
struct design {
    const struct network_config *config;
    int blocks;      /* per stage */
    bool projection; /* shortcuts by 1x1 convolution, and convolutions with bias */
};

static struct tensor *append_norm(struct graph *g, const struct design *d, const char *name,
                                  struct tensor *x, struct err *e)
{
    enum batch_norm_mode mode = d->config->batch_norm;

    return mode == BATCH_NORM_NONE ? x : batch_norm_append(g, name, x, mode == BATCH_NORM_SYNC, e);
}

/* A convolution needs a bias where no batch norm brings one. */
static struct tensor *append_conv(struct graph *g, const struct design *d, const char *block, int i,
                                  struct tensor *x, int64_t channels, int stride, struct err *e)
{
    bool bias = d->projection || d->config->batch_norm == BATCH_NORM_NONE;
    char name[TENSOR_NAME_SIZE];

    snprintf(name, sizeof name, "%s.conv%d", block, i);
    x = conv2d_append_as(g, name, x, channels, 3, stride, bias, e);
    snprintf(name, sizeof name, "%s.bn%d", block, i);
    return append_norm(g, d, name, x, e);
}

static struct tensor *append_block(struct graph *g, const struct design *d, int stage, int i,
                                   struct tensor *x, int stride, struct err *e)
{
    int64_t channels = (int64_t)d->config->base << stage;
    struct tensor *y, *shortcut = x;
    char block[32], name[TENSOR_NAME_SIZE];

    snprintf(block, sizeof block, "stage%d.%d", stage + 1, i + 1);
    y = append_conv(g, d, block, 1, x, channels, stride, e);
    y = append_conv(g, d, block, 2, relu_append(g, y, e), channels, 1, e);
    snprintf(name, sizeof name, "%s.shortcut", block);
    if (stride > 1)
        shortcut = d->projection ? conv2d_append_as(g, name, x, channels, 1, stride, true, e)
                                 : subsample_append(g, x, channels, e);
    return relu_append(g, add_append(g, y, shortcut, e), e);
}

static int build(struct graph *g, const struct network_config *config, int batch, struct err *e)
{
    struct design d = {config, (atoi(config->model + strlen("resnet")) - 2) / (2 * STAGES),
                       strchr(config->model, '-') != NULL};
    struct tensor *x;

    x = graph_input(g, "input", shape_nhwc(batch, config->height, config->width, config->channels),
                    e);
    g->input = x;
    g->target = graph_input(g, "target", shape_nhwc(batch, 1, 1, 1), e);
    x = relu_append(g, append_conv(g, &d, "stem", 1, x, config->base, 1, e), e);
    for (int stage = 0; stage < STAGES; stage++)
        for (int i = 0; i < d.blocks; i++)
            x = append_block(g, &d, stage, i, x, stage > 0 && i == 0 ? 2 : 1, e);
    /* A dense layer is a 1x1 convolution of a picture of one pixel. */
    g->logits = conv2d_append(g, "head", global_avg_pool_append(g, x, e), config->classes, 1, e);
    return g->logits && g->target ? 0 : -1;
}

#define RESNET(layers)                                                                 \
    const struct model resnet##layers##_model = {"resnet" #layers, true, 16, check, build}; \
    const struct model resnet##layers##_projection_model = {"resnet" #layers "-projection", true, \
                                                            16, check, build};

RESNET(20)
RESNET(32)
RESNET(44)
RESNET(56)
RESNET(110)
