/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for the pairs of folders in a table of known names (rows), such as images/ and masks/: with
 * images directly in them, in train/ and val/ below them (images/train), or with both of them in
 * train/ and val/ (train/images); or for subfolders in which masks lie beside their images. */
#include "config.h"
#include "trainer/data/source/layout.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "src/text.h"
#include "trainer/data/source/tree.h"

#define PATH_SIZE (PATH_MAX + 2 * NAME_MAX)

/* Known pairs of folders; case is ignored. standard: other folders beside them have a known
 * meaning, such as VOC's SegmentationObject/. */
static const struct layout_row {
    const char *images, *masks;
    bool partial, standard;
} rows[] = {
    {"images", "masks", false, false},      {"images", "mask", false, false},
    {"images", "labels", false, false},     {"images", "label", false, false},
    {"images", "annotations", false, false}, {"images", "gt", false, false},
    {"image", "mask", false, false},        {"image", "masks", false, false},
    {"image", "label", false, false},       {"image", "labels", false, false},
    {"img", "mask", false, false},          {"img", "masks", false, false},
    {"img", "label", false, false},         {"img", "labels", false, false},
    {"imgs", "masks", false, false},        {"imgs", "labels", false, false},
    {"imagesTr", "labelsTr", false, true}, /* nnU-Net */
    {"JPEGImages", "SegmentationClass", true, true}, /* Pascal VOC */
    {".", ".", false, true},               /* one folder, where masks have a suffix */
};
#define NROWS (sizeof rows / sizeof *rows)

const char *const layout_train[] = {"train", "training", NULL};
const char *const layout_held_out[] = {"val", "valid", "validation", "test", NULL};

/* Finds an entry of dir/sub that `wanted` accepts, hidden ones aside, and copies its name to dst
 * unless that is NULL. */
static bool find_dir_entry(const char *dir, const char *sub,
                           bool (*wanted)(const char *dir, const char *name, const void *arg),
                           const void *arg, char dst[NAME_MAX + 1])
{
    char path[PATH_SIZE];
    struct dirent *entry;
    bool found = false;

    snprintf(path, sizeof path, "%s/%s", dir, sub);
    DIR *d = opendir(path);
    while (d && !found && (entry = readdir(d))) {
        found = entry->d_name[0] != '.' && wanted(path, entry->d_name, arg);
        if (found && dst)
            snprintf(dst, NAME_MAX + 1, "%s", entry->d_name);
    }
    if (d)
        closedir(d);
    return found;
}

static bool is_folder_named(const char *dir, const char *name, const void *arg)
{
    return strcasecmp(name, arg) == 0 && tree_is_folder(dir, name);
}

static bool find_folder(const char *dir, const char *name, char dst[NAME_MAX + 1])
{
    snprintf(dst, NAME_MAX + 1, "%s", name);
    return tree_is_folder(dir, name) || find_dir_entry(dir, ".", is_folder_named, name, dst);
}

bool layout_folder(const char *dir, const char *const *names, char dst[NAME_MAX + 1])
{
    for (; *names; names++)
        if (find_folder(dir, *names, dst))
            return true;
    return false;
}

static bool is_image(const char *dir, const char *name, const void *arg)
{
    return filename_is_image(name);
}

static bool has_image(const char *dir, const char *sub)
{
    return find_dir_entry(dir, sub, is_image, NULL, NULL);
}

/* Finds the two folders of a row of the table in dir, whether or not they hold images. The row "."
 * is found only if dir has a marked mask. */
static bool has_folders(const char *dir, const struct layout_row *row, char images[NAME_MAX + 1],
                        char masks[NAME_MAX + 1])
{
    if (strcmp(row->images, ".") != 0 || strcmp(row->masks, ".") != 0)
        return find_folder(dir, row->images, images) && find_folder(dir, row->masks, masks);
    strcpy(images, ".");
    strcpy(masks, ".");
    return pairs_are_in(dir, ".");
}

static bool join_path(const char *sub, const char *name, char *dst, size_t size)
{
    bool here = strcmp(name, ".") == 0;
    int n = *sub && here ? snprintf(dst, size, "%s", sub)
                         : snprintf(dst, size, "%s%s%s", sub, *sub ? "/" : "", name);

    return n >= 0 && (size_t)n < size;
}

/* Refuses a folder beside images and masks whose files would be pairs with the images and would not
 * be used: it may hold the true masks. */
static int refuse_siblings(const char *path, const char *images, const char *masks, struct err *e)
{
    struct tree folders = {0};
    int rc = tree_list(path, NULL, NULL, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        const char *name = folders.paths[i];
        if (strcmp(name, images) != 0 && strcmp(name, masks) != 0 &&
            pairs_match(path, images, name))
            rc = err_set(e, ERR_CONFIG, "%s: the masks of %s/ may be in %s/ or in %s/: choose with "
                         "data.masks=%s or data.masks=%s (unet-train data: --mask-folder)", path,
                         images, masks, name, masks, name);
    }
    tree_free(&folders);
    return rc;
}

/* Returns whether this row of the table names a folder again that an earlier row named, because the
 * choice replaces the names in which they differ. */
static bool is_repeated(const struct layout_row *row, const struct source_folders *choice)
{
    for (const struct layout_row *r = rows; r < row; r++)
        if ((choice->images || strcmp(r->images, row->images) == 0) &&
            (choice->masks || strcmp(r->masks, row->masks) == 0))
            return true;
    return false;
}

/* Looks for the rows of the table in dir/sub, with the chosen names instead of theirs. Returns 1
 * and the folders in *dst if they hold images, 0 if not, -1 on error. *empty: the folders of a row
 * exist, but without images. */
static int find_row(const char *dir, const char *sub, const struct source_folders *choice,
                    struct layout *l, struct pairs_part *dst, bool *empty, struct err *e)
{
    char path[PATH_SIZE], images[NAME_MAX + 1], masks[NAME_MAX + 1], chosen[2][NAME_MAX + 1];
    const struct layout_row *found = NULL;

    snprintf(path, sizeof path, "%s%s%s", dir, *sub ? "/" : "", sub);
    *empty = false;
    for (const struct layout_row *row = rows; row < rows + NROWS; row++) {
        struct layout_row named = *row;
        named.images = choice->images ? choice->images : row->images;
        named.masks = choice->masks ? choice->masks : row->masks;
        if (is_repeated(row, choice) || !has_folders(path, &named, images, masks))
            continue;
        bool full = has_image(path, images) && has_image(path, masks);
        if (full && found)
            return err_set(e, ERR_CONFIG,
                           "%s: the masks may be in %s/ or in %s/: choose with data.masks=%s or "
                           "data.masks=%s (unet-train data: --mask-folder)",
                           path, chosen[1], masks, chosen[1], masks);
        if ((!full && (found || *empty)) ||
            !join_path(sub, images, dst->images, sizeof dst->images) ||
            !join_path(sub, masks, dst->masks, sizeof dst->masks))
            continue;
        dst->side = SOURCE_ANY;
        l->partial = row->partial;
        *empty = !full;
        found = full ? row : NULL;
        strcpy(chosen[0], images);
        strcpy(chosen[1], masks);
    }
    if (found && !found->standard && !choice->masks &&
        refuse_siblings(path, chosen[0], chosen[1], e))
        return -1;
    return found != NULL;
}

/* Finds images/train and masks/train, and images/val and masks/val (or another name of held-out
 * data). All four must hold images. */
static bool find_below(const char *dir, const struct pairs_part *part, struct layout *l)
{
    static const char *const *const sides[] = {layout_train, layout_held_out};
    char images[PATH_SIZE], masks[PATH_SIZE], sub[NAME_MAX + 1], other[NAME_MAX + 1];

    snprintf(images, sizeof images, "%s/%s", dir, part->images);
    snprintf(masks, sizeof masks, "%s/%s", dir, part->masks);
    for (int i = 0; i < 2; i++) {
        const char *const same[] = {sub, NULL};
        struct pairs_part *dst = &l->parts[i];
        if (!layout_folder(images, sides[i], sub) || !layout_folder(masks, same, other) ||
            !join_path(part->images, sub, dst->images, sizeof dst->images) ||
            !join_path(part->masks, other, dst->masks, sizeof dst->masks) ||
            !has_image(dir, dst->images) || !has_image(dir, dst->masks))
            return false;
        dst->side = i ? SOURCE_VAL : SOURCE_TRAIN;
    }
    l->nparts = 2;
    return true;
}

/* Finds train/images and train/masks, and the same below val/ or another name of held-out data.
 * Returns 1, 0 or -1 as layout_find. */
static int find_above(const char *dir, const struct source_folders *choice, struct layout *l,
                      struct err *e)
{
    char train[NAME_MAX + 1], val[NAME_MAX + 1];
    bool empty;
    int rc = layout_folder(dir, layout_train, train)
                 ? find_row(dir, train, choice, l, &l->parts[0], &empty, e) : 0;

    if (rc <= 0)
        return rc;
    l->nparts = 1;
    if (layout_folder(dir, layout_held_out, val) &&
        (rc = find_row(dir, val, choice, l, &l->parts[1], &empty, e)) > 0) {
        l->nparts = 2;
        l->parts[0].side = SOURCE_TRAIN;
        l->parts[1].side = SOURCE_VAL;
    }
    return rc < 0 ? -1 : 1;
}

/* Returns whether name is an annotation file of COCO: JSON in the folder annotations/ (arg), or
 * with coco in its name. */
static bool is_coco(const char *dir, const char *name, const void *arg)
{
    size_t n = strlen(name);

    return n > 5 && strcmp(name + n - 5, ".json") == 0 &&
           (strcmp(arg, "annotations") == 0 || strcasestr(name, "coco"));
}

static int refuse_coco(const char *dir, struct err *e)
{
    static const char *const where[] = {"annotations", ".", "train", NULL};
    char name[NAME_MAX + 1];

    for (int i = 0; where[i]; i++)
        if (find_dir_entry(dir, where[i], is_coco, where[i], name))
            return err_set(e, ERR_DATA, "%s: is a COCO set (%s/%s has outlines), which is not "
                           "read: draw them into masks/NAME.png, one for each images/NAME, with "
                           "pixel value 0 for background and 1, 2 ... for the categories "
                           "(annToMask of pycocotools)", dir, where[i], name);
    return 0;
}

/* Finds subfolders, as one per patient, in which masks lie beside their images. */
static int find_nested(const char *dir, struct layout *l, struct err *e)
{
    struct tree folders = {0};
    int rc = tree_list(dir, NULL, NULL, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++)
        if (tree_is_folder(dir, folders.paths[i]) && pairs_are_in(dir, folders.paths[i]))
            rc = 1;
    tree_free(&folders);
    if (rc <= 0)
        return rc;
    *l = (struct layout){.nparts = 1, .nested = true};
    return 1;
}

int layout_find(const char *dir, const struct source_folders *choice, struct layout *l,
                struct err *e)
{
    static const char *const first[] = {"images", "masks", NULL};
    struct pairs_part part;
    char name[NAME_MAX + 1];
    bool empty, partial;

    *l = (struct layout){.nparts = 0};
    int rc = find_row(dir, "", choice, l, &part, &empty, e);
    partial = l->partial;
    if (rc == 0 && empty && find_below(dir, &part, l))
        return 1;
    if (rc == 0)
        rc = find_above(dir, choice, l, e);
    if (rc < 0 || l->nparts)
        return rc;
    if (rc == 0 && (choice->images || choice->masks))
        return err_set(e, ERR_CONFIG, "%s: there are no images in the folders that data.images "
                       "and data.masks name (%s/ and %s/)", dir,
                       choice->images ? choice->images : "images",
                       choice->masks ? choice->masks : "masks");
    if (rc == 0 && refuse_coco(dir, e))
        return -1;
    if (rc == 0 && !empty) {
        if (!layout_folder(dir, first, name))
            return find_nested(dir, l, e);
        part = (struct pairs_part){.images = "images", .masks = "masks"};
    }
    l->partial = partial;
    l->parts[0] = part;
    l->nparts = 1;
    return 1;
}
