/* SPDX-License-Identifier: BSD-3-Clause */
/* source_open, which detects the layout of a data folder and lists its samples; source_assign. */
#include "config.h"
#include "trainer/data/source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/log.h"
#include "src/mem.h"
#include "src/text.h"
#include "trainer/data/image/text_file.h"
#include "trainer/data/source/class_folders.h"
#include "trainer/data/source/layout.h"
#include "trainer/data/source/pairs.h"
#include "trainer/data/source/record_files.h"
#include "trainer/data/source/tree.h"

#define MAX_LIST ((size_t)64 << 20) /* bytes of a list of names */

/* Adds the pairs of one pair of folders. prefix begins their stems where several folders may use
 * the same names. */
static int add_part(struct source *s, const struct pairs_part *part, const char *prefix,
                    bool partial, struct err *e)
{
    struct pairs pairs;
    char stem[4096];
    int rc = pairs_scan(s->dir, part, partial, &pairs, e);

    for (size_t i = 0; rc == 0 && i < pairs.count; i++) {
        struct pair *p = &pairs.items[i];
        snprintf(stem, sizeof stem, "%s%s%s", prefix, *prefix ? "/" : "", p->stem);
        rc = source_add(s, stem, p->image, p->mask, 0, part->side, e);
        p->image = p->mask = NULL;
    }
    if (rc == 0 && pairs.nothers)
        log_warn("%s: %zu %s not read in %s/ and %s/, such as %s: none of " FILENAME_IMAGES, s->dir,
                 pairs.nothers, pairs.nothers > 1 ? "entries are" : "entry is", part->images,
                 part->masks, pairs.other_name);
    if (rc == 0 && pairs.unpaired)
        log_warn("%s: %zu images in %s/ have no mask and are not used", s->dir, pairs.unpaired,
                 part->images);
    if (rc == 0 && pairs.nseveral)
        log_warn("%s: %zu image%s not used, such as %s: it has several masks, which would have to "
                 "be merged into one", s->dir, pairs.nseveral, pairs.nseveral > 1 ? "s are" : " is",
                 pairs.several_name);
    pairs_free(&pairs);
    return rc;
}

static struct source_item *find_image(struct source *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++) {
        const char *image = s->items[i].image, *base = filename_base(image);
        size_t n = filename_stem(base);
        if (strcmp(base, name) == 0 || strcmp(image, name) == 0 ||
            (strlen(name) == n && strncmp(base, name, n) == 0))
            return &s->items[i];
    }
    return NULL;
}

static int assign_image(struct source *s, const char *list_file, const char *name,
                        enum source_side side, struct err *e)
{
    struct source_item *found = find_image(s, name);

    if (!found)
        return err_set(e, ERR_DATA, "%s: names %s, which is not among the images", list_file, name);
    if (found->side != SOURCE_ANY)
        return err_set(e, ERR_DATA, "%s: %s is listed twice, or for both sides", list_file, name);
    found->side = side;
    return 0;
}

int source_assign(struct source *s, const char *list_file, enum source_side side, struct err *e)
{
    char *text = text_file_read(list_file, MAX_LIST, e), *rest = text, *name;
    int rc = !text ? -1 : text[strspn(text, "\r\n")] ? 0
             : err_set(e, ERR_DATA, "%s: names no image", list_file);

    while (rc == 0 && (name = text_file_line(&rest)))
        rc = *name ? assign_image(s, list_file, name, side, e) : 0;
    free(text);
    return rc;
}

/* Finds the list of a side in the data folder or its ImageSets/Segmentation/, such as
 * DIR/train.txt. */
static bool find_list(const struct source *s, const char *const *names, char *dst, size_t size)
{
    static const char *const folders[] = {"", "ImageSets/Segmentation/", NULL};

    for (int f = 0; folders[f]; f++)
        for (int i = 0; names[i]; i++) {
            snprintf(dst, size, "%s/%s%s.txt", s->dir, folders[f], names[i]);
            if (access(dst, R_OK) == 0)
                return true;
        }
    return false;
}

/* Returns whether any line names an image; otherwise the file has another purpose. */
static bool names_images(struct source *s, const char *list_file)
{
    struct err ignored;
    char *text = text_file_read(list_file, MAX_LIST, &ignored), *rest = text, *name;
    bool found = false;

    while (!found && (name = text_file_line(&rest)))
        found = *name && find_image(s, name);
    free(text);
    return found;
}

/* Divides the set by two lists that find_list finds, such as train.txt and val.txt. If one of the
 * lists names none of the images, neither list is used. */
static int divide_by_lists(struct source *s, struct err *e)
{
    char train[4096], val[4096];

    if (!find_list(s, layout_train, train, sizeof train) ||
        !find_list(s, layout_held_out, val, sizeof val))
        return 0;
    if (!names_images(s, train) || !names_images(s, val)) {
        log_warn("%s and %s name none of the images, and are not used", train, val);
        return 0;
    }
    if (source_assign(s, train, SOURCE_TRAIN, e) || source_assign(s, val, SOURCE_VAL, e))
        return err_prefix(e, "the set is divided by %s and %s (rename them to divide it at random)",
                          train, val);
    return 0;
}

static int list_nested(struct source *s, struct err *e)
{
    struct tree folders = {0};
    int rc = tree_list(s->dir, NULL, NULL, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        struct pairs_part part = {.side = SOURCE_ANY};
        struct tree files = {0};
        snprintf(part.images, sizeof part.images, "%s", folders.paths[i]);
        snprintf(part.masks, sizeof part.masks, "%s", folders.paths[i]);
        if (tree_is_folder(s->dir, part.images))
            rc = tree_list(s->dir, part.images, filename_is_image, &files, e);
        if (rc == 0 && files.count)
            rc = add_part(s, &part, part.images, false, e);
        tree_free(&files);
    }
    tree_free(&folders);
    return rc;
}

static int list_pairs(struct source *s, const struct layout *l, struct err *e)
{
    static const char *const prefixes[] = {
        [SOURCE_ANY] = "", [SOURCE_TRAIN] = "train", [SOURCE_VAL] = "val"};

    if (l->nested)
        return list_nested(s, e);
    for (int i = 0; i < l->nparts; i++)
        if (add_part(s, &l->parts[i], prefixes[l->parts[i].side], l->partial, e))
            return -1;
    return l->nparts == 1 ? divide_by_lists(s, e) : 0;
}

static int list_samples(struct source *s, const struct source_folders *folders, struct err *e)
{
    struct layout layout;
    int found = layout_find(s->dir, folders, &layout, e);

    if (found > 0) {
        s->format = SOURCE_PAIRS;
        return list_pairs(s, &layout, e);
    }
    if (found == 0)
        found = record_files_list(s, e);
    if (found)
        return found < 0 ? -1 : 0;
    s->format = SOURCE_FOLDERS;
    return class_folders_list(s, e);
}

static int compare_stems(const void *a, const void *b)
{
    const struct source_item *x = a, *y = b;
    return strcmp(x->stem, y->stem);
}

static int check_finished(const char *dir, struct err *e)
{
    char *path = mem_textf(e, "%s/" SOURCE_UNFINISHED, dir);
    int rc = !path ? -1 : access(path, F_OK) ? 0 :
        err_set(e, ERR_DATA, "%s: is not complete: the command that writes it still runs, or was "
                "killed; if it was, remove the folder and run the command again", dir);

    free(path);
    return rc;
}

struct source *source_open(const char *dir, const struct source_folders *folders, struct err *e)
{
    struct source_folders choice = folders ? *folders : (struct source_folders){0};
    struct source *s = source_attach(dir, SOURCE_PAIRS, e);
    struct stat st;

    choice.images = choice.images && *choice.images ? choice.images : NULL;
    choice.masks = choice.masks && *choice.masks ? choice.masks : NULL;
    if (!s)
        return NULL;
    if (stat(dir, &st) || !S_ISDIR(st.st_mode))
        err_errno(e, ERR_DATA, stat(dir, &st) ? errno : ENOTDIR,
                  "%s: a data folder has images/ and masks/", dir);
    else if (check_finished(dir, e) == 0 && list_samples(s, &choice, e) == 0) {
        if (s->count) {
            qsort(s->items, s->count, sizeof *s->items, compare_stems);
            return s;
        }
        err_set(e, ERR_DATA, "%s: no images", dir);
    }
    source_close(s);
    return NULL;
}
