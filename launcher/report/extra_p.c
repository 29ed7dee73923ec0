/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/extra_p.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/report/markup/escape.h"

struct metric {
    const char *name;
    size_t offset; /* of a double in struct result */
};

static const struct metric metrics[] = {
    {"training_time", offsetof(struct result, training_time)},
    {"first_epoch", offsetof(struct result, first_epoch_s)},
    {"steady_epoch", offsetof(struct result, median_epoch_s)},
    {"startup", offsetof(struct result, startup_s)},
    {"communication", offsetof(struct result, comm_s)},
    {"data_wait", offsetof(struct result, data_s)},
    {"evaluation", offsetof(struct result, test_time)}};
enum { NMETRICS = sizeof metrics / sizeof metrics[0] };

static double value_of(const struct result *r, const struct metric *m)
{
    double value;

    memcpy(&value, (const char *)r + m->offset, sizeof value);
    return value;
}

/* The end of the rows of one count, which begin at i. */
static size_t count_end(const struct series *s, size_t i)
{
    size_t end = i;

    while (end < s->nrows && s->rows[end].gpus == s->rows[i].gpus)
        end++;
    return end;
}

/* Does some run of every count know m? */
static bool is_known(const struct series *s, const struct metric *m)
{
    for (size_t i = 0, end; i < s->nrows; i = end) {
        bool known = false;
        end = count_end(s, i);
        for (size_t k = i; k < end; k++)
            known |= isfinite(value_of(&s->rows[k], m));
        if (!known)
            return false;
    }
    return s->nrows > 0;
}

/* A name without what the formats read as something else. */
static void add_name(struct buf *b, const char *name)
{
    struct buf plain = {0};

    escape_plain(&plain, name);
    for (const char *p = plain.data && *plain.data ? plain.data : "series"; *p; p++)
        buf_add_bytes(b, p[0] == '-' && p[1] == '>' ? "_" : p, 1);
    b->failed |= plain.failed;
    buf_destroy(&plain);
}

void extra_p_encode_text(const struct series *s, const char *region, struct buf *b)
{
    buf_add(b, "# Input of Extra-P, made by unetctl report: seconds, one value per run\n"
               "PARAMETER gpus\nPOINTS");
    for (size_t i = 0; i < s->nrows; i = count_end(s, i))
        buf_addf(b, " (%d)", s->rows[i].gpus);
    buf_add(b, "\n");
    for (size_t m = 0; m < NMETRICS; m++) {
        if (!is_known(s, &metrics[m]))
            continue;
        buf_addf(b, "METRIC %s\nREGION ", metrics[m].name);
        add_name(b, region);
        buf_add(b, "\n");
        for (size_t i = 0, end; i < s->nrows; i = end) {
            buf_add(b, "DATA");
            end = count_end(s, i);
            for (size_t k = i; k < end; k++)
                if (isfinite(value_of(&s->rows[k], &metrics[m])))
                    buf_addf(b, " %.9g", value_of(&s->rows[k], &metrics[m]));
            buf_add(b, "\n");
        }
    }
}

static json_t *encode_metric(const struct series *s, const struct metric *m)
{
    json_t *list = json_array();

    for (size_t i = 0, end; i < s->nrows; i = end) {
        json_t *values = json_array();
        end = count_end(s, i);
        for (size_t k = i; k < end; k++)
            if (isfinite(value_of(&s->rows[k], m)))
                json_array_append_new(values, json_real(value_of(&s->rows[k], m)));
        json_array_append_new(
            list, json_pack("{s:[i],s:o}", "point", s->rows[i].gpus, "values", values));
    }
    return list;
}

char *extra_p_encode_json(const struct extra_p_series *series, size_t nseries)
{
    json_t *o = json_pack("{s:[s],s:{}}", "parameters", "gpus", "measurements");
    json_t *measurements = json_object_get(o, "measurements");
    struct buf text = {0};
    char *json;

    for (size_t i = 0; i < nseries; i++) {
        json_t *region = json_object();
        struct buf name = {0};
        for (size_t m = 0; m < NMETRICS; m++)
            if (is_known(series[i].series, &metrics[m]))
                json_object_set_new(region, metrics[m].name,
                                    encode_metric(series[i].series, &metrics[m]));
        add_name(&name, series[i].region);
        json_object_set_new(measurements, name.data ? name.data : "", region);
        text.failed |= name.failed;
        buf_destroy(&name);
    }
    json = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(o);
    text.failed |= !json;
    buf_add(&text, json ? json : "");
    buf_add(&text, "\n");
    free(json);
    return buf_steal(&text);
}
