/* SPDX-License-Identifier: BSD-3-Clause */
/* The scores of a set of samples, and how they are written. */
#include "src/base.h"
#include "trainer/evaluate/evaluate.h"

#include "src/atomicfile.h"
#include "src/parallel.h"

/* Returns the best IoU, or accuracy, of a prediction that is the same class everywhere, on the
 * truth of this score, and sets *class to that class (one class: 1 foreground, 0 background). A
 * network that is not better than this by SCORE_MARGIN has learnt nothing measurable. */
#define SCORE_MARGIN 0.005

int evaluate_alloc(struct network *n, struct mirror *m, size_t nbytes, struct err *e)
{
    struct device *d;
    const struct device_ops *ops = network_device_ops(n, &d);

    return mirror_open(m, ops, d, nbytes, e);
}

static size_t classes_of(const struct evaluation *v)
{
    return v->config->classes ? (size_t)v->config->classes : 1;
}

static size_t scores_nbytes(const struct evaluation *v)
{
    return (v->images + 1) * score_size((int)classes_of(v)) * sizeof *v->scores;
}

int evaluate_open(struct evaluation *v, struct network *n, const struct network_config *config,
                  struct dataset *ds, bool losses, struct err *e)
{
    *v = (struct evaluation){.network = n, .config = config, .dataset = ds,
                             .images = dataset_count(ds, DATASET_VAL)};
    if (evaluate_alloc(n, &v->score_memory, scores_nbytes(v), e) ||
        (losses &&
         evaluate_alloc(n, &v->loss_memory, (v->images + 1) * sizeof *v->losses, e)))
        return -1;
    v->scores = v->score_memory.host;
    v->losses = v->loss_memory.host;
    return 0;
}

void evaluate_close(struct evaluation *v)
{
    mirror_close(&v->score_memory);
    mirror_close(&v->loss_memory);
    *v = (struct evaluation){0};
}

int evaluate_clear(struct evaluation *v, struct err *e)
{
    return mirror_clear(&v->score_memory, e) || (v->losses && mirror_clear(&v->loss_memory, e))
               ? -1 : 0;
}

/* An image that is scored at its own size, row by row. */
struct own_image {
    struct evaluation *v;
    size_t index;
    int width;
    const struct record *record;
    const char *target;
    struct image_loss *loss; /* NULL: none */
    struct image_loss_dice dice;
    uint8_t *masks[2]; /* with instances: the true classes of all its pixels, and those predicted */
};

/* Returns a logit whose probability is p; one that is 0 or 1 in a float has a finite one. */
static float logit_of(float p, int classes)
{
    return classes > 1 ? logf(fmaxf(p, 1e-7F)) : logf(fmaxf(p, 1e-7F) / fmaxf(1 - p, 1e-7F));
}

static int score_rows(void *arg, int y, int n, const float *p, struct err *e)
{
    struct own_image *o = arg;
    struct evaluation *v = o->v;
    int classes = (int)classes_of(v);
    const struct record *r = o->record;
    size_t pixels = (size_t)n * (size_t)o->width, first = (size_t)y * (size_t)o->width;
    float *target = mem_alloc(pixels, sizeof *target, e);
    float *logits = mem_alloc(pixels, (size_t)classes * sizeof *logits, e);
    int rc = target && logits ? 0 : -1;

    if (rc == 0) {
        record_decode((enum record_kind)r->target_kind,
                      o->target + first * (r->target_kind == RECORD_NUMBERS ? sizeof *target : 1),
                      r->target_divisor, pixels, target);
        for (size_t i = 0; classes == 1 && i < pixels; i++)
            logits[i] = p[i] - 0.5F; /* scores take logits: foreground is above 0 */
        const float *scored = classes == 1 ? logits : p;

        score_add(v->scores + o->index * score_size(classes), classes, scored, target, pixels);
        if (v->pairs)
            confusion_add(v->pairs, classes, scored, target, pixels);
        for (size_t i = 0; o->masks[0] && i < pixels; i++) {
            int t = score_true_class(target[i], classes);
            int q = score_predicted_class(scored + i * (size_t)classes, classes);

            o->masks[0][first + i] = (uint8_t)(t < 0 ? 0 : t);
            o->masks[1][first + i] = (uint8_t)(t < 0 || q < 0 ? 0 : q);
        }
    }
    if (rc == 0 && o->loss) {
        struct loss_terms terms = model_loss(v->config);
        for (size_t i = 0; i < pixels * (size_t)classes; i++)
            logits[i] = logit_of(p[i], classes);
        image_loss_add_part(o->loss, &o->dice, classes, &terms, logits, target, pixels);
    }
    free(logits);
    free(target);
    return rc;
}

/* Adds image i, whose record has these sides. */
static int score_record(struct evaluation *v, size_t i, const struct record *r,
                        struct dataset_sides sides, int overlap, struct image_loss *loss,
                        const atomic_int *interrupt, struct err *e)
{
    size_t values = (size_t)sides.height * (size_t)sides.width * (size_t)v->config->channels;
    struct own_image o = {.v = v, .index = i, .width = sides.width, .record = r,
                          .target = record_target(r, values), .loss = loss};
    const struct predict_calls calls = {.rows = score_rows, .arg = &o, .interrupt = interrupt};
    const struct predict_image image = {(enum record_kind)r->image_kind, sides.height, sides.width,
                                        record_image(r)};
    size_t height = (size_t)sides.height, width = (size_t)sides.width;
    int rc = 0;

    for (int k = 0; k < 2 && v->instances && rc == 0; k++)
        rc = (o.masks[k] = mem_zero(height * width, 1, e)) ? 0 : -1;
    if (rc == 0)
        rc = overlap < 0
                 ? predict_resized(v->network, v->config, &image, &calls, e)
                 : predict_tiled(v->network, v->config, &image, overlap, &calls, e);

    if (rc == 0 && v->instances)
        rc = instances_add(v->instances, o.masks[0], o.masks[1], height, width, e);
    if (rc == 0 && loss) {
        struct loss_terms terms = model_loss(v->config);
        image_loss_end(loss, &o.dice, (int)classes_of(v), &terms);
    }
    free(o.masks[0]);
    free(o.masks[1]);
    return rc;
}

int evaluate_image(struct evaluation *v, size_t i, struct err *e)
{
    size_t pixels = network_targets(v->network);
    int classes = (int)classes_of(v);
    int64_t *score = v->scores + i * score_size(classes);
    size_t values = (size_t)v->config->height * (size_t)v->config->width *
                    (size_t)v->config->channels;
    const struct record *r = dataset_record(v->dataset, DATASET_VAL, i, e);
    const float *logits, *target;

    if (!r)
        return -1;
    if (dataset_is_native(v->dataset)) {
        int rc = score_record(v, i, r, dataset_sides(v->dataset, DATASET_VAL, i),
                              predict_overlap(v->config), v->losses ? &v->losses[i] : NULL,
                              v->interrupt, e);
        dataset_release(v->dataset, DATASET_VAL, i);
        return rc;
    }
    size_t nbytes = record_nbytes(r, values, pixels);
    struct record_batch batch = {r, nbytes, nbytes, 1};
    if (network_place(v->network, false, &batch, e))
        return -1;
    if (network_device(v->network) && !v->pairs) {
        struct image_loss *losses = v->loss_memory.there;
        struct device_counts counts = {
            (int64_t *)v->score_memory.there + i * score_size(classes),
            losses ? (double *)&losses[i] : NULL};

        v->is_there = true;
        return network_measure(v->network, 1, counts, e);
    }
    if (network_infer(v->network, 1, &logits, e) ||
        !(target = network_target(v->network, false, 1, e)))
        return -1;
    float class;
    if (v->pairs) { /* on a device the target is there alone */
        record_decode((enum record_kind)r->target_kind, record_target(r, values),
                      r->target_divisor, 1, &class);
        confusion_add(v->pairs, classes, logits, target = &class, 1);
    }
    score_add(score, classes, logits, target, pixels);
    if (v->losses) {
        struct loss_terms terms = model_loss(v->config);
        image_loss_add(&v->losses[i], classes, &terms, logits, target, pixels);
    }
    return 0;
}

/* The record of an image at its own size. There is none for images from `end` on. */
struct own_record {
    const struct dataset *dataset;
    size_t index, end;
    struct buf bytes;
    struct dataset_sides sides;
    int rc;
    struct err e;
};

static void decode_own(void *arg)
{
    struct own_record *r = arg;

    if (r->index < r->end)
        r->rc = dataset_decode_native(r->dataset, DATASET_VAL, r->index, &r->bytes, &r->sides,
                                      &r->e);
}

/* Scores an image whose record was decoded, and frees the record. */
static int score_own(struct evaluation *v, struct own_record *r, int overlap,
                     const atomic_int *interrupt, struct err *e)
{
    int rc = r->rc ? -1 : err_interrupt(e, interrupt);

    if (r->rc)
        *e = r->e;
    if (rc == 0)
        rc = score_record(v, r->index, (const void *)r->bytes.data, r->sides, overlap, NULL,
                          interrupt, e);
    buf_destroy(&r->bytes);
    return rc;
}

int evaluate_own(struct evaluation *v, size_t begin, size_t end, int overlap,
                 const atomic_int *interrupt, struct err *e)
{
    struct own_record records[2] = {{.dataset = v->dataset, .index = begin, .end = end}};
    int rc = 0;

    decode_own(&records[0]);
    for (size_t i = begin; i < end && rc == 0; i++) {
        struct own_record *r = &records[(i - begin) % 2], *next = &records[(i + 1 - begin) % 2];
        bool is_small = (int64_t)r->sides.height * r->sides.width <= EVALUATE_BESIDE;
        struct parallel_task task;

        *next = (struct own_record){.dataset = v->dataset, .index = i + 1, .end = end};
        parallel_begin(&task, is_small, decode_own, next);
        rc = score_own(v, r, overlap, interrupt, e);
        parallel_join(&task);
    }
    buf_destroy(&records[0].bytes);
    buf_destroy(&records[1].bytes);
    return rc;
}

int evaluate_wait(struct evaluation *v, struct err *e)
{
    double none = 0;

    return network_wait(v->network, &none, e) ||
                   (v->is_there && (mirror_pull(&v->score_memory, e) ||
                                    (v->losses && mirror_pull(&v->loss_memory, e))))
               ? -1 : 0;
}

const int64_t *evaluate_total(struct evaluation *v)
{
    size_t size = score_size((int)classes_of(v));
    int64_t *total = v->scores + v->images * size;

    memset(total, 0, size * sizeof *total);
    for (size_t i = 0; i < v->images * size; i++)
        total[i % size] += v->scores[i];
    return total;
}

void evaluate_constant(const int64_t *score, int classes, const struct dataset *ds,
                       struct evaluate_constant *dst)
{
    bool by_accuracy = ds && !dataset_has_masks(ds);
    struct score_summary s = score_summarize(score, classes);
    int class = 0;

    dst->quality = score_constant(score, classes, by_accuracy, &class);
    dst->name = classes > 1 ? dataset_class_name(ds, class) : class ? "foreground" : "background";
    dst->reaches = (by_accuracy ? s.accuracy : s.iou) < dst->quality + SCORE_MARGIN;
}

void evaluate_warn(const int64_t *score, int classes, const struct dataset *ds)
{
    const char *quality = ds && !dataset_has_masks(ds) ? "accuracy" : "IoU";
    struct evaluate_constant c;

    evaluate_constant(score, classes, ds, &c);
    if (c.quality == 1)
        log_warn("this score is meaningless: the truth is \"%s\" everywhere, so predicting that "
                 "without an image also gets %s 1.0000", c.name, quality);
    else if (c.reaches)
        log_warn("predicting \"%s\" everywhere gets %s %.4f: this network does no better and has "
                 "learnt nothing measurable", c.name, quality, c.quality);
}

static void add_row(struct buf *b, const char *name, const char *class,
                    const struct score_summary *s, struct score_counts c, int64_t pixels)
{
    csv_add_cell(b, name);
    buf_add(b, ",");
    csv_add_cell(b, class);
    buf_addf(b, ",%.6f,%.6f,%.6f,%.6f,%.6f", s->iou, s->dice, s->precision, s->recall, s->accuracy);
    buf_addf(b, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", c.intersection, c.pred,
             c.truth, pixels);
}

static void add_image(struct buf *b, const struct dataset *ds, const char *name, int classes,
                      const int64_t *score)
{
    struct score_summary s = score_summarize(score, classes);

    add_row(b, name, "all", &s, score_total(score, classes), score[SCORE_PIXELS]);
    for (int c = 0; c < classes && classes > 1; c++) {
        if (!score_has(score, c))
            continue;
        s = score_summarize_class(score, c);
        add_row(b, name, dataset_class_name(ds, c), &s, *score_class(score, c),
                score[SCORE_PIXELS]);
    }
}

int evaluate_write(const char *path, struct dataset *ds, int classes, const int64_t *scores,
                   struct err *e)
{
    struct buf b = {0};
    int rc;

    buf_add(&b, "image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels\n");
    for (size_t i = 0; i < dataset_count(ds, DATASET_VAL); i++)
        add_image(&b, ds, dataset_name(ds, DATASET_VAL, i), classes,
                  scores + i * score_size(classes));
    rc = b.failed ? err_errno(e, ERR_INTERNAL, ENOMEM, "%s", path)
                  : atomicfile_write(path, b.data, b.length, 0666, e);
    buf_destroy(&b);
    return rc;
}

int evaluate_check_targets(const char *model, const struct dataset *ds, int *classes,
                           struct err *e)
{
    bool classifies = model_find(model)->classifies, masks = dataset_has_masks(ds);
    int found = dataset_classes(ds);

    if (masks && classifies)
        return err_set(e, ERR_CONFIG,
                       "%s classifies whole images, but this data set has masks: use model unet",
                       model);
    if (!masks && !classifies)
        return err_set(e, ERR_CONFIG, "%s needs a mask for each image, but this data set has one "
                       "class for each image: use model resnet20, 32, 44, 56, 110 or chips", model);
    if (classifies && *classes == 1)
        *classes = found;
    if (classifies && *classes != found)
        return err_set(e, ERR_CONFIG, "this data set has %d classes, but data.classes is %d", found,
                       *classes);
    return 0;
}

static void add_summary(cJSON *to, const struct score_summary *s, const struct score_counts *c)
{
    cjson_addf(to, "iou=%g dice=%g precision=%g recall=%g intersection=%" PRId64 " union=%" PRId64
               " pred=%" PRId64 " truth=%" PRId64, s->iou, s->dice, s->precision, s->recall,
               c->intersection, score_union(c), c->pred, c->truth);
}

void score_json_add(cJSON *to, const int64_t *score, int classes, const struct dataset *names)
{
    struct score_summary s = score_summarize(score, classes);
    struct score_counts total = score_total(score, classes);
    struct evaluate_constant constant;

    evaluate_constant(score, classes, names, &constant);
    add_summary(to, &s, &total);
    cjson_addf(to, "accuracy=%g pixels=%" PRId64 " constant=%g constant_class=%s", s.accuracy,
               score[SCORE_PIXELS], constant.quality, constant.name);
    if (classes == 1)
        return;
    cjson_addf(to, "iou_without_background=%g", score_summarize_foreground(score, classes).iou);
    cJSON *list = cjson_array(to, "classes");
    for (int i = 0; i < classes; i++) {
        cJSON *class = cjson_object(list, NULL);
        s = score_summarize_class(score, i);
        cjson_addf(class, "class=%d name=%s", i, dataset_class_name(names, i));
        add_summary(class, &s, score_class(score, i));
    }
}

void score_json_add_own(cJSON *to, const int64_t *score, int classes, const struct dataset *names)
{
    cJSON *own = cjson_object(to, "own_size");

    cjson_addf(own, "scale=%s", "own");
    score_json_add(own, score, classes, names);
}
