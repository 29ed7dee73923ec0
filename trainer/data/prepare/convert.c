/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/prepare/convert.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/text/filename.h"
#include "src/format/tfrecord.h"
#include "trainer/data/source/example.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/prepare/new_folder.h"
#include "trainer/data/source/pairs.h"
#include "trainer/data/image/png_file.h"
#include "trainer/data/source/source.h"

/* One sample on its way out. */
struct sample {
    const char *name;         /* without folders and suffix */
    enum source_side side;
    bool held_out;            /* of no side in a source that is divided */
    const struct pixels *image, *mask; /* mask NULL: label */
    int label;
    const char *class_name;
};

typedef int sink_f(void *arg, const struct sample *sample, struct err *e);

struct job {
    const struct convert_config *config;
    struct source *source;
    sink_f *sink;
    void *arg;
    bool flat; /* no alpha in images, 1 channel in masks */
    size_t written;
};

static int make_folder(const char *path, struct err *e)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return err_errno(e, ERR_DATA, errno, "%s", path);
    return 0;
}

static int cut(const struct pixels *img, uint32_t y, uint32_t x, uint32_t height, uint32_t width,
               struct pixels *tile, struct err *e)
{
    size_t pixel = (size_t)img->channels * (size_t)(img->bits / 8);

    *tile = (struct pixels){.width = width, .height = height, .source_bits = img->source_bits,
                            .pages = 1};
    if (pixels_allocate(tile, "a tile", img->channels, img->bits, e))
        return -1;
    for (uint32_t row = 0; row < height; row++)
        memcpy(tile->samples + row * width * pixel,
               img->samples + ((size_t)(y + row) * img->width + x) * pixel, width * pixel);
    return 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int put_tile(struct job *job, const struct sample *whole, uint32_t y, uint32_t x,
                    uint32_t height, uint32_t width, struct err *e)
{
    struct pixels image, mask = {0};
    struct sample part = *whole;
    char name[NAME_MAX + 1];

    snprintf(name, sizeof name, "%.200s-y%05u-x%05u", whole->name, y, x);
    part.name = name;
    part.image = &image;
    int rc = cut(whole->image, y, x, height, width, &image, e);
    if (rc == 0 && whole->mask) {
        part.mask = &mask;
        rc = cut(whole->mask, y, x, height, width, &mask, e);
    }
    if (rc == 0)
        rc = job->sink(job->arg, &part, e);
    job->written += rc == 0;
    pixels_free(&image);
    pixels_free(&mask);
    return rc;
}

static int put_sample(struct job *job, const struct sample *s, struct err *e)
{
    uint32_t h = s->image->height, w = s->image->width;
    uint32_t th = smaller((uint32_t)job->config->tile_height, h);
    uint32_t tw = smaller((uint32_t)job->config->tile_width, w);

    if (th == 0 || (th == h && tw == w)) {
        int rc = job->sink(job->arg, s, e);
        job->written += rc == 0;
        return rc;
    }
    for (uint32_t y = 0; y < h; y += th)
        for (uint32_t x = 0; x < w; x += tw)
            if (put_tile(job, s, smaller(y, h - th), smaller(x, w - tw), th, tw, e))
                return -1;
    return 0;
}

/* "a/b.png" -> "b"; "train/0.records#17" -> "0.records-17" */
static void name_of(const struct source *source, const char *locator, char dst[NAME_MAX + 1])
{
    const char *slash = strrchr(locator, '/'), *base = slash ? slash + 1 : locator;

    if (source->format == SOURCE_PAIRS || source->format == SOURCE_FOLDERS) {
        snprintf(dst, NAME_MAX + 1, "%.*s", (int)smaller((uint32_t)filename_stem(base), 200), base);
        return;
    }
    const char *hash = strrchr(base, '#');
    snprintf(dst, NAME_MAX + 1, "%.*s-%07lu", (int)smaller((uint32_t)(hash - base), 200), base,
             strtoul(hash + 1, NULL, 10));
}

static void drop_alpha(struct pixels *img)
{
    size_t n = (size_t)img->width * img->height, size = (size_t)(img->bits / 8);
    size_t from = (size_t)img->channels * size, to = from - size;

    if (img->channels % 2)
        return;
    for (size_t i = 0; i < n; i++)
        memmove(img->samples + i * to, img->samples + i * from, to);
    img->channels--;
    img->nbytes = n * to;
}

/* One page of a pair of files. Masks stay what they are: indices, values, or colours. */
static int put_page(struct job *job, const struct sample *frame, const uint8_t *image_bytes,
                    size_t image_n, const uint8_t *mask_bytes, size_t mask_n, int page, int *pages,
                    struct err *e)
{
    struct pixels image, mask = {0};
    struct sample s = *frame;

    int rc = image_file_decode(image_bytes, image_n, frame->name, page, PIXELS_PICTURE, &image, e);
    s.image = &image;
    *pages = image.pages;
    if (rc == 0 && mask_bytes) {
        s.mask = &mask;
        rc = image_file_decode(mask_bytes, mask_n, frame->name, page, PIXELS_RAW, &mask, e);
        if (rc == 0 && (mask.pages != image.pages || mask.width != image.width ||
                        mask.height != image.height))
            rc = err_set(e, ERR_DATA, "%s: the image has %d pages of %u x %u, the mask %d of %u x "
                         "%u", frame->name, image.pages, image.width, image.height, mask.pages,
                         mask.width, mask.height);
    }
    if (rc == 0 && job->flat) {
        if (!job->config->bands)
            drop_alpha(&image);
        rc = mask_bytes ? mask_flatten(&mask, frame->name, e) : 0;
    }
    if (rc == 0)
        rc = put_sample(job, &s, e);
    pixels_free(&image);
    pixels_free(&mask);
    return rc;
}

static uint8_t *read_file(const struct source *source, const char *locator, size_t *n,
                          struct err *e)
{
    char *path = pairs_path(source->dir, locator);
    char *bytes = path ? atomicfile_read(path, PIXELS_MAX_FILE, n, e) : NULL;

    if (!path)
        err_set(e, ERR_INTERNAL, "%s: no memory", locator);
    free(path);
    return (uint8_t *)bytes;
}

static int put_files(struct job *job, const struct source_item *item, const struct sample *frame,
                     struct err *e)
{
    struct sample s = *frame;
    char base[NAME_MAX + 1], name[2 * NAME_MAX];
    size_t image_n, mask_n = 0;
    uint8_t *image = read_file(job->source, item->image, &image_n, e);
    uint8_t *mask = image && item->mask ? read_file(job->source, item->mask, &mask_n, e) : NULL;
    int rc = image && (mask || !item->mask) ? 0 : -1, pages = 1;

    name_of(job->source, item->image, base);
    for (int page = 0; rc == 0 && page < pages; page++) {
        snprintf(name, sizeof name, page ? "%s-p%04d" : "%s", base, page + 1);
        s.name = name;
        rc = put_page(job, &s, image, image_n, mask, mask_n, page, &pages, e);
        if (rc)
            err_prefix(e, "%s/%s", job->source->dir, item->image);
    }
    free(mask);
    free(image);
    return rc;
}

static int put_record(struct job *job, const struct source_item *item, const struct sample *frame,
                      struct err *e)
{
    struct sample s = *frame;
    char name[NAME_MAX + 1];
    struct pixels image, mask = {0};
    int rc = source_image(job->source, item->image, NULL, NULL, &image, e);

    name_of(job->source, item->image, name);
    s.name = name;
    s.image = &image;
    if (rc == 0 && item->mask) {
        s.mask = &mask;
        rc = source_mask(job->source, item->mask, false, NULL, NULL, &mask, e);
    }
    if (rc == 0)
        rc = put_sample(job, &s, e);
    pixels_free(&image);
    pixels_free(&mask);
    return rc;
}

static int put_all(struct job *job, struct err *e)
{
    struct source *source = job->source;
    bool divided = source_is_divided(source);

    for (size_t i = 0; i < source->count; i++) {
        const struct source_item *item = &source->items[i];
        struct sample s = {.side = item->side, .label = item->label,
                           .held_out = divided && item->side == SOURCE_ANY};
        bool files = source->format == SOURCE_PAIRS || source->format == SOURCE_FOLDERS;
        if (source->nclasses)
            s.class_name = source->class_names[item->label];
        if (files ? put_files(job, item, &s, e) : put_record(job, item, &s, e))
            return -1;
    }
    return 0;
}

static const char *side_folder(const struct sample *s, const char *val)
{
    return s->side == SOURCE_TRAIN ? "/train" : s->side == SOURCE_VAL ? val : s->held_out ? "/test"
           : "";
}

static int write_png(const char *out, const char *side, const char *folder, const char *name,
                     const struct pixels *img, struct err *e)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%.2000s%s", out, side);
    if (make_folder(path, e))
        return -1;
    snprintf(path, sizeof path, "%.2000s%s/%.255s", out, side, folder);
    if (make_folder(path, e))
        return -1;
    snprintf(path, sizeof path, "%.2000s%s/%.255s/%.255s.png", out, side, folder, name);
    return png_file_write_pixels(path, img, e);
}

static int png_sink(void *arg, const struct sample *s, struct err *e)
{
    const char *out = arg, *side = side_folder(s, "/val");

    if (!s->mask)
        return write_png(out, side, s->class_name, s->name, s->image, e);
    return write_png(out, side, "images", s->name, s->image, e) ||
                   write_png(out, side, "masks", s->name, s->mask, e)
               ? -1 : 0;
}

static size_t convert(const struct convert_config *config, bool flat, sink_f *sink, void *arg,
                      struct err *e)
{
    struct job job = {.config = config, .sink = sink, .arg = arg, .flat = flat};

    job.source = source_open(config->dir, e);
    int rc = job.source ? put_all(&job, e) : -1;
    source_close(job.source);
    return rc ? 0 : job.written;
}

size_t convert_to_png(const struct convert_config *config, struct err *e)
{
    struct new_folder out;

    if (new_folder_open(&out, config->out, e))
        return 0;
    size_t n = convert(config, false, png_sink, (void *)(uintptr_t)config->out, e);
    if (n == 0)
        new_folder_discard(&out);
    return n;
}

/* Shards of one side. */
struct shards {
    char dir[PATH_MAX];
    struct atomicfile *file; /* of the shard that is being filled */
    int number, in_shard;
    struct pixels image, mask; /* shapes of the first sample; no samples */
    bool masks;
};

struct records {
    const struct convert_config *config;
    struct shards sides[3]; /* by enum source_side */
};

static bool same_shape(const struct pixels *a, const struct pixels *b)
{
    return a->width == b->width && a->height == b->height && a->channels == b->channels &&
           a->bits == b->bits;
}

static void add_entry(struct buf *types, struct buf *shapes, const char *key,
                      const struct pixels *shape)
{
    const char *comma = types->length > 1 ? "," : "";

    buf_addf(types, "%s\n    \"%s\": \"%s\"", comma, key,
             !shape ? "int64" : shape->bits == 16 ? "uint16" : "uint8");
    if (shape)
        buf_addf(shapes, "%s\n    \"%s\": [%u, %u, %d]", comma, key, shape->height, shape->width,
                 shape->channels);
    else
        buf_addf(shapes, "%s\n    \"%s\": []", comma, key);
}

static int write_text(const char *dir, const char *name, const struct buf *text, struct err *e)
{
    char path[PATH_MAX + 32];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return text->failed ? err_set(e, ERR_INTERNAL, "%s: no memory", path)
                        : atomicfile_write(path, text->data, text->length, 0666, e);
}

/* Versions of OTBTF look for the one or the other name of the shapes. */
static int write_sidecars(const struct shards *s, struct err *e)
{
    struct buf types = {0}, shapes = {0};

    buf_add(&types, "{");
    buf_add(&shapes, "{");
    add_entry(&types, &shapes, "image", &s->image);
    add_entry(&types, &shapes, s->masks ? "mask" : "label", s->masks ? &s->mask : NULL);
    buf_add(&types, "\n}\n");
    buf_add(&shapes, "\n}\n");
    int rc = write_text(s->dir, "output_types.json", &types, e) ||
                     write_text(s->dir, "output_shapes.json", &shapes, e) ||
                     write_text(s->dir, "output_shape.json", &shapes, e)
                 ? -1 : 0;
    buf_destroy(&types);
    buf_destroy(&shapes);
    return rc;
}

static int begin_side(const struct records *r, struct shards *s, const struct sample *sample,
                      struct err *e)
{
    snprintf(s->dir, sizeof s->dir, "%.2000s%s", r->config->out,
             side_folder(sample, "/valid"));
    s->image = *sample->image;
    s->masks = sample->mask != NULL;
    if (s->masks)
        s->mask = *sample->mask;
    s->image.samples = s->mask.samples = NULL;
    return make_folder(s->dir, e) || write_sidecars(s, e) ? -1 : 0;
}

static int end_shard(struct shards *s, struct err *e)
{
    struct atomicfile *file = s->file;

    s->file = NULL;
    s->in_shard = 0;
    s->number++;
    return file ? atomicfile_commit(file, e) : 0;
}

static int append(struct shards *s, const struct buf *record, struct err *e)
{
    char path[PATH_MAX + 32];
    struct buf framed = {0};

    if (!s->file) {
        snprintf(path, sizeof path, "%s/%d.records", s->dir, s->number);
        s->file = atomicfile_open(path, 0666, e);
        if (!s->file)
            return -1;
    }
    tfrecord_encode(record->data, record->length, &framed);
    if (!framed.failed && !record->failed)
        fwrite(framed.data, 1, framed.length, atomicfile_stream(s->file));
    bool failed = framed.failed || record->failed;
    buf_destroy(&framed);
    return failed ? err_set(e, ERR_INTERNAL, "no memory for a record") : 0;
}

static int record_sink(void *arg, const struct sample *sample, struct err *e)
{
    struct records *r = arg;
    struct shards *s = &r->sides[sample->side];
    struct buf record = {0};

    if (!*s->dir && begin_side(r, s, sample, e))
        return -1;
    if (!same_shape(&s->image, sample->image) ||
        (sample->mask && !same_shape(&s->mask, sample->mask)))
        return err_set(e, ERR_DATA, "%s: %u x %u x %d pixels of %d bits, but the first sample %u x "
                       "%u x %d of %d; TFRecord shards hold one shape: cut tiles with --tile HxW",
                       sample->name, sample->image->width, sample->image->height,
                       sample->image->channels, sample->image->bits, s->image.width,
                       s->image.height, s->image.channels, s->image.bits);
    example_encode(sample->image, sample->mask, sample->label, &record);
    int rc = append(s, &record, e);
    buf_destroy(&record);
    if (rc == 0 && ++s->in_shard == r->config->shard)
        rc = end_shard(s, e);
    return rc;
}

static size_t fill_shards(struct records *r, struct err *e)
{
    size_t n = convert(r->config, true, record_sink, r, e);

    for (int side = 0; side < 3; side++) {
        if (n && r->sides[side].file && end_shard(&r->sides[side], e))
            n = 0;
        atomicfile_abort(r->sides[side].file);
    }
    return n;
}

size_t convert_to_tfrecord(const struct convert_config *config, struct err *e)
{
    struct records *r = calloc(1, sizeof *r);
    struct new_folder out;
    size_t n = 0;

    if (!r)
        err_set(e, ERR_INTERNAL, "no memory to convert");
    else if (new_folder_open(&out, config->out, e) == 0) {
        r->config = config;
        n = fill_shards(r, e);
        if (n == 0)
            new_folder_discard(&out);
    }
    free(r);
    return n;
}
