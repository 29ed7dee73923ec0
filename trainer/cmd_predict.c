/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train predict: masks for images of any size. */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/log.h"
#include "trainer/comm/comm.h"
#include "trainer/compute_option.h"
#include "trainer/core/model.h"
#include "trainer/core/precision.h"
#include "trainer/data/image_file.h"
#include "trainer/data/picture.h"
#include "trainer/data/png_file.h"
#include "trainer/data/resize.h"
#ifdef HAVE_TIFF
#include "trainer/data/tiff_file.h"
#endif
#include "trainer/shutdown.h"
#include "trainer/size_option.h"
#include "trainer/tiles.h"
#include "trainer/trained.h"
#include "trainer/trainer.h"

static const char *opt_checkpoint, *opt_crop, *opt_out, *opt_tile, *opt_format = "png", *opt_backend = "auto", *opt_dtype = "f32";
static long opt_overlap = -1, opt_threads;
static double opt_threshold = 0.5;
static bool opt_probabilities, opt_overlay;

static const struct cli_option options[] = {
    COMPUTE_OPTION_CHECKPOINT(opt_checkpoint),
    {"out", 'o', CLI_STRING, "DIR", "folder for the masks; made if need be", &opt_out, 0, 0},
    {"tile", 0, CLI_STRING, "HxW", "what the network sees at once (the size of training)",
     &opt_tile, 0, 0},
    {"overlap", 0, CLI_INT, "N", "pixels that tiles share (a quarter of the tile's smaller side)",
     &opt_overlap, 0, 65535},
    {"threshold", 0, CLI_DOUBLE, "P", "foreground from this probability on, for one class (0.5)",
     &opt_threshold, 0, 1},
    {"format", 0, CLI_STRING, "WORD", "of masks and probabilities: png | tiff (png)",
     &opt_format, 0, 0},
    {"probabilities", 'p', CLI_FLAG, NULL, "write the probabilities, too", &opt_probabilities, 0, 0},
    {"overlay", 0, CLI_FLAG, NULL, "write pictures with the mask in colour over the image, too",
     &opt_overlay, 0, 0},
    {"crop", 0, CLI_STRING, "N,N..", "also DIR/STEM_cropN.png, without N pixels at each side",
     &opt_crop, 0, 0},
    COMPUTE_OPTION_BACKEND(opt_backend),
    COMPUTE_OPTION_DTYPE(opt_dtype),
    COMPUTE_OPTION_THREADS(opt_threads),
    {0}};

static const char details[] =
    "For each image STEM.* writes DIR/STEM.png: 0 and 255, or of several classes the number of the\n"
    "most probable one. An image keeps its size: it is cut into overlapping tiles, whose\n"
    "probabilities are blended. With --probabilities DIR/STEM_prob.png has 16 bits (65535 is 1) of\n"
    "the foreground, or DIR/STEM_prob_CLASS.png of each class; as TIFF it is one file of 32-bit\n"
    "floats with a sample per class. DIR/STEM_overlay.png shows the mask over the image.\n"
    "A network that gives an image one class as a whole writes DIR/classes.csv: image, number of\n"
    "the class, its probability, with --probabilities those of all classes.\n"
    "\n"
    "  unet-train predict --checkpoint RUN --out masks --overlay images/*.png\n";

/* DIR/STEM + suffix: the file's name without folder and ending. */
static void path_for(const char *image, const char *suffix, char dst[PATH_MAX])
{
    const char *slash = strrchr(image, '/'), *name = slash ? slash + 1 : image;
    const char *dot = strrchr(name, '.');

    snprintf(dst, PATH_MAX, "%s/%.*s%s", opt_out,
             dot && dot != name ? (int)(dot - name) : (int)strlen(name), name, suffix);
}

static int check_names(int n, char **images, struct err *e)
{
    char a[PATH_MAX], b[PATH_MAX];

    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++) {
            path_for(images[i], "", a);
            path_for(images[k], "", b);
            if (strcmp(a, b) == 0)
                return err_set(e, ERR_USAGE, "predict: %s and %s would both become %s; predict them "
                               "into different folders", images[k], images[i], a);
        }
    return 0;
}

struct result {
    int height, width, classes;
    float *probabilities; /* [height][width][classes] */
    uint8_t *mask;        /* [height][width]: class, or 0 and 1 */
};

static void fill_mask(struct result *r)
{
    for (size_t i = 0; i < (size_t)r->height * (size_t)r->width; i++) {
        const float *p = r->probabilities + i * (size_t)r->classes;
        int best = 0;
        for (int k = 1; k < r->classes; k++)
            best = p[k] > p[best] ? k : best;
        r->mask[i] = (uint8_t)(r->classes == 1 ? (double)p[0] >= opt_threshold : best);
    }
}

static int write_mask(const char *image, const char *name, const struct result *r, struct err *e)
{
    char suffix[32];
    size_t pixels = (size_t)r->height * (size_t)r->width;
    bool tiff = strcmp(opt_format, "tiff") == 0;
    uint8_t *bytes = malloc(pixels);
    char path[PATH_MAX];
    int rc;

    if (!bytes)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t i = 0; i < pixels; i++)
        bytes[i] = r->classes == 1 ? (uint8_t)(r->mask[i] * 255) : r->mask[i];
    snprintf(suffix, sizeof suffix, "%s%s", name, tiff ? ".tif" : ".png");
    path_for(image, suffix, path);
#ifdef HAVE_TIFF
    if (tiff)
        rc = tiff_file_write(path, (uint32_t)r->width, (uint32_t)r->height, 1, bytes, NULL, e);
    else
#endif
        rc = png_file_write(path, (uint32_t)r->width, (uint32_t)r->height, 1, bytes, e);
    free(bytes);
    return rc;
}

/* Class k, or the foreground, in 16 bits. */
static int write_png_probabilities(const char *image, const struct result *r, int k, struct err *e)
{
    struct pixels img = {.width = (uint32_t)r->width, .height = (uint32_t)r->height};
    char path[PATH_MAX], suffix[32] = "_prob.png";

    if (r->classes > 1)
        snprintf(suffix, sizeof suffix, "_prob_%d.png", k);
    path_for(image, suffix, path);
    if (pixels_allocate(&img, path, 1, 16, e))
        return -1;
    for (size_t i = 0; i < (size_t)r->height * (size_t)r->width; i++) {
        unsigned v = (unsigned)lrintf(r->probabilities[i * (size_t)r->classes + (size_t)k] * 65535);
        img.samples[2 * i] = (uint8_t)(v >> 8);
        img.samples[2 * i + 1] = (uint8_t)v;
    }
    int rc = png_file_write_pixels(path, &img, e);
    pixels_free(&img);
    return rc;
}

static int write_probabilities(const char *image, const struct result *r, struct err *e)
{
#ifdef HAVE_TIFF
    char path[PATH_MAX];

    if (strcmp(opt_format, "tiff") == 0) {
        path_for(image, "_prob.tif", path);
        return tiff_file_write(path, (uint32_t)r->width, (uint32_t)r->height, r->classes, NULL,
                               r->probabilities, e);
    }
#endif
    for (int k = 0; k < r->classes; k++)
        if (write_png_probabilities(image, r, k, e))
            return -1;
    return 0;
}

/* Colours far apart: hues a golden angle from each other. */
static void colour_of(int class, float rgb[3])
{
    float hue = fmodf((float)class * 0.618034F, 1) * 6;

    for (int c = 0; c < 3; c++) {
        float distance = fabsf(fmodf(hue + 6 - 2 * (float)c, 6) - 3);
        rgb[c] = fminf(fmaxf(distance - 1, 0), 1);
    }
}

/* pixels: [height][width][channels], 0..1 */
static int write_overlay(const char *image, const float *pixels, int channels,
                         const struct result *r, struct err *e)
{
    size_t n = (size_t)r->height * (size_t)r->width;
    uint8_t *rgb = malloc(3 * n);
    char path[PATH_MAX];
    float colour[3];

    if (!rgb)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (size_t i = 0; i < n; i++) {
        bool shown = r->classes > 1 || r->mask[i];
        colour_of(r->classes > 1 ? r->mask[i] : 0, colour);
        for (int c = 0; c < 3; c++) {
            float v = pixels[i * (size_t)channels + (size_t)(channels == 3 ? c : 0)];
            rgb[3 * i + (size_t)c] = (uint8_t)lrintf(255 * (shown ? 0.6F * v + 0.4F * colour[c] : v));
        }
    }
    path_for(image, "_overlay.png", path);
    int rc = png_file_write(path, (uint32_t)r->width, (uint32_t)r->height, 3, rgb, e);
    free(rgb);
    return rc;
}

/* The borders, where a network sees zeros beyond the image, are cut off. */
static int write_crops(const char *image, const struct result *r, struct err *e)
{
    const char *at = opt_crop;
    int rc = 0;

    while (at && rc == 0) {
        char *end, name[24];
        int crop = (int)strtol(at, &end, 10);
        struct result inner = {r->height - 2 * crop, r->width - 2 * crop, r->classes, NULL, NULL};

        at = *end ? end + 1 : NULL;
        if (inner.height < 1 || inner.width < 1)
            return err_set(e, ERR_USAGE, "predict: --crop %d leaves nothing of %s, which is %dx%d", crop,
                           image, r->height, r->width);
        inner.mask = malloc((size_t)inner.height * (size_t)inner.width);
        if (!inner.mask)
            return err_set(e, ERR_INTERNAL, "out of memory");
        for (int y = 0; y < inner.height; y++)
            memcpy(inner.mask + (size_t)y * (size_t)inner.width,
                   r->mask + (size_t)(y + crop) * (size_t)r->width + crop, (size_t)inner.width);
        snprintf(name, sizeof name, "_crop%d", crop);
        rc = write_mask(image, name, &inner, e);
        free(inner.mask);
    }
    return rc;
}

static int write_all(const char *image, const float *pixels, int channels, struct result *r,
                     struct err *e)
{
    fill_mask(r);
    if (write_mask(image, "", r, e) || write_crops(image, r, e) ||
        (opt_probabilities && write_probabilities(image, r, e)) ||
        (opt_overlay && write_overlay(image, pixels, channels, r, e)))
        return -1;
    return 0;
}

static int predict_image(struct network *n, const struct network_config *c, const char *image,
                         struct err *e)
{
    struct pixels img;
    struct result r = {.classes = c->classes};
    float *pixels = NULL;
    int rc = -1;

    if (image_file_read(image, PIXELS_PICTURE, &img, e))
        return -1;
    if (picture_check(&img, c->channels, image, e))
        goto out;
    r.height = (int)img.height;
    r.width = (int)img.width;
    size_t count = (size_t)img.height * img.width;
    pixels = malloc(count * (size_t)c->channels * sizeof *pixels);
    r.mask = malloc(count);
    if (!pixels || !r.mask) {
        err_set(e, ERR_INTERNAL, "%s: out of memory", image);
        goto out;
    }
    picture_to_float(&img, c->channels, pixels);
    r.probabilities = tiles_predict(n, c, pixels, r.height, r.width, (int)opt_overlap,
                                    &shutdown_signal, e);
    if (r.probabilities)
        rc = write_all(image, pixels, c->channels, &r, e);
out:
    pixels_free(&img);
    free(r.probabilities);
    free(r.mask);
    free(pixels);
    return rc;
}

static int set_overlap(const struct network_config *c, struct err *e)
{
    int side = c->height < c->width ? c->height : c->width;

    if (opt_overlap < 0)
        opt_overlap = side / 4;
    if (opt_overlap >= side)
        return err_set(e, ERR_USAGE, "predict: --overlap %ld leaves nothing of tiles of %dx%d",
                       opt_overlap, c->height, c->width);
    return 0;
}

/* A row of classes.csv: the image at the size of the network. */
static int classify(struct network *n, const struct network_config *c, const char *image, FILE *f,
                    struct err *e)
{
    struct pixels img;
    float *input = network_input(n, false, 1, e), p[256];
    const float *logits;
    int best = 0;

    if (!input || image_file_read(image, PIXELS_PICTURE, &img, e))
        return -1;
    if (picture_check(&img, c->channels, image, e)) {
        pixels_free(&img);
        return -1;
    }
    float *pixels = malloc((size_t)img.height * img.width * (size_t)c->channels * sizeof *pixels);
    if (pixels) {
        picture_to_float(&img, c->channels, pixels);
        resize_pad(pixels, (int)img.height, (int)img.width, input, c->height, c->width,
                   c->channels);
    }
    pixels_free(&img);
    free(pixels);
    if (!pixels)
        return err_set(e, ERR_INTERNAL, "%s: out of memory", image);
    if (network_infer(n, 1, &logits, e))
        return -1;
    tiles_probabilities(logits, c->classes, p);
    for (int k = 1; k < c->classes; k++)
        best = p[k] > p[best] ? k : best;
    fprintf(f, "%s,%d,%.6f", image, best, (double)p[best]);
    for (int k = 0; k < c->classes && opt_probabilities; k++)
        fprintf(f, ",%.6f", (double)p[k]);
    putc('\n', f);
    return 0;
}

static int classify_all(struct network *n, const struct network_config *c, char **images, int count,
                        struct err *e)
{
    char path[PATH_MAX];
    int rc = 0;

    snprintf(path, sizeof path, "%s/classes.csv", opt_out);
    struct atomicfile *a = atomicfile_open(path, 0666, e);
    if (!a)
        return -1;
    FILE *f = atomicfile_stream(a);
    fputs("image,class,probability", f);
    for (int k = 0; k < c->classes && opt_probabilities; k++)
        fprintf(f, ",p%d", k);
    putc('\n', f);
    for (int i = 0; i < count && rc == 0; i++)
        rc = shutdown_signal ? comm_set_interrupted(e, shutdown_signal)
                             : classify(n, c, images[i], f, e);
    if (rc) {
        atomicfile_abort(a);
        return rc;
    }
    if (atomicfile_commit(a, e))
        return -1;
    log_info("%d images classified: %s", count, path);
    return 0;
}

static int predict_all(struct network *n, const struct network_config *c, char **images, int count,
                       struct err *e)
{
    int rc = set_overlap(c, e);

    for (int i = 0; i < count && rc == 0; i++)
        rc = predict_image(n, c, images[i], e);
    if (rc == 0)
        log_info("%d images predicted in tiles of %dx%d, overlap %ld: %s", count, c->height,
                 c->width, opt_overlap, opt_out);
    return rc;
}

static int check_options(struct network_config *c, struct err *e)
{
    if (!opt_checkpoint || !opt_out)
        return err_set(e, ERR_USAGE, "predict: give --checkpoint PATH and --out DIR");
    for (const char *at = opt_crop; at;) {
        char *end;
        long crop = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || crop < 1 || crop > 65535)
            return err_set(e, ERR_USAGE, "predict: --crop %s: must be pixels, such as 16,32,64",
                           opt_crop);
        at = *end ? end + 1 : NULL;
    }
    if (strcmp(opt_format, "png") != 0 && strcmp(opt_format, "tiff") != 0)
        return err_set(e, ERR_USAGE, "predict: --format %s: must be png or tiff", opt_format);
#ifndef HAVE_TIFF
    if (strcmp(opt_format, "tiff") == 0)
        return err_set(e, ERR_CONFIG, "predict: this unet-train was built without libtiff");
#endif
    if (precision_parse(opt_dtype, &c->dtype, &c->tf32, e))
        return err_prefix(e, "predict: --dtype");
    if (opt_tile && size_option_parse(opt_tile, &c->height, &c->width, e))
        return err_prefix(e, "predict: --tile");
    return 0;
}

static int run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct trained t = {.config = {.backend = opt_backend, .threads = (int)opt_threads}};

    (void)nrest, (void)rest;
    shutdown_catch(false);
    if (check_options(&t.config, e) || check_names(noperands, operands, e))
        return -1;
    int rc = trained_open(&t, opt_checkpoint, e);
    if (rc == 0 && mkdir(opt_out, 0777) && errno != EEXIST)
        rc = err_errno(e, ERR_CONFIG, errno, "cannot make the folder %s", opt_out);
    if (rc == 0)
        rc = model_find(t.config.model)->whole
                 ? classify_all(t.network, &t.config, operands, noperands, e)
                 : predict_all(t.network, &t.config, operands, noperands, e);
    trained_close(&t);
    return rc;
}

const struct cli_command cmd_predict = {
    .name = "predict",
    .args = "IMAGE...",
    .summary = "Write masks of images with a trained network",
    .details = details,
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run,
};
