/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/source/source_internal.h"

#include "trainer/data/source/tree.h"

/* What a data set adds to the stem that image and mask share: "_0000" in "case_0000.png", "_mask"
 * in "case_mask.png". The first row has none. */
static const struct suffix {
    const char *image, *mask;
} suffixes[] = {
    {"", ""},          {"_0000", ""},    {"", "_mask"},     {"", "_masks"},  {"", "-mask"},
    {"", ".mask"},     {"", "_label"},   {"", "_labels"},   {"", "-label"},  {"", "_seg"},
    {"", "_gt"},       {"", "_anno"},    {"", "_annotation"}, {"", "_segmentation"},
    {"_image", "_mask"}, {"_img", "_mask"}, {"_sat", "_mask"}, {"_image", "_label"},
    {"_leftImg8bit", "_gtFine_labelIds"}, {"_image", "_masks"}, {"_img", "_masks"},
    {"_img", "_label"}, {"_image", "_annotation"}, {"", "_cp_masks"}, /* Cellpose */
    {"", "_Simple Segmentation"}}; /* ilastik */
#define NSUFFIXES (sizeof suffixes / sizeof *suffixes)

struct list_entry {
    char *stem, *path; /* path: relative to the data folder, "images/0001.png" */
    bool left_out;
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
    new->left_out = false;
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
    struct tree names;

    if (!tree_is_folder(dir, sub))
        return err_set(e, ERR_DATA, "%s/%s: no such folder; a data folder has images/ and masks/: "
                       "rename yours, or link them (ln -s FOLDER %s)", dir, sub, sub);
    int rc = tree_list(dir, sub, NULL, &names, e);
    for (size_t i = 0; rc == 0 && i < names.count; i++) {
        bool known = filename_is_image(names.paths[i]);
        pairs->nothers += !known;
        if (known)
            rc = add_file(list, strcmp(sub, ".") ? sub : "", names.paths[i], e);
        else
            snprintf(pairs->other_name, sizeof pairs->other_name, "%s", names.paths[i]);
    }
    tree_free(&names);
    sort_list(list);
    return rc;
}

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

static struct list_entry *find_stem(const struct file_list *list, const char *stem)
{
    return list->count ? bsearch(stem, list->items, list->count, sizeof *list->items,
                                 compare_with_stem)
                       : NULL;
}

static bool has_stem(const struct file_list *list, const char *base, const char *suffix)
{
    char stem[2 * NAME_MAX];

    snprintf(stem, sizeof stem, "%s%s", base, suffix);
    return find_stem(list, stem);
}

static size_t count_pairs(const struct file_list *images, const struct file_list *masks,
                          const struct suffix *s)
{
    char base[NAME_MAX + 1];
    size_t n = 0;

    for (size_t i = 0; i < masks->count; i++)
        n += cut_suffix(masks->items[i].stem, s->mask, base) && has_stem(images, base, s->image);
    return n;
}

/* Returns the last part, from its separator on, that more than half of the stems end in, such as
 * "_manual1", as a part of one of them; "" if there is none (majority vote of Boyer and Moore). */
static const char *common_part(const struct file_list *list)
{
    const char *leader = "";
    size_t votes = 0, n = 0;

    for (int counting = 0; counting < 2; counting++)
        for (size_t i = 0; i < list->count; i++) {
            const char *stem = list->items[i].stem, *part = stem + strlen(stem);
            while (part > stem && (!*part || !strchr("_-. ", *part)))
                part--;
            bool is_leader = part > stem && strcmp(part, leader) == 0;
            if (counting)
                n += is_leader;
            else if (votes == 0)
                leader = part > stem ? part : "", votes = 1;
            else
                votes = is_leader ? votes + 1 : votes - 1;
        }
    return 2 * n > list->count ? leader : "";
}

/* Sets *best to the suffixes by which most masks find an image: of the table, or of two folders
 * also what most of their names end in. If images and masks share a folder (images == masks), only
 * suffixes that mark masks count. The texts live as long as the stems. Returns how many masks find
 * one. */
static size_t choose_suffix(const struct file_list *images, const struct file_list *masks,
                            struct suffix *best)
{
    const char *image = common_part(images), *mask = common_part(masks);
    const struct suffix parts[] = {{"", mask}, {image, ""}, {image, mask}};
    size_t most = 0;

    *best = suffixes[0];
    for (size_t i = 0; i < NSUFFIXES; i++) {
        size_t n =
            images != masks || *suffixes[i].mask ? count_pairs(images, masks, &suffixes[i]) : 0;
        *best = n > most ? suffixes[i] : *best;
        most = n > most ? n : most;
    }
    for (size_t i = 0; images != masks && i < sizeof parts / sizeof *parts; i++) {
        size_t n = count_pairs(images, masks, &parts[i]);
        *best = n > most ? parts[i] : *best;
        most = n > most ? n : most;
    }
    return most;
}

static bool is_png(const char *path)
{
    return strcasecmp(path + filename_stem(path), ".png") == 0;
}

/* Returns whether nearly all files are pairs of one stem, of which one is a PNG: masks x.png beside
 * images x.jpg. */
static bool has_twins(const struct file_list *list)
{
    size_t ntwins = 0;

    for (size_t i = 0; i + 1 < list->count; i++)
        ntwins += strcmp(list->items[i].stem, list->items[i + 1].stem) == 0 &&
                  is_png(list->items[i].path) != is_png(list->items[i + 1].path);
    return ntwins > 0 && 20 * ntwins >= 9 * list->count;
}

bool pairs_are_in(const char *dir, const char *sub)
{
    struct file_list list = {0};
    struct suffix suffix;
    struct pairs others = {0};
    struct err ignored;
    bool found = list_folder(dir, sub, &list, &others, &ignored) == 0 &&
                 (choose_suffix(&list, &list, &suffix) || has_twins(&list));

    free_list(&list);
    return found;
}

bool pairs_match(const char *dir, const char *images, const char *others)
{
    struct file_list a = {0}, b = {0};
    struct suffix suffix;
    struct pairs rest = {0};
    struct err ignored;
    bool found = list_folder(dir, others, &b, &rest, &ignored) == 0 &&
                 list_folder(dir, images, &a, &rest, &ignored) == 0 && b.count > 0 &&
                 a.count <= 2 * b.count && b.count <= 2 * a.count &&
                 2 * choose_suffix(&a, &b, &suffix) >= a.count;

    free_list(&a);
    free_list(&b);
    return found;
}

/* Returns whether the stem is that of a further mask of an image: "7_mask_1", or "7_mask1". Copies
 * "7" to dst. */
static bool is_further_mask(const char *stem, const char *suffix, char dst[NAME_MAX + 1])
{
    char part[NAME_MAX + 1];
    size_t n = strlen(stem);

    while (n > 0 && isdigit((unsigned char)stem[n - 1]))
        n--;
    if (!stem[n])
        return false;
    n -= n > 0 && stem[n - 1] == '_';
    snprintf(part, sizeof part, "%.*s", (int)n, stem);
    return cut_suffix(part, suffix, dst);
}

/* Moves the masks from images to masks: the files that end in the masks' suffix, or without one the
 * PNG beside other files. */
static int split_list(struct file_list *images, struct file_list *masks, const char *suffix,
                      struct err *e)
{
    char base[NAME_MAX + 1];
    size_t kept = 0;

    masks->items = mem_zero(images->count, sizeof *masks->items, e);
    if (!masks->items)
        return -1;
    for (size_t i = 0; i < images->count; i++)
        if (*suffix ? cut_suffix(images->items[i].stem, suffix, base)
                    : is_png(images->items[i].path))
            masks->items[masks->count++] = images->items[i];
        else
            images->items[kept++] = images->items[i];
    images->count = kept;
    return 0;
}

static void remove_marked(struct file_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].left_out) {
            free(list->items[i].stem);
            free(list->items[i].path);
        } else {
            list->items[kept++] = list->items[i];
        }
    list->count = kept;
}

/* Leaves out images with further masks, since no mask alone describes them. Both lists are sorted
 * by stem, that of masks without the suffix; further masks are still among the images. */
static void leave_out_several(struct file_list *images, struct file_list *masks,
                              const char *suffix, struct pairs *pairs)
{
    char base[NAME_MAX + 1];

    for (size_t i = 0; *suffix && i < images->count; i++) {
        struct list_entry *image = is_further_mask(images->items[i].stem, suffix, base)
                                       ? find_stem(images, base) : NULL;
        struct list_entry *mask = image ? find_stem(masks, base) : NULL;
        if (!mask)
            continue;
        if (pairs->nseveral == 0)
            snprintf(pairs->several_name, sizeof pairs->several_name, "%s", image->path);
        pairs->nseveral += !image->left_out;
        images->items[i].left_out = image->left_out = mask->left_out = true;
    }
    remove_marked(images);
    remove_marked(masks);
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
                           const struct suffix *suffix, struct err *e)
{
    char base[NAME_MAX + 1];

    for (size_t i = 0; strcmp(suffix->image, "_0000") == 0 && i < images->count; i++)
        if (cut_suffix(images->items[i].stem, "_0001", base) && has_stem(images, base, "_0000"))
            return err_set(
                e, ERR_DATA,
                "%s: %s is a second channel of an image (nnU-Net), but each image "
                "must be one file: merge the channels, for example as red, green and blue of a PNG",
                dir, images->items[i].path);
    return 0;
}

static int refuse_foreign(const char *dir, const char *sub, struct err *e)
{
    char *path = mem_textf(e, "%s/%s", dir, sub);
    int rc = path ? tree_refuse_foreign(path, e) : -1;

    free(path);
    return rc;
}

static int list_images_and_masks(const char *dir, const struct pairs_part *part,
                                 struct file_list *images, struct file_list *masks,
                                 struct pairs *pairs, struct err *e)
{
    bool one = strcmp(part->images, part->masks) == 0;

    if (list_folder(dir, part->images, images, pairs, e) ||
        (!one && list_folder(dir, part->masks, masks, pairs, e)))
        return -1;
    /* The parts of names are copied, as stems are cut below. */
    struct suffix chosen;
    choose_suffix(images, one ? images : masks, &chosen);
    char image_suffix[NAME_MAX + 1], mask_suffix[NAME_MAX + 1];
    snprintf(image_suffix, sizeof image_suffix, "%s", chosen.image);
    snprintf(mask_suffix, sizeof mask_suffix, "%s", chosen.mask);
    const struct suffix suffix = {image_suffix, mask_suffix};
    if (strcmp(mask_suffix, "_gtFine_labelIds") == 0) { /* Cityscapes: beside its other kinds */
        char base[NAME_MAX + 1];
        for (size_t i = 0; i < masks->count; i++)
            masks->items[i].left_out = !cut_suffix(masks->items[i].stem, mask_suffix, base);
        remove_marked(masks);
        pairs->nothers = 0;
    }
    if (refuse_channels(dir, images, &suffix, e) ||
        (one && split_list(images, masks, mask_suffix, e)))
        return -1;
    bool none = images->count == 0;
    const char *other_name = pairs->other_name;
    if ((none || masks->count == 0) &&
        refuse_foreign(dir, none ? part->images : part->masks, e) == 0)
        err_set(e, ERR_DATA, "%s: no image files in %s/ (" FILENAME_IMAGES "); %zu in %s/, "
                "%zu in %s/%s%s", dir, none ? part->images : part->masks, images->count,
                part->images, masks->count, part->masks,
                *other_name ? "; other files there are not read, such as " : "", other_name);
    if (none || masks->count == 0)
        return -1;
    if (one)
        pairs->nothers = 0; /* files beside the images are not worth a warning */
    cut_suffixes(masks, mask_suffix);
    if (one)
        leave_out_several(images, masks, mask_suffix, pairs);
    cut_suffixes(images, image_suffix);
    return refuse_equal_stems(dir, images, e) || refuse_equal_stems(dir, masks, e) ? -1 : 0;
}

/* Walks both lists, sorted by stem, and refuses the first file without a partner. unpaired: if not
 * NULL, images without a mask are counted there instead, and their stem is freed and set to
 * NULL. */
static int refuse_singles(const char *dir, struct file_list *images, const struct file_list *masks,
                          size_t *unpaired, struct err *e)
{
    size_t i = 0, m = 0;

    while (i < images->count || m < masks->count) {
        struct list_entry *image = i < images->count ? &images->items[i] : NULL;
        const struct list_entry *mask = m < masks->count ? &masks->items[m] : NULL;
        int order = !image ? 1 : !mask ? -1 : strcmp(image->stem, mask->stem);
        if (order < 0 && !unpaired)
            return err_set(e, ERR_DATA, "%s: %s has no mask of its name (%zu images, %zu masks, "
                           "such as %s)", dir,
                           image->path, images->count, masks->count, masks->items[0].path);
        if (order > 0)
            return err_set(e, ERR_DATA, "%s: %s has no image of its name (%zu masks, %zu images, "
                           "such as %s)", dir,
                           mask->path, masks->count, images->count, images->items[0].path);
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
        *image = (struct list_entry){0};
        mask->path = NULL;
    }
    return 0;
}

int pairs_scan(const char *dir, const struct pairs_part *part, bool partial, struct pairs *pairs,
               struct err *e)
{
    struct file_list images = {0}, masks = {0};

    *pairs = (struct pairs){0};
    int rc = list_images_and_masks(dir, part, &images, &masks, pairs, e);
    if (rc == 0)
        rc = refuse_singles(dir, &images, &masks, partial ? &pairs->unpaired : NULL, e);
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
