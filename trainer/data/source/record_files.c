/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/record_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/text.h"
#include "trainer/data/image/classes.h"
#include "trainer/data/source/container.h"
#include "trainer/data/source/tree.h"

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
        rc = source_add(s, stem, image, mask, label, side, e);
    }
    container_close(c);
    return rc;
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
            rc = source_add_class(s, line, e);
    while (rc == 0 && s->nclasses < CONTAINER_CIFAR_CLASSES) {
        snprintf(number, sizeof number, "%d", s->nclasses);
        rc = source_add_class(s, number, e);
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
        if (source_add_class(s, number, e))
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

/* Lists the containers of a kind in dir/sub: by their name, and TFRecord files, whose names may be
 * others, also by their first bytes. */
static int list_kind(const struct source *s, const char *sub, enum container_kind kind,
                     struct tree *files, struct err *e)
{
    int rc = tree_list(s->dir, sub, NULL, files, e);
    size_t kept = 0;

    for (size_t i = 0; i < files->count; i++) {
        char *name = files->paths[i];
        enum container_kind guessed;
        bool known = container_guess(name, &guessed);
        if (rc == 0 && !known && kind == CONTAINER_TFRECORD && !filename_is_image(name)) {
            char *path = mem_textf(e, "%s/%s/%s", s->dir, sub ? sub : "", name);
            known = path && container_is_tfrecord(path);
            guessed = CONTAINER_TFRECORD;
            rc = path ? 0 : -1;
            free(path);
        }
        if (known && guessed == kind)
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
    int rc = list_kind(s, sub, CONTAINER_TFRECORD, &files, e);

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

int record_files_list(struct source *s, struct err *e)
{
    static const struct {
        const char *sub;
        enum container_kind kind;
        enum source_format format;
        int (*list)(struct source *s, const char *sub, const struct tree *files, struct err *e);
    } kinds[] = {{NULL, CONTAINER_CIFAR, SOURCE_CIFAR, list_cifar},
                 {"cifar-10-batches-bin", CONTAINER_CIFAR, SOURCE_CIFAR, list_cifar},
                 {NULL, CONTAINER_IDX, SOURCE_IDX, list_idx},
                 {NULL, CONTAINER_TFRECORD, SOURCE_TFRECORD, list_tfrecord},
                 {"train", CONTAINER_TFRECORD, SOURCE_TFRECORD, list_tfrecord}};
    int found = 0;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && found == 0; i++) {
        struct tree files;
        found = list_kind(s, kinds[i].sub, kinds[i].kind, &files, e);
        if (found == 0 && files.count) {
            s->format = kinds[i].format;
            found = kinds[i].list(s, kinds[i].sub, &files, e) ? -1 : 1;
        }
        tree_free(&files);
    }
    return found;
}
