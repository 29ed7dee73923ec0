/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/pairs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/filename.h"

struct entry {
    char *stem, *path; /* path: "images/0001.png" */
};

struct entries {
    struct entry *items;
    size_t count, capacity;
};

static void entries_free(struct entries *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].stem);
        free(list->items[i].path);
    }
    free(list->items);
}

char *pairs_path(const char *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int entries_add(struct entries *list, const char *sub, const char *name, struct err *e)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        struct entry *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return err_set(e, ERR_INTERNAL, "no memory for the list of files");
        list->items = items;
        list->capacity = capacity;
    }
    struct entry *new = &list->items[list->count];
    new->stem = strndup(name, filename_stem(name));
    new->path = pairs_path(sub, name);
    list->count++; /* entries_free frees a half-made one too */
    if (!new->stem || !new->path)
        return err_set(e, ERR_INTERNAL, "no memory for the list of files");
    return 0;
}

static int by_stem(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->stem, y->stem);
    return order ? order : strcmp(x->path, y->path);
}

static int refuse_equal_stems(const char *dir, const struct entries *list, struct err *e)
{
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->items[i - 1].stem, list->items[i].stem) == 0)
            return err_set(e, ERR_DATA,
                           "%s: %s and %s have the same stem: which one is meant? Remove one", dir,
                           list->items[i - 1].path, list->items[i].path);
    return 0;
}

static int list_folder(const char *dir, const char *sub, struct entries *list, struct err *e)
{
    char *path = pairs_path(dir, sub);
    DIR *d = path ? opendir(path) : NULL;
    struct dirent *entry;
    int rc = 0;

    if (!d) {
        err_errno(e, ERR_DATA, errno, "%s/%s: a data folder has images/ and masks/", dir, sub);
        free(path);
        return -1;
    }
    while (rc == 0 && (errno = 0, entry = readdir(d)))
        if (entry->d_name[0] != '.' && filename_is_image(entry->d_name))
            rc = entries_add(list, sub, entry->d_name, e);
    if (rc == 0 && errno)
        rc = err_errno(e, ERR_DATA, errno, "%s: can't be listed", path);
    closedir(d);
    free(path);
    if (rc == 0 && list->count)
        qsort(list->items, list->count, sizeof *list->items, by_stem);
    return rc ? rc : refuse_equal_stems(dir, list, e);
}

/* Both lists are sorted, so the first difference names the file that is alone. */
static int refuse_singles(const char *dir, const struct entries *images,
                          const struct entries *masks, struct err *e)
{
    size_t n = images->count > masks->count ? images->count : masks->count;

    for (size_t i = 0; i < n; i++) {
        const struct entry *image = i < images->count ? &images->items[i] : NULL;
        const struct entry *mask = i < masks->count ? &masks->items[i] : NULL;
        int order = !image ? 1 : !mask ? -1 : strcmp(image->stem, mask->stem);
        if (order < 0)
            return err_set(e, ERR_DATA, "%s: %s has no mask: masks/%s.png is missing (%zu images, "
                           "%zu masks)", dir, image->path, image->stem, images->count,
                           masks->count);
        if (order > 0)
            return err_set(e, ERR_DATA, "%s: %s has no image: images/%s.png is missing (%zu images,"
                           " %zu masks)", dir, mask->path, mask->stem, images->count, masks->count);
    }
    return 0;
}

/* Moves the names of the two equal lists into pairs. */
static int join(struct entries *images, struct entries *masks, struct pairs *pairs, struct err *e)
{
    pairs->items = calloc(images->count, sizeof *pairs->items);
    if (!pairs->items)
        return err_set(e, ERR_INTERNAL, "no memory for the list of files");
    pairs->count = images->count;
    for (size_t i = 0; i < images->count; i++) {
        pairs->items[i] = (struct pair){images->items[i].stem, images->items[i].path,
                                        masks->items[i].path};
        images->items[i] = (struct entry){NULL, NULL};
        masks->items[i].path = NULL;
    }
    return 0;
}

int pairs_scan(const char *dir, struct pairs *pairs, struct err *e)
{
    struct entries images = {0}, masks = {0};

    *pairs = (struct pairs){0};
    int rc = list_folder(dir, "images", &images, e);
    if (rc == 0)
        rc = list_folder(dir, "masks", &masks, e);
    if (rc == 0 && (images.count == 0 || masks.count == 0))
        rc = err_set(e, ERR_DATA, "%s: no image files in %s/ (" FILENAME_IMAGES "); %zu in images/, %zu in masks/",
                     dir, images.count ? "masks" : "images", images.count, masks.count);
    if (rc == 0)
        rc = refuse_singles(dir, &images, &masks, e);
    if (rc == 0)
        rc = join(&images, &masks, pairs, e);
    entries_free(&images);
    entries_free(&masks);
    return rc;
}

void pairs_free(struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        free(pairs->items[i].stem);
        free(pairs->items[i].image);
        free(pairs->items[i].mask);
    }
    free(pairs->items);
    *pairs = (struct pairs){0};
}
