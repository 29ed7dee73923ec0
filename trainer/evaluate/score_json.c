/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/evaluate/score_json.h"

#include <inttypes.h>

#include "trainer/evaluate/evaluate.h"
#include "trainer/metric/score.h"

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
