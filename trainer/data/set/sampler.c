/* SPDX-License-Identifier: BSD-3-Clause */
/* What an epoch is made of: whole images, or random patches of images at their own scale. */
#include "src/base.h"
#include "trainer/data/set/loader.h"

#include "src/rng.h"
#include "trainer/data/set/set_internal.h"

/* Streams of rng.h, one per epoch; other modules use other streams. */
#define STREAM_PATCH (UINT64_C(0x50415443) << 32)

enum { DRAW_IS_FOREGROUND, DRAW_CLASS, DRAW_PIXEL, DRAW_TOP, DRAW_LEFT, DRAWS = 8 };
#define DRAW_PHASE UINT64_MAX /* of the epoch */

struct sampler {
    struct dataset *dataset;
    enum dataset_part part;
    size_t count;       /* patches per epoch */
    double foreground;
    int height, width, channels; /* of a patch */
    uint64_t *begin;    /* [images + 1]: of each image, the patches that cover all before it; NULL:
                         * samples are whole images */
    size_t images;
};

static double draw(uint64_t seed, size_t epoch, size_t position, unsigned number)
{
    return rng_uniform(seed, STREAM_PATCH + epoch, (uint64_t)position * DRAWS + number);
}

/* Returns how many patches have the pixels of an image, at least 1. */
static size_t patches_of(const struct dataset *ds, enum dataset_part part, size_t i)
{
    struct dataset_sides s = dataset_sides(ds, part, i);
    int height, width;

    dataset_size(ds, &height, &width);
    size_t pixels = (size_t)s.height * (size_t)s.width, each = (size_t)height * (size_t)width;
    return pixels < each ? 1 : (pixels + each / 2) / each;
}

size_t sampler_size(const struct dataset *ds, enum dataset_part part, size_t patches)
{
    size_t n = dataset_count(ds, part), sum = 0;

    if (!dataset_is_native(ds))
        return n;
    for (size_t i = 0; i < n && !patches; i++)
        sum += patches_of(ds, part, i);
    return patches ? patches : sum;
}

/* Checks that patches can be centred in foreground. */
static int check_foreground(const struct sampler *s, struct err *e)
{
    for (size_t i = 0; i < s->images; i++) {
        const struct record *r = dataset_record(s->dataset, s->part, i, e);
        if (!r)
            return -1;
        if (r->nclasses)
            return 0;
    }
    return err_set(e, ERR_DATA, "none of the %zu training masks has foreground%s, but "
                   "data.patch_foreground centres a share of %g of the patches in it: check the "
                   "masks, or set data.patch_foreground=0", s->images,
                   dataset_classes(s->dataset) > 1 ? " (a class other than the first)" : "",
                   s->foreground);
}

struct sampler *sampler_create(struct dataset *ds, enum dataset_part part, size_t patches,
                               double foreground, struct err *e)
{
    struct sampler *s = mem_zero(1, sizeof *s, e);

    if (!s)
        return NULL;
    *s = (struct sampler){.dataset = ds, .part = part, .foreground = foreground,
                          .count = sampler_size(ds, part, patches),
                          .images = dataset_count(ds, part)};
    s->channels = dataset_size(ds, &s->height, &s->width);
    if (!dataset_is_native(ds))
        return s;
    s->begin = mem_zero(s->images + 1, sizeof *s->begin, e);
    for (size_t i = 0; s->begin && i < s->images; i++)
        s->begin[i + 1] = s->begin[i] + patches_of(ds, part, i);
    if (s->begin && (!(foreground > 0) || check_foreground(s, e) == 0))
        return s;
    sampler_destroy(s);
    return NULL;
}

void sampler_destroy(struct sampler *s)
{
    if (!s)
        return;
    free(s->begin);
    free(s);
}

/* Returns the image of sample i of an epoch: an image has a part of the epoch like its part of the
 * pixels. Where that is not a whole number of patches, it varies with the epoch. */
static size_t choose_image(const struct sampler *s, uint64_t seed, size_t epoch, size_t i)
{
    uint64_t all = s->begin[s->images];
    uint64_t phase = rng_u64(seed, STREAM_PATCH + epoch, DRAW_PHASE) % all;
    uint64_t at = (i * all + phase) / s->count;
    size_t first = 0, end = s->images;

    while (end - first > 1) {
        size_t middle = first + (end - first) / 2;
        if (s->begin[middle] <= at)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* Returns the class of pixel i of a target, 0 for the background, or RECORD_IGNORE. */
static int class_at(const struct record *r, const void *target, size_t i)
{
    float v;

    if (r->target_kind == RECORD_LABELS)
        return ((const uint8_t *)target)[i];
    if (r->target_kind == RECORD_BYTES)
        return 2 * (float)((const uint8_t *)target)[i] > r->target_divisor;
    memcpy(&v, (const float *)target + i, sizeof v);
    return v > 0.5F;
}

/* The index follows the target: for each class but the first that occurs, its number, and for each
 * row how many of its pixels lie up to the end of that row. */
int sampler_add_index(struct buf *record, size_t values, struct dataset_sides sides, struct err *e)
{
    struct record *r = (void *)record->data;
    size_t width = (size_t)sides.width, height = (size_t)sides.height, stride = 1 + height;
    const char *target = record_target(r, values);
    int line_of[256];
    bool occurs[256] = {false};
    uint32_t n = 0;

    for (size_t i = 0; i < height * width; i++)
        occurs[class_at(r, target, i)] = true;
    for (int k = 0; k < 256; k++)
        line_of[k] = occurs[k] && k > 0 && k != RECORD_IGNORE ? (int)n++ : -1;
    size_t nbytes = n * stride * sizeof(uint32_t);
    uint32_t *index = (void *)buf_reserve(record, nbytes);
    if (!index)
        return mem_fail(e);
    record->length += nbytes;
    r = (void *)record->data;
    r->nclasses = n;
    target = record_target(r, values);
    memset(index, 0, nbytes);
    for (uint32_t k = 0; k < 256; k++)
        if (line_of[k] >= 0)
            index[(size_t)line_of[k] * stride] = k;
    for (size_t y = 0; y < height; y++) {
        for (size_t k = 0; y > 0 && k < n; k++)
            index[k * stride + 1 + y] = index[k * stride + y];
        for (size_t x = 0; x < width; x++) {
            int line = line_of[class_at(r, target, y * width + x)];
            if (line >= 0)
                index[(size_t)line * stride + 1 + y]++;
        }
    }
    return 0;
}

struct place {
    int y, x;
};

static int limit(int v, int most)
{
    return v < 0 ? 0 : v > most ? most : v;
}

/* Returns a random pixel of a random class of those in the index. */
static struct place choose_foreground(const struct record *r, const void *target,
                                      struct dataset_sides sides, double class, double pixel)
{
    size_t height = (size_t)sides.height, width = (size_t)sides.width, first = 0, x = 0;
    const uint32_t *line = (const void *)((const char *)target +
                                          RECORD_PLANE(r->target_kind, height * width));

    line += (size_t)(class * r->nclasses) * (1 + height);
    uint32_t at = (uint32_t)(pixel * line[height]); /* of the class's pixels, counted from 0 */
    for (size_t end = height; end - first > 1;) {   /* the row: upto[row - 1] <= at < upto[row] */
        size_t middle = first + (end - first) / 2;
        if (line[middle] <= at) /* of the rows before it */
            first = middle;
        else
            end = middle;
    }
    for (uint32_t left = at - (first ? line[first] : 0); x + 1 < width; x++)
        if (class_at(r, target, first * width + x) == (int)line[0] && left-- == 0)
            break;
    return (struct place){(int)first, (int)x};
}

static void copy_rows(const char *src, size_t pitch, char *dst, size_t n, size_t rows)
{
    for (size_t y = 0; y < rows; y++)
        memcpy(dst + y * n, src + y * pitch, n);
}

const struct record *sampler_take(const struct sampler *s, uint64_t seed, size_t epoch,
                                  size_t position, size_t i, struct record *room, struct err *e)
{
    size_t image = s->begin ? choose_image(s, seed, epoch, i) : i;
    const struct record *r = dataset_record(s->dataset, s->part, image, e);

    if (!r || !s->begin)
        return r;
    struct dataset_sides sides = dataset_sides(s->dataset, s->part, image);
    size_t width = (size_t)sides.width, channels = (size_t)s->channels;
    const char *target = record_target(r, (size_t)sides.height * width * channels);
    int down = sides.height - s->height, right = sides.width - s->width;
    struct place at = {(int)(draw(seed, epoch, position, DRAW_TOP) * (down + 1)),
                       (int)(draw(seed, epoch, position, DRAW_LEFT) * (right + 1))};
    if (r->nclasses && draw(seed, epoch, position, DRAW_IS_FOREGROUND) < s->foreground) {
        at = choose_foreground(r, target, sides, draw(seed, epoch, position, DRAW_CLASS),
                               draw(seed, epoch, position, DRAW_PIXEL));
        at = (struct place){limit(at.y - s->height / 2, down), limit(at.x - s->width / 2, right)};
    }
    size_t first = (size_t)at.y * width + (size_t)at.x, rows = (size_t)s->height;
    size_t number = channels * (r->image_kind == RECORD_NUMBERS ? sizeof(float) : 1);
    size_t label = r->target_kind == RECORD_NUMBERS ? sizeof(float) : 1;
    size_t columns = (size_t)s->width;
    *room = *r;
    room->nclasses = 0;
    copy_rows((const char *)record_image(r) + first * number, width * number, record_image(room),
              columns * number, rows);
    copy_rows(target + first * label, width * label,
              record_target(room, rows * columns * channels), columns * label, rows);
    return room;
}
