/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/set/loader.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"
#include "src/rng.h"

/* Streams of rng.h, one per epoch; other modules use other streams. */
#define STREAM_AUGMENT (UINT64_C(0x4155474d) << 32)
#define NUMBERS_PER_PICTURE 256 /* upper limit of random numbers per image */

enum { DRAW_TURNS, DRAW_HFLIP, DRAW_VFLIP, DRAW_BRIGHTNESS, DRAW_CONTRAST, DRAW_ZOOM, DRAW_TOP,
       DRAW_LEFT, DRAW_DOWN, DRAW_RIGHT, DRAW_ELASTIC = 16 };

/* Maps a pixel of the result through turns and flips to its source: pixel (y, x) comes from index
 * origin + y * row + x * column. */
struct pixel_map {
    ptrdiff_t origin, row, column;
};

/* The first of the four control points that influence a row or column, and their weights. */
struct spline {
    int first;
    float weight[4];
};

struct augment {
    struct settings_augment config;
    int height, width, channels;
    bool has_masks;
    struct spline *rows, *columns;
    float *image; /* of bytes whose values change */
};

/* Pixels of an image or a mask; size: bytes of one. */
struct plane {
    const char *src;
    char *dst;
    size_t size;
};

static bool interpolates(const struct settings_augment *c)
{
    return c->crop > 0 || c->elastic > 0;
}

static bool changes_light(const struct settings_augment *c)
{
    return c->brightness > 0 || c->contrast > 0;
}

bool augment_is_active(const struct settings_augment *c)
{
    return c->six || c->hflip || c->vflip || c->rot90 || c->shift > 0 || changes_light(c) ||
           interpolates(c);
}

static double random_number(uint64_t seed, size_t epoch, size_t index, unsigned draw)
{
    return rng_uniform(seed, STREAM_AUGMENT + epoch, (uint64_t)index * NUMBERS_PER_PICTURE + draw);
}

void augment_draw(const struct settings_augment *c, bool square, uint64_t seed, size_t epoch,
                  size_t index, struct augment_draw *d)
{
    const size_t npoints = AUGMENT_POINTS * AUGMENT_POINTS;

    memset(d, 0, sizeof *d);
    if (c->rot90)
        d->turns = square ? (int)(4 * random_number(seed, epoch, index, DRAW_TURNS))
                          : 2 * (int)(2 * random_number(seed, epoch, index, DRAW_TURNS));
    d->hflip = c->hflip && random_number(seed, epoch, index, DRAW_HFLIP) < 0.5;
    d->vflip = c->vflip && random_number(seed, epoch, index, DRAW_VFLIP) < 0.5;
    d->down = (int)((2 * c->shift + 1) * random_number(seed, epoch, index, DRAW_DOWN)) - c->shift;
    d->right = (int)((2 * c->shift + 1) * random_number(seed, epoch, index, DRAW_RIGHT)) - c->shift;
    d->brightness =
        (float)(c->brightness * (2 * random_number(seed, epoch, index, DRAW_BRIGHTNESS) - 1));
    d->contrast =
        (float)(1 + c->contrast * (2 * random_number(seed, epoch, index, DRAW_CONTRAST) - 1));
    d->zoom = (float)(1 - c->crop * random_number(seed, epoch, index, DRAW_ZOOM));
    d->top = (float)(random_number(seed, epoch, index, DRAW_TOP) * (1 - (double)d->zoom));
    d->left = (float)(random_number(seed, epoch, index, DRAW_LEFT) * (1 - (double)d->zoom));
    for (unsigned i = 0; c->elastic > 0 && i < npoints; i++) {
        double x = random_number(seed, epoch, index, DRAW_ELASTIC + 2 * i);
        double y = random_number(seed, epoch, index, DRAW_ELASTIC + 2 * i + 1);
        d->dx[i / AUGMENT_POINTS][i % AUGMENT_POINTS] = (float)(c->elastic * (2 * x - 1));
        d->dy[i / AUGMENT_POINTS][i % AUGMENT_POINTS] = (float)(c->elastic * (2 * y - 1));
    }
}

void augment_six(size_t copy, struct augment_draw *dst)
{
    int variant = (int)(copy % 6);

    dst->vflip = variant == 1;
    dst->hflip = variant == 2;
    dst->turns = variant > 2 ? variant - 2 : 0;
}

/* Uniform cubic B-spline: the four weights are positive and add up to 1, so that no pixel moves
 * farther than the farthest control point. */
static struct spline spline_at(int i, int n)
{
    float at = ((float)i + 0.5f) * AUGMENT_CELLS / (float)n;
    int cell = (int)at < AUGMENT_CELLS ? (int)at : AUGMENT_CELLS - 1;
    float t = at - (float)cell, u = 1 - t;

    return (struct spline){cell, {u * u * u / 6, (3 * t * t * t - 6 * t * t + 4) / 6,
                                  (3 * u * u * u - 6 * u * u + 4) / 6, t * t * t / 6}};
}

struct augment *augment_create(const struct settings_augment *config, int height, int width,
                               int channels, bool has_masks, struct err *e)
{
    size_t values = (size_t)height * (size_t)width * (size_t)channels;
    bool changes_values = interpolates(config) || changes_light(config);
    struct augment *a = mem_zero(1, sizeof *a, e);

    if (!a)
        return NULL;
    a->rows = mem_zero((size_t)height, sizeof *a->rows, e);
    a->columns = mem_zero((size_t)width, sizeof *a->columns, e);
    a->image = changes_values ? mem_alloc(values, sizeof *a->image, e) : NULL;
    if (!a->rows || !a->columns || (changes_values && !a->image)) {
        augment_destroy(a);
        return NULL;
    }
    a->config = *config;
    a->height = height;
    a->width = width;
    a->channels = channels;
    a->has_masks = has_masks;
    for (int y = 0; y < height; y++)
        a->rows[y] = spline_at(y, height);
    for (int x = 0; x < width; x++)
        a->columns[x] = spline_at(x, width);
    return a;
}

void augment_destroy(struct augment *a)
{
    if (!a)
        return;
    free(a->rows);
    free(a->columns);
    free(a->image);
    free(a);
}

/* Turns are applied before flips. After a quarter turn counterclockwise, (y, x) comes from (x,
 * width - 1 - y). */
static struct pixel_map make_pixel_map(const struct augment *a, const struct augment_draw *d)
{
    ptrdiff_t w = a->width, h = a->height, last_row = (h - 1) * w, last_column = w - 1;
    struct pixel_map v = {0, w, 1};

    switch (d->turns) {
    case 1: v = (struct pixel_map){last_column, -1, w}; break;
    case 2: v = (struct pixel_map){last_row + last_column, -w, -1}; break;
    case 3: v = (struct pixel_map){last_row, 1, -w}; break;
    default: break;
    }
    if (d->hflip) {
        v.origin += v.column * (w - 1);
        v.column = -v.column;
    }
    if (d->vflip) {
        v.origin += v.row * (h - 1);
        v.row = -v.row;
    }
    return v;
}

static int clamp_int(int v, int max)
{
    return v < 0 ? 0 : v > max ? max : v;
}

/* Inline, so that size is a constant where the caller's is. */
static inline void move_sized(const struct augment *a, const struct augment_draw *d,
                              struct pixel_map v, const char *src, char *dst, size_t size)
{
    for (int y = 0; y < a->height; y++) {
        ptrdiff_t row = v.origin + clamp_int(y - d->down, a->height - 1) * v.row;
        for (int x = 0; x < a->width; x++, dst += size)
            memcpy(dst, src + (row + clamp_int(x - d->right, a->width - 1) * v.column) *
                              (ptrdiff_t)size, size);
    }
}

static void move_pixels(const struct augment *a, const struct augment_draw *d, struct pixel_map v,
                        struct plane p)
{
    switch (p.size) {
    case 1: move_sized(a, d, v, p.src, p.dst, 1); break;
    case 3: move_sized(a, d, v, p.src, p.dst, 3); break;
    case 4: move_sized(a, d, v, p.src, p.dst, 4); break;
    default: move_sized(a, d, v, p.src, p.dst, p.size); break;
    }
}

static float clamp(float v, float max)
{
    return v < 0 ? 0 : v > max ? max : v;
}

/* Interpolates the control points of one row of pixels from the four rows that influence it. */
static void blend_points(const struct spline *s, const float points[AUGMENT_POINTS][AUGMENT_POINTS],
                         float dst[AUGMENT_POINTS])
{
    for (int i = 0; i < AUGMENT_POINTS; i++)
        dst[i] = s->weight[0] * points[s->first][i] + s->weight[1] * points[s->first + 1][i] +
                 s->weight[2] * points[s->first + 2][i] + s->weight[3] * points[s->first + 3][i];
}

static float blend_line(const struct spline *s, const float points[AUGMENT_POINTS])
{
    return s->weight[0] * points[s->first] + s->weight[1] * points[s->first + 1] +
           s->weight[2] * points[s->first + 2] + s->weight[3] * points[s->first + 3];
}

static void read_bilinear(const struct augment *a, struct pixel_map v, const float *image, float y,
                          float x, float *dst)
{
    int y0 = (int)y, x0 = (int)x;
    int y1 = y0 + 1 < a->height ? y0 + 1 : y0, x1 = x0 + 1 < a->width ? x0 + 1 : x0;
    float fy = y - (float)y0, fx = x - (float)x0;
    ptrdiff_t nc = a->channels;
    const float *p00 = image + (v.origin + y0 * v.row + x0 * v.column) * nc;
    const float *p01 = image + (v.origin + y0 * v.row + x1 * v.column) * nc;
    const float *p10 = image + (v.origin + y1 * v.row + x0 * v.column) * nc;
    const float *p11 = image + (v.origin + y1 * v.row + x1 * v.column) * nc;

    for (ptrdiff_t c = 0; c < nc; c++) {
        float above = p00[c] + (p01[c] - p00[c]) * fx, below = p10[c] + (p11[c] - p10[c]) * fx;
        dst[c] = above + (below - above) * fy;
    }
}

/* mask.src may be NULL. */
static void copy_warped(const struct augment *a, const struct augment_draw *d, struct pixel_map v,
                        const float *image, float *dst_image, struct plane mask)
{
    float max_y = (float)(a->height - 1), max_x = (float)(a->width - 1);
    float top = d->top * (float)a->height, left = d->left * (float)a->width;
    float dx[AUGMENT_POINTS], dy[AUGMENT_POINTS];

    for (int y = 0; y < a->height; y++) {
        blend_points(&a->rows[y], d->dx, dx);
        blend_points(&a->rows[y], d->dy, dy);
        for (int x = 0; x < a->width; x++) {
            float at_y = (float)y + blend_line(&a->columns[x], dy);
            float at_x = (float)x + blend_line(&a->columns[x], dx);
            at_y = clamp(top + (at_y + 0.5f) * d->zoom - 0.5f - (float)d->down, max_y);
            at_x = clamp(left + (at_x + 0.5f) * d->zoom - 0.5f - (float)d->right, max_x);
            read_bilinear(a, v, image, at_y, at_x, dst_image);
            ptrdiff_t from = v.origin + (int)(at_y + 0.5f) * v.row + (int)(at_x + 0.5f) * v.column;
            if (mask.src) {
                memcpy(mask.dst, mask.src + from * (ptrdiff_t)mask.size, mask.size);
                mask.dst += mask.size;
            }
            dst_image += a->channels;
        }
    }
}

static void change_brightness(const struct augment *a, const struct augment_draw *d, float *image)
{
    size_t n = (size_t)a->height * (size_t)a->width, nc = (size_t)a->channels;

    for (size_t c = 0; c < nc; c++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += image[i * nc + c];
        float mean = (float)(sum / (double)n);
        for (size_t i = 0; i < n; i++) {
            float *p = &image[i * nc + c];
            *p = clamp((*p - mean) * d->contrast + mean + d->brightness, 1);
        }
    }
}

void augment_apply(struct augment *a, const struct augment_draw *d, const struct record *src,
                   struct record *dst)
{
    size_t pixels = (size_t)a->height * (size_t)a->width, values = pixels * (size_t)a->channels;
    struct pixel_map v = make_pixel_map(a, d);
    struct plane image = {.src = record_image(src), .dst = record_image(dst)};

    *dst = *src;
    if (a->image && src->image_kind == RECORD_BYTES) {
        record_decode(RECORD_BYTES, image.src, RECORD_DIVISOR, values, a->image);
        image.src = (const char *)a->image;
        dst->image_kind = RECORD_NUMBERS;
    }
    image.size = (size_t)a->channels * (dst->image_kind == RECORD_NUMBERS ? sizeof(float) : 1);
    struct plane target = {record_target(src, values), record_target(dst, values),
                           dst->target_kind == RECORD_NUMBERS ? sizeof(float) : 1};
    if (!a->has_masks) {
        memcpy(target.dst, target.src, RECORD_PLANE(dst->target_kind, 1));
        target.src = NULL;
    }
    if (interpolates(&a->config)) {
        copy_warped(a, d, v, (const void *)image.src, (void *)image.dst, target);
    } else {
        move_pixels(a, d, v, image);
        if (target.src)
            move_pixels(a, d, v, target);
    }
    if (changes_light(&a->config))
        change_brightness(a, d, (void *)image.dst);
}
