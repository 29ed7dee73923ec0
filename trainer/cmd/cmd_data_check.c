/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train data check: decodes images and prints their properties, or why they cannot be used. */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include <sys/stat.h>

#include "trainer/data/image/image_file.h"
#include "trainer/data/source/mask_stats.h"
#include "trainer/data/source/tree.h"

static struct {
    bool json;
} given;

static const struct cli_option options[] = {
    {"json", 0, CLI_FLAG, NULL, "print one JSON object, errors included, on stdout", &given.json,
     0, 0},
    {0}};

enum { WIDTH, HEIGHT, CHANNELS, BITS, NPROPERTIES };

struct count {
    size_t files, bad;
    unsigned least[NPROPERTIES], most[NPROPERTIES]; /* of those that can be used */
    struct remarks remarks;
    cJSON *list; /* with --json, of all files */
};

static void add_properties(struct count *count, const struct pixels *img)
{
    const unsigned now[] = {img->width, img->height, (unsigned)img->channels, (unsigned)img->bits};
    bool is_first = count->files == count->bad;

    for (int i = 0; i < NPROPERTIES; i++) {
        if (is_first || now[i] < count->least[i])
            count->least[i] = now[i];
        if (is_first || now[i] > count->most[i])
            count->most[i] = now[i];
    }
}

/* Sums up images that can all be used. */
static void log_fine(const struct count *count)
{
    static const char *const formats[] = {"width %s", "height %s", "channels %s",
                                          "bits %s"};
    char text[256] = "", range[32], part[64];

    for (int i = 0; i < NPROPERTIES; i++) {
        snprintf(range, sizeof range, count->least[i] == count->most[i] ? "%u" : "%u to %u",
                 count->least[i], count->most[i]);
        snprintf(part, sizeof part, formats[i], range);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "", part);
    }
    log_info("%zu image%s can be read: %s", count->files, plural(count->files), text);
}

static void add_file(cJSON *list, const char *name, const struct pixels *img, const char *hex,
                     const char *error)
{
    cJSON *o = cjson_object(list, NULL);

    cjson_addf(o, "path=%s", name);
    if (img)
        cjson_addf(o, "width=%u height=%u channels=%d bits=%d pages=%d sha256=%s", img->width,
                   img->height, img->channels, img->bits, img->pages, hex);
    if (img && img->warning[0])
        cjson_addf(o, "warning=%s", img->warning);
    if (error)
        cjson_addf(o, "error=%s", error);
}

/* Reports and counts a path that cannot be used, and returns 0. Returns -1, so that *e becomes the
 * error of the command, if it is not ERR_DATA, or without --json if the path is the only one on the
 * command line (alone). */
static int report_bad(const char *path, bool alone, struct count *count, const struct err *e)
{
    char name[FILENAME_TEXT_SIZE];

    if (e->code != ERR_DATA || (alone && !given.json))
        return -1;
    if (given.json)
        add_file(count->list, filename_escape(path, name, sizeof name), NULL, NULL, e->text);
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
    if (given.json) {
        add_file(count->list, name, img, hex, NULL);
    } else {
        printf("%s\t%u\t%u\t%d\t%d\t%.16s\n", name, img->width, img->height, img->channels,
               img->bits, hex);
        if (img->warning[0])
            log_warn("%s: %s", name, img->warning);
    }
    add_properties(count, img);
    struct remarks_picture p = remarks_look(img, REMARKS_IMAGE);
    remarks_add(&count->remarks, &p, path);
    count->files++;
}

/* Reads a file as a mask, or a file of values that no mask has as an image. */
static int read_file(const char *path, struct pixels *img, struct err *e)
{
    struct err ignored;

    return image_file_read(path, PIXELS_RAW, img, e) &&
                   (e->code != ERR_DATA ||
                    image_file_read(path, PIXELS_PICTURE, img, &ignored))
               ? -1 : 0;
}

/* Checks the image, and the class or mask, of a record, and reports it. A bad record is counted and
 * is not an error: -1 only if checking cannot continue. */
static int check_container_record(struct container *c, size_t i, const char *path,
                                  struct count *count, struct err *e)
{
    char name[PATH_MAX + 24];
    struct pixels img = {0}, mask = {0};
    int label = container_label(c, i, e);
    int rc = label == -2 || container_decode(c, i, false, NULL, NULL, &img, e) ||
             (label == -1 && container_decode(c, i, true, NULL, NULL, &mask, e)) ? -1 : 0;

    snprintf(name, sizeof name, "%.4000s#%zu", path, i);
    if (rc)
        rc = report_bad(name, false, count, e);
    else
        show(name, &img, count);
    pixels_free(&mask);
    pixels_free(&img);
    return rc;
}

static int check_records(const char *path, enum source_format kind, bool alone,
                         struct count *count, struct err *e)
{
    struct container *c = container_open(kind, path, e);
    int rc = 0;

    if (!c)
        return report_bad(path, alone, count, e);
    for (size_t i = 0; rc == 0 && i < container_count(c); i++)
        rc = check_container_record(c, i, path, count, e);
    container_close(c);
    return rc;
}

static int check_file(const char *path, bool alone, struct count *count, struct err *e)
{
    enum source_format kind;
    struct pixels img;

    if (container_guess(filename_base(path), &kind) ||
        (!filename_is_image(path) && container_is_tfrecord(path) && (kind = SOURCE_TFRECORD)))
        return check_records(path, kind, alone, count, e);
    if (read_file(path, &img, e))
        return report_bad(path, alone, count, e);
    show(path, &img, count);
    pixels_free(&img);
    return 0;
}

/* Keeps the images, and the containers by name or first bytes. */
static void keep_known(struct tree *tree)
{
    enum source_format kind;
    size_t kept = 0;

    for (size_t i = 0; i < tree->count; i++) {
        char *path = tree->paths[i];
        if (filename_is_image(path) || container_guess(filename_base(path), &kind) ||
            container_is_tfrecord(path))
            tree->paths[kept++] = path;
        else
            free(path);
    }
    tree->count = kept;
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
        return check_file(path, alone, count, e);
    int rc = tree_scan(path, NULL, &tree, e);
    keep_known(&tree);
    if (rc == 0 && tree.count == 0 && (rc = tree_refuse_foreign(path, e)) == 0)
        rc = err_set(e, ERR_DATA, "%s: no images in it (" FILENAME_IMAGES ")", path);
    if (rc)
        rc = report_bad(path, alone, count, e);
    for (size_t i = 0; rc == 0 && i < tree.count; i++)
        rc = check_file(tree.paths[i], false, count, e);
    tree_free(&tree);
    return rc;
}

static int run_data_check(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    cJSON *root = cJSON_CreateObject();
    struct count count = {0};
    struct err ignored;
    int rc = 0;

    cjson_addf(root, "schema=%d", 1);
    count.list = cjson_array(root, "files");
    for (int i = 0; rc == 0 && i < noperands; i++)
        rc = check_path(operands[i], noperands == 1, &count, e);
    cjson_addf(root, "checked=%zu bad=%zu", count.files, count.bad);
    if (!given.json)
        cJSON_Delete(root);
    else if (options_print(root, rc ? &ignored : e))
        rc = -1;
    remarks_log(&count.remarks, "data check");
    if (rc)
        return -1;
    if (count.bad == 0) {
        if (!given.json)
            log_fine(&count);
        return 0;
    }
    return err_set(e, ERR_DATA, "%zu of %zu files cannot be used", count.bad, count.files);
}

const struct cli_command cmd_data_check = {
    .name = "data check",
    .args = "PATH...",
    .summary = "Decode image files and print their properties",
    .details =
        "PATH: image files, or folders with such files (" FILENAME_IMAGES ") at any depth; also\n"
        "CIFAR-10's batches, idx images and TFRecord shards, whose records are FILE#NUMBER.\n"
        "One line per file: path, width, height, channels, bits of a sample, first 16 digits of\n"
        "the SHA-256 of the samples, separated by tabs. Samples are row by row, channels\n"
        "interleaved, 16-bit ones big-endian; 1, 2 and 4 bits one sample per byte, not scaled;\n"
        "palettes by index; of several pages the first, with a warning; floats and 32 bits as 16.\n"
        "Warnings, once for all files, say what is turned, inverted or dropped. In a path, a\n"
        "backslash is printed as \\\\, control characters and bytes that are not UTF-8 as \\xNN.\n"
        "The last line, on stderr, sums up what is fine, or counts what is not.\n"
        "Every path is tried; the exit code is 7 if any cannot be used. Files up to 1 GiB and\n"
        "samples up to 1 GiB (65535 on a side) are read. Whatever a header claims, no more memory is\n"
        "used than for twice the file, four times its samples and 64 MiB.\n\n"
        "  unet-train data check images/*.png\n"
        "  unet-train data check --json DATA\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_data_check,
};
