/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train data preview: draws images and masks resized, or cut into patches, as for training,
 * and examples that the same functions augment. */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include <sys/stat.h>

#include "src/settings/settings.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/set/dataset.h"
#include "trainer/data/set/loader.h"
#include "trainer/run/setup.h"

static struct {
    const char *dir, *out, *size;
    struct cli_list set;
    long channels, count, epoch, seed;
    int classes;
    enum scale scale;
    struct source_folders folders;
} given = {.channels = 1, .count = 8, .seed = 1};

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data folder, in any format that has masks", &given.dir, 0, 0},
    OPTIONS_FOLDERS(given.folders),
    {"out", 'o', CLI_STRING, "DIR", "folder for the pictures, made if needed", &given.out, 0, 0},
    {"size", 's', CLI_STRING, "HxW", "image size of training", &given.size, 0, 0},
    {"set", 0, CLI_LIST, "KEY=VALUE", "a setting of augment.* or data.*, as for train", &given.set, 0, 0},
    {"count", 'n', CLI_INT, "N", "number of pictures (default 8)", &given.count, 1, 10000},
    {"epoch", 0, CLI_INT, "E", "epoch of the first example (default 0)", &given.epoch, 0, INT_MAX},
    {"seed", 0, CLI_INT, "S", "seed of the run (default 1)", &given.seed, 0, INT_MAX},
    {"channels", 0, CLI_INT, "N", "1 grey, 3 RGB (default 1)", &given.channels, 1, 3},
    {0}};

enum { EXAMPLES = 8, SIDE = 3 }; /* augmented ones; with the pair itself, in a square */

struct preview_canvas {
    int height, width, channels, side; /* side: pairs in a row, and rows: SIDE, or 1 */
    float *image, *mask;
    struct record *room, *changed; /* of a patch; the augmented sample */
    uint8_t *rgb; /* pairs of image and mask */
};

/* Spreads the classes over the grey values; ignored pixels are red. */
static void draw_pixel(float v, uint8_t *rgb)
{
    float step = given.classes > 1 ? 255.0f / (float)(given.classes - 1) : 255.0f;

    rgb[0] = v < 0 ? 255 : (uint8_t)(v * step + 0.5f);
    rgb[1] = rgb[2] = v < 0 ? 0 : rgb[0];
}

static void draw_pair(const struct preview_canvas *c, const struct record *r, size_t number)
{
    size_t nc = (size_t)c->channels, height = (size_t)c->height, width = (size_t)c->width;
    size_t side = (size_t)c->side;

    record_unpack(r, height * width * nc, height * width, c->image, c->mask);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            size_t from = y * width + x, row = number / side * height + y;
            uint8_t *rgb = c->rgb + 3 * ((row * side + number % side) * 2 * width + x);
            for (size_t k = 0; k < 3; k++)
                rgb[k] = (uint8_t)(scale_shown(given.scale,
                                               c->image[from * nc + (nc == 3 ? k : 0)]) * 255 +
                                   0.5f);
            draw_pixel(c->mask[from], rgb + 3 * width);
        }
}

/* Writes picture i: the pair, and what eight epochs, or with augment.six its copies, make of it. */
static int preview_one(const struct sampler *s, struct augment *a,
                       const struct settings_augment *config, const struct preview_canvas *c,
                       size_t i, struct err *e)
{
    struct augment_draw changes;
    char path[PATH_MAX];
    uint32_t side = (uint32_t)c->side;

    const struct record *r = sampler_take(s, (uint64_t)given.seed, (size_t)given.epoch, i, i,
                                          c->room, e);

    if (!r)
        return -1;
    draw_pair(c, r, 0);
    for (size_t k = 0; c->side > 1 && k < EXAMPLES; k++) {
        augment_draw(a, (uint64_t)given.seed, (size_t)given.epoch + k, i, &changes);
        if (config->six)
            augment_six(k, &changes);
        augment_apply(a, &changes, r, c->changed);
        draw_pair(c, c->changed, 1 + k);
    }
    snprintf(path, sizeof path, "%.2000s/%04zu.png", given.out, i);
    return png_file_write(path, 2 * side * (uint32_t)c->width, side * (uint32_t)c->height, 3,
                          c->rgb, e);
}

static int preview(struct dataset *ds, const struct settings *all, struct err *e)
{
    struct preview_canvas c = {.height = 0};
    size_t patches = (size_t)all->data.patches, pixels;
    size_t n = sampler_size(ds, DATASET_VAL, patches);
    const struct settings_augment *config = &all->augment;
    int rc = -1;

    c.side = augment_is_active(config) ? SIDE : 1;
    c.channels = dataset_size(ds, &c.height, &c.width);
    pixels = (size_t)c.height * (size_t)c.width;
    if (!dataset_has_masks(ds))
        return err_set(e, ERR_DATA, "%s: its images have no masks", given.dir);
    if (mkdir(given.out, 0777) && errno != EEXIST)
        return err_errno(e, ERR_DATA, errno, "%s", given.out);
    c.image = mem_alloc(pixels * (size_t)c.channels, sizeof *c.image, e);
    c.mask = mem_alloc(pixels, sizeof *c.mask, e);
    size_t nbytes = record_size(RECORD_NUMBERS, pixels * (size_t)c.channels, RECORD_NUMBERS,
                                pixels);
    c.room = mem_alloc(1, nbytes, e);
    c.changed = mem_alloc(1, nbytes, e);
    c.rgb = mem_alloc(6 * (size_t)c.side * (size_t)c.side, pixels, e);
    struct augment *a = augment_create(config, c.height, c.width, c.channels, true, e);
    struct sampler *s = sampler_create(ds, DATASET_VAL, patches, all->data.patch_foreground, e);
    if (c.image && c.mask && c.room && c.changed && c.rgb && a && s)
        rc = 0;
    n = n < (size_t)given.count ? n : (size_t)given.count;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = preview_one(s, a, config, &c, i, e);
    if (rc == 0)
        log_info("%s: %zu pictures of image and mask%s", given.out, n,
                 c.side > 1 ? ", first as they are, then eight times augmented" : "");
    sampler_destroy(s);
    augment_destroy(a);
    free(c.rgb);
    free(c.changed);
    free(c.room);
    free(c.mask);
    free(c.image);
    return rc;
}

static int run_data_preview(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct dataset_config config = {.dir = given.dir, .folders = &given.folders,
                                    .channels = (int)given.channels};
    struct settings c;

    if (!given.dir || !given.out)
        return err_set(e, ERR_USAGE,
                       "data preview: --data DIR, --out DIR and --size HxW are needed");
    if (given.channels == 2)
        return err_set(e, ERR_USAGE, "--channels 2: a preview shows 1 (grey) or 3 (RGB)");
    if (run_config_init(&c, e))
        return -1;
    int rc = run_config_set_words(&c, &given.set, e);
    if (rc == 0 && given.size)
        rc = options_size(given.size, &c.data.height, &c.data.width, e);
    if (rc == 0 && settings_take_patch(&c) != !given.size)
        rc = err_set(e, ERR_USAGE, "data preview: give --size HxW, or --set data.patch=HxW instead");
    config.height = c.data.height;
    config.width = c.data.width;
    config.native = *c.data.patch != 0;
    if (rc == 0)
        rc = settings_check(&c, e) ? -1 : 0;
    config.masks = options_masks(&c);
    config.scale = given.scale = options_scale(&c);
    given.classes = c.data.classes;
    struct dataset *ds = rc == 0 ? dataset_open(&config, e) : NULL;
    rc = ds ? preview(ds, &c, e) : -1;
    dataset_close(ds);
    run_config_destroy(&c);
    return rc;
}

const struct cli_command cmd_data_preview = {
    .name = "data preview",
    .args = "--data DIR --size HxW --out DIR",
    .summary = "Draw images and masks as training uses them",
    .details = "One PNG per pair: image and mask at the size of training, and where a setting of augment.* is\n"
               "on, eight examples of both, as in eight epochs from --epoch on; with augment.six, the six\n"
               "copies and the first two again. Classes are spread over the grey values; ignored pixels\n"
               "are red. With --set data.patch=HxW instead of --size there is one for each patch of an\n"
               "epoch.\n"
               "\n"
               "  unet-train data preview --data DIR --size 256x256 --out look \\\n"
               "                         --set augment.preset=nnunet\n",
    .options = options,
    .run = run_data_preview,
};
