/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a data folder: finding them, and decoding them. */
#include "src/base.h"
#include "trainer/data/source/source.h"

#include <pthread.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/format/sha256.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/source/source_internal.h"
#include "trainer/data/source/tree.h"

struct source_files {
    pthread_mutex_t lock;
    struct source_file {
        char *name;
        struct container *container;
    } *items;
    size_t count, capacity;
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
    struct source *s = mem_zero(1, sizeof *s, e);

    if (s) {
        s->format = format;
        s->dir = mem_text(dir, e);
        s->files = mem_zero(1, sizeof *s->files, e);
    }
    if (!s || !s->dir || !s->files) {
        source_close(s);
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

int source_add(struct source *s, const char *stem, char *image, char *mask, int label,
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

int source_add_class(struct source *s, const char *name, struct err *e)
{
    if (mem_grow(&s->class_names, (size_t)s->nclasses, &s->class_capacity, sizeof *s->class_names,
                 e) ||
        !(s->class_names[s->nclasses] = mem_text(name, e)))
        return -1;
    s->nclasses++;
    return 0;
}

bool source_is_divided(const struct source *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].side != SOURCE_ANY)
            return true;
    return false;
}

struct container *source_container(const struct source *s, const char *name, struct err *e)
{
    char *path = mem_textf(e, "%s/%s", s->dir, name);
    struct container *c = path ? container_open(s->format, path, e) : NULL;

    free(path);
    return c;
}

static bool has_containers(const struct source *s)
{
    return s->format >= SOURCE_CIFAR;
}

static struct container *add_container(struct source *s, const char *name, struct err *e)
{
    struct source_files *f = s->files;

    if (mem_grow(&f->items, f->count, &f->capacity, sizeof *f->items, e))
        return NULL;
    struct source_file *file = &f->items[f->count];
    *file = (struct source_file){mem_text(name, e), source_container(s, name, e)};
    if (file->name && file->container) {
        f->count++;
        return file->container;
    }
    free(file->name);
    container_close(file->container);
    return NULL;
}

/* Returns a container by its file name. It is opened on first use and stays open until
 * source_close. */
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

/* Resolves the locator of a record, "train/0.records#17". */
static struct container *find_record(struct source *s, const char *locator, size_t *record,
                                     struct err *e)
{
    const char *hash = strrchr(locator, '#');
    char name[4096], *end;

    if (!hash || hash == locator || (size_t)(hash - locator) >= sizeof name || !hash[1]) {
        err_set(e, ERR_DATA, "%s/%s: is not FILE#RECORD", s->dir, locator);
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(hash - locator), locator);
    *record = strtoul(hash + 1, &end, 10);
    struct container *c = get_container(s, name, e);
    if (c && (*end || *record >= container_count(c))) {
        err_set(e, ERR_DATA, "%s/%s: has no such record, only %zu; restore the file, or make a new split",
                s->dir, locator, container_count(c));
        return NULL;
    }
    return c;
}

/* --- image files --- */

static int decode_file(const uint8_t *bytes, size_t nbytes, const char *path, enum source_part part,
                       struct pixels *img, struct err *e)
{
    enum pixels_mode mode = part == SOURCE_VALUES ? PIXELS_RAW : PIXELS_PICTURE;
    int rc = image_file_decode(bytes, nbytes, path, 0, mode, img, e);

    if (rc == 0 && img->pages > 1)
        rc = err_set(e, ERR_DATA, "%s: has %d pages; `unet-train data convert` makes a pair of each",
                     path, img->pages);
    if (rc == 0 && img->flags & PIXELS_STACK)
        rc = err_set(e, ERR_DATA, "%s: is a stack of pictures that ImageJ describes in one TIFF "
                     "directory: write them as files of their own (ImageJ: File > Save As > Image Sequence)",
                     path);
    if (rc == 0 && part == SOURCE_COLOURS && img->flags & PIXELS_STRETCHED)
        rc = err_set(e, ERR_DATA, "%s: holds values from %g to %g, but a colour is a whole number "
                                  "of 8 or 16 bits",
                     path, img->low, img->high);
    if (rc == 0 && part == SOURCE_VALUES)
        rc = mask_flatten(img, path, e);
    if (rc)
        pixels_free(img);
    return rc;
}

static int check_hash(const char *path, const char *hex, const char *want, struct err *e)
{
    return !want || strcmp(want, hex) == 0 ? 0 :
        err_set(e, ERR_DATA, "%s: the file is not the one that the split was made with (SHA-256 "
                "%.16s..., recorded %.16s...); restore it, or make a new split", path, hex, want);
}

/* Hash and pixels come from the same read of the file. */
static int load_file(const char *path, enum source_part part, const char *want, char hex[65],
                     struct pixels *img, struct err *e)
{
    size_t nbytes;
    char *bytes = atomicfile_read(path, PIXELS_MAX_FILE, &nbytes, e);
    int rc = bytes ? 0 : -1;

    if (rc == 0 && hex) {
        sha256_bytes(bytes, nbytes, hex);
        rc = check_hash(path, hex, want, e);
    }
    if (rc == 0)
        rc = decode_file((const uint8_t *)bytes, nbytes, path, part, img, e);
    free(bytes);
    return rc;
}

/* Sets the pixels of img that are above 0 in the mask of another object to the full value. Masks
 * of several values are classes, or have lost their edges to JPEG. */
static int merge_mask(struct pixels *img, const struct pixels *other, const char *path,
                      struct err *e)
{
    size_t n = (size_t)img->width * img->height;
    unsigned object = 0, v;

    if (other->width != img->width || other->height != img->height)
        return err_set(e, ERR_DATA, "%s: has %u x %u pixels, and another mask of its image %u x %u",
                       path, other->width, other->height, img->width, img->height);
    for (size_t i = 0; i < n; i++) {
        if (!(v = pixels_sample(other, i)))
            continue;
        if (object && v != object)
            return err_set(e, ERR_DATA, "%s: holds %u and %u, but a mask in a folder for one "
                           "image is of one object: 0 and one other value. Classes are read from "
                           "images/NAME.png and masks/NAME.png", path, object, v);
        object = v;
        img->samples[i] = 255;
    }
    return 0;
}

/* Reads a folder of masks, one for each object of an image, as one mask of 0 and 255. hex: set to
 * the hash of the hashes of its files. */
static int load_folder(const char *dir, char hex[65], struct pixels *img, struct err *e)
{
    struct tree files;
    struct sha256_ctx all;
    int rc = tree_list(dir, NULL, filename_is_image, &files, e);

    sha256_init(&all);
    if (rc == 0 && !files.count)
        rc = err_set(e, ERR_DATA, "%s: has no masks", dir);
    for (size_t i = 0; rc == 0 && i < files.count; i++) {
        struct pixels mask = {0};
        char *path = mem_textf(e, "%s%s", dir, files.paths[i]);
        rc = path ? load_file(path, SOURCE_VALUES, NULL, hex, &mask, e) : -1;
        if (rc == 0 && i == 0) {
            *img = mask;
            img->source_bits = 8;
            rc = pixels_allocate(img, path, 1, 8, e);
        }
        if (rc == 0)
            rc = merge_mask(img, &mask, path, e);
        sha256_add(&all, hex, 64);
        pixels_free(&mask);
        free(path);
    }
    sha256_finish(&all, hex);
    tree_free(&files);
    return rc;
}

/* Loads a file, or the masks of a folder if the path ends with /. */
static int load_path(const char *path, enum source_part part, const char *want, char *sha256,
                     struct pixels *img, struct err *e)
{
    char hex[65] = {0};
    int rc;

    if (path[strlen(path) - 1] == '/')
        rc = load_folder(path, hex, img, e) || check_hash(path, hex, want, e) ? -1 : 0;
    else
        rc = load_file(path, part, want, want || sha256 ? hex : NULL, img, e);
    if (rc)
        pixels_free(img);
    if (sha256)
        memcpy(sha256, hex, sizeof hex);
    return rc;
}

int source_decode(struct source *s, const char *locator, enum source_part part, const char *want,
                  char sha256[65], struct pixels *img, struct err *e)
{
    size_t record;
    int rc = -1;

    memset(img, 0, sizeof *img);
    if (has_containers(s)) {
        struct container *c = find_record(s, locator, &record, e);
        return c ? container_decode(c, record, part != SOURCE_IMAGE, want, sha256, img, e) : -1;
    }
    char *path = mem_textf(e, "%s/%s", s->dir, locator);
    if (path)
        rc = load_path(path, part, want, sha256, img, e);
    free(path);
    return rc;
}

int source_decode_pair(struct source *s, const struct source_item *item, enum source_part part,
                       char image_sha256[65], char mask_sha256[65], struct pixels *image,
                       struct pixels *mask, struct err *e)
{
    *mask = (struct pixels){0};
    if (source_decode(s, item->image, SOURCE_IMAGE, NULL, image_sha256, image, e))
        return -1;
    int rc = item->mask ? source_decode(s, item->mask, part, NULL, mask_sha256, mask, e) : 0;
    if (rc == 0)
        rc = orientation_apply(image, mask, item->image, e);
    if (rc == 0 && item->mask && (image->width != mask->width || image->height != mask->height))
        rc = err_set(e, ERR_DATA, "%s: %s has %u x %u pixels, but %s has %u x %u; they must be "
                     "equal", s->dir, item->image, image->width, image->height, item->mask,
                     mask->width, mask->height);
    if (rc) {
        pixels_free(image);
        pixels_free(mask);
    }
    return rc;
}

int source_check(struct source *s, const char *locator, uint32_t width, uint32_t height,
                 struct err *e)
{
    uint32_t w, h;
    size_t record;

    if (has_containers(s))
        return find_record(s, locator, &record, e) ? 0 : -1;
    char *path = mem_textf(e, "%s/%s", s->dir, locator);
    if (path && path[strlen(path) - 1] == '/') { /* its files are compared when they are read */
        int rc = access(path, R_OK | X_OK) ? err_errno(e, ERR_DATA, errno, "%s", path) : 0;
        free(path);
        return rc;
    }
    int rc = path ? image_file_size(path, &w, &h, e) : -1;
    if (rc == 0 && (w != width || h != height))
        rc = err_set(e, ERR_DATA, "%s: has %u x %u pixels, but had %u x %u when the split was made",
                     path, w, h, width, height);
    free(path);
    return rc;
}

/* source_open, which detects the layout of a data folder and lists its samples; source_assign. */

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

/* Adds the one image of each subfolder, with the folder of its masks as mask. */
static int list_merged(struct source *s, struct err *e)
{
    struct tree folders = {0}, images = {0};
    int rc = tree_list(s->dir, NULL, NULL, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        const char *name = folders.paths[i];
        char sub[NAME_MAX + 16];
        snprintf(sub, sizeof sub, "%s/images", name);
        rc = tree_list(s->dir, sub, filename_is_image, &images, e);
        if (rc == 0 && images.count > 1)
            rc = err_set(e, ERR_DATA, "%s/%s: has %zu images for one folder of masks, %s/masks", s->dir,
                         sub, images.count, name);
        else if (rc == 0 && images.count == 1)
            rc = source_add(s, name, mem_textf(e, "%s/%s", sub, images.paths[0]),
                            mem_textf(e, "%s/masks/", name), 0, SOURCE_ANY, e);
        tree_free(&images);
    }
    tree_free(&folders);
    return rc;
}

/* Adds the pairs in the folders that the two folders of a part share, as one per city. Without a
 * prefix that of each folder begins the stems. */
static int add_deep(struct source *s, const struct pairs_part *part, const char *prefix,
                    struct err *e)
{
    struct tree folders = {0};
    int rc = tree_list(s->dir, part->images, NULL, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        struct pairs_part own = {.side = part->side};
        snprintf(own.images, sizeof own.images, "%.250s/%.250s", part->images, folders.paths[i]);
        snprintf(own.masks, sizeof own.masks, "%.250s/%.250s", part->masks, folders.paths[i]);
        if (tree_is_folder(s->dir, own.images))
            rc = add_part(s, &own, *prefix ? prefix : folders.paths[i], false, e);
    }
    tree_free(&folders);
    return rc;
}

static int list_pairs(struct source *s, const struct layout *l, struct err *e)
{
    static const char *const prefixes[] = {
        [SOURCE_ANY] = "", [SOURCE_TRAIN] = "train", [SOURCE_VAL] = "val"};

    if (l->nested || l->merged)
        return l->nested ? list_nested(s, e) : list_merged(s, e);
    for (int i = 0; i < l->nparts; i++)
        if (l->deep ? add_deep(s, &l->parts[i], prefixes[l->parts[i].side], e)
                    : add_part(s, &l->parts[i], prefixes[l->parts[i].side], l->partial, e))
            return -1;
    return l->nparts == 1 ? divide_by_lists(s, e) : 0;
}

static int list_samples(struct source *s, const struct source_folders *folders, struct err *e)
{
    struct layout layout;
    int found = folders->images ? record_files_list(s, folders->images, e) : 0;

    if (found == 0 && (found = layout_find(s->dir, folders, &layout, e)) > 0) {
        s->format = SOURCE_PAIRS;
        return list_pairs(s, &layout, e);
    }
    if (found == 0)
        found = record_files_list(s, NULL, e);
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
