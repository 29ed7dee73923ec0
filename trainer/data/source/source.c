/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/format/sha256.h"
#include "src/mem.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/image/orientation.h"
#include "trainer/data/source/container.h"

struct source_files {
    pthread_mutex_t lock;
    struct source_file {
        char *name;
        struct container *container;
    } *items;
    size_t count, capacity;
};

static const char *const formats[] = {[SOURCE_PAIRS] = "pairs", [SOURCE_FOLDERS] = "folders",
                                      [SOURCE_CIFAR] = "cifar", [SOURCE_IDX] = "idx",
                                      [SOURCE_TFRECORD] = "tfrecord"};

const char *source_format_encode(enum source_format format)
{
    return formats[format];
}

int source_format_decode(const char *text, enum source_format *format, struct err *e)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(text, formats[i]) == 0) {
            *format = (enum source_format)i;
            return 0;
        }
    return err_set(e, ERR_DATA, "format '%s' is unknown", text);
}

struct source *source_attach(const char *dir, enum source_format format, struct err *e)
{
    struct source *s = mem_zero(1, sizeof *s, e);

    if (s) {
        s->format = format;
        s->dir = mem_text(dir, e);
        s->files = mem_zero(1, sizeof *s->files, e);
    }
    if (!s || !s->dir || !s->files) {
        source_close(s);
        return NULL;
    }
    pthread_mutex_init(&s->files->lock, NULL);
    return s;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->items[i].stem);
        free(s->items[i].image);
        free(s->items[i].mask);
    }
    for (size_t i = 0; s->files && i < s->files->count; i++) {
        free(s->files->items[i].name);
        container_close(s->files->items[i].container);
    }
    for (int i = 0; i < s->nclasses; i++)
        free(s->class_names[i]);
    if (s->files)
        free(s->files->items);
    free(s->files);
    free(s->class_names);
    free(s->items);
    free(s->dir);
    free(s);
}

int source_add(struct source *s, const char *stem, char *image, char *mask, int label,
               enum source_side side, struct err *e)
{
    if (mem_grow(&s->items, s->count, &s->capacity, sizeof *s->items, e)) {
        free(image);
        free(mask);
        return -1;
    }
    struct source_item *item = &s->items[s->count++];
    *item = (struct source_item){mem_text(stem, e), image, mask, label, side};
    return item->stem && image ? 0 : mem_fail(e);
}

int source_add_class(struct source *s, const char *name, struct err *e)
{
    if (mem_grow(&s->class_names, (size_t)s->nclasses, &s->class_capacity, sizeof *s->class_names,
                 e) ||
        !(s->class_names[s->nclasses] = mem_text(name, e)))
        return -1;
    s->nclasses++;
    return 0;
}

bool source_is_divided(const struct source *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].side != SOURCE_ANY)
            return true;
    return false;
}

struct container *source_container(const struct source *s, const char *name, struct err *e)
{
    static const enum container_kind kinds[] = {[SOURCE_CIFAR] = CONTAINER_CIFAR,
                                                [SOURCE_IDX] = CONTAINER_IDX,
                                                [SOURCE_TFRECORD] = CONTAINER_TFRECORD};

    char *path = mem_textf(e, "%s/%s", s->dir, name);
    struct container *c = path ? container_open(kinds[s->format], path, e) : NULL;

    free(path);
    return c;
}

static bool has_containers(const struct source *s)
{
    return s->format >= SOURCE_CIFAR;
}

static struct container *add_container(struct source *s, const char *name, struct err *e)
{
    struct source_files *f = s->files;

    if (mem_grow(&f->items, f->count, &f->capacity, sizeof *f->items, e))
        return NULL;
    struct source_file *file = &f->items[f->count];
    *file = (struct source_file){mem_text(name, e), source_container(s, name, e)};
    if (file->name && file->container) {
        f->count++;
        return file->container;
    }
    free(file->name);
    container_close(file->container);
    return NULL;
}

/* Returns a container by its file name. It is opened on first use and stays open until
 * source_close. */
static struct container *get_container(struct source *s, const char *name, struct err *e)
{
    struct container *found = NULL;

    pthread_mutex_lock(&s->files->lock);
    for (size_t i = 0; !found && i < s->files->count; i++)
        if (strcmp(s->files->items[i].name, name) == 0)
            found = s->files->items[i].container;
    if (!found)
        found = add_container(s, name, e);
    pthread_mutex_unlock(&s->files->lock);
    return found;
}

/* Resolves the locator of a record, "train/0.records#17". */
static struct container *find_record(struct source *s, const char *locator, size_t *record,
                                     struct err *e)
{
    const char *hash = strrchr(locator, '#');
    char name[4096], *end;

    if (!hash || hash == locator || (size_t)(hash - locator) >= sizeof name || !hash[1]) {
        err_set(e, ERR_DATA, "%s/%s: is not FILE#RECORD", s->dir, locator);
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(hash - locator), locator);
    *record = strtoul(hash + 1, &end, 10);
    struct container *c = get_container(s, name, e);
    if (c && (*end || *record >= container_count(c))) {
        err_set(e, ERR_DATA, "%s/%s: has no such record, only %zu; restore the file, or make a new split",
                s->dir, locator, container_count(c));
        return NULL;
    }
    return c;
}

/* --- image files --- */

static int decode_file(const uint8_t *bytes, size_t nbytes, const char *path, enum source_part part,
                       struct pixels *img, struct err *e)
{
    enum pixels_mode mode = part == SOURCE_VALUES ? PIXELS_RAW : PIXELS_PICTURE;
    int rc = image_file_decode(bytes, nbytes, path, 0, mode, img, e);

    if (rc == 0 && img->pages > 1)
        rc = err_set(e, ERR_DATA, "%s: has %d pages; `unet-train data convert` makes a pair of each",
                     path, img->pages);
    if (rc == 0 && img->flags & PIXELS_STACK)
        rc = err_set(e, ERR_DATA, "%s: is a stack of pictures that ImageJ describes in one TIFF "
                     "directory: write them as files of their own (ImageJ: File > Save As > Image Sequence)",
                     path);
    if (rc == 0 && part == SOURCE_VALUES)
        rc = mask_flatten(img, path, e);
    if (rc)
        pixels_free(img);
    return rc;
}

/* Hash and pixels come from the same read of the file. */
static int load_path(const char *path, enum source_part part, const char *want, char *sha256,
                     struct pixels *img, struct err *e)
{
    char hex[65];
    size_t nbytes;
    int rc = 0;

    char *bytes = atomicfile_read(path, PIXELS_MAX_FILE, &nbytes, e);
    if (!bytes)
        return -1;
    if (want || sha256)
        sha256_bytes(bytes, nbytes, hex);
    if (sha256)
        strcpy(sha256, hex);
    if (want && strcmp(want, hex) != 0)
        rc = err_set(e, ERR_DATA,
                     "%s: the file is not the one that the split was made with (SHA-256 %.16s..., "
                     "recorded %.16s...); restore it, or make a new split", path, hex, want);
    else
        rc = decode_file((const uint8_t *)bytes, nbytes, path, part, img, e);
    free(bytes);
    return rc;
}

int source_decode(struct source *s, const char *locator, enum source_part part, const char *want,
                  char sha256[65], struct pixels *img, struct err *e)
{
    size_t record;
    int rc = -1;

    memset(img, 0, sizeof *img);
    if (has_containers(s)) {
        struct container *c = find_record(s, locator, &record, e);
        return c ? container_decode(c, record, part != SOURCE_IMAGE, want, sha256, img, e) : -1;
    }
    char *path = mem_textf(e, "%s/%s", s->dir, locator);
    if (path)
        rc = load_path(path, part, want, sha256, img, e);
    free(path);
    return rc;
}

int source_decode_pair(struct source *s, const struct source_item *item, enum source_part part,
                       char image_sha256[65], char mask_sha256[65], struct pixels *image,
                       struct pixels *mask, struct err *e)
{
    *mask = (struct pixels){0};
    if (source_decode(s, item->image, SOURCE_IMAGE, NULL, image_sha256, image, e))
        return -1;
    int rc = item->mask ? source_decode(s, item->mask, part, NULL, mask_sha256, mask, e) : 0;
    if (rc == 0)
        rc = orientation_apply(image, mask, item->image, e);
    if (rc == 0 && item->mask && (image->width != mask->width || image->height != mask->height))
        rc = err_set(e, ERR_DATA, "%s: %s has %u x %u pixels, but %s has %u x %u; they must be "
                     "equal", s->dir, item->image, image->width, image->height, item->mask,
                     mask->width, mask->height);
    if (rc) {
        pixels_free(image);
        pixels_free(mask);
    }
    return rc;
}

int source_check(struct source *s, const char *locator, uint32_t width, uint32_t height,
                 struct err *e)
{
    uint32_t w, h;
    size_t record;

    if (has_containers(s))
        return find_record(s, locator, &record, e) ? 0 : -1;
    char *path = mem_textf(e, "%s/%s", s->dir, locator);
    int rc = path ? image_file_size(path, &w, &h, e) : -1;
    if (rc == 0 && (w != width || h != height))
        rc = err_set(e, ERR_DATA, "%s: has %u x %u pixels, but had %u x %u when the split was made",
                     path, w, h, width, height);
    free(path);
    return rc;
}
