/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/evaluate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/atomicfile.h"

int evaluate_image(struct network *n, const struct network_config *config, struct dataset *ds,
                   enum dataset_part part, size_t i, int64_t *score, struct image_loss *loss,
                   struct err *e)
{
    int classes = config->classes ? config->classes : 1;
    size_t pixels = network_targets(n);
    float *input = network_input(n, false, 1, e);
    float *target = input ? network_target(n, false, 1, e) : NULL;
    const float *logits;

    if (!target || dataset_get(ds, part, i, input, target, e) || network_infer(n, 1, &logits, e))
        return -1;
    score_add(score, classes, logits, target, pixels);
    if (loss)
        image_loss_add(loss, classes, config->class_weights, logits, target, pixels);
    return 0;
}

void evaluate_sum(const int64_t *scores, size_t images, int classes, int64_t *total)
{
    size_t size = score_size(classes);

    memset(total, 0, size * sizeof *total);
    for (size_t i = 0; i < images * size; i++)
        total[i % size] += scores[i];
}

/* A name in quotes where a comma or quote would break the row. */
static void write_name(FILE *f, const char *name)
{
    if (!strpbrk(name, ",\"\r\n")) {
        fputs(name, f);
        return;
    }
    putc('"', f);
    for (; *name; name++) {
        if (*name == '"')
            putc('"', f);
        putc(*name, f);
    }
    putc('"', f);
}

static void write_row(FILE *f, const char *name, const char *class, const struct score_summary *s,
                      struct iou_counts c, int64_t pixels)
{
    write_name(f, name);
    putc(',', f);
    write_name(f, class);
    fprintf(f, ",%.6f,%.6f,%.6f,%.6f,%.6f", s->iou, s->dice, s->precision, s->recall, s->accuracy);
    fprintf(f, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "\n", c.intersection, c.pred, c.truth,
            pixels);
}

static void write_image(FILE *f, const struct dataset *ds, const char *name, int classes,
                        const int64_t *score)
{
    struct score_summary s = score_summarize(score, classes);

    write_row(f, name, "all", &s, score_total(score, classes), score[SCORE_PIXELS]);
    for (int c = 0; c < classes && classes > 1; c++) {
        if (!score_has(score, c))
            continue;
        s = score_summarize_class(score, c);
        write_row(f, name, dataset_class_name(ds, c), &s, *score_class(score, c),
                  score[SCORE_PIXELS]);
    }
}

int evaluate_write(const char *path, struct dataset *ds, enum dataset_part part, int classes,
                   const int64_t *scores, struct err *e)
{
    struct atomicfile *a = atomicfile_open(path, 0666, e);

    if (!a)
        return -1;
    FILE *f = atomicfile_stream(a);
    fputs("image,class,iou,dice,precision,recall,accuracy,intersection,pred,truth,pixels\n", f);
    for (size_t i = 0; i < dataset_count(ds, part); i++)
        write_image(f, ds, dataset_name(ds, part, i), classes, scores + i * score_size(classes));
    return atomicfile_commit(a, e);
}
