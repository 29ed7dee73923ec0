/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/extra_p.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "launcher/report/markup/escape.h"

struct metric {
    const char *name;
    enum quantity quantity;
};

static const struct metric metrics[] = {
    {"training_time", QUANTITY_TRAINING}, {"first_epoch", QUANTITY_FIRST_EPOCH},
    {"steady_epoch", QUANTITY_STEADY_EPOCH}, {"startup", QUANTITY_STARTUP},
    {"communication", QUANTITY_COMM}, {"data_wait", QUANTITY_DATA},
    {"evaluation", QUANTITY_EVALUATION}, {NULL, QUANTITY_COUNT}};

/* Does every count have a run with a value for m? */
static bool is_known(const struct series *s, const struct metric *m)
{
    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].q[m->quantity].count == 0)
            return false;
    return s->npoints > 0;
}

/* Adds a name without "->", which separates regions, and without control characters; "series" if it
 * is empty. */
static void add_name(struct buf *b, const char *name)
{
    struct buf plain = {0};

    escape_plain(&plain, name);
    for (const char *p = plain.data && *plain.data ? plain.data : "series"; *p; p++)
        buf_add_bytes(b, p[0] == '-' && p[1] == '>' ? "_" : p, 1);
    b->failed |= plain.failed;
    buf_destroy(&plain);
}

static json_t *encode_metric(const struct series *s, const struct metric *m)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        json_t *values = json_array();
        for (size_t k = 0; k < p->nruns; k++) /* json_real(NaN) is NULL, which is not appended */
            json_array_append_new(values, json_real(quantity_of(&p->rows[k], m->quantity)));
        json_array_append_new(list, json_pack("{s:[i],s:o}", "point", p->gpus, "values", values));
    }
    return list;
}

json_t *extra_p_encode(const struct report *r)
{
    json_t *measurements = json_object();

    for (size_t i = 0; i < r->nseries; i++) {
        json_t *region = json_object();
        struct buf name = {0};
        for (const struct metric *m = metrics; m->name; m++)
            if (is_known(&r->series[i].as->series, m))
                json_object_set_new(region, m->name,
                                    encode_metric(&r->series[i].as->series, m));
        add_name(&name, r->series[i].label);
        json_object_set_new(measurements, name.data ? name.data : "", region);
        buf_destroy(&name);
    }
    return json_pack("{s:[s],s:o}", "parameters", "gpus", "measurements", measurements);
}
