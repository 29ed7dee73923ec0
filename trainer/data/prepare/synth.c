/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/prepare/prepare.h"

#include "src/rng.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/prepare/prepare_internal.h"

/* Streams of rng.h, two per image: what is drawn, and the noise of its pixels. */
#define STREAM_DRAW (UINT64_C(0x53594e54) << 32)
#define STREAM_NOISE (UINT64_C(0x53594e4e) << 32)

#define ONE 16     /* a pixel, in coordinates and distances; a grey value, in `grey` below */
#define UNIT 1024  /* length 1, in directions */
#define GRAIN 17   /* nodes of the grain per side */
#define MAX_SIDES 4

struct synth_canvas {
    uint64_t seed, index, ndraws;
    int height, width;
    int bar;   /* rows of the info bar at the bottom */
    int pen;   /* width of a fine line, in 1/16 pixel */
    int *grey; /* 16 times the grey value, not yet clipped */
    uint8_t *mask;
};

struct point {
    int x, y;
};

/* Returns the next random number from low to high. C does not define the order of evaluation within
 * an expression or initializer list, and the order determines the image, so there is at most one
 * draw per full expression or declarator. */
static int draw_number(struct synth_canvas *c, int low, int high)
{
    uint64_t r = rng_u64(c->seed, STREAM_DRAW + c->index, c->ndraws++) >> 32;
    return low + (int)(r * (uint64_t)(high - low + 1) >> 32);
}

static int64_t isqrt(int64_t n)
{
    int64_t root = 0;

    for (int64_t bit = INT64_C(1) << 30; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= n)
            root += bit;
    return root;
}

static int clamp(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

/* Returns a random direction of length UNIT without sine and cosine: (1-t^2, 2t) / (1+t^2) for t in
 * 0..1, rotated by a multiple of 90 degrees. */
static struct point draw_direction(struct synth_canvas *c)
{
    int t = draw_number(c, 0, UNIT), quarter = draw_number(c, 0, 3);
    int64_t q = UNIT, norm = q * q + (int64_t)t * t;
    int x = (int)((q * q - (int64_t)t * t) * UNIT / norm), y = (int)(2 * q * t * UNIT / norm);

    switch (quarter) {
    case 0:
        return (struct point){x, y};
    case 1:
        return (struct point){-y, x};
    case 2:
        return (struct point){-x, -y};
    default:
        return (struct point){y, -x};
    }
}

/* Paints the ground: a tilted, curved plane of brightness, and a coarse grain interpolated between
 * random nodes. */
static void paint_ground(struct synth_canvas *c)
{
    int base = draw_number(c, 95, 150), bend, dx = draw_number(c, -35, 35),
        dy = draw_number(c, -35, 35);
    int node[GRAIN][GRAIN];

    bend = draw_number(c, -25, 25);
    for (int i = 0; i < GRAIN; i++)
        for (int j = 0; j < GRAIN; j++)
            node[i][j] = draw_number(c, -10 * ONE, 10 * ONE);
    for (int y = 0; y < c->height; y++) {
        int v = y * 256 / c->height, row = v / 16, fy = v % 16;
        for (int x = 0; x < c->width; x++) {
            int u = x * 256 / c->width, column = u / 16, fx = u % 16;
            int top = node[row][column] * (16 - fx) + node[row][column + 1] * fx;
            int bottom = node[row + 1][column] * (16 - fx) + node[row + 1][column + 1] * fx;
            int grain = (top * (16 - fy) + bottom * fy) / 256;
            int plane = base * ONE + (dx * (u - 128) + dy * (v - 128)) / 8 +
                        bend * ((u - 128) * (u - 128) + (v - 128) * (v - 128)) / 1024;
            c->grey[y * c->width + x] = plane + grain;
        }
    }
}

/* Returns the distance, in 1/16 pixel, of the centre of pixel (x, y) from the line a-b of the given
 * length, positive to the right of the line as one sees the image going from a to b. */
static int line_distance(struct point a, struct point b, int64_t length, int x, int y)
{
    int64_t cross = (int64_t)(b.x - a.x) * (y * ONE + ONE / 2 - a.y) -
                    (int64_t)(b.y - a.y) * (x * ONE + ONE / 2 - a.x);
    return (int)(cross / length);
}

static int64_t line_length(struct point a, struct point b)
{
    int64_t x = b.x - a.x, y = b.y - a.y, length = isqrt(x * x + y * y);
    return length ? length : 1;
}

static void paint_scratch(struct synth_canvas *c)
{
    struct point along = draw_direction(c);
    int x0 = draw_number(c, 0, c->width - 1), y0 = draw_number(c, 0, c->height - 1);
    struct point a = {x0 * ONE, y0 * ONE}, b = {a.x + along.x * 4, a.y + along.y * 4};
    int contrast = draw_number(c, 25, 60),
        strength = draw_number(c, 0, 1) ? contrast * ONE : -contrast * ONE;
    int half = draw_number(c, c->pen / 2, c->pen);
    int reach = draw_number(c, c->width / 4, c->width) * ONE; /* half its length */
    int64_t length = line_length(a, b);

    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width; x++) {
            int d = abs(line_distance(a, b, length, x, y));
            if (d < half && abs(x * ONE - a.x) + abs(y * ONE - a.y) < reach)
                c->grey[y * c->width + x] += strength * (half - d) / half;
        }
}

static void paint_speck(struct synth_canvas *c)
{
    int x0 = draw_number(c, 0, c->width - 1), y0 = draw_number(c, 0, c->height - 1);
    int radius = draw_number(c, 1, 1 + c->height / 48), strength = draw_number(c, -60, 70) * ONE;

    for (int y = y0 - radius; y <= y0 + radius; y++)
        for (int x = x0 - radius; x <= x0 + radius; x++)
            if (y >= 0 && y < c->height && x >= 0 && x < c->width &&
                (y - y0) * (y - y0) + (x - x0) * (x - x0) <= radius * radius)
                c->grey[y * c->width + x] += strength;
}

struct mark {
    int nsides, radius; /* radius: in pixels */
    struct point corner[MAX_SIDES];
    int64_t length[MAX_SIDES];
    int facet[MAX_SIDES]; /* brightness relative to the ground */
    struct point centre;  /* in pixels */
};

static struct mark draw_mark(struct synth_canvas *c)
{
    static const struct point triangle[] = {{UNIT, 0}, {-UNIT / 2, 887}, {-UNIT / 2, -887}};
    int flat = draw_number(c, UNIT * 5 / 8, UNIT);
    const struct point rhombus[] = {{UNIT, 0}, {0, flat}, {-UNIT, 0}, {0, -flat}};
    struct mark m = {.nsides = draw_number(c, 0, 2) ? 3 : 4};
    const struct point *shape = m.nsides == 3 ? triangle : rhombus;
    struct point turn = draw_direction(c);
    int short_side = c->height < c->width ? c->height : c->width;
    int first = draw_number(c, 0, 1);

    m.radius = draw_number(c, short_side / 9, short_side / 5);
    m.centre.x = draw_number(c, m.radius, c->width - m.radius);
    m.centre.y = draw_number(c, m.radius, c->height - c->bar - m.radius);
    for (int k = 0; k < m.nsides; k++) {
        int64_t x = (int64_t)shape[k].x * turn.x - (int64_t)shape[k].y * turn.y;
        int64_t y = (int64_t)shape[k].x * turn.y + (int64_t)shape[k].y * turn.x;
        m.corner[k].x = m.centre.x * ONE + (int)(x * m.radius * ONE / (UNIT * UNIT));
        m.corner[k].y = m.centre.y * ONE + (int)(y * m.radius * ONE / (UNIT * UNIT));
        /* Facets are lit and in shadow alternately. */
        m.facet[k] = (k + first) % 2 ? draw_number(c, 18, 42) * ONE : -draw_number(c, 18, 42) * ONE;
    }
    for (int k = 0; k < m.nsides; k++)
        m.length[k] = line_length(m.corner[k], m.corner[(k + 1) % m.nsides]);
    return m;
}

/* Returns the nearest side. d1, d2: distances from the nearest and second nearest side, positive
 * inside. */
static int nearest_side(const struct mark *m, int x, int y, int *d1, int *d2)
{
    int nearest = 0;

    *d1 = *d2 = INT_MAX;
    for (int k = 0; k < m->nsides; k++) {
        int d = line_distance(m->corner[k], m->corner[(k + 1) % m->nsides], m->length[k], x, y);
        if (d < *d1) {
            *d2 = *d1;
            *d1 = d;
            nearest = k;
        } else if (d < *d2)
            *d2 = d;
    }
    return nearest;
}

static void paint_mark(struct synth_canvas *c, const struct mark *m)
{
    int reach = m->radius + 2;
    int top = clamp(m->centre.y - reach, 0, c->height);
    int bottom = clamp(m->centre.y + reach, 0, c->height);
    int left = clamp(m->centre.x - reach, 0, c->width);
    int right = clamp(m->centre.x + reach, 0, c->width);

    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            int d1, d2, k = nearest_side(m, x, y, &d1, &d2), *grey = &c->grey[y * c->width + x];
            if (d1 >= 0) {
                c->mask[y * c->width + x] = 255;
                *grey += m->facet[k];
                if (d2 - d1 < c->pen)
                    *grey += 25 * ONE; /* ridge between two facets */
                if (d1 < c->pen)
                    *grey += 35 * ONE; /* rim */
            } else if (d1 > -c->pen)
                *grey -= 40 * ONE; /* shadow around the mark */
        }
}

static bool is_clear(const struct mark *m, const struct mark *others, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t x = m->centre.x - others[i].centre.x, y = m->centre.y - others[i].centre.y;
        int64_t apart = m->radius + others[i].radius;
        if (x * x + y * y < apart * apart)
            return false;
    }
    return true;
}

static void paint_marks(struct synth_canvas *c)
{
    struct mark marks[3];
    int want = draw_number(c, 1, 3), n = 0;

    for (int attempt = 0; attempt < 12 && n < want; attempt++) {
        marks[n] = draw_mark(c);
        if (is_clear(&marks[n], marks, n)) {
            paint_mark(c, &marks[n]);
            n++;
        }
    }
}

static void paint_noise(struct synth_canvas *c)
{
    for (int i = 0; i < c->height * c->width; i++) {
        uint64_t r = rng_u64(c->seed, STREAM_NOISE + c->index, (uint64_t)i);
        int sum = 0;
        for (int shift = 0; shift < 32; shift += 8)
            sum += (int)(r >> shift & 255);
        c->grey[i] += (sum - 510) * 3 / 4; /* standard deviation about 7 grey values */
    }
}

/* Paints a black info bar with random blocks of dots as text, 5 dots high, and a white scale
 * bar. */
static void paint_bar(struct synth_canvas *c)
{
    int top = c->height - c->bar, dot = c->bar / 7 > 0 ? c->bar / 7 : 1;

    for (int y = top; y < c->height; y++)
        for (int x = 0; x < c->width; x++)
            c->grey[y * c->width + x] = 8 * ONE;
    for (int x0 = 2 * dot; x0 + 4 * dot < c->width * 2 / 3; x0 += 4 * dot) {
        int glyph = draw_number(c, 0, 0x7fff);
        for (int i = 0; i < 15 * dot * dot; i++) {
            int x = i % (3 * dot), y = i / (3 * dot), y1 = top + dot + y;
            if (glyph >> (y / dot * 3 + x / dot) & 1 && y1 < c->height)
                c->grey[y1 * c->width + x0 + x] = 235 * ONE;
        }
    }
    for (int y = top + 3 * dot; y < top + 4 * dot && y < c->height; y++)
        for (int x = c->width * 3 / 4; x < c->width * 15 / 16; x++)
            c->grey[y * c->width + x] = 245 * ONE;
}

static void paint(struct synth_canvas *c)
{
    paint_ground(c);
    for (int n = draw_number(c, 2, 4); n > 0; n--)
        paint_scratch(c);
    paint_marks(c);
    for (int n = draw_number(c, 2, 6); n > 0; n--)
        paint_speck(c);
    paint_noise(c);
    paint_bar(c);
}

int synth_draw(uint64_t seed, uint64_t index, int height, int width, uint8_t *image,
               uint8_t *mask, struct err *e)
{
    size_t npixels = (size_t)height * (size_t)width;
    struct synth_canvas c = {.seed = seed,
                             .index = index,
                             .height = height,
                             .width = width,
                             .bar = height / 14,
                             .pen = ONE + height * ONE / 512,
                             .mask = mask};

    c.grey = mem_alloc(npixels, sizeof *c.grey, e);
    if (!c.grey)
        return -1;
    memset(mask, 0, npixels);
    paint(&c);
    for (size_t i = 0; i < npixels; i++)
        image[i] = (uint8_t)(clamp(c.grey[i], 0, 255 * ONE) / ONE);
    free(c.grey);
    return 0;
}

static int write_grey(const char *dir, const char *sub, int number, int height, int width,
                      const uint8_t *samples, struct err *e)
{
    char path[PATH_MAX + 32];

    snprintf(path, sizeof path, "%s/%s", dir, sub);
    if (number == 1 && new_folder_make(path, e))
        return -1;
    snprintf(path, sizeof path, "%s/%s/%04d.png", dir, sub, number);
    return png_file_write(path, (uint32_t)width, (uint32_t)height, 1, samples, e);
}

static int fill_folder(const char *dir, int count, int height, int width, uint64_t seed,
                       struct err *e)
{
    size_t npixels = (size_t)height * (size_t)width;
    uint8_t *image = malloc(npixels), *mask = malloc(npixels);
    int rc = image && mask ? 0 : mem_fail(e);

    for (int i = 1; rc == 0 && i <= count; i++)
        if (synth_draw(seed, (uint64_t)i, height, width, image, mask, e) ||
            write_grey(dir, "images", i, height, width, image, e) ||
            write_grey(dir, "masks", i, height, width, mask, e))
            rc = -1;
    free(mask);
    free(image);
    return rc;
}

int synth_create(const char *dir, int count, int height, int width, uint64_t seed, struct err *e)
{
    struct new_folder out;

    if (new_folder_open(&out, dir, e))
        return -1;
    return new_folder_close(&out, fill_folder(dir, count, height, width, seed, e), e);
}
