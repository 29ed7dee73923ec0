/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train predict: writes masks, or a table of classes, for images of any size. */
#include "src/base.h"

#include <math.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/parallel.h"
#include "trainer/cmd/cmd.h"
#include "trainer/data/image/image_file.h"
#include "trainer/data/image/pixels.h"
#include "trainer/data/source/mask_stats.h"
#include "trainer/data/source/tree.h"
#include "trainer/models/model.h"
#include "trainer/passes/passes.h"
#include "trainer/run/setup.h"
#include "trainer/evaluate/evaluate.h"

#define PROGRESS_S 10   /* seconds between reports of progress */
#define MOST_CROPS 64
#define MANY_TILES 1000 /* if an image has more tiles, their number is logged after the first */

static struct {
    struct cli_list checkpoints;
    const char *crop, *out, *size, *format;
    const char *backend, *dtype;
    long overlap, threads;
    double threshold;
    int crops[MOST_CROPS]; /* those of --crop */
    size_t ncrops;
    bool native, flips, probabilities, overlay, colors;
} given = {.format = "png", .backend = "auto", .dtype = "auto", .overlap = -1, .threshold = 0.5};

/* Of the masks that the network was trained with, or NULL if they had no class file. */
static struct classes *classes;

static const struct cli_option options[] = {
    {"checkpoint", 'c', CLI_LIST, "PATH", "folder of a run (its newest DONE attempt), an attempt or a "
     "checkpoint; or a file; several: the mean of their probabilities", &given.checkpoints, 0, 0},
    {"flips", 0, CLI_FLAG, NULL, "also predict the image flipped left to right, top to bottom and both, "
     "and take the mean", &given.flips, 0, 0},
    {"out", 'o', CLI_STRING, "DIR", "folder for the masks, made if needed", &given.out, 0, 0},
    {"size", 's', CLI_STRING, "HxW", "size of the network's images or tiles (that of training)",
     &given.size, 0, 0},
    OPTIONS_NATIVE(given.native),
    OPTIONS_OVERLAP(given.overlap),
    {"threshold", 0, CLI_DOUBLE, "P", "foreground is above this probability, with one class (0.5)",
     &given.threshold, 0, 1},
    {"format", 0, CLI_STRING, "WORD", "format of masks and probabilities: png | tiff (png)",
     &given.format, 0, 0},
    {"probabilities", 'p', CLI_FLAG, NULL, "also write the probabilities", &given.probabilities, 0,
     0},
    {"overlay", 0, CLI_FLAG, NULL, "also write pictures with the mask in colour over the image",
     &given.overlay, 0, 0},
    {"colors", 0, CLI_FLAG, NULL, "write masks in the colours of the class file of training",
     &given.colors, 0, 0},
    {"crop", 0, CLI_STRING, "N,N..", "also write DIR/NAME_cropN.png, without N pixels at each side",
     &given.crop, 0, 0},
    OPTIONS_BACKEND(given.backend),
    OPTIONS_DTYPE(given.dtype),
    OPTIONS_THREADS(given.threads),
    {0}};

static const char details[] =
    "Writes DIR/NAME.png of each image's size: 0 and 255, or with several classes the number of\n"
    "the most probable one, with --colors its colour. A folder stands for the images in it and its\n"
    "subfolders. NAME is an image's path below the folder that all of them have in common, without\n"
    "the suffix; further pages of a TIFF are NAME-p0002 and so on. Existing files are never\n"
    "overwritten. An image that cannot be read is reported, the others are predicted, and the exit\n"
    "code is 7.\n"
    "\n"
    "Images are resized to the network's size with their aspect kept and padded, as in training,\n"
    "and the probabilities are resized back. With --native, and always after a training on patches\n"
    "(data.patch), they keep their scale: they are cut into overlapping tiles, whose probabilities\n"
    "are averaged by a Gaussian around each tile's middle. `unet-train eval` scores these masks at\n"
    "each image's own size (its second score, with --native or patches its only one); the score of\n"
    "another run and of reports is at the network's size, where thin structures can look better or\n"
    "worse. 10,000 x 10,000 pixels in tiles take less than 1 GiB without --probabilities.\n"
    "\n"
    "Several --checkpoint, such as those of the folds of a study (data.folds), and --flips give the\n"
    "mean of all probabilities, as many times the time, and 4 bytes of memory per pixel and class.\n"
    "\n"
    "With --probabilities DIR/NAME_prob.png has 16 bits (65535 is 1) of the foreground, or\n"
    "DIR/NAME_prob_CLASS.png of each class; as TIFF one file of 32-bit floats with a sample per\n"
    "class. DIR/NAME_overlay.png shows the mask over the image. A network that classifies whole\n"
    "images writes DIR/classes.csv: image (FILE#PAGE in a TIFF of several), number and name of\n"
    "the class, its probability, with --probabilities p_NAME of each class.\n"
    "\n"
    "  unet-train predict --checkpoint STUDY/runs/unet-g01-s1 --out masks --overlay images\n";

static void path_for(const char *name, const char *suffix, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, "%.1500s/%.2500s%.50s", given.out, name, suffix);
}

struct page_result {
    int height, width, classes;
    float *probabilities; /* [height][width][classes] with --probabilities, else NULL */
    enum scale scale;     /* of the image */
    uint8_t *mask;        /* [height][width]: the class, or 0 and 1 */
};

/* Fills rows of the mask and the probabilities (struct predict_calls). */
static void fill_rows(struct page_result *r, int y, int n, const float *p)
{
    size_t nc = (size_t)r->classes, first = (size_t)y * (size_t)r->width;
    size_t pixels = (size_t)n * (size_t)r->width;

    for (size_t i = 0; i < pixels; i++)
        r->mask[first + i] =
            (uint8_t)(r->classes == 1 ? (double)p[i] > given.threshold
                                      : predict_largest(p + i * nc, r->classes));
    if (r->probabilities)
        memcpy(r->probabilities + first * nc, p, pixels * nc * sizeof *p);
}

/* Writes the mask's colours, over the image unless that is NULL. */
static int write_picture(const char *name, const char *suffix, const struct page_result *r,
                         const struct predict_image *image, int channels, struct err *e)
{
    const struct mask_picture picture = {r->height, r->width, r->mask, r->classes == 1, classes,
                                         r->scale};
    char path[PATH_MAX];

    path_for(name, suffix, path);
    return mask_picture_write(path, &picture, image, channels, e);
}

static int write_mask(const char *name, const char *what, const struct page_result *r,
                      struct err *e)
{
    char suffix[32];
    size_t pixels = (size_t)r->height * (size_t)r->width;
    bool tiff = strcmp(given.format, "tiff") == 0;
    char path[PATH_MAX];
    int rc;

    if (given.colors) {
        snprintf(suffix, sizeof suffix, "%s.png", what);
        return write_picture(name, suffix, r, NULL, 0, e);
    }
    uint8_t *bytes = mem_alloc(pixels, 1, e);
    if (!bytes)
        return -1;
    for (size_t i = 0; i < pixels; i++)
        bytes[i] = r->classes == 1 ? (uint8_t)(r->mask[i] * 255) : r->mask[i];
    snprintf(suffix, sizeof suffix, "%s%s", what, tiff ? ".tif" : ".png");
    path_for(name, suffix, path);
#ifdef HAVE_TIFF
    if (tiff)
        rc = tiff_file_write(path, (uint32_t)r->width, (uint32_t)r->height, 1, bytes, NULL, e);
    else
#endif
        rc = png_file_write(path, (uint32_t)r->width, (uint32_t)r->height, 1, bytes, e);
    free(bytes);
    return rc;
}

/* Writes the probability of class k, or of the foreground, in 16 bits. */
static int write_png_probabilities(const char *name, const struct page_result *r, int k,
                                   struct err *e)
{
    struct pixels img = {.width = (uint32_t)r->width, .height = (uint32_t)r->height};
    char path[PATH_MAX], suffix[32] = "_prob.png";

    if (r->classes > 1)
        snprintf(suffix, sizeof suffix, "_prob_%d.png", k);
    path_for(name, suffix, path);
    if (pixels_allocate(&img, path, 1, 16, e))
        return -1;
    for (size_t i = 0; i < (size_t)r->height * (size_t)r->width; i++) {
        unsigned v = (unsigned)lrintf(r->probabilities[i * (size_t)r->classes + (size_t)k] * 65535);
        pixels_set(&img, i, v);
    }
    int rc = png_file_write_pixels(path, &img, e);
    pixels_free(&img);
    return rc;
}

static int write_probabilities(const char *name, const struct page_result *r, struct err *e)
{
#ifdef HAVE_TIFF
    char path[PATH_MAX];

    if (strcmp(given.format, "tiff") == 0) {
        path_for(name, "_prob.tif", path);
        return tiff_file_write(path, (uint32_t)r->width, (uint32_t)r->height, r->classes, NULL,
                               r->probabilities, e);
    }
#endif
    for (int k = 0; k < r->classes; k++)
        if (write_png_probabilities(name, r, k, e))
            return -1;
    return 0;
}

static int check_crops(const struct page_result *r, struct err *e)
{
    for (size_t i = 0; i < given.ncrops; i++)
        if (r->height <= 2 * given.crops[i] || r->width <= 2 * given.crops[i])
            return err_set(e, ERR_DATA, "--crop %d is too large for an image of %dx%d",
                           given.crops[i],
                           r->height, r->width);
    return 0;
}

/* Writes a mask without a border for each width of --crop: near the border results suffer from the
 * zero padding of the network's input. */
static int write_crops(const char *name, const struct page_result *r, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < given.ncrops; i++) {
        int crop = given.crops[i];
        struct page_result inner = {.height = r->height - 2 * crop, .width = r->width - 2 * crop,
                                    .classes = r->classes};
        char what[24];

        inner.mask = mem_alloc((size_t)inner.height, (size_t)inner.width, e);
        if (!inner.mask)
            return -1;
        for (int y = 0; y < inner.height; y++)
            memcpy(inner.mask + (size_t)y * (size_t)inner.width,
                   r->mask + (size_t)(y + crop) * (size_t)r->width + crop, (size_t)inner.width);
        snprintf(what, sizeof what, "_crop%d", crop);
        rc = write_mask(name, what, &inner, e);
        free(inner.mask);
    }
    return rc;
}

static int write_outputs(const char *name, const struct predict_image *image, int channels,
                         struct page_result *r, struct err *e)
{
    if (write_mask(name, "", r, e) || write_crops(name, r, e) ||
        (given.probabilities && write_probabilities(name, r, e)))
        return -1;
    free(r->probabilities); /* the largest part of the memory */
    r->probabilities = NULL;
    return given.overlay ? write_picture(name, "_overlay.png", r, image, channels, e) : 0;
}

/* All images of a command, and its progress. */
struct predict_job {
    struct trained *trained; /* as many as checkpoints, alike but for model and weights */
    size_t ntrained;
    struct image_list list;
    size_t at, failed, failing; /* the image being computed; failed ones, and the last of them */
    struct image_reader {
        size_t at; /* the image of the next page */
        char *bytes; /* of its file; NULL: not read yet */
        size_t nbytes;
        int page, pages; /* pages: known from the first one on, else 0 */
    } reader;
    struct remarks remarks;
    size_t pages, others; /* others: pages of another kind of values than in training */
    int bits;             /* the most of a page (pixels_bits), of others if there are some */
    double reported; /* time of the last report of progress */
    FILE *table; /* classes.csv of a network that classifies whole images, else NULL */
};

/* A page of an image: read while the one before it is computed, then computed, then written while
 * the next one is. */
struct page {
    size_t item; /* the number of its image; that of images: there is no page */
    int page, pages;
    char name[PATH_MAX];
    struct predict_image image;
    struct page_result result; /* without a mask: nothing to write */
    int rc;
    struct err e;
};

/* What the calls of a prediction need. */
struct page_work {
    struct predict_job *job;
    struct page_result *page;
    float *sum;        /* [height][width][classes] of several predictions; NULL: there is one */
    float share;       /* of one in their mean */
    bool hflip, vflip; /* how its image was flipped */
};

/* Predicts an image, flipped or not, by one network. */
typedef int (*view_f)(void *arg, struct trained *t, const struct predict_image *image, bool hflip,
                      bool vflip, struct err *e);

static void flip_image(const struct predict_image *src, size_t pixel, bool hflip, bool vflip,
                       char *dst)
{
    for (int y = 0; y < src->height; y++)
        for (int x = 0; x < src->width; x++, dst += pixel) {
            int from_y = vflip ? src->height - 1 - y : y, from_x = hflip ? src->width - 1 - x : x;
            size_t i = (size_t)from_y * (size_t)src->width + (size_t)from_x;
            memcpy(dst, (const char *)src->values + i * pixel, pixel);
        }
}

/* Returns how many predictions have a mean. */
static size_t count_views(const struct predict_job *w)
{
    return w->ntrained * (given.flips ? 4 : 1);
}

static int each_view(struct predict_job *w, const struct predict_image *image, view_f predict,
                     void *arg, struct err *e)
{
    size_t number = image->kind == RECORD_NUMBERS ? sizeof(float) : 1;
    size_t pixel = (size_t)w->trained->config.channels * number;
    struct predict_image view = *image;
    char *room = NULL;
    int rc = 0;

    if (given.flips)
        view.values = room = mem_alloc((size_t)image->height * (size_t)image->width, pixel, e);
    if (given.flips && !room)
        return -1;
    for (int k = 0; rc == 0 && k < (given.flips ? 4 : 1); k++) {
        bool hflip = k & 1, vflip = k & 2;
        if (k)
            flip_image(image, pixel, hflip, vflip, room);
        for (size_t i = 0; rc == 0 && i < w->ntrained; i++)
            rc = predict(arg, &w->trained[i], k ? &view : image, hflip, vflip, e);
    }
    free(room);
    return rc;
}

static void report_progress(void *arg, size_t done, size_t total)
{
    struct predict_job *w = ((struct page_work *)arg)->job;
    double now = clock_now();

    if (done == 1 && total > MANY_TILES)
        log_info("%s: %zu tiles", w->list.items[w->at].path, total);
    if (now - w->reported < PROGRESS_S)
        return;
    w->reported = now;
    log_info("image %zu of %zu: tile %zu of %zu", w->at + 1, w->list.count, done, total);
}

static int take_rows(void *arg, int y, int n, const float *p, struct err *e)
{
    const struct page_work *work = arg;
    const struct page_result *r = work->page;
    size_t nc = (size_t)r->classes;

    if (!work->sum) {
        fill_rows(work->page, y, n, p);
        return 0;
    }
    for (int i = y; i < y + n; i++)
        for (int x = 0; x < r->width; x++) {
            int to_y = work->vflip ? r->height - 1 - i : i;
            int to_x = work->hflip ? r->width - 1 - x : x;
            float *dst = work->sum +
                         ((size_t)to_y * (size_t)r->width + (size_t)to_x) * nc;
            for (size_t k = 0; k < nc; k++)
                dst[k] += work->share * *p++;
        }
    return 0;
}

static int predict_view(void *arg, struct trained *t, const struct predict_image *image,
                        bool hflip, bool vflip, struct err *e)
{
    struct page_work *work = arg;
    const struct predict_calls calls = {take_rows, report_progress, work, &shutdown_signal};

    work->hflip = hflip;
    work->vflip = vflip;
    return given.native
               ? predict_tiled(t->network, &t->config, image, (int)given.overlap, &calls, e)
               : predict_resized(t->network, &t->config, image, &calls, e);
}

static int predict_pixels(struct predict_job *w, const struct predict_image *image,
                          struct page_result *r, struct err *e)
{
    struct page_work work = {.job = w, .page = r, .share = 1 / (float)count_views(w)};
    size_t pixels = (size_t)r->height * (size_t)r->width;

    if (count_views(w) > 1 &&
        !(work.sum = mem_zero(pixels, (size_t)r->classes * sizeof *work.sum, e)))
        return -1;
    int rc = each_view(w, image, predict_view, &work, e);
    if (rc == 0 && work.sum)
        fill_rows(r, 0, r->height, work.sum);
    free(work.sum);
    return rc;
}

static int make_folders(const char *name, struct err *e)
{
    char path[PATH_MAX];

    path_for(name, "", path);
    for (char *slash = path + strlen(given.out) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        if (mkdir(path, 0777) && errno != EEXIST)
            return err_errno(e, ERR_CONFIG, errno, "cannot make the folder %s", path);
    }
    return 0;
}

/* Computes the masks of a page. */
static int predict_masks(struct predict_job *w, struct page *p, struct err *e)
{
    const struct network_config *c = &w->trained->config;
    size_t pixels = (size_t)p->image.height * (size_t)p->image.width;
    struct page_result *r = &p->result;

    *r = (struct page_result){.height = p->image.height, .width = p->image.width,
                              .classes = c->classes, .scale = w->trained->scale};
    if (check_crops(r, e) || !(r->mask = mem_alloc(pixels, 1, e)) ||
        (given.probabilities &&
         !(r->probabilities = mem_alloc(pixels, (size_t)c->classes * sizeof(float), e))))
        return -1;
    return predict_pixels(w, &p->image, r, e);
}

/* The mean probabilities of an image as a whole. */
struct class_mean {
    float p[256], share;
};

static int classify_view(void *arg, struct trained *t, const struct predict_image *image,
                         bool hflip, bool vflip, struct err *e)
{
    struct class_mean *mean = arg;
    const float *logits;
    float p[256];

    if (predict_infer_resized(t->network, &t->config, image, &logits, e))
        return -1;
    predict_probabilities(logits, t->config.classes, p);
    for (int k = 0; k < t->config.classes; k++)
        mean->p[k] += mean->share * p[k];
    return 0;
}

/* Classifies the page, resized to the network's size, and writes a row of classes.csv. */
static int predict_class(struct predict_job *w, const struct page *page, struct err *e)
{
    const struct network_config *c = &w->trained->config;
    struct class_mean mean = {.share = 1 / (float)count_views(w)};
    const float *p = mean.p;
    struct buf row = {0};
    char number[16], label[PATH_MAX];
    int rc = 0;

    if (each_view(w, &page->image, classify_view, &mean, e))
        return -1;
    int best = predict_largest(p, c->classes);
    snprintf(label, sizeof label, page->pages > 1 ? "%s#%d" : "%s", w->list.items[page->item].path,
             page->page + 1);
    csv_add_cell(&row, label);
    buf_addf(&row, ",%d,", best);
    csv_add_cell(&row, trained_class_name(w->trained, best, number));
    buf_addf(&row, ",%.6f", (double)p[best]);
    for (int k = 0; k < c->classes && given.probabilities; k++)
        buf_addf(&row, ",%.6f", (double)p[k]);
    if (row.failed)
        rc = err_errno(e, ERR_INTERNAL, ENOMEM, "classes.csv");
    else
        fprintf(w->table, "%s\n", row.data);
    buf_destroy(&row);
    return rc;
}

/* Sets *image to the page as the network sees it, and frees its samples. Of 8 bits its values,
 * which the caller frees on error, too, are bytes where their scale is that of their type. */
static int open_page(const struct predict_job *w, struct pixels *img, const char *where,
                     struct predict_image *image, struct err *e)
{
    enum scale scale = w->trained->scale;
    int channels = w->trained->config.channels, rc = 0;
    bool bytes = img->bits == 8 && (scale == SCALE_FULL || scale == SCALE_AUTO);
    void *values = mem_alloc((size_t)img->height * img->width,
                             (size_t)channels * (bytes ? 1 : sizeof(float)), e);

    *image = (struct predict_image){bytes ? RECORD_BYTES : RECORD_NUMBERS, (int)img->height,
                                    (int)img->width, values};
    if (values && bytes)
        picture_to_bytes(img, channels, values);
    else if (values)
        rc = scale_picture(img, channels, scale, w->trained->levels.values, where, values, e);
    pixels_free(img);
    return values ? rc : -1;
}

static void count_bits(struct predict_job *w, const struct pixels *img)
{
    int trained = w->trained->levels.bits, bits = trained ? pixels_bits(img) : 0;
    bool other = (bits == 8) != (trained == 8) || (bits == 32) != (trained == 32);

    w->pages++;
    w->others += other;
    if (other ? w->others == 1 || bits > w->bits : !w->others && bits > w->bits)
        w->bits = bits;
}

/* Sets dst to the file of a page and, if it has several, the page's number. */
static void name_page(const struct predict_job *w, const struct page *p, char dst[PATH_MAX])
{
    snprintf(dst, PATH_MAX, p->pages > 1 ? "%.4000s: page %d" : "%.4000s",
             w->list.items[p->item].path, p->page + 1);
}

/* Names the page in its error. */
static void fail_page(const struct predict_job *w, struct page *p)
{
    char where[PATH_MAX];

    name_page(w, p, where);
    err_prefix(&p->e, "%s", where);
    p->rc = -1;
}

static int decode_page(struct predict_job *w, struct page *p, struct err *e)
{
    const struct image_list_item *item = &w->list.items[p->item];
    char where[PATH_MAX];
    struct pixels img;

    name_page(w, p, where);
    if (image_file_decode((const uint8_t *)w->reader.bytes, w->reader.nbytes, where, p->page,
                          PIXELS_PICTURE, &img, e))
        return -1;
    w->reader.pages = p->pages = img.pages;
    name_page(w, p, where);
    snprintf(p->name, sizeof p->name, p->page ? "%s-p%04d" : "%s", item->name, p->page + 1);
    count_bits(w, &img);
    int rc = orientation_apply(&img, NULL, where, e);
    remarks_add(&w->remarks, &(struct remarks_picture){.flags = img.flags}, item->path);
    if (rc == 0 && (picture_check(&img, w->trained->config.channels, where, e) ||
                    open_page(w, &img, where, &p->image, e)))
        rc = -1;
    pixels_free(&img);
    return rc;
}

/* Reads the next page of the images; one that cannot be read ends its image. */
static void read_page(struct predict_job *w, struct page *p)
{
    struct image_reader *r = &w->reader;

    *p = (struct page){.item = r->at, .page = r->page, .pages = r->pages};
    if (p->item == w->list.count)
        return;
    if (!r->bytes)
        r->bytes = atomicfile_read(w->list.items[r->at].path, PIXELS_MAX_FILE, &r->nbytes, &p->e);
    p->rc = r->bytes ? decode_page(w, p, &p->e) : -1;
    if (p->rc == 0 && ++r->page < p->pages)
        return;
    free(r->bytes);
    *r = (struct image_reader){.at = r->at + 1};
}

/* Writes a page that was computed, and frees it. */
static void write_page(const struct predict_job *w, struct page *p)
{
    if (p->rc == 0 && p->result.mask &&
        (make_folders(p->name, &p->e) ||
         write_outputs(p->name, &p->image, w->trained->config.channels, &p->result, &p->e)))
        fail_page(w, p);
    free((void *)(uintptr_t)p->image.values);
    free(p->result.probabilities);
    free(p->result.mask);
    p->image.values = p->result.probabilities = NULL;
    p->result.mask = NULL;
}

/* What is done while a page is computed. */
struct beside {
    struct predict_job *job;
    struct page *last, *next;
};

static void work_beside(void *arg)
{
    struct beside *b = arg;

    write_page(b->job, b->last);
    read_page(b->job, b->next);
}

/* Computes a page, and beside that writes the last one and reads the next one. A large page is
 * computed and written before the next one is read, so that only one is in memory. */
static void compute_page(struct predict_job *w, struct page *p, struct beside *b)
{
    bool is_small = (int64_t)p->image.height * p->image.width <= EVALUATE_BESIDE;
    struct parallel_task task;

    parallel_begin(&task, is_small, work_beside, b);
    if (p->rc == 0 && (w->table ? predict_class(w, p, &p->e) : predict_masks(w, p, &p->e)))
        fail_page(w, p);
    if (!task.started)
        write_page(w, p);
    parallel_join(&task);
}

/* Counts the image of a page that failed, once. */
static int settle_page(struct predict_job *w, const struct page *p, struct err *e)
{
    if (p->rc == 0 || w->failing == p->item)
        return 0;
    w->failing = p->item;
    w->failed++;
    *e = p->e;
    if (e->code != ERR_DATA)
        return -1;
    if (w->list.count > 1)
        log_error("%s", e->text);
    return 0;
}

static int predict_page(struct predict_job *w, struct page *p, struct beside *b, struct err *e)
{
    if (shutdown_signal)
        return err_signal(e, shutdown_signal);
    w->at = p->item;
    if (clock_now() - w->reported >= PROGRESS_S) {
        w->reported = clock_now();
        log_info("image %zu of %zu", w->at + 1, w->list.count);
    }
    if (p->item == w->failing)
        p->rc = -1;
    compute_page(w, p, b);
    return settle_page(w, b->last, e) || settle_page(w, p, e) ? -1 : 0;
}

static int predict_pages(struct predict_job *w, struct err *e)
{
    struct page pages[3] = {0};
    size_t i = 0;
    int rc = 0;

    w->reported = clock_now();
    w->failing = SIZE_MAX;
    read_page(w, &pages[0]);
    for (; rc == 0 && pages[i % 3].item < w->list.count; i++) {
        struct beside b = {w, &pages[(i + 2) % 3], &pages[(i + 1) % 3]};
        rc = predict_page(w, &pages[i % 3], &b, e);
    }
    for (size_t k = 0; k < 3; k++)
        write_page(w, &pages[k]);
    if (rc == 0)
        rc = settle_page(w, &pages[(i + 2) % 3], e);
    free(w->reader.bytes);
    return rc;
}

/* Predicts all images. One that cannot be read is reported and does not stop the others, but the
 * result is then -1. */
static int predict_images(struct predict_job *w, struct err *e)
{
    if (predict_pages(w, e))
        return -1;
    w->at = w->list.count;
    remarks_log(&w->remarks, given.out);
    trained_compare_bits(w->trained, w->others, w->pages, w->bits);
    if (w->failed && w->list.count > 1)
        err_set(e, ERR_DATA, "predict: %zu of %zu images were not predicted, for the reasons above",
                w->failed, w->list.count);
    return w->failed ? -1 : 0;
}

static int predict_all(struct predict_job *w, struct err *e)
{
    const struct network_config *c = &w->trained->config;
    int rc = predict_images(w, e);
    char mean[48] = "";

    if (count_views(w) > 1)
        snprintf(mean, sizeof mean, "each the mean of %zu, ", count_views(w));

    if (w->at == w->list.count && w->failed < w->at)
        log_info("%zu image%s predicted, %s%s %dx%d: %s", w->at - w->failed,
                 plural((long)(w->at - w->failed)), mean, given.native ? "in tiles of" : "resized to",
                 c->height, c->width, given.out);
    return rc;
}

/* Adds a column p_NAME for each class to the header of classes.csv, and ends the line. */
static int write_probability_names(const struct trained *t, FILE *table, struct err *e)
{
    struct buf row = {0};
    char number[16], name[PATH_MAX];

    for (int k = 0; k < t->config.classes && given.probabilities; k++) {
        snprintf(name, sizeof name, "p_%s", trained_class_name(t, k, number));
        buf_add(&row, ",");
        csv_add_cell(&row, name);
    }
    buf_add(&row, "\n");
    fputs(row.failed ? "" : row.data, table);
    int rc = row.failed ? mem_fail(e) : 0;
    buf_destroy(&row);
    return rc;
}

static int classify_all(struct predict_job *w, struct err *e)
{
    char path[PATH_MAX];
    struct err later;

    path_for("classes.csv", "", path);
    struct atomicfile *a = atomicfile_create(path, 0666, e);
    if (!a)
        return -1;
    w->table = atomicfile_stream(a);
    fputs("image,class,name,probability", w->table);
    if (write_probability_names(w->trained, w->table, e)) {
        atomicfile_abort(a);
        return -1;
    }
    int rc = predict_images(w, e);
    if (w->at < w->list.count || w->failed == w->list.count) {
        atomicfile_abort(a);
        return -1;
    }
    if (atomicfile_commit(a, rc ? &later : e))
        return -1;
    log_info("%zu images classified: %s", w->at - w->failed, path);
    return rc;
}

/* Refuses existing masks of first pages before anything is computed. Other existing files are
 * refused when they would be written (atomicfile_create). */
static int check_masks(const struct image_list *list, struct err *e)
{
    char path[PATH_MAX];

    if (image_list_check_names(list, e))
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        path_for(list->items[i].name ? list->items[i].name : "",
                 strcmp(given.format, "tiff") == 0 ? ".tif" : ".png", path);
        if (list->items[i].name && atomicfile_check_new(path, e))
            return -1;
    }
    return 0;
}

static int open_classes(const struct trained *t, struct err *e)
{
    const struct mask_options masks = {.classes = t->config.classes,
                                       .class_file = "the class file in model.json",
                                       .class_text = t->classes.file};
    int ignore;

    if (t->classes.file && *t->classes.file && classes_open(&masks, &ignore, &classes, e))
        return -1;
    return !given.colors || (classes && classes_are_coloured(classes)) ? 0
        : err_set(e, ERR_CONFIG, "predict: --colors: the masks of training had no colours "
                  "(data.class_file with lines RED GREEN BLUE NAME); leave it out");
}

static bool have_equal_names(const struct checkpoint_classes *a, const struct checkpoint_classes *b)
{
    bool equal = a->count == b->count && !a->names == !b->names;

    for (int i = 0; equal && a->names && i < a->count; i++)
        equal = strcmp(a->names[i], b->names[i]) == 0;
    return equal && strcmp(a->file ? a->file : "", b->file ? b->file : "") == 0;
}

/* Opens all checkpoints, and refuses one that sees images or names classes in another way than the
 * first. */
static int open_networks(struct predict_job *w, struct err *e)
{
    const struct trained *a = w->trained;

    for (size_t i = 0; i < w->ntrained; i++) {
        struct trained *b = &w->trained[i];
        if (trained_open(b, given.checkpoints.values[i], e))
            return -1;
        const struct network_config *x = &a->config, *y = &b->config;
        bool levels = memcmp(a->levels.values, b->levels.values, sizeof a->levels.values) != 0;
        const char *what =
            model_find(x->model)->classifies != model_find(y->model)->classifies ? "model.name"
            : x->channels != y->channels                      ? "data.channels"
            : a->classes.native != b->classes.native          ? "data.patch"
            : x->height != y->height || x->width != y->width  ? "size"
            : a->scale != b->scale                            ? "data.scale"
            : a->scale == SCALE_AUTO && levels                ? "the levels of data.scale auto"
            : x->classes != y->classes || !have_equal_names(&a->classes, &b->classes) ? "classes"
                                                              : NULL;
        if (what)
            return err_set(e, ERR_CONFIG, "predict: --checkpoint %s and %s differ in %s, so that "
                           "their probabilities have no mean; give those of one data set and size",
                           given.checkpoints.values[0], given.checkpoints.values[i], what);
    }
    return 0;
}

static int predict(struct predict_job *w, struct err *e)
{
    struct trained *t = w->trained;

    if (open_networks(w, e) || open_classes(t, e))
        return -1;
    given.native |= t->classes.native;
    if (predict_check_overlap(&t->config, given.native, &given.overlap, e))
        return -1;
    bool classifies = model_find(t->config.model)->classifies;
    if (!classifies && check_masks(&w->list, e))
        return -1;
    if (mkdir(given.out, 0777) && errno != EEXIST)
        return err_errno(e, ERR_CONFIG, errno, "cannot make the folder %s", given.out);
    return classifies ? classify_all(w, e) : predict_all(w, e);
}

static int parse_crops(struct err *e)
{
    char *end;

    for (const char *at = given.crop; at; at = *end ? end + 1 : NULL) {
        long crop = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || crop < 1 || crop > 65535 ||
            given.ncrops == MOST_CROPS)
            return err_set(e, ERR_USAGE, "predict: --crop %s: must be up to %d numbers of pixels, "
                           "such as 16,32,64", given.crop, MOST_CROPS);
        for (size_t i = 0; i < given.ncrops; i++)
            if (given.crops[i] == crop)
                return err_set(e, ERR_USAGE, "predict: --crop %s: %ld is given twice", given.crop,
                               crop);
        given.crops[given.ncrops++] = (int)crop;
    }
    return 0;
}

static int check_options(struct network_config *c, struct err *e)
{
    if (!given.checkpoints.count || !given.out)
        return err_set(e, ERR_USAGE, "predict: --checkpoint PATH and --out DIR are needed");
    if (parse_crops(e))
        return -1;
    if (given.colors && strcmp(given.format, "tiff") == 0)
        return err_set(e, ERR_USAGE, "predict: --colors writes PNG: leave out --format tiff");
    if (strcmp(given.format, "png") != 0 && strcmp(given.format, "tiff") != 0)
        return err_set(e, ERR_USAGE, "predict: --format %s: must be png or tiff", given.format);
#ifndef HAVE_TIFF
    if (strcmp(given.format, "tiff") == 0)
        return err_set(e, ERR_CONFIG,
                       "predict: --format tiff: this unet-train was built without libtiff");
#endif
    return options_network("predict", &given.dtype, given.size, c, e);
}

static int run_predict(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct network_config config = {.backend = given.backend, .threads = (int)given.threads};
    struct predict_job w = {.ntrained = given.checkpoints.count};

    shutdown_catch(false);
    if (check_options(&config, e) || !(w.trained = mem_zero(w.ntrained, sizeof *w.trained, e)))
        return -1;
    for (size_t i = 0; i < w.ntrained; i++)
        w.trained[i].config = config;
    int rc = image_list_create(&w.list, operands, noperands, e) || predict(&w, e) ? -1 : 0;
    image_list_free(&w.list);
    classes_destroy(classes);
    for (size_t i = 0; i < w.ntrained; i++)
        trained_close(&w.trained[i]);
    free(w.trained);
    return rc;
}

const struct cli_command cmd_predict = {
    .name = "predict",
    .args = "IMAGE|DIR...",
    .summary = "Write masks of images with a trained network",
    .details = details,
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .run = run_predict,
};
