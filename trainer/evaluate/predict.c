/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/evaluate/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

struct tile_canvas {
    const struct network_config *config;
    const float *image;
    int height, width, overlap;
    float *sum, *weight; /* [height][width][classes], [height][width] */
};

int predict_tile_count(int side, int tile, int overlap)
{
    int step = tile - overlap;

    return side <= tile ? 1 : (side - overlap + step - 1) / step;
}

int predict_tile_begin(int side, int tile, int overlap, int i)
{
    int begin = i * (tile - overlap);

    if (side <= tile)
        return (side - tile) / 2; /* 0 or negative: the image is centred in the tile */
    return begin + tile > side ? side - tile : begin;
}

static int clamp(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

/* Copies the part of the image under the tile at (y, x); the rest of the tile is zero. */
static void cut_tile(const struct tile_canvas *c, int y, int x, float *dst)
{
    int th = c->config->height, tw = c->config->width, channels = c->config->channels;
    int x0 = clamp(-x, 0, tw), x1 = clamp(c->width - x, 0, tw);

    memset(dst, 0, (size_t)th * (size_t)tw * (size_t)channels * sizeof *dst);
    for (int r = clamp(-y, 0, th); r < clamp(c->height - y, 0, th); r++)
        memcpy(dst + ((size_t)r * (size_t)tw + (size_t)x0) * (size_t)channels,
               c->image +
                   ((size_t)(y + r) * (size_t)c->width + (size_t)(x + x0)) * (size_t)channels,
               (size_t)(x1 - x0) * (size_t)channels * sizeof *dst);
}

static float ramp(int i, int tile, int overlap)
{
    int edge = i + 1 < tile - i ? i + 1 : tile - i;

    return (float)(edge < overlap + 1 ? edge : overlap + 1);
}

void predict_probabilities(const float *logits, int classes, float *p)
{
    float largest = logits[0], sum = 0;

    if (classes == 1) {
        p[0] = 1 / (1 + expf(-logits[0]));
        return;
    }
    for (int k = 1; k < classes; k++)
        largest = fmaxf(largest, logits[k]);
    for (int k = 0; k < classes; k++)
        sum += p[k] = expf(logits[k] - largest);
    for (int k = 0; k < classes; k++)
        p[k] /= sum;
}

int predict_largest(const float *v, int classes)
{
    int best = 0;

    for (int k = 1; k < classes; k++)
        best = v[k] > v[best] ? k : best;
    return best;
}

static void add_tile(struct tile_canvas *c, int y, int x, const float *logits)
{
    int th = c->config->height, tw = c->config->width, classes = c->config->classes;
    float p[256];

    for (int r = clamp(-y, 0, th); r < clamp(c->height - y, 0, th); r++)
        for (int q = clamp(-x, 0, tw); q < clamp(c->width - x, 0, tw); q++) {
            size_t at = (size_t)(y + r) * (size_t)c->width + (size_t)(x + q);
            float w = ramp(r, th, c->overlap) * ramp(q, tw, c->overlap);

            predict_probabilities(logits + ((size_t)r * (size_t)tw + (size_t)q) * (size_t)classes,
                                classes, p);
            for (int k = 0; k < classes; k++)
                c->sum[at * (size_t)classes + (size_t)k] += w * p[k];
            c->weight[at] += w;
        }
}

static int run_tile(struct network *n, struct tile_canvas *c, int y, int x, struct err *e)
{
    float *input = network_input(n, false, 1, e);
    const float *logits;

    if (!input)
        return -1;
    cut_tile(c, y, x, input);
    if (network_infer(n, 1, &logits, e))
        return -1;
    add_tile(c, y, x, logits);
    return 0;
}

static int run_tiles(struct network *n, struct tile_canvas *c, const struct predict_watch *watch,
                     struct err *e)
{
    int th = c->config->height, tw = c->config->width;
    int rows = predict_tile_count(c->height, th, c->overlap);
    int columns = predict_tile_count(c->width, tw, c->overlap);
    size_t total = (size_t)rows * (size_t)columns, done = 0;

    for (int i = 0; i < rows; i++)
        for (int k = 0; k < columns; k++) {
            if ((watch && err_interrupt(e, watch->interrupt)) ||
                run_tile(n, c, predict_tile_begin(c->height, th, c->overlap, i),
                         predict_tile_begin(c->width, tw, c->overlap, k), e))
                return -1;
            if (watch && watch->progress)
                watch->progress(watch->arg, ++done, total);
        }
    return 0;
}

int predict_check_overlap(const struct network_config *config, bool native, long *overlap,
                       struct err *e)
{
    int side = config->height < config->width ? config->height : config->width, most = side * 3 / 4;
    const struct model *model = model_find(config->model);

    if (!native && *overlap >= 0)
        return err_set(e, ERR_USAGE, "--overlap needs --native, which cuts images into tiles");
    if (native && model->classifies)
        return err_set(e, ERR_USAGE, "--native: %s classifies whole images and needs them at its own size",
                       model->title);
    if (*overlap > most)
        return err_set(e, ERR_USAGE,
                       "--overlap %ld: must be at most %d, three quarters of the smaller "
                       "side of tiles of %dx%d, which computes each pixel 16 times",
                       *overlap, most, config->height, config->width);
    if (*overlap < 0)
        *overlap = side / 4;
    return 0;
}

float *predict_tiled(struct network *n, const struct network_config *config, const float *image,
                     int height, int width, int overlap, const struct predict_watch *watch,
                     struct err *e)
{
    size_t pixels = (size_t)height * (size_t)width, classes = (size_t)config->classes;
    struct tile_canvas c = {config,
                            image,
                            height,
                            width,
                            overlap,
                            mem_zero(pixels * classes, sizeof(float), e),
                            mem_zero(pixels, sizeof(float), e)};
    int rc = c.sum && c.weight ? run_tiles(n, &c, watch, e) : -1;

    for (size_t i = 0; rc == 0 && i < pixels * classes; i++)
        c.sum[i] /= c.weight[i / classes];
    free(c.weight);
    if (rc == 0)
        return c.sum;
    free(c.sum);
    return NULL;
}

float *predict_resized(struct network *n, const struct network_config *config, const float *image,
                       int height, int width, struct err *e)
{
    struct resize_fit fit = resize_fit(height, width, config->height, config->width);
    size_t classes = (size_t)config->classes;
    float *input = network_input(n, false, 1, e);
    const float *logits;

    if (!input)
        return NULL;
    resize_pad(image, height, width, input, config->height, config->width, config->channels);
    if (network_infer(n, 1, &logits, e))
        return NULL;
    float *small = mem_alloc((size_t)fit.height * (size_t)fit.width, classes * sizeof *small, e);
    float *whole = mem_alloc((size_t)height * (size_t)width, classes * sizeof *whole, e),
          *at = small;
    for (int y = 0; small && y < fit.height; y++)
        for (int x = 0; x < fit.width; x++, at += classes) {
            size_t i = (size_t)(fit.top + y) * (size_t)config->width + (size_t)(fit.left + x);
            predict_probabilities(logits + i * classes, config->classes, at);
        }
    if (small && whole) {
        resize_stretch(small, fit.height, fit.width, whole, height, width, config->classes);
    } else {
        free(whole);
        whole = NULL;
    }
    free(small);
    return whole;
}
