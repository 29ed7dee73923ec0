/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of masks, and of the examples of a run. */
#include "src/base.h"
#include "trainer/evaluate/evaluate.h"

#include <sys/param.h>

#include "src/atomicfile.h"
#include "src/files.h"
#include "src/rng.h"
#include "trainer/data/image/image_file.h"

/* Sets rgb to the colour of a class. Without a class file hues of successive classes differ by the
 * golden ratio. */
static void choose_colour(const struct mask_picture *m, int class, float rgb[3])
{
    float hue = fmodf((float)(m->is_binary ? 0 : class) * 0.618034F, 1) * 6;
    uint32_t own;

    if (m->classes && classes_colour(m->classes, class, &own)) {
        for (int c = 0; c < 3; c++)
            rgb[c] = (float)(own >> (16 - 8 * c) & 255) / 255;
        return;
    }
    for (int c = 0; c < 3; c++) {
        float distance = fabsf(fmodf(hue + 6 - 2 * (float)c, 6) - 3);
        rgb[c] = fminf(fmaxf(distance - 1, 0), 1);
    }
}

int mask_picture_write(const char *path, const struct mask_picture *m,
                       const struct predict_image *image, int channels, struct err *e)
{
    size_t n = (size_t)m->height * (size_t)m->width;
    uint8_t *rgb = mem_alloc(3, n, e);
    float colours[256][3];

    if (!rgb)
        return -1;
    for (int class = 0; class < 256; class++)
        choose_colour(m, class, colours[class]);
    for (size_t i = 0; i < n; i++) {
        float share = !image ? 1 : m->is_binary && !m->mask[i] ? 0 : 0.4F; /* of the colour */
        for (size_t c = 0; c < 3; c++) {
            float v = 0;
            if (image) {
                predict_image_read(image, i * (size_t)channels + (channels == 3 ? c : 0), 1, &v);
                v = scale_shown(m->scale, v);
            }
            rgb[3 * i + c] =
                (uint8_t)lrintf(255 * ((1 - share) * v + share * colours[m->mask[i]][c]));
        }
    }
    int rc = png_file_write(path, (uint32_t)m->width, (uint32_t)m->height, 3, rgb, e);
    free(rgb);
    return rc;
}

#define MOST_SIDE 384 /* pixels of a side of a picture's image */
#define GAP 4         /* pixels between both images */
#define STREAM 0x6578616d706c65 /* of random numbers (rng.h) */

/* A picture of both masks over the same image, of which every step-th pixel is used. */
struct pair {
    const struct network_config *config;
    struct predict_image from;
    const struct record *record;
    const char *target;
    int step;
    int height, width; /* of the picture */
    float *image;
    uint8_t *mask;
};

struct example_writer {
    struct evaluation *v;
    const char *dir;
    struct classes *classes; /* of the masks, or NULL */
    enum scale scale;
    struct buf table;
    struct pair pair; /* of the image of this index; without pixels before the first */
    size_t index;
};

struct ranked_image {
    double iou;
    size_t index;
};

static int compare_images(const void *a, const void *b)
{
    const struct ranked_image *x = a, *y = b;

    return x->iou != y->iou ? (x->iou < y->iou) - (x->iou > y->iou)
                            : (x->index > y->index) - (x->index < y->index);
}

static float target_at(const struct pair *p, size_t i)
{
    enum record_kind kind = (enum record_kind)p->record->target_kind;
    float v;

    record_decode(kind, p->target + i * (kind == RECORD_NUMBERS ? sizeof v : 1),
                  p->record->target_divisor, 1, &v);
    return v;
}

/* Fills the rows of the pair that these rows of probabilities have. */
static int fill_rows(void *arg, int y, int n, const float *prob, struct err *e)
{
    struct pair *p = arg;
    int side = (p->width - GAP) / 2, classes = p->config->classes;
    size_t channels = (size_t)p->config->channels, width = (size_t)p->from.width;

    for (int row = y; row < y + n && row / p->step < p->height; row++)
        for (int x = 0; row % p->step == 0 && x < side; x++) {
            size_t left = (size_t)(row / p->step) * (size_t)p->width + (size_t)x;
            size_t right = left + (size_t)(side + GAP), column = (size_t)(x * p->step);
            size_t src = (size_t)row * width + column;
            const float *of = prob + ((size_t)(row - y) * width + column) * (size_t)classes;
            int truth = score_true_class(target_at(p, src), classes);

            predict_image_read(&p->from, src * channels, channels, p->image + left * channels);
            memcpy(p->image + right * channels, p->image + left * channels,
                   channels * sizeof *p->image);
            p->mask[left] = (uint8_t)MAX(truth, 0); /* of a pixel that is left out 0 */
            p->mask[right] = classes == 1 ? of[0] > 0.5F : (uint8_t)predict_largest(of, classes);
        }
    return 0;
}

/* Predicts an image and fills the pair. */
static int open_pair(struct example_writer *w, size_t index, struct err *e)
{
    const struct network_config *c = w->v->config;
    const struct record *r = dataset_record(w->v->dataset, DATASET_VAL, index, e);
    struct dataset_sides from = dataset_sides(w->v->dataset, DATASET_VAL, index);
    int longest = from.height > from.width ? from.height : from.width;
    int step = (longest + MOST_SIDE - 1) / MOST_SIDE;
    struct pair *p = &w->pair;
    const struct predict_calls calls = {.rows = fill_rows, .arg = p};

    free(p->image);
    free(p->mask);
    *p = (struct pair){.config = c, .record = r, .step = step, .height = from.height / step,
                       .width = 2 * (from.width / step) + GAP};
    if (!r)
        return -1;
    size_t pixels = (size_t)p->height * (size_t)p->width, channels = (size_t)c->channels;
    p->from = (struct predict_image){(enum record_kind)r->image_kind, from.height, from.width,
                                     record_image(r)};
    p->target = record_target(r, (size_t)from.height * (size_t)from.width * channels);
    p->image = mem_zero(pixels, channels * sizeof *p->image, e);
    p->mask = mem_zero(pixels, 1, e);
    w->index = index;
    if (!p->image || !p->mask)
        return -1;
    int rc = predict_tiled(w->v->network, c, &p->from, predict_overlap(c), &calls, e);
    dataset_release(w->v->dataset, DATASET_VAL, index);
    return rc;
}

static int write_example(struct example_writer *w, const char *name,
                         const struct ranked_image *image, struct err *e)
{
    const struct pair *p = &w->pair;
    int channels = w->v->config->channels;
    char path[PATH_MAX];

    if ((!p->image || w->index != image->index) && open_pair(w, image->index, e))
        return -1;
    const struct mask_picture picture = {p->height, p->width, p->mask, p->config->classes == 1,
                                         w->classes, w->scale};
    const struct predict_image pixels = {RECORD_NUMBERS, p->height, p->width, p->image};
    snprintf(path, sizeof path, "%s/%s.png", w->dir, name);
    files_unlink(path);
    buf_addf(&w->table, "%s,", name);
    csv_add_cell(&w->table, dataset_name(w->v->dataset, DATASET_VAL, image->index));
    buf_addf(&w->table, ",%.6f\n", image->iou);
    return mask_picture_write(path, &picture, &pixels, channels, e);
}

static int write_all(struct example_writer *w, uint64_t seed, struct err *e)
{
    size_t n = w->v->images, size = score_size(w->v->config->classes);
    struct ranked_image *ranked = mem_alloc(n, sizeof *ranked, e);
    char path[PATH_MAX];

    if (!ranked)
        return -1;
    for (size_t i = 0; i < n; i++)
        ranked[i] = (struct ranked_image){
            score_summarize(w->v->scores + i * size, w->v->config->classes).iou, i};
    qsort(ranked, n, sizeof *ranked, compare_images);
    buf_add(&w->table, "example,image,iou\n");
    int rc = write_example(w, "best", &ranked[0], e) ||
                     write_example(w, "median", &ranked[n / 2], e) ||
                     write_example(w, "worst", &ranked[n - 1], e) ||
                     write_example(w, "random", &ranked[rng_u64(seed, STREAM, 0) % n], e)
                 ? -1
                 : 0;
    free(w->pair.image);
    free(w->pair.mask);
    free(ranked);
    snprintf(path, sizeof path, "%s/examples.csv", w->dir);
    if (rc == 0)
        rc = w->table.failed ? mem_fail(e)
                             : atomicfile_write(path, w->table.data, w->table.length, 0666, e);
    return rc;
}

int examples_write(const char *dir, struct evaluation *v, const char *scale, uint64_t seed,
                   struct err *e)
{
    struct example_writer w = {.v = v, .dir = dir};
    const char *text = dataset_class_file(v->dataset);
    const struct mask_options masks = {.classes = v->config->classes, .class_text = text,
                                       .class_file = "the class file"};
    int ignore, rc;

    if (!dataset_has_masks(v->dataset) || !v->images || v->config->channels == 2 ||
        v->config->channels > 3)
        return 0;
    if (scale_decode(scale, &w.scale, e))
        return -1;
    if (*text && classes_open(&masks, &ignore, &w.classes, e))
        return -1;
    rc = files_make_folder(dir)
             ? files_error(e, ERR_INTERNAL, errno, "cannot make the folder", dir)
             : write_all(&w, seed, e);
    classes_destroy(w.classes);
    buf_destroy(&w.table);
    return rc;
}
