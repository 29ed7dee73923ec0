/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train data convert: writes a data set in another format, or fills a cache. */
#include "config.h"
#include "trainer/cmd/cmd.h"

#include <string.h>

#include "src/log.h"
#include "trainer/data/prepare/convert.h"
#include "trainer/data/set/dataset.h"
#include "trainer/cmd/options.h"

static const char *dir, *out, *to, *tile, *size, *split, *ignore, *class_file, *scale = "full";
static long shard = 100, channels = 1, classes = 1;
static bool soft_masks, bands;
static struct source_folders folders;

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data set to read, in any format", &dir, 0, 0},
    OPTIONS_FOLDERS(folders),
    {"out", 'o', CLI_STRING, "DIR", "new folder to write to", &out, 0, 0},
    {"to", 0, CLI_STRING, "WORD", "png | tfrecord | cache", &to, 0, 0},
    {"tile", 0, CLI_STRING, "HxW", "png, tfrecord: cut images into tiles of this size", &tile,
     0, 0},
    {"shard", 0, CLI_INT, "N", "tfrecord: samples per file (default 100)", &shard, 1, 1000000},
    {"split", 0, CLI_STRING, "FILE", "cache: split.json of the runs", &split, 0, 0},
    {"size", 's', CLI_STRING, "HxW", "cache: image size of the runs", &size, 0, 0},
    {"bands", 0, CLI_FLAG, NULL, "tfrecord: keep the alpha of image files; records keep all samples",
     &bands, 0, 0},
    {"channels", 0, CLI_INT, "N", "cache: channels of the runs (default 1)", &channels, 1, 64},
    {"scale", 0, CLI_STRING, "WORD", "cache: data.scale of the runs (default full)", &scale, 0, 0},
    {"soft-masks", 0, CLI_FLAG, NULL, "cache: as in the runs", &soft_masks, 0, 0},
    {"classes", 0, CLI_INT, "N", "cache: as in the runs (default 1)", &classes, 1, 250},
    {"ignore", 0, CLI_STRING, "V", "cache: as in the runs", &ignore, 0, 0},
    {"class-file", 0, CLI_STRING, "FILE", "cache: as in the runs", &class_file, 0, 0},
    {0}};

static int make_cache(struct err *e)
{
    struct dataset_config config = {
        .split_file = split, .dir = dir, .channels = (int)channels,
        .masks = {soft_masks, (int)classes, ignore, class_file, NULL}, .cache = out, .threads = 4};

    if (!split || !size)
        return err_set(e, ERR_USAGE,
                       "data convert: --to cache needs the --split FILE and --size HxW "
                       "of the runs that will use it");
    if (scale_decode(scale, &config.scale, e))
        return err_set(e, ERR_USAGE, "data convert: --scale %s: must be full, range, percentile or zscore",
                       scale);
    if (options_size(size, &config.height, &config.width, e))
        return -1;
    struct dataset *ds = dataset_open(&config, e);
    dataset_close(ds);
    return ds ? 0 : -1;
}

static int run_data_convert(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct convert_config config = {.dir = dir, .folders = &folders, .out = out,
                                    .shard = (int)shard, .bands = bands};

    if (!dir || !out || !to)
        return err_set(e, ERR_USAGE,
                       "data convert: --data DIR, --out DIR and --to WORD are needed");
    if (strcmp(to, "cache") == 0)
        return make_cache(e);
    if (tile && options_size(tile, &config.tile_height, &config.tile_width, e))
        return -1;
    bool tfrecord = strcmp(to, "tfrecord") == 0;
    if (!tfrecord && strcmp(to, "png") != 0)
        return err_set(e, ERR_USAGE, "data convert: --to %s: must be png, tfrecord or cache", to);
    size_t n = convert_write(&config, tfrecord, e);
    if (n == 0)
        return -1;
    log_info("%s: %zu samples", out, n);
    return 0;
}

const struct cli_command cmd_data_convert = {
    .name = "data convert",
    .args = "--data DIR --out DIR --to WORD",
    .summary = "Write a data set in another format",
    .details =
        "Reads what `data split` reads: images/ and masks/, a folder per class, CIFAR-10's and idx\n"
        "files, TFRecord shards. png: images/ and masks/, or a folder per class. tfrecord: shards\n"
        "and JSON files as OTBTF has them, each record a tf.train.Example of serialized tensors,\n"
        "image [height, width, channels] and mask [height, width, 1] (or an int64 label). cache:\n"
        "the file of decoded images that runs with `data.cache: DIR` use. Values do not change;\n"
        "palettes of images become RGB, those of masks stay indices. Each page of a TIFF stack\n"
        "becomes a sample (STEM, STEM-p0002, ...). A source that is divided into training and\n"
        "validation stays so: train/ and val/ (tfrecord: valid/).\n"
        "\n"
        "  unet-train data convert --data DIR --to tfrecord --tile 256x256 --out shards\n"
        "  unet-train data convert --data shards --to png --out again\n",
    .options = options,
    .run = run_data_convert,
};
