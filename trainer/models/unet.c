/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/models/models.h"

#include "trainer/ops/ops.h"

#define MAX_DEPTH 8
#define MAX_BASE 1024
#define MAX_CHANNELS 64
#define MAX_CLASSES 250
#define MAX_SIDE 65536

static int check_range(const char *what, int value, int max, struct err *e)
{
    if (value < 1 || value > max)
        return err_set(e, ERR_CONFIG, "unet: %s is %d; it can be 1 to %d", what, value, max);
    return 0;
}

static int check_side(const char *what, int value, int depth, struct err *e)
{
    int step = 1 << depth, below = value / step * step;

    if (value < 1 || value > MAX_SIDE || value % step != 0)
        return err_set(e, ERR_CONFIG,
                       "unet: a %s of %d can't be halved %d times; it must be a multiple of %d, "
                       "for example %d",
                       what, value, depth, step, below < step ? step : below);
    return 0;
}

static int check(const struct network_config *config, struct err *e)
{
    if (check_range("base", config->base, MAX_BASE, e) < 0 ||
        check_range("depth", config->depth, MAX_DEPTH, e) < 0 ||
        check_range("channels", config->channels, MAX_CHANNELS, e) < 0 ||
        check_range("classes", config->classes, MAX_CLASSES, e) < 0)
        return -1;
    if (check_side("height", config->height, config->depth, e) < 0)
        return -1;
    return check_side("width", config->width, config->depth, e);
}

static struct tensor *append_block(struct graph *g, const struct network_config *config,
                                   const char *block, struct tensor *x, int64_t channels,
                                   struct err *e)
{
    char name[TENSOR_NAME_SIZE];

    for (int i = 1; i <= 2; i++) {
        snprintf(name, sizeof name, "%s.conv%d", block, i);
        x = conv2d_append(g, name, x, channels, 3, e);
        if (config->batch_norm != BATCH_NORM_NONE) {
            snprintf(name, sizeof name, "%s.bn%d", block, i);
            x = batch_norm_append(g, name, x, config->batch_norm == BATCH_NORM_SYNC, e);
        }
        x = relu_append(g, x, e);
    }
    return x;
}

static int build(struct graph *g, const struct network_config *config, int batch, struct err *e)
{
    int64_t base = config->base;
    struct tensor *x, *skips[MAX_DEPTH];
    char name[TENSOR_NAME_SIZE];

    x = graph_input(g, "input", shape_nhwc(batch, config->height, config->width, config->channels),
                    e);
    g->input = x;
    g->target = graph_input(g, "target", shape_nhwc(batch, config->height, config->width, 1), e);
    for (int i = 0; i < config->depth; i++) {
        snprintf(name, sizeof name, "enc%d", i + 1);
        skips[i] = append_block(g, config, name, x, base << i, e);
        x = max_pool2d_append(g, skips[i], e);
    }
    x = append_block(g, config, "bridge", x, base << config->depth, e);
    for (int i = config->depth - 1; i >= 0; i--) {
        snprintf(name, sizeof name, "up%d", i + 1);
        x = conv_transpose2d_append(g, name, x, base << i, e);
        snprintf(name, sizeof name, "dec%d", i + 1);
        x = append_block(g, config, name, concat_append(g, x, skips[i], e), base << i, e);
    }
    g->logits = conv2d_append(g, "head", x, config->classes, 1, e);
    return g->logits && g->target ? 0 : -1;
}

const struct model unet_model = {"unet", false, 8, check, build};
