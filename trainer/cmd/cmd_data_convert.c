/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train data convert: writes a data set as PNG files. */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include "trainer/data/prepare/prepare.h"

static struct {
    const char *dir, *out, *to, *tile;
    struct source_folders folders;
} given = {.to = "png"};

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data set to read, in any format", &given.dir, 0, 0},
    OPTIONS_FOLDERS(given.folders),
    {"out", 'o', CLI_STRING, "DIR", "new folder to write to", &given.out, 0, 0},
    {"to", 0, CLI_STRING, "WORD", "png", &given.to, 0, 0},
    {"tile", 0, CLI_STRING, "HxW", "gone: data.patch of a training cuts patches", &given.tile, 0, 0},
    {0}};

static int check_form(struct err *e)
{
    if (given.tile)
        return err_set(e, ERR_USAGE, "data convert: --tile %s: tiles are no longer written; train on "
                       "patches of images as they are, by data.patch=%s", given.tile, given.tile);
    if (strcmp(given.to, "tfrecord") == 0)
        return err_set(e, ERR_USAGE, "data convert: --to tfrecord: TFRecord files are only read; "
                       "train from %s as it is, or write them by TensorFlow", given.dir);
    if (strcmp(given.to, "cache") == 0)
        return err_set(e, ERR_USAGE, "data convert: --to cache: a training fills its cache by "
                       "itself; set data.cache to %s", given.out);
    if (strcmp(given.to, "png") != 0)
        return err_set(e, ERR_USAGE, "data convert: --to %s: must be png", given.to);
    return 0;
}

static int run_data_convert(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct convert_config config = {.dir = given.dir, .folders = &given.folders, .out = given.out};

    if (!given.dir || !given.out)
        return err_set(e, ERR_USAGE, "data convert: --data DIR and --out DIR are needed");
    if (check_form(e))
        return -1;
    size_t n = convert_write(&config, e);
    if (n == 0)
        return -1;
    log_info("%s: %zu samples", given.out, n);
    return 0;
}

const struct cli_command cmd_data_convert = {
    .name = "data convert",
    .args = "--data DIR --out DIR",
    .summary = "Write a data set as PNG files",
    .details =
        "Reads what `data split` reads: images/ and masks/, a folder per class, CIFAR-10's and idx\n"
        "files, TFRecord shards. Writes images/ and masks/, or a folder per class. Values do not\n"
        "change; palettes of images become RGB, those of masks stay indices. Each page of a TIFF\n"
        "stack becomes a sample (STEM, STEM-p0002, ...). A source that is divided into training and\n"
        "validation stays so: train/ and val/. No training needs it: all these formats are read as\n"
        "they are.\n"
        "\n"
        "  unet-train data convert --data shards --out pictures\n",
    .options = options,
    .run = run_data_convert,
};
