/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/trainer.h"

#include <inttypes.h>
#include <string.h>

#include "trainer/data/survey.h"
#include "trainer/size_option.h"

#define MAX_SHOWN 12 /* sizes, mask values: more than these say little */

static const char *dir, *size;
static bool as_json;

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data folder with images/ and masks/", &dir, 0, 0},
    {"size", 0, CLI_STRING, "HxW", "also the baseline at this size, resized as for training", &size,
     0, 0},
    {"json", 0, CLI_FLAG, NULL, "one JSON object on stdout", &as_json, 0, 0},
    {0}};

static void print_shapes(const struct survey *s)
{
    static const char *const kinds[] = {"", "grey", "grey+alpha", "RGB", "RGBA"};

    for (size_t i = 0; i < s->nshapes && i < MAX_SHOWN; i++) {
        const struct survey_shape *shape = &s->shapes[i];
        printf("%-15s %u x %u %s, %d bits: %zu\n", i ? "" : "height x width", shape->height,
               shape->width, kinds[shape->channels], shape->bits, shape->count);
    }
    if (s->nshapes > MAX_SHOWN)
        printf("%-15s and %zu more\n", "", s->nshapes - MAX_SHOWN);
}

static void print_masks(const struct survey *s)
{
    size_t shown = 0, more = 0;

    for (unsigned v = 0; v < 65536; v++) {
        if (!s->mask_values[v])
            continue;
        if (shown == MAX_SHOWN) {
            more++;
            continue;
        }
        printf("%-15s %u: %.2f %%\n", shown ? "" : "mask values", v,
               100.0 * (double)s->mask_values[v] / (double)s->pixels);
        shown++;
    }
    if (more)
        printf("%-15s and %zu more\n", "", more);
    printf("%-15s %.2f %% of the pixels\n", "foreground",
           100.0 * (double)s->foreground / (double)s->pixels);
}

static void print_baseline(const char *where, const struct survey_baseline *b)
{
    bool dark;
    double iou = survey_iou(b, &dark);

    printf("%-15s IoU %.4f at %s (%s pixels are foreground)\n", "Otsu threshold", iou, where,
           dark ? "dark" : "bright");
}

static void print_baseline_json(const char *name, const struct survey_baseline *b)
{
    bool dark;
    double iou = survey_iou(b, &dark);

    printf(",\"%s\":{\"iou\":%.9g,\"foreground\":\"%s\"}", name, iou, dark ? "dark" : "bright");
}

static void print_json(const struct survey *s)
{
    const char *comma = "";

    printf("{\"schema\":1,\"pairs\":%zu,\"shapes\":[", s->pairs);
    for (size_t i = 0; i < s->nshapes; i++)
        printf("%s{\"height\":%u,\"width\":%u,\"channels\":%u,\"bits\":%u,\"count\":%zu}", i ? "," : "",
               s->shapes[i].height, s->shapes[i].width, (unsigned)s->shapes[i].channels,
               (unsigned)s->shapes[i].bits, s->shapes[i].count);
    printf("],\"mask_values\":{");
    for (unsigned v = 0; v < 65536; v++)
        if (s->mask_values[v]) {
            printf("%s\"%u\":%.9g", comma, v, (double)s->mask_values[v] / (double)s->pixels);
            comma = ",";
        }
    printf("},\"foreground\":%.9g", (double)s->foreground / (double)s->pixels);
    print_baseline_json("otsu", &s->native);
    if (size)
        print_baseline_json("otsu_resized", &s->resized);
    printf("}\n");
}

static void print_text(const struct survey *s)
{
    printf("%-15s %zu\n", "pairs", s->pairs);
    print_shapes(s);
    print_masks(s);
    print_baseline("native size", &s->native);
    if (size)
        print_baseline(size, &s->resized);
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    int height = 0, width = 0;

    (void)noperands, (void)operands, (void)nrest, (void)rest;
    if (!dir)
        return err_set(e, ERR_USAGE, "data stats: --data DIR is needed");
    if (size && size_option_parse(size, &height, &width, e))
        return -1;
    struct survey *s = survey_create(dir, height, width, e);
    if (!s)
        return -1;
    (as_json ? print_json : print_text)(s);
    survey_destroy(s);
    return 0;
}

const struct cli_command cmd_data_stats = {
    .name = "data stats",
    .args = "--data DIR",
    .summary = "tell what is in a data set and how far a mere threshold gets",
    .details =
        "Counts, sizes, mask values, share of the foreground, and the IoU of a threshold chosen\n"
        "by Otsu's method for each image (bright or dark foreground, whichever is better over the\n"
        "set; intersection over union of all pixels). A trained network must beat that clearly.\n\n"
        "  unet-train data stats --data DIR --size 256x256\n",
    .options = options,
    .min_operands = 0,
    .max_operands = 0,
    .run = run,
};
