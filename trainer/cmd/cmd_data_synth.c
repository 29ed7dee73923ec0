/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train data synth: draws a synthetic data set. */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include "trainer/data/prepare/prepare.h"

#define SYNTH_MIN_SIDE 32

#define SYNTH_MAX_SIDE 4096

static struct {
    const char *out, *size;
    long count, seed;
} given = {.size = "96x128", .count = 48, .seed = 1};

static const struct cli_option options[] = {
    {"out", 'o', CLI_STRING, "DIR", "new folder for images/ and masks/", &given.out, 0, 0},
    {"count", 'n', CLI_INT, "N", "number of pairs (default 48)", &given.count, 1, 9999},
    {"size", 0, CLI_STRING, "HxW", "size of each picture (default 96x128)", &given.size, 0, 0},
    {"seed", 0, CLI_INT, "S", "random seed (default 1)", &given.seed, 0, 0x1p53},
    {0}};

static int run_data_synth(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    int height, width;

    if (!given.out)
        return err_set(e, ERR_USAGE, "data synth: --out DIR is needed");
    if (options_size(given.size, &height, &width, e))
        return -1;
    if (height < SYNTH_MIN_SIDE || width < SYNTH_MIN_SIDE || height > SYNTH_MAX_SIDE ||
        width > SYNTH_MAX_SIDE)
        return err_set(e, ERR_USAGE, "--size %s: sides must be from %d to %d", given.size,
                       SYNTH_MIN_SIDE,
                       SYNTH_MAX_SIDE);
    if (synth_create(given.out, (int)given.count, height, width, (uint64_t)given.seed, e))
        return -1;
    log_info("%s: %ld pairs of %d x %d (height, width), seed %ld", given.out, given.count, height,
             width, given.seed);
    return 0;
}

const struct cli_command cmd_data_synth = {
    .name = "data synth",
    .args = "--out DIR",
    .summary = "Draw a small SEM-like data set of images and masks",
    .details =
        "Pictures of indentation marks on uneven, noisy ground with an info bar, scratches and\n"
        "specks; masks are 0 and 255. The same seed, count and size give the same files. DIR must\n"
        "be empty or new.\n"
        "\n"
        "  unet-train data synth --out demo-data --count 48 --size 96x128 --seed 1\n",
    .options = options,
    .run = run_data_synth,
};
