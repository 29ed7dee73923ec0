/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/set/split_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/plural.h"

/* "train/10.records" of "train/10.records#17" */
struct name {
    const char *text;
    size_t length;
};

static struct name file_of(const struct split_item *item)
{
    const char *mark = strchr(item->image, '#');

    return (struct name){item->image, mark ? (size_t)(mark - item->image) : strlen(item->image)};
}

/* 2.records before 10.records */
static int compare(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return strncmp(x->text, y->text, x->length);
}

static void free_item(struct split_item *item)
{
    free(item->stem);
    free(item->image);
    free(item->mask);
}

/* Items whose file is not among the first `keep`. Names point into items, which are freed last. */
static void drop(struct split_part *part, const struct name *files, size_t keep)
{
    bool *gone = calloc(part->count, sizeof *gone);
    size_t kept = 0;

    for (size_t i = 0; gone && i < part->count; i++) {
        struct name file = file_of(&part->items[i]);
        gone[i] = !bsearch(&file, files, keep, sizeof file, compare);
    }
    for (size_t i = 0; gone && i < part->count; i++)
        if (gone[i])
            free_item(&part->items[i]);
        else
            part->items[kept++] = part->items[i];
    if (gone)
        part->count = kept;
    free(gone);
}

int split_files_cut(struct split *s, int workers, struct err *e)
{
    struct name *files = calloc(s->train.count + 1, sizeof *files);
    size_t n = 0, images = s->train.count;

    if (s->format != SOURCE_TFRECORD) {
        free(files);
        return err_set(e, ERR_CONFIG, "data.files: workers is for TFRecord files, and %s holds "
                       "none; use data.files: all", s->dir);
    }
    if (!files)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t i = 0; i < images; i++)
        files[i] = file_of(&s->train.items[i]);
    qsort(files, images, sizeof *files, compare);
    for (size_t i = 0; i < images; i++)
        if (n == 0 || compare(&files[i], &files[n - 1]) != 0)
            files[n++] = files[i];
    size_t keep = n / (size_t)workers * (size_t)workers;
    if (keep > 0 && keep < n)
        drop(&s->train, files, keep);
    free(files);
    if (keep == 0)
        return err_set(e, ERR_DATA, "%s: %zu TFRecord file%s of training images for %d workers: "
                       "some would have none; write more (unet-train data convert --to tfrecord), "
                       "or use fewer GPUs", s->dir, n, plural(n), workers);
    if (keep < n)
        log_info("data.files: %zu of %zu TFRecord files for %d workers, %zu of %zu images", keep, n,
                 workers, s->train.count, images);
    return 0;
}
