/* SPDX-License-Identifier: BSD-3-Clause */
/* New data folders, and the conversion of data to PNG files in one. */
#include "src/base.h"
#include "trainer/data/prepare/prepare.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/param.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/prepare/prepare_internal.h"

#define MARK_SIZE (PATH_MAX + 16)

static int check_empty(const char *path, struct err *e)
{
    DIR *d = opendir(path);
    struct dirent *entry;
    int rc = 0;

    if (!d)
        return err_errno(e, ERR_DATA, errno, "%s: cannot list this folder", path);
    while (rc == 0 && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = err_set(e, ERR_DATA,
                         "%s: this folder is not empty (it contains %s); choose another with --out",
                         path, entry->d_name);
    closedir(d);
    return rc;
}

int new_folder_make(const char *path, struct err *e)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return err_errno(e, ERR_DATA, errno, "%s: cannot create this folder", path);
    return 0;
}

static void mark_path(const struct new_folder *f, char dst[MARK_SIZE])
{
    snprintf(dst, MARK_SIZE, "%s/" SOURCE_UNFINISHED, f->path);
}

int new_folder_open(struct new_folder *f, const char *path, struct err *e)
{
    char mark[MARK_SIZE];

    if (snprintf(f->path, sizeof f->path, "%s", path) >= PATH_MAX)
        return err_set(e, ERR_DATA, "%.100s...: this path is too long", path);
    f->made = mkdir(path, 0777) == 0;
    if (!f->made && new_folder_make(path, e))
        return -1;
    if (check_empty(path, e))
        return -1;
    mark_path(f, mark);
    int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        err_errno(e, ERR_DATA, errno, "%s: cannot write in this folder", path);
        if (f->made)
            rmdir(path);
        return -1;
    }
    close(fd);
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    if (where->level > 0)
        (void)remove(path);
    return 0;
}

int new_folder_close(const struct new_folder *f, int rc, struct err *e)
{
    char mark[MARK_SIZE];

    mark_path(f, mark);
    if (rc == 0)
        return unlink(mark) ? err_errno(e, ERR_DATA, errno, "cannot remove %s", mark) : 0;
    nftw(f->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (f->made)
        rmdir(f->path);
    return rc;
}

/* Every sample is decoded, and written as PNG files. */

/* One sample to be written; the pointers are borrowed. */
struct convert_sample {
    const char *name;         /* of the files to be written, without folders and suffix */
    enum source_side side;
    bool held_out;            /* of no side although the source is divided */
    const struct pixels *image, *mask; /* if mask is NULL, class_name holds */
    const char *class_name;
};

struct convert_job {
    const struct convert_config *config;
    struct source *source;
    size_t written;
};

static const char *side_folder(const struct convert_sample *s)
{
    return s->side == SOURCE_TRAIN ? "/train" : s->side == SOURCE_VAL ? "/val" : s->held_out ? "/test"
           : "";
}

static int write_png(const char *out, const char *side, const char *folder, const char *name,
                     const struct pixels *img, struct err *e)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%.2000s%s", out, side);
    if (new_folder_make(path, e))
        return -1;
    snprintf(path, sizeof path, "%.2000s%s/%.255s", out, side, folder);
    if (new_folder_make(path, e))
        return -1;
    snprintf(path, sizeof path, "%.2000s%s/%.255s/%.255s.png", out, side, folder, name);
    return png_file_write_pixels(path, img, e);
}

static int write_sample(struct convert_job *job, const struct convert_sample *s, struct err *e)
{
    const char *out = job->config->out, *side = side_folder(s);

    if (write_png(out, side, s->mask ? "images" : s->class_name, s->name, s->image, e) ||
        (s->mask && write_png(out, side, "masks", s->name, s->mask, e)))
        return -1;
    job->written++;
    return 0;
}

/* Derives the sample's name from its image: "a/b.png" gives "b", "train/0.records#17" gives
 * "0.records-0000017". Pairs that are not divided have stems that differ: "a/b" gives "a_b". */
static void sample_name(const struct source *source, const struct source_item *item,
                        char dst[NAME_MAX + 1])
{
    const char *base = filename_base(item->image);

    if (source->format == SOURCE_PAIRS && item->side == SOURCE_ANY) {
        snprintf(dst, NAME_MAX + 1, "%.200s", item->stem);
        for (char *c = strchr(dst, '/'); c; c = strchr(c, '/'))
            *c = '_';
        return;
    }
    if (source->format == SOURCE_PAIRS || source->format == SOURCE_FOLDERS) {
        snprintf(dst, NAME_MAX + 1, "%.*s", (int)MIN((uint32_t)filename_stem(base), 200), base);
        return;
    }
    const char *hash = strrchr(base, '#');
    snprintf(dst, NAME_MAX + 1, "%.*s-%07lu", (int)MIN((uint32_t)(hash - base), 200), base,
             strtoul(hash + 1, NULL, 10));
}

static int check_convertible(const struct pixels *image, const char *name, struct err *e)
{
    if (image->flags & PIXELS_STRETCHED)
        return err_set(e, ERR_DATA, "%s: holds values from %g to %g, which PNG cannot hold; "
                       "a training reads the file itself", name, image->low, image->high);
    if (image->flags & PIXELS_STACK)
        return err_set(e, ERR_DATA, "%s: %s", name, remarks_text(REMARKS_IMAGE, PIXELS_STACK));
    return 0;
}

/* Decodes a page of an image, and of its mask unless mask_bytes is NULL. */
static int decode_page(const char *name, int page, const uint8_t *image_bytes, size_t image_n,
                       const uint8_t *mask_bytes, size_t mask_n, struct pixels *image,
                       struct pixels *mask, struct err *e)
{
    if (image_file_decode(image_bytes, image_n, name, page, PIXELS_PICTURE, image, e) ||
        check_convertible(image, name, e) ||
        (mask_bytes &&
         image_file_decode(mask_bytes, mask_n, name, page, PIXELS_RAW, mask, e)) ||
        orientation_apply(image, mask, name, e))
        return -1;
    if (!mask_bytes || (mask->pages == image->pages && mask->width == image->width &&
                        mask->height == image->height))
        return 0;
    return err_set(e, ERR_DATA,
                   "%s: the image has %d pages of %u x %u, but the mask has %d of %u x %u", name,
                   image->pages, image->width, image->height, mask->pages, mask->width,
                   mask->height);
}

/* Writes a decoded sample, unless rc says that decoding failed, and frees its pixels. */
static int put_decoded(struct convert_job *job, const struct convert_sample *frame, int rc,
                       struct pixels *image, struct pixels *mask, struct err *e)
{
    struct convert_sample s = *frame;

    s.image = image;
    s.mask = mask->samples ? mask : NULL;
    if (rc == 0)
        rc = write_sample(job, &s, e);
    pixels_free(image);
    pixels_free(mask);
    return rc;
}

/* Converts one page of a pair of files. The mask keeps what its file has: indices, values or
 * colours. */
static int put_page(struct convert_job *job, const struct convert_sample *frame,
                    const uint8_t *image_bytes, size_t image_n, const uint8_t *mask_bytes,
                    size_t mask_n, int page, int *pages, struct err *e)
{
    struct pixels image = {0}, mask = {0};
    int rc = decode_page(frame->name, page, image_bytes, image_n, mask_bytes, mask_n, &image,
                         &mask, e);

    *pages = image.pages;
    return put_decoded(job, frame, rc, &image, &mask, e);
}

static uint8_t *read_located(const struct source *source, const char *locator, size_t *n,
                             struct err *e)
{
    char *path = mem_textf(e, "%s/%s", source->dir, locator);
    char *bytes = path ? atomicfile_read(path, PIXELS_MAX_FILE, n, e) : NULL;

    free(path);
    return (uint8_t *)bytes;
}

static int put_files(struct convert_job *job, const struct source_item *item,
                     const struct convert_sample *frame, struct err *e)
{
    struct convert_sample s = *frame;
    char base[NAME_MAX + 1], name[2 * NAME_MAX];
    size_t image_n, mask_n = 0;
    uint8_t *image = read_located(job->source, item->image, &image_n, e);
    uint8_t *mask = image && item->mask ? read_located(job->source, item->mask, &mask_n, e) : NULL;
    int rc = image && (mask || !item->mask) ? 0 : -1, pages = 1;

    sample_name(job->source, item, base);
    for (int page = 0; rc == 0 && page < pages; page++) {
        snprintf(name, sizeof name, page ? "%s-p%04d" : "%s", base, page + 1);
        s.name = name;
        rc = put_page(job, &s, image, image_n, mask, mask_n, page, &pages, e);
        if (rc)
            err_prefix(e, "%s/%s", job->source->dir, item->image);
    }
    free(mask);
    free(image);
    return rc;
}

static int put_record(struct convert_job *job, const struct source_item *item,
                      const struct convert_sample *frame, struct err *e)
{
    struct convert_sample s = *frame;
    char name[NAME_MAX + 1];
    struct pixels image, mask = {0};
    int rc = source_decode(job->source, item->image, SOURCE_IMAGE, NULL, NULL, &image, e);

    sample_name(job->source, item, name);
    s.name = name;
    if (rc == 0 && item->mask)
        rc = source_decode(job->source, item->mask, SOURCE_VALUES, NULL, NULL, &mask, e);
    return put_decoded(job, &s, rc, &image, &mask, e);
}

static int put_all(struct convert_job *job, struct err *e)
{
    struct source *source = job->source;
    bool divided = source_is_divided(source);

    for (size_t i = 0; i < source->count; i++) {
        const struct source_item *item = &source->items[i];
        struct convert_sample s = {.side = item->side,
                                   .held_out = divided && item->side == SOURCE_ANY};
        bool several = item->mask && item->mask[strlen(item->mask) - 1] == '/';
        bool files = (source->format == SOURCE_PAIRS && !several) ||
                     source->format == SOURCE_FOLDERS;
        if (source->nclasses)
            s.class_name = source->class_names[item->label];
        if (files ? put_files(job, item, &s, e) : put_record(job, item, &s, e))
            return -1;
    }
    return 0;
}

size_t convert_write(const struct convert_config *config, struct err *e)
{
    struct convert_job job = {.config = config};
    struct new_folder out;

    if (new_folder_open(&out, config->out, e))
        return 0;
    job.source = source_open(config->dir, config->folders, e);
    int rc = job.source ? put_all(&job, e) : -1;
    source_close(job.source);
    return new_folder_close(&out, rc, e) ? 0 : job.written;
}
