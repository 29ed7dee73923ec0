/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/cmd/cmd.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/buf.h"
#include "src/text/filename.h"
#include "src/log.h"
#include "trainer/data/source/container.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/source/tree.h"

static bool opt_json;

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "one JSON object on stdout, with the errors in it", &opt_json,
     0, 0},
    {0}};

struct count {
    size_t files, bad;
};

static void begin_json(struct buf *b, size_t index, const char *name)
{
    buf_add(b, index ? ",\n {\"path\":" : "\n {\"path\":");
    buf_add_json_string(b, name);
}

static void end_json(struct buf *b)
{
    printf("%s}", b->failed ? "" : b->data);
    buf_destroy(b);
}

static void print_json(size_t index, const char *name, const struct pixels *img, const char *hex)
{
    struct buf b = {0};

    begin_json(&b, index, name);
    buf_addf(&b,
             ",\"width\":%u,\"height\":%u,\"channels\":%d,\"bits\":%d,\"pages\":%d,"
             "\"sha256\":\"%s\"",
             img->width, img->height, img->channels, img->bits, img->pages, hex);
    if (img->warning[0]) {
        buf_add(&b, ",\"warning\":");
        buf_add_json_string(&b, img->warning);
    }
    end_json(&b);
}

static void print_json_error(size_t index, const char *name, const char *error)
{
    struct buf b = {0};

    begin_json(&b, index, name);
    buf_add(&b, ",\"error\":");
    buf_add_json_string(&b, error);
    end_json(&b);
}

/* What can't be used is told, and the others are tried. alone: the one path of the command line,
 * whose error is the command's. */
static int tell_bad(const char *path, bool alone, struct count *count, const struct err *e)
{
    char name[FILENAME_TEXT_SIZE];

    if (e->code != ERR_DATA || (alone && !opt_json))
        return -1;
    if (opt_json)
        print_json_error(count->files, filename_escape(path, name, sizeof name), e->text);
    else
        log_error("%s", e->text);
    count->files++;
    count->bad++;
    return 0;
}

static void show(const char *path, const struct pixels *img, struct count *count)
{
    char name[FILENAME_TEXT_SIZE], hex[65];

    filename_escape(path, name, sizeof name);
    pixels_hash(img, hex);
    if (opt_json) {
        print_json(count->files, name, img, hex);
    } else {
        printf("%s\t%u\t%u\t%d\t%d\t%.16s\n", name, img->width, img->height, img->channels,
               img->bits, hex);
        if (img->warning[0])
            log_warn("%s: %s", name, img->warning);
    }
    count->files++;
}

/* Image, and class or mask, of one of many. */
static int check_record(struct container *c, size_t i, const char *path, struct count *count,
                        struct err *e)
{
    char name[PATH_MAX + 24];
    struct pixels img = {0}, mask = {0};
    int label = container_label(c, i, e);
    int rc = label == -2 || container_image(c, i, NULL, NULL, &img, e) ||
             (label == -1 && container_mask(c, i, NULL, NULL, &mask, e)) ? -1 : 0;

    snprintf(name, sizeof name, "%.4000s#%zu", path, i);
    if (rc)
        rc = tell_bad(name, false, count, e);
    else
        show(name, &img, count);
    pixels_free(&mask);
    pixels_free(&img);
    return rc;
}

static int check_records(const char *path, enum container_kind kind, bool alone,
                         struct count *count, struct err *e)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int rc = 0;

    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) + (slash == path) : 1,
             slash ? path : ".");
    struct container *c = container_open(kind, dir, slash ? slash + 1 : path, e);
    if (!c)
        return tell_bad(path, alone, count, e);
    for (size_t i = 0; rc == 0 && i < container_count(c); i++)
        rc = check_record(c, i, path, count, e);
    container_close(c);
    return rc;
}

static int check(const char *path, bool alone, struct count *count, struct err *e)
{
    const char *slash = strrchr(path, '/');
    enum container_kind kind;
    struct pixels img;

    if (container_guess(slash ? slash + 1 : path, &kind))
        return check_records(path, kind, alone, count, e);
    if (image_file_read(path, PIXELS_RAW, &img, e))
        return tell_bad(path, alone, count, e);
    show(path, &img, count);
    pixels_free(&img);
    return 0;
}

static bool is_known(const char *name)
{
    enum container_kind kind;
    return filename_is_image(name) || container_guess(name, &kind);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int check_path(const char *path, bool alone, struct count *count, struct err *e)
{
    struct tree tree = {0};

    if (!is_folder(path))
        return check(path, alone, count, e);
    int rc = tree_scan(path, is_known, &tree, e);
    if (rc == 0 && tree.count == 0)
        rc = err_set(e, ERR_DATA, "%s: no images in it (" FILENAME_IMAGES ")", path);
    if (rc)
        rc = tell_bad(path, alone, count, e);
    for (size_t i = 0; rc == 0 && i < tree.count; i++)
        rc = check(tree.paths[i], false, count, e);
    tree_free(&tree);
    return rc;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    int npaths = noperands + nrest, rc = 0;
    struct count count = {0};

    if (opt_json)
        printf("{\"schema\":1,\"files\":[");
    for (int i = 0; rc == 0 && i < npaths; i++)
        rc = check_path(i < noperands ? operands[i] : rest[i - noperands], npaths == 1, &count, e);
    if (opt_json)
        printf("],\n \"checked\":%zu,\"bad\":%zu}\n", count.files, count.bad);
    if (rc)
        return -1;
    if (count.bad == 0)
        return 0;
    return err_set(e, ERR_DATA, "%zu of %zu files can't be used", count.bad, count.files);
}

const struct cli_command cmd_data_check = {
    .name = "data check",
    .args = "PATH...",
    .summary = "decode image files and print what is in them",
    .details =
        "PATH: image files, or folders with such files (" FILENAME_IMAGES ") at any depth; also\n"
        "CIFAR-10's batches, idx images and TFRecord shards, whose records are FILE#NUMBER.\n"
        "One line per file: path, width, height, channels, bits of a sample, first 16 digits of\n"
        "the SHA-256 of the samples, separated by tabs. Samples are row by row, channels\n"
        "interleaved, 16-bit ones big-endian; 1, 2 and 4 bits one sample per byte, not scaled;\n"
        "palettes by index; of several pages the first, with a warning. In a path, a backslash is\n"
        "printed as \\\\, control characters and bytes that are no UTF-8 as \\xNN.\n"
        "Every path is tried; the exit code is 7 if any can't be used. Files up to 1 GiB and\n"
        "samples up to 1 GiB (65535 on a side) are read; memory beyond the file, its samples and\n"
        "64 MiB is never taken, whatever a header claims.\n\n"
        "  unet-train data check images/*.png\n"
        "  unet-train data check --json DATA\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
