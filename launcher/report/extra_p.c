/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/extra_p.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/report/escape.h"

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

static bool is_row(const struct result *r, const char *engine)
{
    return r->state == RESULT_DONE && strcmp(r->engine, engine) == 0;
}

/* The rows [*i, end) that are good and of one count; false behind the last. */
static bool next_count(const struct results *table, const char *engine, size_t *i, size_t *end)
{
    while (*i < table->count && !is_row(&table->rows[*i], engine))
        ++*i;
    for (*end = *i; *end < table->count && strcmp(table->rows[*end].engine, engine) == 0 &&
                    table->rows[*end].gpus == table->rows[*i].gpus;)
        ++*end;
    return *i < table->count;
}

/* Does some run of every count know m? */
static bool is_known(const struct results *table, const char *engine, const struct metric *m)
{
    size_t ncounts = 0;

    for (size_t i = 0, end; next_count(table, engine, &i, &end); i = end, ncounts++) {
        bool known = false;
        for (size_t k = i; k < end; k++)
            known |= is_row(&table->rows[k], engine) && isfinite(value_of(&table->rows[k], m));
        if (!known)
            return false;
    }
    return ncounts > 0;
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

void extra_p_encode_text(const struct results *results, const char *engine, const char *region,
                         struct buf *b)
{
    buf_add(b, "# Input of Extra-P, made by unetctl report: seconds, one value per run\n"
               "PARAMETER gpus\nPOINTS");
    for (size_t i = 0, end; next_count(results, engine, &i, &end); i = end)
        buf_addf(b, " (%d)", results->rows[i].gpus);
    buf_add(b, "\n");
    for (size_t m = 0; m < NMETRICS; m++) {
        if (!is_known(results, engine, &metrics[m]))
            continue;
        buf_addf(b, "METRIC %s\nREGION ", metrics[m].name);
        add_name(b, region);
        buf_add(b, "\n");
        for (size_t i = 0, end; next_count(results, engine, &i, &end); i = end) {
            buf_add(b, "DATA");
            for (size_t k = i; k < end; k++)
                if (is_row(&results->rows[k], engine) &&
                    isfinite(value_of(&results->rows[k], &metrics[m])))
                    buf_addf(b, " %.9g", value_of(&results->rows[k], &metrics[m]));
            buf_add(b, "\n");
        }
    }
}

static json_t *encode_metric(const struct extra_p_series *s, const struct metric *m)
{
    json_t *list = json_array();

    for (size_t i = 0, end; next_count(s->results, s->engine, &i, &end); i = end) {
        json_t *values = json_array();
        for (size_t k = i; k < end; k++)
            if (is_row(&s->results->rows[k], s->engine) &&
                isfinite(value_of(&s->results->rows[k], m)))
                json_array_append_new(values, json_real(value_of(&s->results->rows[k], m)));
        json_array_append_new(
            list, json_pack("{s:[i],s:o}", "point", s->results->rows[i].gpus, "values", values));
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
            if (is_known(series[i].results, series[i].engine, &metrics[m]))
                json_object_set_new(region, metrics[m].name,
                                    encode_metric(&series[i], &metrics[m]));
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
