/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/evaluate/evaluate.h"

/* The part of the result under the present row of tiles. The weight of a pixel under a tile is that
 * of its row times that of its column, and so is the sum of its weights. */
struct tile_canvas {
    const struct network_config *config;
    const struct predict_image *image;
    int overlap;
    float *sum;           /* [tile height][image width][classes] */
    float *tile_weights;  /* [tile height], [tile width] */
    float *rows;          /* [tile height]: sums of the weights */
    float *columns;       /* [image width]: the same */
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

void predict_image_read(const struct predict_image *image, size_t first, size_t n, float *dst)
{
    size_t size = image->kind == RECORD_NUMBERS ? sizeof(float) : 1;

    record_decode(image->kind, (const char *)image->values + first * size, RECORD_DIVISOR, n, dst);
}

static int clamp(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

/* Copies the part of the image under the tile at (y, x); the rest of the tile is zero. */
static void cut_tile(const struct tile_canvas *c, int y, int x, float *dst)
{
    const struct predict_image *image = c->image;
    int th = c->config->height, tw = c->config->width;
    int x0 = clamp(-x, 0, tw), x1 = clamp(image->width - x, 0, tw);
    size_t channels = (size_t)c->config->channels;

    memset(dst, 0, (size_t)th * (size_t)tw * channels * sizeof *dst);
    for (int r = clamp(-y, 0, th); r < clamp(image->height - y, 0, th); r++)
        predict_image_read(image,
                           ((size_t)(y + r) * (size_t)image->width + (size_t)(x + x0)) * channels,
                           (size_t)(x1 - x0) * channels,
                           dst + ((size_t)r * (size_t)tw + (size_t)x0) * channels);
}

/* A Gaussian around the tile's middle, with a standard deviation of an eighth of its side. */
static float tile_weight(int i, int side)
{
    float distance = ((float)i + 0.5F - (float)side / 2) / ((float)side / 8);

    return expf(-distance * distance / 2);
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
    int th = c->config->height, tw = c->config->width;
    size_t classes = (size_t)c->config->classes, width = (size_t)c->image->width;
    float p[256];

    for (int r = clamp(-y, 0, th); r < clamp(c->image->height - y, 0, th); r++)
        for (int q = clamp(-x, 0, tw); q < clamp(c->image->width - x, 0, tw); q++) {
            float *sum = c->sum + ((size_t)r * width + (size_t)(x + q)) * classes;
            float w = c->tile_weights[r] * c->tile_weights[th + q];

            predict_probabilities(logits + ((size_t)r * (size_t)tw + (size_t)q) * classes,
                                  c->config->classes, p);
            for (size_t k = 0; k < classes; k++)
                sum[k] += w * p[k];
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

/* Moves the canvas down by n rows. */
static void move_canvas(struct tile_canvas *c, int n)
{
    size_t row = (size_t)c->image->width * (size_t)c->config->classes;
    size_t kept = (size_t)(c->config->height - n), down = (size_t)n;

    memmove(c->sum, c->sum + down * row, kept * row * sizeof *c->sum);
    memset(c->sum + kept * row, 0, down * row * sizeof *c->sum);
    memmove(c->rows, c->rows + down, kept * sizeof *c->rows);
    memset(c->rows + kept, 0, down * sizeof *c->rows);
}

/* Passes on the rows of the canvas before `end`, which no later tile covers. y: the canvas's. */
static int put_rows(struct tile_canvas *c, int y, int end, const struct predict_calls *calls,
                    struct err *e)
{
    size_t width = (size_t)c->image->width, classes = (size_t)c->config->classes;
    int first = clamp(-y, 0, end);
    float *at = c->sum + (size_t)first * width * classes;
    const float *rows = at;

    end = clamp(c->image->height - y, 0, end);
    for (int r = first; r < end; r++)
        for (size_t x = 0; x < width; x++)
            for (size_t k = 0; k < classes; k++)
                *at++ /= c->rows[r] * c->columns[x];
    return calls->rows(calls->arg, y + first, end - first, rows, e);
}

static int run_tiles(struct network *n, struct tile_canvas *c, const struct predict_calls *calls,
                     struct err *e)
{
    int th = c->config->height, tw = c->config->width, width = c->image->width;
    int rows = predict_tile_count(c->image->height, th, c->overlap);
    int columns = predict_tile_count(width, tw, c->overlap);
    size_t total = (size_t)rows * (size_t)columns, done = 0;

    for (int k = 0; k < columns; k++) {
        int x = predict_tile_begin(width, tw, c->overlap, k);
        for (int q = clamp(-x, 0, tw); q < clamp(width - x, 0, tw); q++)
            c->columns[x + q] += c->tile_weights[th + q];
    }
    for (int i = 0; i < rows; i++) {
        int y = predict_tile_begin(c->image->height, th, c->overlap, i);
        int next = i + 1 < rows ? predict_tile_begin(c->image->height, th, c->overlap, i + 1)
                                : y + th;
        for (int k = 0; k < columns; k++) {
            if (err_interrupt(e, calls->interrupt) ||
                run_tile(n, c, y, predict_tile_begin(width, tw, c->overlap, k), e))
                return -1;
            if (calls->progress)
                calls->progress(calls->arg, ++done, total);
        }
        for (int r = 0; r < th; r++)
            c->rows[r] += c->tile_weights[r];
        if (put_rows(c, y, next - y, calls, e))
            return -1;
        move_canvas(c, next - y);
    }
    return 0;
}

int predict_overlap(const struct network_config *config)
{
    return (config->height < config->width ? config->height : config->width) / 2;
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
        *overlap = predict_overlap(config);
    return 0;
}

int predict_tiled(struct network *n, const struct network_config *config,
                  const struct predict_image *image, int overlap,
                  const struct predict_calls *calls, struct err *e)
{
    int th = config->height, tw = config->width;
    size_t row = (size_t)image->width * (size_t)config->classes;
    struct tile_canvas c = {
        .config = config, .image = image, .overlap = overlap,
        .sum = mem_zero((size_t)th * row, sizeof *c.sum, e),
        .tile_weights = mem_alloc((size_t)(th + tw), sizeof *c.tile_weights, e),
        .rows = mem_zero((size_t)th, sizeof *c.rows, e),
        .columns = mem_zero((size_t)image->width, sizeof *c.columns, e)};
    int rc = -1;

    if (c.sum && c.tile_weights && c.rows && c.columns) {
        for (int i = 0; i < th + tw; i++)
            c.tile_weights[i] = i < th ? tile_weight(i, th) : tile_weight(i - th, tw);
        rc = run_tiles(n, &c, calls, e);
    }
    free(c.columns);
    free(c.rows);
    free(c.tile_weights);
    free(c.sum);
    return rc;
}

int predict_infer_resized(struct network *n, const struct network_config *config,
                          const struct predict_image *image, const float **logits, struct err *e)
{
    size_t values =
        (size_t)image->height * (size_t)image->width * (size_t)config->channels;
    float *input = network_input(n, false, 1, e), *own = NULL;
    const float *numbers = image->values;

    if (!input)
        return -1;
    if (image->kind != RECORD_NUMBERS) {
        if (!(own = mem_alloc(values, sizeof *own, e)))
            return -1;
        predict_image_read(image, 0, values, own);
        numbers = own;
    }
    resize_pad(numbers, image->height, image->width, input, config->height, config->width,
               config->channels);
    free(own);
    return network_infer(n, 1, logits, e);
}

int predict_resized(struct network *n, const struct network_config *config,
                    const struct predict_image *image, const struct predict_calls *calls,
                    struct err *e)
{
    int height = image->height, width = image->width, rc = -1;
    struct resize_fit fit = resize_fit(height, width, config->height, config->width);
    size_t classes = (size_t)config->classes;
    const float *logits;

    if (predict_infer_resized(n, config, image, &logits, e))
        return -1;
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
        rc = calls->rows(calls->arg, 0, height, whole, e);
    }
    free(whole);
    free(small);
    return rc;
}
