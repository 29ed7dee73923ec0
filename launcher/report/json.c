/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/json.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "launcher/report/escape.h"

#define SCHEMA 1

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* jansson refuses what is no UTF-8; a text from a file may be that. */
static json_t *text(const char *value)
{
    struct buf b = {0};
    json_t *s;

    escape_plain(&b, value);
    s = json_string(b.data ? b.data : "");
    buf_destroy(&b);
    return s;
}

static void set_spread(json_t *o, const char *key, const struct scaling_spread *s)
{
    json_t *spread = json_object();

    json_object_set_new(spread, "median", number(s->median));
    json_object_set_new(spread, "min", number(s->min));
    json_object_set_new(spread, "max", number(s->max));
    json_object_set_new(o, key, spread);
}

static json_t *encode_point(const struct scaling *s, const struct scaling_point *p)
{
    json_t *o = json_object();

    json_object_set_new(o, "gpus", json_integer(p->gpus));
    json_object_set_new(o, "nodes", p->nodes ? json_integer(p->nodes) : json_null());
    json_object_set_new(o, "runs", json_integer((json_int_t)p->nruns));
    set_spread(o, "first_epoch_s", &p->first_epoch_s);
    set_spread(o, "median_epoch_s", &p->epoch_s);
    set_spread(o, "training_time", &p->training_time);
    set_spread(o, "test_time", &p->test_time);
    set_spread(o, "startup_s", &p->startup_s);
    set_spread(o, "comm_s", &p->comm_s);
    set_spread(o, "data_s", &p->data_s);
    set_spread(o, "images_per_s", &p->images_per_s);
    set_spread(o, "loss", &p->loss);
    set_spread(o, "iou", &p->iou);
    set_spread(o, "dice", &p->dice);
    json_object_set_new(o, "speedup_ideal", number(scaling_ideal(s, p->gpus)));
    json_object_set_new(o, "speedup_total", number(p->speedup_total));
    json_object_set_new(o, "speedup_steady", number(p->speedup_steady));
    json_object_set_new(o, "speedup_epoch_1", number(p->speedup_second));
    json_object_set_new(o, "efficiency_total", number(p->efficiency_total));
    json_object_set_new(o, "efficiency", number(p->efficiency));
    json_object_set_new(o, "gpu_hours", number(p->gpu_hours));
    json_object_set_new(o, "oversubscribed", json_boolean(p->oversubscribed));
    return o;
}

static json_t *encode_lines(const char *lines)
{
    json_t *list = json_array();

    while (*lines) {
        char line[2048];
        size_t n = strcspn(lines, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, lines);
        json_array_append_new(list, text(line));
        lines += n + (lines[n] == '\n');
    }
    return list;
}

static json_t *encode_verdict(const struct report_series *series)
{
    const struct verdict *v = &series->verdict;
    json_t *o = json_object();

    if (series->scaling.npoints > 1) {
        json_object_set_new(o, "worth_gpus", json_integer(v->worth));
        json_object_set_new(o, "beyond_gpus", v->beyond ? json_integer(v->beyond) : json_null());
        json_object_set_new(o, "iou_margin", number(v->iou_margin));
        json_object_set_new(o, "enough_repeats", json_boolean(v->enough_repeats));
        json_object_set_new(o, "oversubscribed", json_boolean(v->oversubscribed));
        json_object_set_new(o, "rule", json_string(VERDICT_RULE));
    }
    json_object_set_new(o, "words", encode_lines(series->words));
    return o;
}

static json_t *encode_engine(const struct report_series *series)
{
    const struct scaling *s = &series->scaling;
    json_t *o = json_object(), *points = json_array();

    json_object_set_new(o, "engine", text(s->engine));
    json_object_set_new(o, "study", text(series->source->title));
    json_object_set_new(o, "label", text(series->label));
    json_object_set_new(o, "base_gpus", json_integer(s->points[0].gpus));
    json_object_set_new(o, "efficiency_by", json_string(s->by_images ? "images" : "time"));
    for (size_t i = 0; i < s->npoints; i++)
        json_array_append_new(points, encode_point(s, &s->points[i]));
    json_object_set_new(o, "points", points);
    json_object_set_new(o, "verdict", encode_verdict(series));
    return o;
}

static json_t *encode_run(const struct result *r)
{
    json_t *o = json_object();

    json_object_set_new(o, "run", text(r->run));
    json_object_set_new(o, "engine", text(r->engine));
    json_object_set_new(o, "gpus", json_integer(r->gpus));
    json_object_set_new(o, "nodes", r->nodes ? json_integer(r->nodes) : json_null());
    json_object_set_new(o, "seed", json_integer(r->seed));
    json_object_set_new(o, "attempt", json_integer(r->attempt));
    json_object_set_new(o, "state", json_string(result_state_name(r->state)));
    json_object_set_new(o, "epochs", json_integer(r->epochs));
    json_object_set_new(o, "first_epoch_s", number(r->first_epoch_s));
    json_object_set_new(o, "median_epoch_s", number(r->median_epoch_s));
    json_object_set_new(o, "training_time", number(r->training_time));
    json_object_set_new(o, "test_time", number(r->test_time));
    json_object_set_new(o, "images_per_s", number(r->images_per_s));
    json_object_set_new(o, "loss", number(r->loss));
    json_object_set_new(o, "iou", number(r->iou));
    json_object_set_new(o, "dice", number(r->dice));
    json_object_set_new(o, "log", r->log[0] ? text(r->log) : json_null());
    json_object_set_new(o, "note", text(r->note));
    return o;
}

static void append_runs(json_t *runs, const struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        json_array_append_new(runs, encode_run(&results->rows[i]));
}

/* The text of o, which is given up. */
static char *dump(json_t *o)
{
    char *json = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    struct buf b = {0};

    json_decref(o);
    if (!json)
        return NULL;
    buf_add(&b, json);
    buf_add(&b, "\n");
    free(json);
    return buf_steal(&b);
}

char *json_encode_report(const struct report *r)
{
    json_t *o = json_object(), *engines = json_array(), *runs = json_array();

    json_object_set_new(o, "schema", json_integer(SCHEMA));
    json_object_set_new(o, "study", text(r->title));
    json_object_set_new(o, "created", json_string(r->created));
    json_object_set_new(o, "version", json_string(PACKAGE_VERSION));
    for (size_t i = 0; i < r->nseries; i++)
        json_array_append_new(engines, encode_engine(&r->series[i]));
    json_object_set_new(o, "engines", engines);
    json_object_set_new(o, "problems", encode_lines(r->problems));
    for (size_t i = 0; i < r->nsources; i++)
        append_runs(runs, &r->sources[i].results);
    json_object_set_new(o, "runs", runs);
    return dump(o);
}

char *json_encode_results(const char *study, const struct results *results)
{
    json_t *o = json_object(), *runs = json_array();

    json_object_set_new(o, "schema", json_integer(SCHEMA));
    json_object_set_new(o, "study", text(study));
    json_object_set_new(o, "complete",
                        json_boolean(results_count(results, RESULT_DONE) == results->count));
    append_runs(runs, results);
    json_object_set_new(o, "runs", runs);
    return dump(o);
}
