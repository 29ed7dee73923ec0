/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/class_folders.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/log.h"
#include "src/text.h"
#include "trainer/data/source/layout.h"
#include "trainer/data/source/tree.h"

static int find_class(const struct source *s, const char *name)
{
    for (int i = 0; i < s->nclasses; i++)
        if (strcmp(s->class_names[i], name) == 0)
            return i;
    return -1;
}

/* Adds the images of dir/sub to the class `name`. known: the class must exist already. A folder
 * without images is not a class; folders inside it are skipped with a warning. */
static int list_class(struct source *s, const char *sub, const char *name, bool known,
                      enum source_side side, int *nempty, struct err *e)
{
    struct tree files;
    char stem[1024];
    int rc = tree_list(s->dir, sub, NULL, &files, e), label = find_class(s, name);
    size_t nimages = 0;

    for (size_t i = 0; rc == 0 && i < files.count; i++)
        nimages += filename_is_image(files.paths[i]);
    if (rc == 0 && nimages && label < 0) {
        label = s->nclasses;
        rc = known ? err_set(e, ERR_DATA, "%s/%s: is a class that train/ does not have", s->dir,
                             sub)
                   : source_add_class(s, name, e);
    }
    *nempty += nimages == 0;
    for (size_t i = 0; rc == 0 && i < files.count; i++) {
        snprintf(stem, sizeof stem, "%.500s/%.400s", sub, files.paths[i]);
        if (filename_is_image(files.paths[i]))
            rc = source_add(s, stem, strdup(stem), NULL, label, side, e);
        else if (nimages && tree_is_folder(s->dir, stem))
            log_warn("%s/%s: a folder inside a class is not used", s->dir, stem);
    }
    tree_free(&files);
    return rc;
}

/* Refuses a folder without at least two classes. If a subfolder has images and masks, suggests that
 * one as the data folder. */
static int refuse_single_class(const struct source *s, const struct tree *folders, struct err *e)
{
    struct layout l;
    struct err ignored;
    char path[4096];

    for (size_t i = 0; i < folders->count; i++) {
        snprintf(path, sizeof path, "%s/%s", s->dir, folders->paths[i]);
        if (layout_find(path, &(struct source_folders){0}, &l, &ignored) == 1)
            return err_set(e, ERR_DATA, "%s: images and masks lie in its folder %s: name that one (%s)",
                           s->dir, folders->paths[i], path);
    }
    return tree_refuse_foreign(s->dir, e) ? -1 :
        err_set(e, ERR_DATA, "%s: %s; a data folder has images/ and masks/, or a folder for "
                   "each of at least two classes, or *.records, CIFAR-10's or idx files",
                   s->dir, s->nclasses ? "has one class only" : "is not a data folder");
}

/* Adds the class folders of dir/top. The first call names the classes, a second may not add any. */
static int list_classes(struct source *s, const char *top, enum source_side side, struct err *e)
{
    struct tree folders;
    bool first = s->nclasses == 0;
    int nstray = 0, nempty = 0;
    char sub[1024];
    int rc = tree_list(s->dir, *top ? top : NULL, NULL, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        snprintf(sub, sizeof sub, "%s%s%.400s", top, *top ? "/" : "", folders.paths[i]);
        if (tree_is_folder(s->dir, sub))
            rc = list_class(s, sub, folders.paths[i], !first, side, &nempty, e);
        else
            nstray += filename_is_image(folders.paths[i]);
    }
    if (rc == 0 && nstray && s->nclasses > 1)
        log_warn("%s%s%s: %d images outside the class folders are not used", s->dir,
                 *top ? "/" : "", top, nstray);
    if (rc == 0 && nempty && s->nclasses > 1)
        log_warn("%s%s%s: %d folder%s no images and %s", s->dir, *top ? "/" : "", top, nempty,
                 nempty == 1 ? " holds" : "s hold",
                 nempty == 1 ? "is not a class" : "are not classes");
    if (rc == 0 && first && s->nclasses < 2)
        rc = refuse_single_class(s, &folders, e);
    tree_free(&folders);
    return rc;
}

/* Returns whether the name of a folder suggests that it holds masks rather than images of a
 * class. */
static bool is_mask_word(const char *name)
{
    static const char *const words[] = {"mask", "segmentation", "annot", "groundtruth",
                                        "ground_truth", "ground-truth", NULL};

    for (int i = 0; words[i]; i++)
        if (strcasestr(name, words[i]))
            return true;
    return strcasecmp(name, "gt") == 0 || strcasecmp(name, "labels") == 0;
}

/* The first MASK_SAMPLES images of a class may be masks if they have at most MASK_VALUES different
 * values. */
#define MASK_VALUES 32
#define MASK_SAMPLES 3

static bool has_few_values(struct source *s, int label)
{
    bool seen[65536] = {false};
    size_t nvalues = 0;
    int looked = 0;

    for (size_t i = 0; i < s->count && looked < MASK_SAMPLES; i++) {
        struct pixels img;
        struct err ignored;
        if (s->items[i].label != label)
            continue;
        looked++;
        if (source_decode(s, s->items[i].image, SOURCE_COLOURS, NULL, NULL, &img, &ignored))
            return false;
        for (size_t k = 0; k < img.nbytes / (size_t)(img.bits / 8) && nvalues <= MASK_VALUES; k++) {
            bool *v = &seen[pixels_sample(&img, k)];
            nvalues += !*v;
            *v = true;
        }
        pixels_free(&img);
    }
    return looked && nvalues <= MASK_VALUES;
}

/* Returns whether nearly all images of the two classes have the same names, or in class 1 longer
 * ones: 7.png and 7_mask.png. */
static bool have_equal_names(const struct source *s)
{
    size_t equal = 0, of[2] = {0, 0};

    for (size_t i = 0; i < s->count; i++) {
        const char *a = filename_base(s->items[i].image);
        of[s->items[i].label]++;
        for (size_t k = 0; s->items[i].label == 0 && k < s->count; k++) {
            const char *b = filename_base(s->items[k].image);
            size_t n = filename_stem(a);
            if (s->items[k].label == 1 && filename_stem(b) >= n && strncmp(a, b, n) == 0) {
                equal++;
                break;
            }
        }
    }
    return of[0] && 10 * equal >= 9 * (of[0] > of[1] ? of[0] : of[1]);
}

/* Refuses folders that look like images and their masks, not like classes. */
static int refuse_masks_as_classes(struct source *s, struct err *e)
{
    int masks = -1;

    for (int i = 0; i < s->nclasses; i++)
        if (is_mask_word(s->class_names[i]))
            masks = i;
    if (masks < 0 && s->nclasses == 2 && s->count <= 20000 && have_equal_names(s)) {
        bool few[2] = {has_few_values(s, 0), has_few_values(s, 1)};
        masks = few[0] == few[1] ? -1 : few[1];
    }
    if (masks < 0)
        return 0;
    const char *name = s->class_names[masks];
    const char *other = s->class_names[masks == 0];
    return err_set(e, ERR_CONFIG, "%s: %s/ seems to hold masks, not images of a class. If so: "
                   "data.images=%s and data.masks=%s (unet-train data: --image-folder, "
                   "--mask-folder). If it is a class, rename it and its files", s->dir, name,
                   other, name);
}

/* Refuses a data folder with only folders of held-out data, such as val/ and test/, which would
 * otherwise become two classes. */
static int refuse_held_out_alone(const struct source *s, struct err *e)
{
    struct tree all;
    size_t others = 0, held_out = 0;
    int rc = tree_list(s->dir, NULL, NULL, &all, e);

    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        bool known = false;
        for (int k = 0; layout_held_out[k]; k++)
            known = known || strcasecmp(all.paths[i], layout_held_out[k]) == 0;
        held_out += known;
        others += !known && tree_is_folder(s->dir, all.paths[i]);
    }
    tree_free(&all);
    if (rc == 0 && held_out && !others)
        rc = err_set(e, ERR_DATA, "%s: has images for validation but none for training: train/ is missing",
                     s->dir);
    return rc;
}

int class_folders_list(struct source *s, struct err *e)
{
    char train[NAME_MAX + 1], val[NAME_MAX + 1];
    bool has_val = layout_folder(s->dir, layout_held_out, val);
    int rc;

    if (!layout_folder(s->dir, layout_train, train)) {
        if (refuse_held_out_alone(s, e))
            return -1;
        rc = list_classes(s, "", SOURCE_ANY, e);
    } else {
        rc = list_classes(s, train, has_val ? SOURCE_TRAIN : SOURCE_ANY, e);
        if (rc == 0 && has_val)
            rc = list_classes(s, val, SOURCE_VAL, e);
    }
    return rc ? rc : refuse_masks_as_classes(s, e);
}
