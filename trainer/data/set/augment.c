/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/set/loader.h"

#include <float.h>
#include <math.h>

#include "src/rng.h"

/* Streams of rng.h, one per epoch; other modules use other streams. */
#define STREAM_AUGMENT (UINT64_C(0x4155474d) << 32)
#define NUMBERS_PER_PICTURE 256 /* upper limit of random numbers per image */
#define STREAM_CHANCES (UINT64_C(0x43484e43) << 32)
#define STREAM_NOISE (UINT64_C(0x4e4f4953) << 32)
#define NUMBERS_PER_CHANCE (1 + AUGMENT_CHANNELS) /* whether it applies, and its value by channel */

enum { DRAW_TURNS, DRAW_HFLIP, DRAW_VFLIP, DRAW_BRIGHTNESS, DRAW_CONTRAST, DRAW_ZOOM, DRAW_TOP,
       DRAW_LEFT, DRAW_DOWN, DRAW_RIGHT, DRAW_ELASTIC = 16 };

/* Maps a pixel of the result through turns and flips to its source: pixel (y, x) comes from index
 * origin + y * row + x * column. */
struct pixel_map {
    ptrdiff_t origin, row, column;
};

/* Where a pixel comes from before turns and flips: (y, x) + 1/2 times this, plus the origin. */
struct affine {
    float origin_y, origin_x, yy, yx, xy, xx;
};

/* nnU-Net v2's (nnUNetTrainer.get_training_transforms, batchgeneratorsv2): there a blur of
 * probability 0.2 takes each channel with 0.5. */
static const struct settings_chance nnunet[AUGMENT_CHANCES] = {
    [AUGMENT_ROTATE] = {0.2, -180, 180}, [AUGMENT_ZOOM] = {0.2, 0.7, 1.4},
    [AUGMENT_NOISE] = {0.1, 0, 0.1}, [AUGMENT_BLUR] = {0.1, 0.5, 1},
    [AUGMENT_MULTIPLY] = {0.15, 0.75, 1.25}, [AUGMENT_STRETCH] = {0.15, 0.75, 1.25},
    [AUGMENT_GAMMA_INVERTED] = {0.1, 0.7, 1.5}, [AUGMENT_GAMMA] = {0.3, 0.7, 1.5}};
static const struct settings_chance nnunet_oblong = {0.2, -15, 15}; /* rotation, sides 1 : 1.5 */

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
    float *line;  /* of pixels to blur, with BLUR_RADIUS more at both ends */
    bool has_chances;
    struct settings_chance chances[AUGMENT_CHANCES];
};

#define BLUR_RADIUS 30 /* three deviations of the widest */

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

static bool has_preset(const struct settings_augment *c)
{
    return c->preset && strcmp(c->preset, "none") != 0;
}

static bool mirrors(const struct settings_augment *c)
{
    return has_preset(c) && strcmp(c->preset, "nnunet") == 0;
}

/* Returns the setting's text, or "". */
static const char *chance_text(const struct settings_augment *c, enum augment_chance i)
{
    const char *const texts[AUGMENT_CHANCES] = {c->rotate, c->zoom, c->noise, c->blur, c->multiply,
                                                c->stretch, c->gamma_inverted, c->gamma};

    return texts[i] ? texts[i] : "";
}

bool augment_is_active(const struct settings_augment *c)
{
    bool has_text = false;

    for (unsigned i = 0; i < AUGMENT_CHANCES; i++)
        has_text |= *chance_text(c, i) != 0;
    return has_text || has_preset(c) || c->six || c->hflip || c->vflip || c->rot90 ||
           c->shift > 0 || changes_light(c) || interpolates(c);
}

/* Sets the chances to those of the preset, or of the settings that are given. */
static int choose_chances(struct augment *a, const struct settings_augment *c, struct err *e)
{
    bool oblong = 2 * a->height > 3 * a->width || 2 * a->width > 3 * a->height;

    for (unsigned i = 0; i < AUGMENT_CHANCES; i++) {
        const char *text = chance_text(c, i);
        if (!settings_decode_chance(text, -DBL_MAX, DBL_MAX, &a->chances[i]))
            return err_set(e, ERR_CONFIG, "augment: %s is not PROBABILITY:LOW..HIGH", text);
        if (has_preset(c) && !*text)
            a->chances[i] = i == AUGMENT_ROTATE && oblong ? nnunet_oblong : nnunet[i];
        a->has_chances |= a->chances[i].probability > 0;
    }
    return 0;
}

static double random_number(uint64_t seed, size_t epoch, size_t index, unsigned draw)
{
    return rng_uniform(seed, STREAM_AUGMENT + epoch, (uint64_t)index * NUMBERS_PER_PICTURE + draw);
}

/* Factors from below to above 1 are below it half of the time, as in nnU-Net. */
static float choose_value(enum augment_chance i, const struct settings_chance *c, double u)
{
    bool is_factor = i >= AUGMENT_MULTIPLY && c->low < 1 && c->high > 1;

    if (is_factor)
        return (float)(u < 0.5 ? c->low + (1 - c->low) * 2 * u : 1 + (c->high - 1) * (2 * u - 1));
    return (float)(c->low + (c->high - c->low) * u);
}

static void draw_chances(const struct augment *a, uint64_t seed, size_t epoch, size_t index,
                         struct augment_draw *d)
{
    const uint64_t stream = STREAM_CHANCES + epoch;

    for (unsigned i = 0; a->has_chances && i < AUGMENT_CHANCES; i++) {
        const struct settings_chance *c = &a->chances[i];
        uint64_t at = ((uint64_t)index * AUGMENT_CHANCES + i) * NUMBERS_PER_CHANCE;
        d->applies[i] = c->probability > 0 && rng_uniform(seed, stream, at) < c->probability;
        for (unsigned k = 0; d->applies[i] && k < (unsigned)a->channels; k++)
            d->value[i][k] = choose_value(i, c, rng_uniform(seed, stream, at + 1 + k));
    }
    if (d->applies[AUGMENT_NOISE])
        memcpy(d->noise, (uint64_t[]){seed, STREAM_NOISE + epoch, (uint64_t)index << 32},
               sizeof d->noise);
}

void augment_draw(const struct augment *a, uint64_t seed, size_t epoch, size_t index,
                  struct augment_draw *d)
{
    const struct settings_augment *c = &a->config;
    const size_t npoints = AUGMENT_POINTS * AUGMENT_POINTS;

    memset(d, 0, sizeof *d);
    if (c->rot90)
        d->turns = a->height == a->width
                       ? (int)(4 * random_number(seed, epoch, index, DRAW_TURNS))
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
    draw_chances(a, seed, epoch, index, d);
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
    size_t line = (size_t)(height > width ? height : width) + 2 * (size_t)BLUR_RADIUS;
    struct augment *a = mem_zero(1, sizeof *a, e);

    if (!a)
        return NULL;
    a->config = *config;
    a->config.hflip |= mirrors(config);
    a->config.vflip |= mirrors(config);
    a->height = height;
    a->width = width;
    a->channels = channels;
    a->has_masks = has_masks;
    bool is_wrong = choose_chances(a, config, e) != 0;
    bool changes_values = interpolates(config) || changes_light(config) || a->has_chances;
    a->rows = mem_zero((size_t)height, sizeof *a->rows, e);
    a->columns = mem_zero((size_t)width, sizeof *a->columns, e);
    a->line = mem_zero(line, sizeof *a->line, e);
    a->image = changes_values ? mem_alloc(values, sizeof *a->image, e) : NULL;
    if (is_wrong || !a->rows || !a->columns || !a->line || (changes_values && !a->image)) {
        augment_destroy(a);
        return NULL;
    }
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
    free(a->line);
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

/* Returns a coordinate of the image for any: the image continues with its mirror images. */
static float mirror(float at, int n)
{
    float period = 2 * (float)n, t = at + 0.5f;

    if (t >= 0 && t <= (float)n)
        return at;
    t -= period * floorf(t / period);
    return (t > (float)n ? period - t : t) - 0.5f;
}

static bool moves_by_chance(const struct augment_draw *d)
{
    return d->applies[AUGMENT_ROTATE] || d->applies[AUGMENT_ZOOM];
}

/* The crop of the rotation by an angle a (counterclockwise) and the window s about the centre:
 * (y, x) = c + s (cos a, sin a; -sin a, cos a) ((y, x) - c). Without both, the crop's bits. */
static struct affine make_affine(const struct augment *a, const struct augment_draw *d)
{
    double angle = (double)d->value[AUGMENT_ROTATE][0] * (M_PI / 180);
    float s = d->applies[AUGMENT_ZOOM] ? d->value[AUGMENT_ZOOM][0] : 1;
    float c = s * (float)cos(angle), n = s * (float)sin(angle);
    float cy = (float)a->height / 2, cx = (float)a->width / 2;

    return (struct affine){.origin_y = d->top * (float)a->height + d->zoom * (cy - c * cy - n * cx),
                           .origin_x = d->left * (float)a->width + d->zoom * (cx + n * cy - c * cx),
                           .yy = d->zoom * c, .yx = d->zoom * n,
                           .xy = -d->zoom * n, .xx = d->zoom * c};
}

/* mask.src may be NULL. */
static void copy_warped(const struct augment *a, const struct augment_draw *d, struct pixel_map v,
                        const float *image, float *dst_image, struct plane mask)
{
    float max_y = (float)(a->height - 1), max_x = (float)(a->width - 1);
    const struct affine m = make_affine(a, d);
    const bool mirrored = moves_by_chance(d);
    float dx[AUGMENT_POINTS], dy[AUGMENT_POINTS];

    for (int y = 0; y < a->height; y++) {
        blend_points(&a->rows[y], d->dx, dx);
        blend_points(&a->rows[y], d->dy, dy);
        for (int x = 0; x < a->width; x++) {
            float to_y = (float)y + blend_line(&a->columns[x], dy) + 0.5f;
            float to_x = (float)x + blend_line(&a->columns[x], dx) + 0.5f;
            float at_y = m.origin_y + (to_y * m.yy + to_x * m.yx) - 0.5f - (float)d->down;
            float at_x = m.origin_x + (to_x * m.xx + to_y * m.xy) - 0.5f - (float)d->right;
            at_y = clamp(mirrored ? mirror(at_y, a->height) : at_y, max_y);
            at_x = clamp(mirrored ? mirror(at_x, a->width) : at_x, max_x);
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

/* Of a channel's pixels; sd: standard deviation. */
struct moments {
    float min, max, mean, sd;
};

static struct moments measure(const float *image, size_t n, size_t step)
{
    struct moments m = {.min = *image, .max = *image};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        float v = image[i * step];
        m.min = v < m.min ? v : m.min;
        m.max = v > m.max ? v : m.max;
        sum += v;
    }
    m.mean = (float)(sum / (double)n);
    for (size_t i = 0; i < n; i++) {
        double off = (double)(image[i * step] - m.mean);
        squares += off * off;
    }
    m.sd = (float)sqrt(squares / (double)n);
    return m;
}

/* A pixel's noise is the same in all channels, in units of each channel's deviation. */
static void add_noise(const struct augment_draw *d, float *image, size_t n, size_t nc)
{
    float scale[AUGMENT_CHANNELS];

    for (size_t c = 0; c < nc; c++)
        scale[c] = d->value[AUGMENT_NOISE][0] * measure(image + c, n, nc).sd;
    for (size_t i = 0; i < n; i++) {
        float noise = (float)rng_normal(d->noise[0], d->noise[1], d->noise[2] + i);
        for (size_t c = 0; c < nc; c++)
            image[i * nc + c] += scale[c] * noise;
    }
}

/* Blurs n pixels at a distance of step; the image is mirrored at its edges. */
static void blur_line(float *line, float *image, int n, size_t step, const float *weights,
                      int radius)
{
    for (int i = -radius; i < n + radius; i++) {
        int k = ((i % (2 * n)) + 2 * n) % (2 * n);
        line[i + radius] = image[(size_t)(k < n ? k : 2 * n - 1 - k) * step];
    }
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int k = 0; k <= 2 * radius; k++)
            sum += weights[k] * line[i + k];
        image[(size_t)i * step] = sum;
    }
}

/* image: the first number of a channel */
static void blur(const struct augment *a, float *image, float sigma)
{
    int radius = (int)ceilf(3 * sigma), height = a->height, width = a->width;
    float weights[2 * BLUR_RADIUS + 1], sum = 0;
    size_t nc = (size_t)a->channels;

    if (!(sigma > 0))
        return;
    for (int k = -radius; k <= radius; k++)
        sum += weights[k + radius] = expf(-(float)(k * k) / (2 * sigma * sigma));
    for (int k = 0; k <= 2 * radius; k++)
        weights[k] /= sum;
    for (int y = 0; y < height; y++)
        blur_line(a->line, image + (size_t)y * (size_t)width * nc, width, nc, weights, radius);
    for (int x = 0; x < width; x++)
        blur_line(a->line, image + (size_t)x * nc, height, (size_t)width * nc, weights, radius);
}

static void stretch(float *image, size_t n, size_t step, float factor)
{
    struct moments m = measure(image, n, step);

    for (size_t i = 0; i < n * step; i += step)
        image[i] = fminf(fmaxf((image[i] - m.mean) * factor + m.mean, m.min), m.max);
}

/* The power of the values from 0 to 1, or inverted of 1 minus them, brought back to mean and
 * deviation. */
static void change_gamma(float *image, size_t n, size_t step, float gamma, bool inverted)
{
    struct moments m = measure(image, n, step);
    float range = m.max - m.min, from = inverted ? m.max : m.min, sign = inverted ? -1 : 1;

    if (!(range > 0))
        return;
    for (size_t i = 0; i < n * step; i += step)
        image[i] = from + sign * range * powf(sign * (image[i] - from) / range, gamma);
    struct moments changed = measure(image, n, step);
    float scale = changed.sd > 0 ? m.sd / changed.sd : 1;
    for (size_t i = 0; i < n * step; i += step)
        image[i] = (image[i] - changed.mean) * scale + m.mean;
}

static void change_values(const struct augment *a, const struct augment_draw *d, float *image)
{
    size_t n = (size_t)a->height * (size_t)a->width, nc = (size_t)a->channels;

    if (d->applies[AUGMENT_NOISE])
        add_noise(d, image, n, nc);
    for (size_t c = 0; c < nc; c++) {
        if (d->applies[AUGMENT_BLUR])
            blur(a, image + c, d->value[AUGMENT_BLUR][c]);
        for (size_t i = c; d->applies[AUGMENT_MULTIPLY] && i < n * nc; i += nc)
            image[i] *= d->value[AUGMENT_MULTIPLY][c];
        if (d->applies[AUGMENT_STRETCH])
            stretch(image + c, n, nc, d->value[AUGMENT_STRETCH][c]);
        if (d->applies[AUGMENT_GAMMA_INVERTED])
            change_gamma(image + c, n, nc, d->value[AUGMENT_GAMMA_INVERTED][c], true);
        if (d->applies[AUGMENT_GAMMA])
            change_gamma(image + c, n, nc, d->value[AUGMENT_GAMMA][c], false);
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
    if (interpolates(&a->config) || moves_by_chance(d)) {
        copy_warped(a, d, v, (const void *)image.src, (void *)image.dst, target);
    } else {
        move_pixels(a, d, v, image);
        if (target.src)
            move_pixels(a, d, v, target);
    }
    if (a->has_chances)
        change_values(a, d, (void *)image.dst);
    if (changes_light(&a->config))
        change_brightness(a, d, (void *)image.dst);
}
