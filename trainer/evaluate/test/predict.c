/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/evaluate/evaluate.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"

/* Every pixel is under a tile, tiles lie inside, and neighbours share at least the overlap. */
static void test_cover(int side, int tile, int overlap)
{
    int n = predict_tile_count(side, tile, overlap), end = 0, wrong = 0;

    for (int i = 0; i < n; i++) {
        int begin = predict_tile_begin(side, tile, overlap, i);
        wrong += begin < 0 || begin + tile > side || (i == 0 ? begin != 0 : begin > end - overlap);
        end = begin + tile;
    }
    ok(wrong == 0 && end == side, "%d pixels, tiles of %d, overlap %d: %d tiles", side, tile,
       overlap, n);
}

static const struct network_config config = {
    .model = "unet", .backend = "ref", .base = 2, .depth = 1, .channels = 1, .classes = 1,
    .height = 16, .width = 24, .batch_norm = BATCH_NORM_NONE, .threads = 1, .seed = 3};

static float *noise(size_t n)
{
    float *image = malloc(n * sizeof *image);

    for (size_t i = 0; image && i < n; i++)
        image[i] = (float)rng_uniform(1, 2, i);
    return image;
}

/* The rows of a prediction of one class, in order. */
struct taken {
    float *p;
    int width, next;
};

static int take_rows(void *arg, int y, int n, const float *p, struct err *e)
{
    struct taken *t = arg;
    size_t width = (size_t)t->width;

    if (y != t->next)
        bail_out("row %d follows %d", y, t->next);
    memcpy(t->p + (size_t)y * width, p, (size_t)n * width * sizeof *p);
    t->next = y + n;
    return 0;
}

static float *predict(struct network *n, const struct network_config *c,
                      const struct predict_image *image, int overlap)
{
    struct taken t = {calloc((size_t)image->height * (size_t)image->width, sizeof *t.p),
                      image->width, 0};
    const struct predict_calls calls = {.rows = take_rows, .arg = &t};
    struct err e;

    if (!t.p || predict_tiled(n, c, image, overlap, &calls, &e) || t.next != image->height)
        bail_out("no prediction");
    return t.p;
}

/* A network whose logits are the same everywhere: blended with any weights, so is the result. */
static void test_weights(struct network *n, int height, int width, int overlap)
{
    const struct weights *w = network_weights(n);
    float *saved = malloc(w->nparams * sizeof *saved), *image = noise((size_t)(height * width));
    float worst = 0, want = 1 / (1 + expf(-0.7F));

    if (!saved || !image)
        bail_out("no memory");
    memcpy(saved, w->value, w->nparams * sizeof *saved);
    memset(w->value, 0, w->nparams * sizeof *saved);
    for (size_t i = 0; i < w->nentries; i++) /* the bias of the only class */
        if (w->entries[i].role == WEIGHTS_PARAM && w->entries[i].count == 1)
            w->value[w->entries[i].offset] = 0.7F;
    const struct predict_image of = {RECORD_NUMBERS, height, width, image};
    float *p = predict(n, &config, &of, overlap);
    for (int i = 0; i < height * width; i++)
        worst = fmaxf(worst, fabsf(p[i] - want));
    ok(worst < 1e-6F, "%dx%d, overlap %d: weights add up to 1 everywhere: %g", height, width,
       overlap, (double)worst);
    memcpy(w->value, saved, w->nparams * sizeof *saved);
    free(p);
    free(image);
    free(saved);
}

/* In a corner that lies under one tile only, far from the tile's other edges, the tile's result
 * equals that of the whole image. */
static void test_against_whole(void)
{
    struct network_config large = config, tile = config;
    float *image = noise(64 * 72), worst = 0;
    const float *logits;
    struct err e;

    large.height = 64, large.width = 72;
    tile.height = 48, tile.width = 56;
    struct network *whole = network_create(&large, &e), *parts = network_create(&tile, &e);
    if (!whole || !parts || !image)
        bail_out("%s", e.text);
    const struct predict_image of = {RECORD_NUMBERS, 64, 72, image};
    float *p = predict(parts, &tile, &of, 44);
    memcpy(network_input(whole, false, 1, &e), image, 64 * 72 * sizeof *image);
    if (network_infer(whole, 1, &logits, &e))
        bail_out("%s", e.text);
    for (size_t y = 0; y < 4; y++)
        for (size_t x = 0; x < 4; x++)
            worst = fmaxf(worst, fabsf(p[y * 72 + x] - 1 / (1 + expf(-logits[y * 72 + x]))));
    ok(worst < 1e-6F, "a tile's answer is the whole image's: %g", (double)worst);
    free(p);
    free(image);
    network_destroy(whole);
    network_destroy(parts);
}

static void test_small(struct network *n)
{
    struct err e;
    float *image = noise(5 * 7);
    const struct predict_image of = {RECORD_NUMBERS, 5, 7, image};
    float *p = predict(n, &config, &of, 4);
    float *padded = calloc(16 * 24, sizeof *padded), worst = 0;
    const float *logits;

    if (!padded)
        bail_out("no memory");
    for (size_t y = 0; y < 5; y++)
        memcpy(padded + (y + 5) * 24 + 8, image + y * 7, 7 * sizeof *image);
    memcpy(network_input(n, false, 1, &e), padded, 16 * 24 * sizeof *padded);
    if (network_infer(n, 1, &logits, &e))
        bail_out("%s", e.text);
    for (size_t y = 0; y < 5; y++)
        for (size_t x = 0; x < 7; x++)
            worst = fmaxf(worst, fabsf(p[y * 7 + x] -
                                       1 / (1 + expf(-logits[(y + 5) * 24 + x + 8]))));
    ok(worst < 1e-6F, "an image smaller than a tile is centred in zeros: %g", (double)worst);
    free(padded);
    free(p);
    free(image);
}

int main(void)
{
    struct err e;
    struct network *n = network_create(&config, &e);

    if (!n)
        bail_out("%s", e.text);
    test_cover(100, 32, 8);
    test_cover(32, 32, 8);
    test_cover(33, 32, 8);
    test_cover(33, 32, 31);
    test_cover(1000, 96, 0);
    test_cover(56, 32, 8);
    is_int(predict_tile_begin(20, 32, 8, 0), -6, "a tile larger than the image is centred");
    test_weights(n, 61, 100, 8);
    test_weights(n, 40, 25, 0);
    test_weights(n, 10, 70, 12);
    test_against_whole();
    test_small(n);
    network_destroy(n);
    return done_testing();
}
