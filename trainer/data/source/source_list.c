/* SPDX-License-Identifier: BSD-3-Clause */
/* source_open, which detects the layout of a data folder and lists its samples; source_assign. */
#include "config.h"
#include "trainer/data/source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/text/filename.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/source/container.h"
#include "trainer/data/source/layout.h"
#include "trainer/data/source/namelist.h"
#include "trainer/data/source/pairs.h"
#include "trainer/data/source/tree.h"

/* Lists the entries of dir/sub that `wanted` accepts; sub may be NULL for dir itself. */
static int list_names(const char *dir, const char *sub, bool (*wanted)(const char *name),
                      struct tree *names, struct err *e)
{
    char *path = mem_textf(e, "%s/%s", dir, sub ? sub : "");
    int rc = path ? tree_list(path, wanted, names, e) : -1;

    free(path);
    return rc;
}

/* Adds a sample, which then owns image and mask; stem is copied. */
static int add_item(struct source *s, const char *stem, char *image, char *mask, int label,
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

static int add_class(struct source *s, const char *name, struct err *e)
{
    if (mem_grow(&s->class_names, (size_t)s->nclasses, &s->class_capacity, sizeof *s->class_names,
                 e) ||
        !(s->class_names[s->nclasses] = mem_text(name, e)))
        return -1;
    s->nclasses++;
    return 0;
}

/* Adds the pairs of one pair of folders. prefix begins their stems where several folders may use
 * the same names. */
static int add_part(struct source *s, const struct layout_part *part, const char *prefix,
                    bool partial, struct err *e)
{
    struct pairs pairs;
    char stem[4096];
    int rc = pairs_scan(s->dir, part, partial, &pairs, e);

    for (size_t i = 0; rc == 0 && i < pairs.count; i++) {
        struct pair *p = &pairs.items[i];
        snprintf(stem, sizeof stem, "%s%s%s", prefix, *prefix ? "/" : "", p->stem);
        rc = add_item(s, stem, p->image, p->mask, 0, part->side, e);
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

/* Finds a sample by the path of its image, or by the file name with or without suffix. */
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

int source_assign(struct source *s, const char *list_file, enum source_side side, struct err *e)
{
    struct namelist list;
    int rc = namelist_read(list_file, &list, e);

    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        struct source_item *found = find_image(s, list.names[i]);
        if (!found)
            rc = err_set(e, ERR_DATA, "%s: names %s, which is not among the images", list_file,
                         list.names[i]);
        else if (found->side != SOURCE_ANY)
            rc = err_set(e, ERR_DATA, "%s: %s is listed twice, or for both sides", list_file,
                         list.names[i]);
        else
            found->side = side;
    }
    namelist_free(&list);
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

/* Whether any line names an image; otherwise the file has another purpose. */
static bool names_images(struct source *s, const char *list_file)
{
    struct namelist list;
    struct err ignored;
    bool found = false;

    if (namelist_read(list_file, &list, &ignored) == 0)
        for (size_t i = 0; !found && i < list.count; i++)
            found = find_image(s, list.names[i]) != NULL;
    namelist_free(&list);
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
        return err_prefix(e, "the set is divided by %s and %s (rename them to divide it at "
                          "random)", train, val);
    return 0;
}

static bool is_not_hidden(const char *name)
{
    return name[0] != '.';
}

/* Adds the pairs of each subfolder with images. */
static int list_nested(struct source *s, struct err *e)
{
    struct tree folders = {0};
    int rc = list_names(s->dir, NULL, is_not_hidden, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        struct layout_part part = {.side = SOURCE_ANY};
        struct tree files = {0};
        snprintf(part.images, sizeof part.images, "%s", folders.paths[i]);
        snprintf(part.masks, sizeof part.masks, "%s", folders.paths[i]);
        if (layout_is_folder(s->dir, part.images))
            rc = list_names(s->dir, part.images, filename_is_image, &files, e);
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

static int list_records(struct source *s, const char *name, enum source_side side, struct err *e)
{
    struct container *c = source_container(s, name, e);
    int rc = c ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < container_count(c); i++) {
        int label = container_label(c, i, e);
        char *image = label == -2 ? NULL : mem_textf(e, "%s#%zu", name, i), stem[512];
        char *mask = label < 0 && image ? mem_text(image, e) : NULL;
        if (!image) {
            rc = -1;
            break;
        }
        /* Padded, so that stems sort as the records do. */
        snprintf(stem, sizeof stem, "%.400s#%07zu", name, i);
        rc = add_item(s, stem, image, mask, label, side, e);
    }
    container_close(c);
    return rc;
}

static bool is_kind(const char *name, enum container_kind kind)
{
    enum container_kind guessed;
    return container_guess(name, &guessed) && guessed == kind;
}

static bool is_cifar(const char *name)
{
    return is_kind(name, CONTAINER_CIFAR);
}

static bool is_idx(const char *name)
{
    return is_kind(name, CONTAINER_IDX);
}

static bool is_records(const char *name)
{
    return is_kind(name, CONTAINER_TFRECORD);
}

/* Class names are the lines of batches.meta.txt, or numbers if there is no such file. */
static int name_cifar_classes(struct source *s, const char *sub, struct err *e)
{
    char path[4096], number[16];
    struct err ignored;
    size_t n;

    snprintf(path, sizeof path, "%s/%s/batches.meta.txt", s->dir, sub ? sub : ".");
    char *text = atomicfile_read(path, 1 << 16, &n, &ignored), *rest = text, *line;
    int rc = 0;
    while (rc == 0 && s->nclasses < CONTAINER_CIFAR_CLASSES && rest && (line = strsep(&rest, "\n")))
        if (*line)
            rc = add_class(s, line, e);
    while (rc == 0 && s->nclasses < CONTAINER_CIFAR_CLASSES) {
        snprintf(number, sizeof number, "%d", s->nclasses);
        rc = add_class(s, number, e);
    }
    free(text);
    return rc;
}

/* sub: the folder below dir, "cifar-10-batches-bin", or NULL for dir itself. */
static int list_cifar(struct source *s, const char *sub, const struct tree *files, struct err *e)
{
    bool has_test = false;
    int rc = name_cifar_classes(s, sub, e);

    for (size_t i = 0; i < files->count; i++)
        has_test = has_test || strncmp(files->paths[i], "test", 4) == 0;
    if (!has_test)
        log_info("%s: no test_batch.bin; a share of the training records is used for validation",
                 s->dir);
    for (size_t i = 0; rc == 0 && i < files->count; i++) {
        char name[512];
        bool test = strncmp(files->paths[i], "test", 4) == 0;
        snprintf(name, sizeof name, "%s%s%.400s", sub ? sub : "", sub ? "/" : "", files->paths[i]);
        rc = list_records(s, name, !has_test ? SOURCE_ANY : test ? SOURCE_VAL : SOURCE_TRAIN, e);
    }
    return rc;
}

/* Names the classes of numeric labels: 0 to the largest. */
static int name_numbers(struct source *s, struct err *e)
{
    char number[16];
    int max = 0;

    for (size_t i = 0; i < s->count; i++)
        max = s->items[i].label > max ? s->items[i].label : max;
    if (max >= CLASSES_MAX)
        return err_set(e, ERR_DATA, "%s: class %d; at most %d are supported", s->dir, max,
                       CLASSES_MAX);
    while (s->nclasses <= max) {
        snprintf(number, sizeof number, "%d", s->nclasses);
        if (add_class(s, number, e))
            return -1;
    }
    return 0;
}

/* Files named train... are for training, others (t10k-..., test-...) for validation. If there are
 * only some of one kind, the set is not divided. */
static int list_idx(struct source *s, const char *sub, const struct tree *files, struct err *e)
{
    size_t ntrain = 0;
    int rc = 0;

    (void)sub;
    for (size_t i = 0; i < files->count; i++)
        ntrain += strncmp(files->paths[i], "train", 5) == 0;
    bool divided = ntrain > 0 && ntrain < files->count;
    for (size_t i = 0; rc == 0 && i < files->count; i++) {
        bool train = strncmp(files->paths[i], "train", 5) == 0;
        rc = list_records(s, files->paths[i],
                          !divided ? SOURCE_ANY : train ? SOURCE_TRAIN : SOURCE_VAL, e);
    }
    return rc ? rc : name_numbers(s, e);
}

/* Lists the TFRecord files in dir/sub: by their name, or whatever it is by their first bytes. */
static int list_record_files(const struct source *s, const char *sub, struct tree *files,
                             struct err *e)
{
    int rc = list_names(s->dir, sub, is_not_hidden, files, e);
    size_t kept = 0;

    for (size_t i = 0; i < files->count; i++) {
        char *name = files->paths[i];
        bool known = is_records(name);
        if (rc == 0 && !known && !filename_is_image(name)) {
            char *path = mem_textf(e, "%s/%s/%s", s->dir, sub ? sub : "", name);
            known = path && container_is_tfrecord(path);
            rc = path ? 0 : -1;
            free(path);
        }
        if (known)
            files->paths[kept++] = name;
        else
            free(name);
    }
    files->count = kept;
    return rc;
}

static int list_shards(struct source *s, const char *sub, enum source_side side, struct err *e)
{
    struct tree files;
    int rc = list_record_files(s, sub, &files, e);

    for (size_t i = 0; rc == 0 && i < files.count; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s%.400s", sub ? sub : "", sub ? "/" : "", files.paths[i]);
        rc = list_records(s, name, side, e);
    }
    tree_free(&files);
    return rc;
}

/* sub: "train" if the set is divided, otherwise NULL. */
static int list_tfrecord(struct source *s, const char *sub, const struct tree *files, struct err *e)
{
    bool divided = sub != NULL;
    int rc = divided ? list_shards(s, "train", SOURCE_TRAIN, e)
                     : list_shards(s, NULL, SOURCE_ANY, e);

    (void)files;
    if (rc == 0 && divided)
        rc = list_shards(s, "valid", SOURCE_VAL, e);
    if (rc)
        return rc;
    for (size_t i = 1; i < s->count; i++)
        if (!s->items[i].mask != !s->items[0].mask)
            return err_set(e, ERR_DATA, "%s: %s has a mask or a class, %s the other", s->dir,
                           s->items[0].image, s->items[i].image);
    return s->count && !s->items[0].mask ? name_numbers(s, e) : 0;
}

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
    int rc = list_names(s->dir, sub, is_not_hidden, &files, e), label = find_class(s, name);
    size_t nimages = 0;

    for (size_t i = 0; rc == 0 && i < files.count; i++)
        nimages += filename_is_image(files.paths[i]);
    if (rc == 0 && nimages && label < 0) {
        label = s->nclasses;
        rc = known ? err_set(e, ERR_DATA, "%s/%s: is a class that train/ does not have", s->dir,
                             sub)
                   : add_class(s, name, e);
    }
    *nempty += nimages == 0;
    for (size_t i = 0; rc == 0 && i < files.count; i++) {
        snprintf(stem, sizeof stem, "%.500s/%.400s", sub, files.paths[i]);
        if (filename_is_image(files.paths[i]))
            rc = add_item(s, stem, strdup(stem), NULL, label, side, e);
        else if (nimages && layout_is_folder(s->dir, stem))
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
            return err_set(e, ERR_DATA, "%s: images and masks lie in its folder %s: name that one "
                           "(%s)", s->dir, folders->paths[i], path);
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
    int rc = list_names(s->dir, *top ? top : NULL, is_not_hidden, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        snprintf(sub, sizeof sub, "%s%s%.400s", top, *top ? "/" : "", folders.paths[i]);
        if (layout_is_folder(s->dir, sub))
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

/* Whether the name of a folder suggests that it holds masks rather than images of a class. */
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
        if (source_mask(s, s->items[i].image, true, NULL, NULL, &img, &ignored))
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

/* Whether nearly all images of the two classes have the same names, or in class 1 longer ones:
 * 7.png and 7_mask.png. */
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
    int rc = list_names(s->dir, NULL, is_not_hidden, &all, e);

    for (size_t i = 0; rc == 0 && i < all.count; i++) {
        bool known = false;
        for (int k = 0; layout_held_out[k]; k++)
            known = known || strcasecmp(all.paths[i], layout_held_out[k]) == 0;
        held_out += known;
        others += !known && layout_is_folder(s->dir, all.paths[i]);
    }
    tree_free(&all);
    if (rc == 0 && held_out && !others)
        rc = err_set(e, ERR_DATA, "%s: has images for validation but none for training: train/ is "
                     "missing", s->dir);
    return rc;
}

static int list_folders(struct source *s, struct err *e)
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

static int list_containers(struct source *s, struct err *e)
{
    static const struct {
        const char *sub;
        bool (*wanted)(const char *name); /* NULL: list_record_files */
        enum source_format format;
        int (*list)(struct source *s, const char *sub, const struct tree *files, struct err *e);
    } kinds[] = {{NULL, is_cifar, SOURCE_CIFAR, list_cifar},
                 {"cifar-10-batches-bin", is_cifar, SOURCE_CIFAR, list_cifar},
                 {NULL, is_idx, SOURCE_IDX, list_idx},
                 {NULL, NULL, SOURCE_TFRECORD, list_tfrecord},
                 {"train", NULL, SOURCE_TFRECORD, list_tfrecord}};
    int found = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && found == 0; i++) {
        struct tree files;
        found = kinds[i].wanted ? list_names(s->dir, kinds[i].sub, kinds[i].wanted, &files, e)
                                : list_record_files(s, kinds[i].sub, &files, e);
        if (found == 0 && files.count) {
            s->format = kinds[i].format;
            found = kinds[i].list(s, kinds[i].sub, &files, e) ? -1 : 1;
        }
        tree_free(&files);
    }
    return found;
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
        found = list_containers(s, e);
    if (found)
        return found < 0 ? -1 : 0;
    s->format = SOURCE_FOLDERS;
    return list_folders(s, e);
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
