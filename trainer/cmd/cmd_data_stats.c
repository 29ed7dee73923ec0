/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train data stats: prints the properties of a data set. */
#include "src/base.h"
#include "trainer/cmd/cmd.h"

#include "trainer/data/prepare/prepare.h"

#define MAX_SHOWN 12 /* sizes, mask values or mask colours in a list for people */

static struct {
    const char *dir, *size, *ignore, *class_file;
    long nclasses, sample;
    bool json;
    struct source_folders folders;
} given;

static const struct cli_option options[] = {
    {"data", 'd', CLI_STRING, "DIR", "data folder, in any format", &given.dir, 0, 0},
    OPTIONS_FOLDERS(given.folders),
    {"size", 0, CLI_STRING, "HxW", "also print the baseline at this size, resized as for training",
     &given.size, 0, 0},
    {"classes", 0, CLI_INT, "N",
     "also print the frequency of each of N classes, and weights for them", &given.nclasses, 2,
     CLASSES_MAX},
    OPTIONS_IGNORE(given.ignore),
    OPTIONS_CLASS_FILE(given.class_file),
    {"sample", 0, CLI_INT, "N", "read only N masks and a few images; needs --json", &given.sample, 1,
     1000000},
    OPTIONS_JSON(given.json),
    {0}};

static void print_shapes(const struct survey *s)
{
    static const char *const kinds[] = {"", "grey", "grey+alpha", "RGB", "RGBA"};

    for (size_t i = 0; i < s->nshapes && i < MAX_SHOWN; i++) {
        const struct survey_shape *shape = &s->shapes[i];
        char bands[32];

        snprintf(bands, sizeof bands, "%d bands", shape->channels);
        printf("%-15s %u x %u %s, %d bits: %zu\n", i ? "" : "height x width", shape->height,
               shape->width, shape->channels > 4 ? bands : kinds[shape->channels], shape->bits,
               shape->count);
    }
    if (s->nshapes > MAX_SHOWN)
        printf("%-15s and %zu more\n", "", s->nshapes - MAX_SHOWN);
}

static void print_masks(const struct survey *s)
{
    size_t shown = 0, nhidden = 0;

    for (unsigned v = 0; v < 65536; v++) {
        if (!s->masks.of_value[v])
            continue;
        if (shown == MAX_SHOWN) {
            nhidden++;
            continue;
        }
        printf("%-15s %u: %.2f %%\n", shown ? "" : "mask values", v,
               100.0 * (double)s->masks.of_value[v] / (double)s->masks.pixels);
        shown++;
    }
    if (nhidden)
        printf("%-15s and %zu more\n", "", nhidden);
    for (size_t i = 0; i < s->masks.ncolours && i < MAX_SHOWN; i++) {
        const struct mask_stats_colour *c = &s->masks.colours[i];
        printf("%-15s %u %u %u: %.2f %%\n", i ? "" : "mask colours", c->rgb >> 16,
               c->rgb >> 8 & 255, c->rgb & 255,
               100.0 * (double)c->pixels / (double)s->masks.pixels);
    }
    if (!s->binary)
        printf("%-15s %s\n", "masks", s->proposal.text);
    else
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

static void print_classes(const struct survey *s)
{
    char name[FILENAME_TEXT_SIZE];

    for (int i = 0; i < s->nclasses; i++)
        printf("%-15s %d %s: %zu\n", i ? "" : "classes", i,
               filename_escape(s->class_names[i], name, sizeof name), s->of_class[i]);
}

static void print_stats_text(const struct survey *s)
{
    static const char *const means[] = {"mean red", "mean green", "mean blue"};

    printf("%-15s %s\n", "format", source_format_encode(s->format));
    printf("%-15s %zu\n", s->nclasses ? "images" : "pairs", s->pairs);
    print_shapes(s);
    for (int c = 0; c < s->channels; c++)
        printf("%-15s %.4f, deviation %.4f (of 0..1)\n", s->channels == 1 ? "mean" : means[c],
               s->mean[c], s->deviation[c]);
    printf("%-15s %zu pictures occur twice, %zu of them in both training and validation\n",
           "duplicates", s->duplicates, s->leaks);
    if (s->nclasses) {
        print_classes(s);
        return;
    }
    print_masks(s);
    if (s->binary)
        print_baseline("native size", &s->native);
    if (s->binary && given.size)
        print_baseline(given.size, &s->resized);
}

static void encode_classes(const struct survey *s, cJSON *to)
{
    for (int i = 0; i < s->nclasses; i++)
        cjson_addf(cjson_object(to, NULL), "name=%s images=%zu", s->class_names[i], s->of_class[i]);
}

static void encode_baseline(const struct survey_baseline *baseline, cJSON *to)
{
    bool dark;
    double iou = survey_iou(baseline, &dark);

    cjson_addf(to, "iou=%g foreground=%s", iou, dark ? "dark" : "bright");
}

/* Adds what the masks seem to hold, or that this is unsure, and settings for study.yaml that fit
 * them. */
static void encode_proposal(const struct mask_proposal *p, cJSON *to)
{
    static const char *const words[] = {"foreground", "one class", "classes", "unsure"};

    cjson_addf(to, "meaning=%s classes=%d ignore=%s class_file=%s text=%s", words[p->meaning],
               p->classes, p->ignore, p->class_file, p->text);
}

static void encode_masks(const struct survey *s, cJSON *o)
{
    cJSON *values = cjson_object(o, "mask_values");
    char key[8];

    for (unsigned v = 0; v < 65536; v++)
        if (s->masks.of_value[v]) {
            snprintf(key, sizeof key, "%u", v);
            cjson_add(values, key, cJSON_CreateNumber((double)s->masks.of_value[v] /
                                                     (double)s->masks.pixels));
        }
    encode_proposal(&s->proposal, cjson_object(o, "masks"));
    if (!s->binary || given.sample)
        return;
    cjson_addf(o, "foreground=%g", (double)s->foreground / (double)s->pixels);
    encode_baseline(&s->native, cjson_object(o, "otsu"));
    if (given.size)
        encode_baseline(&s->resized, cjson_object(o, "otsu_resized"));
}

static void print_frequency(const struct frequency *f, const struct classes *c)
{
    double weights[CLASSES_MAX];
    char name[FILENAME_TEXT_SIZE];

    frequency_weights(f, classes_count(c), weights);
    for (int k = 0; k < classes_count(c); k++)
        printf("%-15s %d %s: %.2f %% of the pixels that count, in %zu of %zu masks\n",
               k ? "" : "classes", k, filename_escape(classes_name(c, k), name, sizeof name),
               100.0 * (double)f->of_class[k] / (double)(f->pixels ? f->pixels : 1), f->images[k],
               f->masks);
    printf("%-15s %.2f %% of all pixels\n%-15s --set train.class_weights=", "ignored",
           100.0 * (double)f->ignored / (double)(f->pixels + f->ignored), "balanced by");
    for (int k = 0; k < classes_count(c); k++)
        printf("%s%.4g", k ? "," : "", weights[k]);
    putchar('\n');
}

static void encode_frequency(const struct frequency *f, const struct classes *c, cJSON *o)
{
    double weights[CLASSES_MAX];
    cJSON *list = cjson_array(o, "classes");

    frequency_weights(f, classes_count(c), weights);
    for (int k = 0; k < classes_count(c); k++)
        cjson_addf(cjson_object(list, NULL), "name=%s pixels=%" PRId64 " images=%zu weight=%g",
                   classes_name(c, k), f->of_class[k], f->images[k], weights[k]);
    cjson_addf(o, "ignored=%" PRId64, f->ignored);
}

static int print_stats_json(const struct survey *s, const struct frequency *f,
                            const struct classes *c, struct err *e)
{
    cJSON *o = cJSON_CreateObject(), *shapes;

    cjson_addf(o, "schema=%d format=%s", 1, source_format_encode(s->format));
    cjson_addf(o, s->nclasses ? "images=%zu" : "pairs=%zu", s->pairs);
    shapes = cjson_array(o, "shapes");
    for (size_t i = 0; i < s->nshapes; i++)
        cjson_addf(cjson_object(shapes, NULL), "height=%u width=%u channels=%d bits=%d count=%zu",
                   s->shapes[i].height, s->shapes[i].width, s->shapes[i].channels,
                   s->shapes[i].bits, s->shapes[i].count);
    cjson_addf(o, "train=%zu val=%zu", s->train, s->val);
    if (given.sample && s->image_spread > 0)
        cjson_addf(o, "image_spread=%g scale_each=%i", s->image_spread, s->scale_each);
    if (!given.sample) {
        cjson_add(o, "mean", cJSON_CreateDoubleArray(s->mean, s->channels));
        cjson_add(o, "deviation", cJSON_CreateDoubleArray(s->deviation, s->channels));
        cjson_addf(o, "duplicates=%zu leaks=%zu", s->duplicates, s->leaks);
    }
    if (s->nclasses)
        encode_classes(s, cjson_array(o, "classes"));
    else
        encode_masks(s, o);
    if (c)
        encode_frequency(f, c, o);
    return options_print(o, e);
}

static int run_data_stats(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    int height = 0, width = 0, rc = 0;

    if (!given.dir)
        return err_set(e, ERR_USAGE, "data stats: --data DIR is needed");
    if (given.size && options_size(given.size, &height, &width, e))
        return -1;
    if (given.ignore && !given.nclasses && !given.class_file)
        return err_set(e, ERR_USAGE, "data stats: --ignore needs --classes N");
    if (given.sample && (!given.json || given.size || given.nclasses))
        return err_set(e, ERR_USAGE, "data stats: --sample needs --json and no other option");
    struct classes *c = NULL;
    struct survey *s = NULL;
    struct frequency f;
    struct mask_options masks = {false, (int)given.nclasses, given.ignore, given.class_file, NULL};
    int value;
    if (classes_open(&masks, &value, &c, e))
        return -1;
    if (c)
        rc = frequency_count(given.dir, &given.folders, c, &f, e);
    if (rc == 0 && !(s = survey_create(given.dir, &given.folders, (size_t)given.sample, height,
                                       width, e)))
        rc = -1;
    if (rc == 0) {
        remarks_log(&s->remarks, given.dir);
        remarks_log(&s->masks.remarks, given.dir);
    }
    if (rc == 0 && given.json)
        rc = print_stats_json(s, &f, c, e);
    else if (rc == 0) {
        print_stats_text(s);
        if (c)
            print_frequency(&f, c);
    }
    survey_destroy(s);
    classes_destroy(c);
    return rc;
}

const struct cli_command cmd_data_stats = {
    .name = "data stats",
    .args = "--data DIR",
    .summary = "Print the properties of a data set and the IoU of a threshold",
    .details =
        "Prints counts, sizes, mean and deviation of the images, and pictures that occur twice;\n"
        "classes, or mask values, share of the foreground, and the IoU of a threshold chosen by\n"
        "Otsu's method for each image (bright or dark foreground, whichever is better over the set;\n"
        "intersection over union of all pixels), which a trained network must exceed clearly. Of\n"
        "masks that hold more than foreground: what they seem to hold, and the settings for it.\n"
        "With --classes: the share of each class, and weights by median frequency balancing.\n"
        "\n"
        "  unet-train data stats --data DIR --size 256x256\n",
    .options = options,
    .run = run_data_stats,
};
