/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/pairs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"
#include "src/text/filename.h"

struct list_entry {
    char *stem, *path; /* path: relative to the data folder, "images/0001.png" */
};

struct file_list {
    struct list_entry *items;
    size_t count, capacity;
};

static void free_list(struct file_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].stem);
        free(list->items[i].path);
    }
    free(list->items);
}

static int add_file(struct file_list *list, const char *sub, const char *name, struct err *e)
{
    if (mem_grow(&list->items, list->count, &list->capacity, sizeof *list->items, e))
        return -1;
    struct list_entry *new = &list->items[list->count++];
    new->stem = mem_textf(e, "%.*s", (int)filename_stem(name), name);
    new->path = mem_textf(e, "%s%s%s", sub, *sub ? "/" : "", name);
    return new->stem && new->path ? 0 : -1;
}

static int compare_stems(const void *a, const void *b)
{
    const struct list_entry *x = a, *y = b;
    int order = strcmp(x->stem, y->stem);
    return order ? order : strcmp(x->path, y->path);
}

static void sort_list(struct file_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_stems);
}

static int refuse_equal_stems(const char *dir, const struct file_list *list, struct err *e)
{
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->items[i - 1].stem, list->items[i].stem) == 0)
            return err_set(e, ERR_DATA,
                           "%s: %s and %s have the same stem: remove one", dir,
                           list->items[i - 1].path, list->items[i].path);
    return 0;
}

static int list_folder(const char *dir, const char *sub, struct file_list *list,
                       struct pairs *pairs, struct err *e)
{
    char *path = mem_textf(e, "%s/%s", dir, sub);
    DIR *d = path ? opendir(path) : NULL;
    struct dirent *entry;
    int rc = 0;

    if (!path)
        return -1;
    if (!d) {
        err_errno(e, ERR_DATA, errno, "%s/%s: a data folder has images/ and masks/; rename yours, "
                  "or link them (ln -s FOLDER %s)", dir, sub, sub);
        free(path);
        return -1;
    }
    while (rc == 0 && (errno = 0, entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        bool known = filename_is_image(entry->d_name);
        pairs->nothers += !known;
        if (known)
            rc = add_file(list, strcmp(sub, ".") ? sub : "", entry->d_name, e);
        else
            snprintf(pairs->other_name, sizeof pairs->other_name, "%s", entry->d_name);
    }
    if (rc == 0 && errno)
        rc = err_errno(e, ERR_DATA, errno, "cannot list %s", path);
    closedir(d);
    free(path);
    sort_list(list);
    return rc;
}

/* Copies stem without the suffix to dst; returns false if it does not end in suffix. */
static bool cut_suffix(const char *stem, const char *suffix, char dst[NAME_MAX + 1])
{
    size_t n = strlen(stem), ns = strlen(suffix);

    if (n <= ns || strcmp(stem + n - ns, suffix) != 0)
        return false;
    snprintf(dst, NAME_MAX + 1, "%.*s", (int)(n - ns), stem);
    return true;
}

static int compare_with_stem(const void *stem, const void *entry)
{
    return strcmp(stem, ((const struct list_entry *)entry)->stem);
}

static bool has_stem(const struct file_list *list, const char *base, const char *suffix)
{
    char stem[2 * NAME_MAX];

    snprintf(stem, sizeof stem, "%s%s", base, suffix);
    return list->count > 0 &&
           bsearch(stem, list->items, list->count, sizeof *list->items, compare_with_stem);
}

/* Returns the suffixes by which most masks find an image. If images and masks share a folder
 * (images == masks), only suffixes that mark masks count. */
static const struct layout_suffix *choose_suffix(const struct file_list *images,
                                                 const struct file_list *masks)
{
    const struct layout_suffix *best = layout_suffixes;
    char base[NAME_MAX + 1];
    size_t most = 0;

    for (const struct layout_suffix *s = layout_suffixes; s->image; s++) {
        size_t n = 0;
        for (size_t i = 0; (images != masks || *s->mask) && i < masks->count; i++)
            n += cut_suffix(masks->items[i].stem, s->mask, base) &&
                 has_stem(images, base, s->image);
        best = n > most ? s : best;
        most = n > most ? n : most;
    }
    return best;
}

/* Moves the files that end in the masks' suffix from images to masks. */
static int split_list(struct file_list *images, struct file_list *masks, const char *suffix,
                      struct err *e)
{
    char base[NAME_MAX + 1];
    size_t kept = 0;

    masks->items = mem_zero(images->count, sizeof *masks->items, e);
    if (!masks->items)
        return -1;
    for (size_t i = 0; i < images->count; i++)
        if (cut_suffix(images->items[i].stem, suffix, base))
            masks->items[masks->count++] = images->items[i];
        else
            images->items[kept++] = images->items[i];
    images->count = kept;
    return 0;
}

/* Removes the suffix from all stems. Files without it keep their stem and fail to pair later. */
static void cut_suffixes(struct file_list *list, const char *suffix)
{
    char base[NAME_MAX + 1];

    for (size_t i = 0; i < list->count; i++)
        if (cut_suffix(list->items[i].stem, suffix, base))
            strcpy(list->items[i].stem, base);
    sort_list(list);
}

/* Refuses images of several channels: nnU-Net keeps each channel in a file of its own. */
static int refuse_channels(const char *dir, const struct file_list *images,
                           const struct layout_suffix *suffix, struct err *e)
{
    char base[NAME_MAX + 1];

    for (size_t i = 0; strcmp(suffix->image, "_0000") == 0 && i < images->count; i++)
        if (cut_suffix(images->items[i].stem, "_0001", base) && has_stem(images, base, "_0000"))
            return err_set(
                e, ERR_DATA,
                "%s: %s is a second channel of an image (nnU-Net), but each image "
                "must be one file: merge the channels, for example as red, green and blue "
                "of a PNG",
                dir, images->items[i].path);
    return 0;
}

static int list_images_and_masks(const char *dir, const struct layout_part *part,
                                 struct file_list *images, struct file_list *masks,
                                 struct pairs *pairs, struct err *e)
{
    bool one = strcmp(part->images, part->masks) == 0;

    if (list_folder(dir, part->images, images, pairs, e) ||
        (!one && list_folder(dir, part->masks, masks, pairs, e)))
        return -1;
    const struct layout_suffix *suffix = choose_suffix(images, one ? images : masks);
    if (refuse_channels(dir, images, suffix, e) ||
        (one && split_list(images, masks, suffix->mask, e)))
        return -1;
    bool none = images->count == 0;
    const char *other_name = pairs->other_name;
    if (none || masks->count == 0)
        return err_set(e, ERR_DATA, "%s: no image files in %s/ (" FILENAME_IMAGES "); %zu in %s/, "
                       "%zu in %s/%s%s", dir, none ? part->images : part->masks, images->count,
                       part->images, masks->count, part->masks,
                       *other_name ? "; other files there are not read, such as " : "", other_name);
    if (one)
        pairs->nothers = 0; /* files beside the images are not worth a warning */
    cut_suffixes(images, suffix->image);
    cut_suffixes(masks, suffix->mask);
    return refuse_equal_stems(dir, images, e) || refuse_equal_stems(dir, masks, e) ? -1 : 0;
}

/* Walks both lists, sorted by stem, and refuses the first file without a partner. unpaired: if not
 * NULL, images without a mask are counted there instead, and their stem is freed and set to
 * NULL. */
static int refuse_singles(const char *dir, const struct layout_part *part, struct file_list *images,
                          const struct file_list *masks, size_t *unpaired, struct err *e)
{
    size_t i = 0, m = 0;

    while (i < images->count || m < masks->count) {
        struct list_entry *image = i < images->count ? &images->items[i] : NULL;
        const struct list_entry *mask = m < masks->count ? &masks->items[m] : NULL;
        int order = !image ? 1 : !mask ? -1 : strcmp(image->stem, mask->stem);
        if (order < 0 && !unpaired)
            return err_set(e, ERR_DATA, "%s: %s has no mask: %s/%s.png is missing (%zu images, "
                           "%zu masks)", dir, image->path, part->masks, image->stem, images->count,
                           masks->count);
        if (order > 0)
            return err_set(e, ERR_DATA, "%s: %s has no image: %s/%s.png is missing (%zu images,"
                           " %zu masks)", dir, mask->path, part->images, mask->stem, images->count,
                           masks->count);
        if (order < 0) {
            free(image->stem);
            image->stem = NULL;
            ++*unpaired;
        }
        i++;
        m += order == 0;
    }
    return 0;
}

/* Moves the names of both lists into pairs. Images whose stem is NULL are left out. */
static int join_lists(struct file_list *images, struct file_list *masks, struct pairs *pairs,
                      struct err *e)
{
    pairs->items = mem_zero(masks->count, sizeof *pairs->items, e);
    if (!pairs->items)
        return -1;
    for (size_t i = 0; i < images->count; i++) {
        struct list_entry *image = &images->items[i], *mask = &masks->items[pairs->count];
        if (!image->stem)
            continue;
        pairs->items[pairs->count++] = (struct pair){image->stem, image->path, mask->path};
        *image = (struct list_entry){NULL, NULL};
        mask->path = NULL;
    }
    return 0;
}

int pairs_scan(const char *dir, const struct layout_part *part, bool partial, struct pairs *pairs,
               struct err *e)
{
    struct file_list images = {0}, masks = {0};

    *pairs = (struct pairs){0};
    int rc = list_images_and_masks(dir, part, &images, &masks, pairs, e);
    if (rc == 0)
        rc = refuse_singles(dir, part, &images, &masks, partial ? &pairs->unpaired : NULL, e);
    if (rc == 0)
        rc = join_lists(&images, &masks, pairs, e);
    free_list(&images);
    free_list(&masks);
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
