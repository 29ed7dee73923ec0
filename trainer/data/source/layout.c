/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/layout.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/text/filename.h"

#define PATH_SIZE (PATH_MAX + 2 * NAME_MAX)

/* Known pairs of folders; names count in any case. The first row is the layout that doc/FORMATS.md
 * recommends: where it is there, nothing else is asked. */
static const struct row {
    const char *images, *masks;
    bool partial;
} rows[] = {
    {"images", "masks", false},      {"images", "mask", false},
    {"images", "labels", false},     {"images", "label", false},
    {"images", "annotations", false}, {"images", "gt", false},
    {"image", "mask", false},        {"image", "masks", false},
    {"image", "label", false},       {"image", "labels", false},
    {"img", "mask", false},          {"img", "masks", false},
    {"img", "label", false},         {"img", "labels", false},
    {"imgs", "masks", false},        {"imgs", "labels", false},
    {"imagesTr", "labelsTr", false}, /* nnU-Net */
    {"JPEGImages", "SegmentationClass", true}, /* Pascal VOC */
    {".", ".", false},               /* told apart by a suffix alone */
};
#define NROWS (sizeof rows / sizeof *rows)

const struct layout_suffix layout_suffixes[] = {
    {"", ""},          {"_0000", ""},    {"", "_mask"},     {"", "_masks"},  {"", "-mask"},
    {"", ".mask"},     {"", "_label"},   {"", "_labels"},   {"", "-label"},  {"", "_seg"},
    {"", "_gt"},       {"", "_anno"},    {"", "_segmentation"},
    {"_image", "_mask"}, {"_img", "_mask"}, {"_sat", "_mask"}, {"_image", "_label"},
    {NULL, NULL}};

const char *const layout_train[] = {"train", "training", NULL};
const char *const layout_held_out[] = {"val", "valid", "validation", "test", NULL};

static bool is_folder(const char *dir, const char *name)
{
    char path[PATH_SIZE];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder in dir of that name in any case, as it is spelt there. */
static bool find_folder(const char *dir, const char *name, char dst[NAME_MAX + 1])
{
    DIR *d;
    struct dirent *entry;
    bool found = is_folder(dir, name);

    snprintf(dst, NAME_MAX + 1, "%s", name);
    if (found || !(d = opendir(dir)))
        return found;
    while (!found && (entry = readdir(d)))
        if (strcasecmp(entry->d_name, name) == 0 && is_folder(dir, entry->d_name)) {
            snprintf(dst, NAME_MAX + 1, "%s", entry->d_name);
            found = true;
        }
    closedir(d);
    return found;
}

bool layout_folder(const char *dir, const char *const *names, char dst[NAME_MAX + 1])
{
    for (; *names; names++)
        if (find_folder(dir, *names, dst))
            return true;
    return false;
}

static bool has_image(const char *dir, const char *sub)
{
    char path[PATH_SIZE];
    struct dirent *entry;
    bool found = false;

    snprintf(path, sizeof path, "%s/%s", dir, sub);
    DIR *d = opendir(path);
    while (d && !found && (entry = readdir(d)))
        found = entry->d_name[0] != '.' && filename_is_image(entry->d_name);
    if (d)
        closedir(d);
    return found;
}

/* Is there an image for the mask of that name, by the i-th suffix? */
static bool has_partner(const char *dir, const char *name, const struct layout_suffix *suffix)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".tif", ".tiff", NULL};
    size_t n = filename_stem(name), ns = strlen(suffix->mask);
    char path[PATH_SIZE];

    if (ns == 0 || n <= ns || strncmp(name + n - ns, suffix->mask, ns) != 0)
        return false;
    int at = snprintf(path, sizeof path, "%s/%.*s%s", dir, (int)(n - ns), name, suffix->image);
    for (int i = -1; i < 0 || endings[i]; i++) {
        snprintf(path + at, sizeof path - (size_t)at, "%s", i < 0 ? name + n : endings[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Do images lie beside their masks, told apart by a suffix? */
static bool has_marked_masks(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    bool found = false;

    while (d && !found && (entry = readdir(d)))
        if (entry->d_name[0] != '.' && filename_is_image(entry->d_name))
            for (const struct layout_suffix *s = layout_suffixes; !found && s->image; s++)
                found = has_partner(dir, entry->d_name, s);
    if (d)
        closedir(d);
    return found;
}

/* The folders of one row below dir, whether or not they hold images. */
static bool has_folders(const char *dir, const struct row *row, char images[NAME_MAX + 1],
                        char masks[NAME_MAX + 1])
{
    if (*row->images != '.')
        return find_folder(dir, row->images, images) && find_folder(dir, row->masks, masks);
    strcpy(images, ".");
    strcpy(masks, ".");
    return has_marked_masks(dir);
}

static bool join(const char *sub, const char *name, char *dst, size_t size)
{
    bool here = strcmp(name, ".") == 0;
    int n = *sub && here ? snprintf(dst, size, "%s", sub)
                         : snprintf(dst, size, "%s%s%s", sub, *sub ? "/" : "", name);

    return n >= 0 && (size_t)n < size;
}

/* Looks through the table in dir/sub. *empty: folders without images of a row. */
static int find_row(const char *dir, const char *sub, struct layout *l, struct layout_part *dst,
                    bool *empty, struct err *e)
{
    char path[PATH_SIZE], images[NAME_MAX + 1], masks[NAME_MAX + 1];
    const struct row *found = NULL;

    snprintf(path, sizeof path, "%s%s%s", dir, *sub ? "/" : "", sub);
    *empty = false;
    for (const struct row *row = rows; row < rows + NROWS; row++) {
        if (!has_folders(path, row, images, masks))
            continue;
        bool full = has_image(path, images) && has_image(path, masks);
        if (full && found)
            return err_set(e, ERR_DATA, "%s: the masks may lie in %s/ or in %s/: rename the folder "
                           "that is not meant", path, dst->masks, masks);
        if (!full && (found || *empty))
            continue;
        if (!join(sub, images, dst->images, sizeof dst->images) ||
            !join(sub, masks, dst->masks, sizeof dst->masks))
            continue;
        dst->side = SOURCE_ANY;
        l->partial = row->partial;
        *empty = !full;
        found = full ? row : NULL;
        if (found == rows)
            return 1;
    }
    return found != NULL;
}

/* images/train and masks/train, where neither folder holds images itself. */
static bool find_below(const char *dir, const struct layout_part *part, struct layout *l)
{
    static const char *const *const sides[] = {layout_train, layout_held_out};
    char images[PATH_SIZE], masks[PATH_SIZE], sub[NAME_MAX + 1], other[NAME_MAX + 1];

    snprintf(images, sizeof images, "%s/%s", dir, part->images);
    snprintf(masks, sizeof masks, "%s/%s", dir, part->masks);
    for (int i = 0; i < 2; i++) {
        const char *const same[] = {sub, NULL};
        struct layout_part *dst = &l->parts[i];
        if (!layout_folder(images, sides[i], sub) || !layout_folder(masks, same, other) ||
            !join(part->images, sub, dst->images, sizeof dst->images) ||
            !join(part->masks, other, dst->masks, sizeof dst->masks) ||
            !has_image(dir, dst->images) || !has_image(dir, dst->masks))
            return false;
        dst->side = i ? SOURCE_VAL : SOURCE_TRAIN;
    }
    l->nparts = 2;
    return true;
}

/* train/images and train/masks, and the same in val/. */
static int find_above(const char *dir, struct layout *l, struct err *e)
{
    char train[NAME_MAX + 1], val[NAME_MAX + 1];
    bool empty;
    int rc = layout_folder(dir, layout_train, train)
                 ? find_row(dir, train, l, &l->parts[0], &empty, e) : 0;

    if (rc <= 0)
        return rc;
    l->nparts = 1;
    if (layout_folder(dir, layout_held_out, val) &&
        (rc = find_row(dir, val, l, &l->parts[1], &empty, e)) > 0) {
        l->nparts = 2;
        l->parts[0].side = SOURCE_TRAIN;
        l->parts[1].side = SOURCE_VAL;
    }
    return rc < 0 ? -1 : 1;
}

/* A JSON file with annotations as COCO's: annotations/NAME.json, or NAME with coco in it. */
static bool find_coco(const char *dir, const char *sub, char dst[NAME_MAX + 1])
{
    char path[PATH_SIZE];
    struct dirent *entry;
    bool found = false;

    snprintf(path, sizeof path, "%s/%s", dir, sub);
    DIR *d = opendir(path);
    while (d && !found && (entry = readdir(d))) {
        size_t n = strlen(entry->d_name);
        found = n > 5 && strcmp(entry->d_name + n - 5, ".json") == 0 &&
                (strcmp(sub, "annotations") == 0 || strcasestr(entry->d_name, "coco"));
        if (found)
            snprintf(dst, NAME_MAX + 1, "%s", entry->d_name);
    }
    if (d)
        closedir(d);
    return found;
}

static int refuse_coco(const char *dir, struct err *e)
{
    static const char *const where[] = {"annotations", ".", "train", NULL};
    char name[NAME_MAX + 1];

    for (int i = 0; where[i]; i++)
        if (find_coco(dir, where[i], name))
            return err_set(e, ERR_DATA, "%s: is a COCO set (%s/%s has outlines), which is not "
                           "read: draw them into masks/NAME.png, one for each images/NAME, with "
                           "pixel value 0 for background and 1, 2 ... for the categories "
                           "(annToMask of pycocotools)", dir, where[i], name);
    return 0;
}

int layout_find(const char *dir, struct layout *l, struct err *e)
{
    static const char *const first[] = {"images", "masks", NULL};
    struct layout_part part;
    char name[NAME_MAX + 1];
    bool empty, partial;

    *l = (struct layout){.nparts = 0};
    int rc = find_row(dir, "", l, &part, &empty, e);
    partial = l->partial;
    if (rc == 0 && empty && find_below(dir, &part, l))
        return 1;
    if (rc == 0)
        rc = find_above(dir, l, e);
    if (rc < 0 || l->nparts)
        return rc;
    if (rc == 0 && refuse_coco(dir, e))
        return -1;
    if (rc == 0 && !empty) {
        if (!layout_folder(dir, first, name))
            return 0;
        part = (struct layout_part){.images = "images", .masks = "masks"};
    }
    l->partial = partial;
    l->parts[0] = part;
    l->nparts = 1;
    return 1;
}
