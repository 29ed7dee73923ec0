/* SPDX-License-Identifier: BSD-3-Clause */
/* The folders of a data set: of images and masks, or one per class. */
#include "src/base.h"
#include "trainer/data/source/source_internal.h"

#include <dirent.h>

#include "trainer/data/source/tree.h"

/* Looks for the pairs of folders in a table of known names (rows), such as images/ and masks/: with
 * images directly in them, in train/ and val/ below them (images/train), or with both of them in
 * train/ and val/ (train/images); or for subfolders in which masks lie beside their images. */

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
    {"img_dir", "ann_dir", false, true}, /* mmsegmentation */
    {"JPEGImages", "SegmentationClass", true, true}, /* Pascal VOC */
    {".", ".", false, true},               /* one folder, where masks have a suffix */
};
#define NROWS (sizeof rows / sizeof *rows)

const char *const layout_train[] = {"train", "training", NULL};
const char *const layout_held_out[] = {"val", "valid", "validation", "test", "testing",
                                       "t10k", NULL}; /* t10k: MNIST's */

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

static bool holds_images(const char *dir, const char *name, const void *arg)
{
    return tree_is_folder(dir, name) && has_image(dir, name);
}

/* Finds images/ and masks/ with a folder in both for each patient or plate. */
static bool find_deep(const char *dir, const struct pairs_part *part, struct layout *l)
{
    char images[PATH_SIZE], masks[PATH_SIZE];

    snprintf(images, sizeof images, "%s/%s", dir, part->images);
    snprintf(masks, sizeof masks, "%s/%s", dir, part->masks);
    bool found = find_dir_entry(images, ".", holds_images, NULL, NULL) &&
                 find_dir_entry(masks, ".", holds_images, NULL, NULL);
    if (found)
        *l = (struct layout){.parts = {*part}, .nparts = 1, .deep = true};
    return found;
}

/* Finds folders named as sides, with images, or with folders of images (deep), in dir/images, and
 * in dir/masks those of the same names with this suffix: images/train and masks/train,
 * leftImg8bit/train and gtFine/train (Cityscapes), train and trainannot (CamVid). l->nparts is 1 if
 * there are no held-out data. */
static bool find_sides(const char *dir, const char *images, const char *masks, const char *suffix,
                       bool deep, struct layout *l)
{
    static const char *const *const sides[] = {layout_train, layout_held_out};
    char top[2][PATH_SIZE], name[NAME_MAX + 1], mask[NAME_MAX + 16], found[NAME_MAX + 1];
    const char *const same[] = {mask, NULL};

    snprintf(top[0], PATH_SIZE, "%s/%s", dir, images);
    snprintf(top[1], PATH_SIZE, "%s/%s", dir, masks);
    for (int i = l->nparts = 0; i < 2 && layout_folder(top[0], sides[i], name); i++) {
        struct pairs_part *part = &l->parts[i];
        snprintf(mask, sizeof mask, "%s%s", name, suffix);
        if (!layout_folder(top[1], same, found) ||
            !join_path(images, name, part->images, sizeof part->images) ||
            !join_path(masks, found, part->masks, sizeof part->masks) ||
            (deep ? !find_dir_entry(dir, part->masks, holds_images, NULL, NULL)
                  : !has_image(dir, part->images) || !has_image(dir, part->masks)))
            break;
        part->side = i ? SOURCE_VAL : SOURCE_ANY;
        l->parts[0].side = i ? SOURCE_TRAIN : SOURCE_ANY;
        l->nparts++;
    }
    l->deep = deep && l->nparts;
    return l->nparts > 0;
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
    if (!layout_folder(dir, layout_held_out, val))
        return 1;
    rc = find_row(dir, val, choice, l, &l->parts[1], &empty, e);
    if (rc == 0)
        log_warn("%s: %s/ has no images with masks and is not used: %s/ is divided", dir, val,
                 train);
    if (rc > 0) {
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

/* Returns whether dir/sub holds images/ with one image, and masks/ with those of its objects. */
static bool has_merged(const char *dir, const char *sub)
{
    char path[PATH_SIZE];
    struct tree images = {0};
    struct err ignored;

    snprintf(path, sizeof path, "%s/%s", dir, sub);
    bool found = has_image(path, "masks") &&
                 tree_list(path, "images", filename_is_image, &images, &ignored) == 0 &&
                 images.count == 1;
    tree_free(&images);
    return found;
}

/* Finds subfolders, as one per patient, in which masks lie beside their images, or at least two
 * with one image each and a folder of its masks (Data Science Bowl 2018). */
static int find_nested(const char *dir, struct layout *l, struct err *e)
{
    struct tree folders = {0};
    int rc = tree_list(dir, NULL, NULL, &folders, e), nmerged = 0;

    for (size_t i = 0; rc == 0 && nmerged < 2 && i < folders.count; i++) {
        nmerged += has_merged(dir, folders.paths[i]);
        if (tree_is_folder(dir, folders.paths[i]) && pairs_are_in(dir, folders.paths[i]))
            rc = 1;
    }
    tree_free(&folders);
    if (rc < 0 || (rc == 0 && nmerged < 2))
        return rc;
    *l = (struct layout){.nparts = 1, .nested = rc == 1, .merged = rc == 0};
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
    if (rc == 0 && empty &&
        ((find_sides(dir, part.images, part.masks, "", false, l) && l->nparts == 2) ||
         find_deep(dir, &part, l)))
        return 1;
    if (rc == 0)
        rc = find_above(dir, choice, l, e);
    if (rc == 0 && !choice->images && !choice->masks &&
        (find_sides(dir, "", "", "annot", false, l) ||
         find_sides(dir, "leftImg8bit", "gtFine", "", true, l)))
        return 1;
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

static int find_class(const struct source *s, const char *name)
{
    for (int i = 0; i < s->nclasses; i++)
        if (strcmp(s->class_names[i], name) == 0)
            return i;
    return -1;
}

/* Returns whether the name of a folder or file suggests masks rather than images of a class. */
static bool is_mask_name(const char *name)
{
    static const char *const words[] = {"mask", "segmentation", "annot", "groundtruth",
                                        "ground_truth", "ground-truth", NULL};
    static const char *const whole[] = {"gt", "label", "labels", "seg", NULL};
    size_t n = filename_stem(name);

    for (int i = 0; words[i]; i++)
        if (strcasestr(name, words[i]))
            return true;
    for (int i = 0; whole[i]; i++)
        if (strlen(whole[i]) == n && strncasecmp(name, whole[i], n) == 0)
            return true;
    return false;
}

/* Adds the images of dir/sub to the class `name`. known: the class must exist already. A folder
 * without images is not a class; folders inside it are skipped with a warning. *nmixed counts
 * folders of which some files, but not all, are named as masks. */
static int list_class(struct source *s, const char *sub, const char *name, bool known,
                      enum source_side side, int *nempty, int *nmixed, struct err *e)
{
    struct tree files;
    char stem[1024];
    int rc = tree_list(s->dir, sub, NULL, &files, e), label = find_class(s, name);
    size_t nimages = 0, nmasks = 0;

    for (size_t i = 0; rc == 0 && i < files.count; i++)
        if (filename_is_image(files.paths[i])) {
            nimages++;
            nmasks += is_mask_name(files.paths[i]);
        }
    if (rc == 0 && nimages && label < 0) {
        label = s->nclasses;
        rc = known ? err_set(e, ERR_DATA, "%s/%s: is a class that train/ does not have", s->dir,
                             sub)
                   : source_add_class(s, name, e);
    }
    *nempty += nimages == 0;
    *nmixed += nmasks && nmasks < nimages;
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

/* Data sets that are known by the name of a file and not read. */
static const struct {
    const char *file, *text;
} known_sets[] = {
    {"batches.meta", "is CIFAR-10 for Python, which is not read: fetch cifar-10-binary.tar.gz of the "
     "same page, or type in that folder: python3 -c 'import pickle, sys; "
     "[open(f + \".bin\", \"wb\").write(b\"\".join(bytes([n]) + bytes(x) for n, x in "
     "zip(d[b\"labels\"], d[b\"data\"]))) for f in sys.argv[1:] for d in [pickle.load(open(f, \"rb\"), "
     "encoding=\"bytes\")]]' data_batch_? test_batch"},
    {"train.bin", "is CIFAR-100, which is not read: type in that folder, and name png/ there: python3 "
     "-c 'import os; from PIL import Image; [(os.makedirs(p, exist_ok=True), Image.merge(\"RGB\", "
     "[Image.frombytes(\"L\", (32, 32), r[2 + 1024 * c:1026 + 1024 * c]) for c in range(3)])"
     ".save(f\"{p}/{i}.png\")) for s in (\"train\", \"test\") for d in [open(s + \".bin\", "
     "\"rb\").read()] for i in range(len(d) // 3074) for r in [d[3074 * i:3074 * (i + 1)]] for p in "
     "[f\"png/{s}/{r[1]}\"]]'"},
    {"meta", "is CIFAR-100 for Python, which is not read: fetch cifar-100-binary.tar.gz of the same "
     "page and name its folder, for which a command is shown"},
    {"train-images.idx3-ubyte", "is MNIST or a set like it, with a dot in the names of its files: type "
     "in that folder: for f in *.idx?-ubyte; do mv \"$f\" \"${f%.*}-${f##*.}\"; done"}};

static bool is_known(const char *dir, const char *name, const void *arg)
{
    return strcmp(name, arg) == 0 && !tree_is_folder(dir, name);
}

static int refuse_known(const char *dir, struct err *e)
{
    for (size_t i = 0; i < sizeof known_sets / sizeof *known_sets; i++)
        if (find_dir_entry(dir, ".", is_known, known_sets[i].file, NULL))
            return err_set(e, ERR_DATA, "%s: %s", dir, known_sets[i].text);
    return 0;
}

/* Returns whether at least two folders in dir hold images. */
static bool has_classes(const char *dir)
{
    struct tree folders = {0};
    struct err ignored;
    int n = 0, rc = tree_list(dir, NULL, NULL, &folders, &ignored);

    for (size_t i = 0; rc == 0 && i < folders.count; i++)
        n += has_image(dir, folders.paths[i]);
    tree_free(&folders);
    return n > 1;
}

/* Refuses a folder without at least two classes. If it is a set that is known by its names, says
 * which; if a subfolder has images and masks, or classes, suggests that one as the data folder. */
static int refuse_single_class(const struct source *s, const struct tree *folders, struct err *e)
{
    struct layout l;
    struct err ignored;
    char path[4096];

    if (refuse_known(s->dir, e))
        return -1;
    for (size_t i = 0; i < folders->count; i++) {
        snprintf(path, sizeof path, "%s/%s", s->dir, folders->paths[i]);
        bool pairs = layout_find(path, &(struct source_folders){0}, &l, &ignored) == 1;
        if (refuse_known(path, e))
            return -1;
        if (pairs || (s->nclasses == 0 && has_classes(path)))
            return err_set(e, ERR_DATA, "%s: %s in its folder %s: name that one (%s)", s->dir,
                           pairs ? "images and masks lie" : "the class folders lie",
                           folders->paths[i], path);
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
    int nstray = 0, nempty = 0, nmixed = 0;
    char sub[1024];
    int rc = tree_list(s->dir, *top ? top : NULL, NULL, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        snprintf(sub, sizeof sub, "%s%s%.400s", top, *top ? "/" : "", folders.paths[i]);
        if (tree_is_folder(s->dir, sub))
            rc = list_class(s, sub, folders.paths[i], !first, side, &nempty, &nmixed, e);
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
    else if (rc == 0 && first && nmixed == s->nclasses)
        rc = err_set(e, ERR_DATA, "%s: its folders, such as %s/, seem to hold images and masks, "
                     "not images of classes. Masks beside their images are read if they are named "
                     "NAME_mask.png beside NAME.png: rename them", s->dir, s->class_names[0]);
    tree_free(&folders);
    return rc;
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

/* Copies the first folder of a class to dst. */
static void class_folder(const struct source *s, int label, char dst[PATH_SIZE])
{
    size_t i = 0;

    while (s->items[i].label != label)
        i++;
    snprintf(dst, PATH_SIZE, "%s", s->items[i].image);
    *strrchr(dst, '/') = '\0';
}

/* Returns whether the images of a class may be the masks of those of another. */
static bool has_masks_of(struct source *s, int masks, int images)
{
    char a[PATH_SIZE], b[PATH_SIZE];

    class_folder(s, images, a);
    class_folder(s, masks, b);
    return pairs_match(s->dir, a, b) && has_few_values(s, masks) && !has_few_values(s, images);
}

/* Of at most so many classes each is compared with each. */
#define MASK_CLASSES 4

/* Refuses folders that look like images and their masks, not like classes. */
static int refuse_masks_as_classes(struct source *s, struct err *e)
{
    int masks = -1, images = 0;

    for (int i = 0; i < s->nclasses; i++)
        if (is_mask_name(s->class_names[i]))
            masks = i;
    if (masks >= 0)
        images = masks == 0;
    for (int i = 0; masks < 0 && s->nclasses <= MASK_CLASSES && i < s->nclasses; i++)
        for (int k = 0; masks < 0 && k < s->nclasses; k++)
            if (i != k && has_masks_of(s, i, k))
                masks = i, images = k;
    if (masks < 0)
        return 0;
    const char *name = s->class_names[masks], *other = s->class_names[images];
    return err_set(e, ERR_CONFIG, "%s: %s/ seems to hold masks, not images of a class. If so: "
                   "data.images=%s and data.masks=%s (unet-train data: --image-folder, "
                   "--mask-folder). If it is a class, rename it and its files", s->dir, name,
                   other, name);
}

static bool is_side_name(const char *name)
{
    static const char *const *const words[] = {layout_train, layout_held_out};

    for (int k = 0; k < 2; k++)
        for (int i = 0; words[k][i]; i++)
            if (strcasecmp(name, words[k][i]) == 0)
                return true;
    return false;
}

/* Counts the folders named as those of a side, and the others that hold images. */
static int count_folders(const char *dir, size_t *sides, size_t *others, struct err *e)
{
    struct tree all;
    int rc = tree_list(dir, NULL, NULL, &all, e);

    *sides = *others = 0;
    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        bool side = is_side_name(all.paths[i]);
        *sides += side;
        *others += !side && has_image(dir, all.paths[i]);
    }
    tree_free(&all);
    return rc;
}

int class_folders_list(struct source *s, struct err *e)
{
    char train[NAME_MAX + 1], val[NAME_MAX + 1];
    bool has_val = layout_folder(s->dir, layout_held_out, val);
    bool has_train = layout_folder(s->dir, layout_train, train);
    size_t sides, others;
    int rc;

    if (count_folders(s->dir, &sides, &others, e))
        return -1;
    /* Beside folders of images, those that hold images themselves are classes of that name. */
    if (!has_train || (others && has_image(s->dir, train))) {
        rc = sides && !others
                 ? err_set(e, ERR_DATA, "%s: has images for validation but none for training: "
                           "train/ is missing", s->dir)
                 : list_classes(s, "", SOURCE_ANY, e);
    } else {
        rc = list_classes(s, train, has_val ? SOURCE_TRAIN : SOURCE_ANY, e);
        if (rc == 0 && has_val)
            rc = list_classes(s, val, SOURCE_VAL, e);
    }
    return rc ? rc : refuse_masks_as_classes(s, e);
}
