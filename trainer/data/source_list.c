/* SPDX-License-Identifier: BSD-3-Clause */
/* Listing a data folder: source_open. */
#include "config.h"
#include "trainer/data/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/filename.h"
#include "src/log.h"
#include "trainer/data/container.h"
#include "trainer/data/pairs.h"

#define MAX_CLASSES 250 /* labels are bytes, and 255 does not count */

static bool is_folder(const char *dir, const char *name)
{
    struct stat st;
    char *path = pairs_path(dir, name);
    bool is = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);

    free(path);
    return is;
}

struct names {
    char **items;
    size_t count;
};

static void names_free(struct names *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct names){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What lies in dir/sub (sub NULL: dir) and is wanted, sorted; no such folder has nothing in it. */
static int list_names(const char *dir, const char *sub, bool (*wanted)(const char *name),
                      struct names *list, struct err *e)
{
    char *path = sub ? pairs_path(dir, sub) : strdup(dir);
    DIR *d = path ? opendir(path) : NULL;
    struct dirent *entry;
    int rc = 0;

    *list = (struct names){0};
    while (rc == 0 && d && (entry = readdir(d))) {
        if (entry->d_name[0] == '.' || !wanted(entry->d_name))
            continue;
        char **items = realloc(list->items, (list->count + 1) * sizeof *items);
        if (items)
            list->items = items;
        if (!items || !(items[list->count] = strdup(entry->d_name)))
            rc = err_set(e, ERR_INTERNAL, "%s: no memory for the list of files", dir);
        else
            list->count++;
    }
    if (d)
        closedir(d);
    free(path);
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_name);
    return rc;
}

/* Takes image and mask; stem is copied. */
static int add_item(struct source *s, const char *stem, char *image, char *mask, int label,
                    enum source_side side, struct err *e)
{
    size_t n = s->count;

    if ((n & (n - 1)) == 0) { /* room for twice as many at each power of two */
        struct source_item *items = realloc(s->items, (n ? 2 * n : 1) * sizeof *items);
        if (!items) {
            free(image);
            free(mask);
            return err_set(e, ERR_INTERNAL, "%s: no memory for its samples", s->dir);
        }
        s->items = items;
    }
    s->items[n] = (struct source_item){strdup(stem), image, mask, label, side};
    s->count++;
    if (!s->items[n].stem || !image)
        return err_set(e, ERR_INTERNAL, "%s: no memory for its samples", s->dir);
    return 0;
}

static int add_class(struct source *s, const char *name, struct err *e)
{
    char **names = realloc(s->class_names, (size_t)(s->nclasses + 1) * sizeof *names);

    if (names)
        s->class_names = names;
    if (!names || !(names[s->nclasses] = strdup(name)))
        return err_set(e, ERR_INTERNAL, "%s: no memory for its classes", s->dir);
    s->nclasses++;
    return 0;
}

static int list_pairs(struct source *s, struct err *e)
{
    struct pairs pairs;
    int rc = pairs_scan(s->dir, &pairs, e);

    for (size_t i = 0; rc == 0 && i < pairs.count; i++) {
        struct pair *p = &pairs.items[i];
        rc = add_item(s, p->stem, p->image, p->mask, 0, SOURCE_ANY, e);
        p->image = p->mask = NULL;
    }
    pairs_free(&pairs);
    return rc;
}

static int list_records(struct source *s, const char *name, enum source_side side, struct err *e)
{
    struct container *c = container_open(s->format == SOURCE_CIFAR ? CONTAINER_CIFAR
                                         : s->format == SOURCE_IDX ? CONTAINER_IDX
                                                                   : CONTAINER_TFRECORD,
                                         s->dir, name, e);
    int rc = c ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < container_count(c); i++) {
        int label = container_label(c, i, e);
        char *image = NULL, *mask = NULL, stem[512];
        if (label == -2 || asprintf(&image, "%s#%zu", name, i) < 0) {
            rc = -1;
            break;
        }
        if (label < 0)
            mask = strdup(image);
        /* Padded, so that the order of stems is that of the records. */
        snprintf(stem, sizeof stem, "%.400s#%07zu", name, i);
        rc = add_item(s, stem, image, mask, label, side, e);
    }
    container_close(c);
    return rc;
}

static bool is_cifar(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".bin") == 0 &&
           (strncmp(name, "data_batch", 10) == 0 || strncmp(name, "test_batch", 10) == 0);
}

static bool is_idx(const char *name)
{
    const char *at = strstr(name, "images-idx3-ubyte");
    return at && (strcmp(at + 17, "") == 0 || strcmp(at + 17, ".gz") == 0);
}

static bool is_records(const char *name)
{
    size_t n = strlen(name);
    return n > 8 && strcmp(name + n - 8, ".records") == 0;
}

static bool is_visible(const char *name)
{
    return name[0] != '.';
}

/* batches.meta.txt has one name per line; without it numbers do. */
static int name_cifar_classes(struct source *s, const char *sub, struct err *e)
{
    char path[4096], number[16];
    struct err ignored;
    size_t n;

    snprintf(path, sizeof path, "%s/%sbatches.meta.txt", s->dir, sub);
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

/* sub: "" or "cifar-10-batches-bin/" */
static int list_cifar(struct source *s, const char *sub, const struct names *files, struct err *e)
{
    bool has_test = false;
    int rc = name_cifar_classes(s, sub, e);

    for (size_t i = 0; i < files->count; i++)
        has_test = has_test || strncmp(files->items[i], "test", 4) == 0;
    if (!has_test)
        log_info("%s: no test_batch.bin; a share of the training records validates", s->dir);
    for (size_t i = 0; rc == 0 && i < files->count; i++) {
        char name[512];
        bool test = strncmp(files->items[i], "test", 4) == 0;
        snprintf(name, sizeof name, "%s%.400s", sub, files->items[i]);
        rc = list_records(s, name, !has_test ? SOURCE_ANY : test ? SOURCE_VAL : SOURCE_TRAIN, e);
    }
    return rc;
}

/* Classes of labels that are numbers: 0 to the largest. */
static int name_numbers(struct source *s, struct err *e)
{
    char number[16];
    int max = 0;

    for (size_t i = 0; i < s->count; i++)
        max = s->items[i].label > max ? s->items[i].label : max;
    if (max >= MAX_CLASSES)
        return err_set(e, ERR_DATA, "%s: class %d; at most %d are supported", s->dir, max,
                       MAX_CLASSES);
    while (s->nclasses <= max) {
        snprintf(number, sizeof number, "%d", s->nclasses);
        if (add_class(s, number, e))
            return -1;
    }
    return 0;
}

/* train-images-... trains, t10k-images-... and test-images-... validate. */
static int list_idx(struct source *s, const struct names *files, struct err *e)
{
    size_t ntrain = 0;
    int rc = 0;

    for (size_t i = 0; i < files->count; i++)
        ntrain += strncmp(files->items[i], "train", 5) == 0;
    bool divided = ntrain > 0 && ntrain < files->count;
    for (size_t i = 0; rc == 0 && i < files->count; i++) {
        bool train = strncmp(files->items[i], "train", 5) == 0;
        rc = list_records(s, files->items[i],
                          !divided ? SOURCE_ANY : train ? SOURCE_TRAIN : SOURCE_VAL, e);
    }
    return rc ? rc : name_numbers(s, e);
}

static int list_shards(struct source *s, const char *sub, enum source_side side, struct err *e)
{
    struct names files;
    int rc = list_names(s->dir, sub, is_records, &files, e);

    for (size_t i = 0; rc == 0 && i < files.count; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s%s%.400s", sub ? sub : "", sub ? "/" : "", files.items[i]);
        rc = list_records(s, name, side, e);
    }
    names_free(&files);
    return rc;
}

static int list_tfrecord(struct source *s, bool divided, struct err *e)
{
    int rc = divided ? list_shards(s, "train", SOURCE_TRAIN, e)
                     : list_shards(s, NULL, SOURCE_ANY, e);

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

/* Images of one class: dir/top/class/ *. Folders in it do not take part; they are warned of. */
static int list_class(struct source *s, const char *top, const char *name, int label,
                      enum source_side side, struct err *e)
{
    struct names files;
    char sub[1024], stem[1024];
    int rc = -1;

    snprintf(sub, sizeof sub, "%s%s%.400s", top, *top ? "/" : "", name);
    if (list_names(s->dir, sub, is_visible, &files, e))
        return -1;
    rc = 0;
    for (size_t i = 0; rc == 0 && i < files.count; i++) {
        char *image = NULL;
        snprintf(stem, sizeof stem, "%.500s/%.400s", sub, files.items[i]);
        if (!filename_is_image(files.items[i])) {
            if (is_folder(s->dir, stem))
                log_warn("%s/%s: a folder inside a class does not take part", s->dir, stem);
            continue;
        }
        image = strdup(stem);
        rc = add_item(s, stem, image, NULL, label, side, e);
    }
    names_free(&files);
    return rc;
}

static int find_class(const struct source *s, const char *name)
{
    for (int i = 0; i < s->nclasses; i++)
        if (strcmp(s->class_names[i], name) == 0)
            return i;
    return -1;
}

/* The class folders of dir/top; the first call names the classes. */
static int list_classes(struct source *s, const char *top, enum source_side side, struct err *e)
{
    struct names folders;
    bool first = s->nclasses == 0;
    int nstray = 0;
    char sub[1024];
    int rc = list_names(s->dir, *top ? top : NULL, is_visible, &folders, e);

    for (size_t i = 0; rc == 0 && i < folders.count; i++) {
        snprintf(sub, sizeof sub, "%s%s%.400s", top, *top ? "/" : "", folders.items[i]);
        if (!is_folder(s->dir, sub)) {
            nstray += filename_is_image(folders.items[i]);
            continue;
        }
        if (first)
            rc = add_class(s, folders.items[i], e);
        int label = rc ? -1 : find_class(s, folders.items[i]);
        if (rc == 0 && label < 0)
            rc = err_set(e, ERR_DATA, "%s/%s: is a class that train/ does not have", s->dir, sub);
        if (rc == 0)
            rc = list_class(s, top, folders.items[i], label, side, e);
    }
    names_free(&folders);
    if (rc == 0 && nstray && s->nclasses > 1)
        log_warn("%s%s%s: %d images outside the class folders do not take part", s->dir,
                 *top ? "/" : "", top, nstray);
    if (rc == 0 && first && s->nclasses < 2)
        return err_set(e, ERR_DATA, "%s: %s; a data folder has images/ and masks/, or a folder for "
                       "each of at least two classes, or *.records, CIFAR-10's or idx files",
                       s->dir, s->nclasses ? "has one class only" : "is no data folder");
    return rc;
}

static int list_folders(struct source *s, struct err *e)
{
    static const char *const held_out[] = {"val", "valid", "validation", "test", NULL};

    if (!is_folder(s->dir, "train") && !is_folder(s->dir, "Train"))
        return list_classes(s, "", SOURCE_ANY, e);
    const char *train = is_folder(s->dir, "train") ? "train" : "Train", *val = NULL;
    for (int i = 0; !val && held_out[i]; i++)
        if (is_folder(s->dir, held_out[i]))
            val = held_out[i];
    if (!val && is_folder(s->dir, "Test"))
        val = "Test";
    if (list_classes(s, train, val ? SOURCE_TRAIN : SOURCE_ANY, e))
        return -1;
    return val ? list_classes(s, val, SOURCE_VAL, e) : 0;
}

static int list_what_is_there(struct source *s, struct err *e)
{
    static const char *const inner[] = {"", "cifar-10-batches-bin/"};
    struct names files = {0};
    int rc = 0;

    if (is_folder(s->dir, "images") || is_folder(s->dir, "masks")) {
        s->format = SOURCE_PAIRS;
        return list_pairs(s, e);
    }
    for (int i = 0; rc == 0 && i < 2; i++) {
        rc = list_names(s->dir, *inner[i] ? inner[i] : NULL, is_cifar, &files, e);
        if (rc == 0 && files.count) {
            s->format = SOURCE_CIFAR;
            rc = list_cifar(s, inner[i], &files, e);
            goto done;
        }
        names_free(&files);
    }
    if (rc == 0)
        rc = list_names(s->dir, NULL, is_idx, &files, e);
    if (rc == 0 && files.count) {
        s->format = SOURCE_IDX;
        rc = list_idx(s, &files, e);
        goto done;
    }
    for (int i = 0; rc == 0 && i < 2; i++) {
        names_free(&files);
        rc = list_names(s->dir, i ? "train" : NULL, is_records, &files, e);
        if (rc == 0 && files.count) {
            s->format = SOURCE_TFRECORD;
            rc = list_tfrecord(s, i == 1, e);
            goto done;
        }
    }
    if (rc == 0) {
        s->format = SOURCE_FOLDERS;
        rc = list_folders(s, e);
    }
done:
    names_free(&files);
    return rc;
}

static int by_stem(const void *a, const void *b)
{
    const struct source_item *x = a, *y = b;
    return strcmp(x->stem, y->stem);
}

struct source *source_open(const char *dir, struct err *e)
{
    struct source *s = source_attach(dir, SOURCE_PAIRS, e);
    struct stat st;

    if (!s)
        return NULL;
    if (stat(dir, &st) || !S_ISDIR(st.st_mode))
        err_errno(e, ERR_DATA, stat(dir, &st) ? errno : ENOTDIR,
                  "%s: a data folder has images/ and masks/", dir);
    else if (list_what_is_there(s, e) == 0) {
        if (s->count) {
            qsort(s->items, s->count, sizeof *s->items, by_stem);
            return s;
        }
        err_set(e, ERR_DATA, "%s: no images", dir);
    }
    source_close(s);
    return NULL;
}
