/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/source.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trainer/data/source/container.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/source/load.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/source/pairs.h"

struct source_files {
    pthread_mutex_t lock;
    struct named {
        char *name;
        struct container *container;
    } *items;
    size_t count;
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
    struct source *s = calloc(1, sizeof *s);

    if (s) {
        s->format = format;
        s->dir = strdup(dir);
        s->files = calloc(1, sizeof *s->files);
    }
    if (!s || !s->dir || !s->files) {
        source_close(s);
        err_set(e, ERR_INTERNAL, "%s: no memory", dir);
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

bool source_is_divided(const struct source *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].side != SOURCE_ANY)
            return true;
    return false;
}

static enum container_kind kind_of(enum source_format format)
{
    return format == SOURCE_CIFAR ? CONTAINER_CIFAR
           : format == SOURCE_IDX ? CONTAINER_IDX : CONTAINER_TFRECORD;
}

static bool has_containers(const struct source *s)
{
    return s->format >= SOURCE_CIFAR;
}

static struct container *add_container(struct source *s, const char *name, struct err *e)
{
    struct source_files *f = s->files;
    struct named *items = realloc(f->items, (f->count + 1) * sizeof *items);

    if (!items) {
        err_set(e, ERR_INTERNAL, "%s: no memory", name);
        return NULL;
    }
    f->items = items;
    items[f->count].name = strdup(name);
    items[f->count].container = container_open(kind_of(s->format), s->dir, name, e);
    if (!items[f->count].name || !items[f->count].container) {
        free(items[f->count].name);
        container_close(items[f->count].container);
        return NULL;
    }
    return items[f->count++].container;
}

/* The file of that name, opened when it is wanted first. */
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

/* "train/0.records#17" */
static struct container *find_record(struct source *s, const char *locator, size_t *record,
                                     struct err *e)
{
    const char *hash = strrchr(locator, '#');
    char name[4096], *end;

    if (!hash || hash == locator || (size_t)(hash - locator) >= sizeof name || !hash[1]) {
        err_set(e, ERR_DATA, "%s/%s: is no FILE#RECORD", s->dir, locator);
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(hash - locator), locator);
    *record = strtoul(hash + 1, &end, 10);
    struct container *c = get_container(s, name, e);
    if (c && (*end || *record >= container_count(c))) {
        err_set(e, ERR_DATA, "%s/%s: has no such record, only %zu; restore the file, or make a new "
                "split", s->dir, locator, container_count(c));
        return NULL;
    }
    return c;
}

int source_image(struct source *s, const char *locator, const char *want, char sha256[65],
                 struct pixels *img, struct err *e)
{
    size_t record;

    if (!has_containers(s))
        return load_image(s->dir, locator, want, sha256, img, e);
    memset(img, 0, sizeof *img);
    struct container *c = find_record(s, locator, &record, e);
    return c ? container_image(c, record, want, sha256, img, e) : -1;
}

int source_mask(struct source *s, const char *locator, bool coloured, const char *want,
                char sha256[65], struct pixels *img, struct err *e)
{
    size_t record;

    if (!has_containers(s))
        return load_mask(s->dir, locator, coloured, want, sha256, img, e);
    memset(img, 0, sizeof *img);
    struct container *c = find_record(s, locator, &record, e);
    return c ? container_mask(c, record, want, sha256, img, e) : -1;
}

int source_check(struct source *s, const char *locator, uint32_t width, uint32_t height,
                 struct err *e)
{
    uint32_t w, h;
    size_t record;

    if (has_containers(s))
        return find_record(s, locator, &record, e) ? 0 : -1;
    char *path = pairs_path(s->dir, locator);
    int rc = path ? image_file_size(path, &w, &h, e)
                  : err_set(e, ERR_INTERNAL, "%s: no memory", locator);
    if (rc == 0 && (w != width || h != height))
        rc = err_set(e, ERR_DATA, "%s: has %u x %u pixels, but had %u x %u when the split was made",
                     path, w, h, width, height);
    free(path);
    return rc;
}
