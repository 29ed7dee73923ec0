/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/results/settings.h"
#include "launcher/report/markup/escape.h"

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

static json_t *encode_interval(const struct interval *i)
{
    json_t *o = json_object();

    if (!interval_is_known(i)) {
        json_decref(o);
        return json_null();
    }
    json_object_set_new(o, "low", number(i->low));
    json_object_set_new(o, "high", number(i->high));
    json_object_set_new(o, "level", number(i->level));
    json_object_set_new(o, "method", json_string(interval_method_name(i->method)));
    return o;
}

static json_t *encode_summary(const struct summary *s)
{
    json_t *o = json_object();

    json_object_set_new(o, "median", number(s->median));
    json_object_set_new(o, "mean", number(s->mean));
    json_object_set_new(o, "min", number(s->min));
    json_object_set_new(o, "max", number(s->max));
    json_object_set_new(o, "spread", number(s->spread));
    json_object_set_new(o, "runs", json_integer((json_int_t)s->count));
    json_object_set_new(o, "outliers", json_integer((json_int_t)s->noutliers));
    json_object_set_new(o, "interval", encode_interval(&s->interval));
    return o;
}

static json_t *encode_ratio(const struct ratio *r)
{
    json_t *o = json_object();

    json_object_set_new(o, "value", number(r->value));
    json_object_set_new(o, "interval", encode_interval(&r->interval));
    return o;
}

static json_t *encode_comparison(const struct comparison *c)
{
    json_t *o = json_object();

    json_object_set_new(o, "test", json_string(compare_test_name(c->test)));
    json_object_set_new(o, "n", json_integer((json_int_t)c->n));
    json_object_set_new(o, "images", json_integer((json_int_t)c->nimages));
    json_object_set_new(o, "a", number(c->a));
    json_object_set_new(o, "b", number(c->b));
    json_object_set_new(o, "difference", number(c->difference));
    json_object_set_new(o, "interval", encode_interval(&c->interval));
    json_object_set_new(o, "p", number(c->p));
    json_object_set_new(o, "p_holm", number(c->p_holm));
    json_object_set_new(o, "significant", json_boolean(c->significant));
    json_object_set_new(o, "margin", number(c->margin));
    json_object_set_new(o, "enough_repeats", json_boolean(c->enough));
    json_object_set_new(o, "needed_repeats",
                        c->needed ? json_integer((json_int_t)c->needed) : json_null());
    return o;
}

/* The keys of logs/results.csv, with what a count's runs make of them. */
static void set_quantities(json_t *o, const struct series_point *p)
{
    static const struct {
        const char *key;
        enum quantity q;
    } names[] = {{"startup_s", QUANTITY_STARTUP},
                 {"first_epoch_s", QUANTITY_FIRST_EPOCH},
                 {"one_epoch_s", QUANTITY_ONE_EPOCH},
                 {"median_epoch_s", QUANTITY_STEADY_EPOCH},
                 {"comm_s", QUANTITY_COMM},
                 {"data_s", QUANTITY_DATA},
                 {"test_time", QUANTITY_EVALUATION},
                 {"training_time", QUANTITY_TRAINING},
                 {"whole_s", QUANTITY_WHOLE},
                 {"images", QUANTITY_IMAGES},
                 {"images_per_s", QUANTITY_RATE},
                 {"loss", QUANTITY_LOSS},
                 {"dice", QUANTITY_DICE},
                 {"energy_kwh", QUANTITY_ENERGY}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_object_set_new(o, names[i].key, encode_summary(&p->q[names[i].q]));
    json_object_set_new(o, result_by_accuracy(p->rows) ? "accuracy" : "iou",
                        encode_summary(&p->q[QUANTITY_IOU]));
}

static json_t *encode_ratios(const struct ratio ratios[QUANTITY_NTIMES],
                             const struct ratio *by_images)
{
    json_t *o = json_object();

    for (int q = 0; q < QUANTITY_NTIMES; q++)
        json_object_set_new(o, quantity_key((enum quantity)q), encode_ratio(&ratios[q]));
    json_object_set_new(o, "images_per_s", encode_ratio(by_images));
    return o;
}

static json_t *encode_point(const struct series *s, const struct series_point *p)
{
    json_t *o = json_object();

    json_object_set_new(o, "gpus", json_integer(p->gpus));
    json_object_set_new(o, "nodes", p->nodes ? json_integer(p->nodes) : json_null());
    json_object_set_new(o, "runs", json_integer((json_int_t)p->nruns));
    set_quantities(o, p);
    json_object_set_new(o, "speedup_ideal", number(series_ideal(s, p->gpus)));
    json_object_set_new(o, "speedup_total", number(p->speedup[QUANTITY_TRAINING].value));
    json_object_set_new(o, "speedup_steady", number(p->speedup[QUANTITY_STEADY_EPOCH].value));
    json_object_set_new(o, "speedup_one_epoch", number(p->speedup[QUANTITY_ONE_EPOCH].value));
    json_object_set_new(o, "efficiency_total", number(p->efficiency[QUANTITY_TRAINING].value));
    json_object_set_new(o, "efficiency", number(series_efficiency(s, p)->value));
    json_object_set_new(o, "speedups", encode_ratios(p->speedup, &p->image_speedup));
    json_object_set_new(o, "efficiencies", encode_ratios(p->efficiency, &p->image_efficiency));
    json_object_set_new(o, "gpu_hours", number(p->gpu_hours));
    json_object_set_new(o, "oversubscribed", json_boolean(p->oversubscribed));
    return o;
}

static void append_lines(json_t *list, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        char *line = strndup(lines, n);
        json_array_append_new(list, text(line ? line : ""));
        free(line);
        lines += n + (lines[n] == '\n');
    }
}

static json_t *encode_lines(const char *lines)
{
    json_t *list = json_array();

    append_lines(list, lines);
    return list;
}

static json_t *encode_choice(const struct advice_choice *c)
{
    json_t *o = json_object();

    json_object_set_new(o, "gpus", c->gpus ? json_integer(c->gpus) : json_null());
    json_object_set_new(o, "value", c->gpus ? number(c->value) : json_null());
    json_object_set_new(o, "measured", json_boolean(c->measured));
    json_object_set_new(o, "extrapolated", json_boolean(c->extrapolated));
    json_object_set_new(o, "why", json_string(c->why));
    return o;
}

static json_t *encode_advice(const struct advice *a)
{
    json_t *o = json_object();

    json_object_set_new(o, "least_time_s", encode_choice(&a->time));
    json_object_set_new(o, "least_gpu_hours", encode_choice(&a->gpu_hours));
    json_object_set_new(o, "least_energy_kwh", encode_choice(&a->energy));
    json_object_set_new(o, "deadline", encode_choice(&a->deadline));
    return o;
}

static void set_decision(json_t *o, const struct decision *d, size_t npoints)
{
    bool decided = d->use == d->reach;
    json_t *caveats = json_array(), *iou = json_array();

    json_object_set_new(o, "worth_gpus", decided || d->use != d->base ? json_integer(d->use->gpus)
                                                                     : json_null());
    json_object_set_new(o, "reach_gpus", json_integer(d->reach->gpus));
    json_object_set_new(o, "decided", json_boolean(decided));
    json_object_set_new(o, "seeds_needed",
                        d->seeds.n ? json_integer((json_int_t)d->seeds.n) : json_null());
    json_object_set_new(o, "seeds_scatter", d->seeds.n ? number(d->seeds.scatter) : json_null());
    json_object_set_new(o, "seeds_assumed", json_boolean(d->seeds.assumed));
    json_object_set_new(o, "base_gpus", json_integer(d->base->gpus));
    json_object_set_new(o, "speedup", encode_ratio(&d->speedup));
    json_object_set_new(o, "efficiency", encode_ratio(&d->efficiency));
    json_object_set_new(o, "limit_gpus", d->limit ? json_integer(d->limit->gpus) : json_null());
    json_object_set_new(o, "limit_why", json_string(d->limit ? d->limit_why : ""));
    json_object_set_new(o, "model_reach_gpus",
                        d->model_reach ? json_integer(d->model_reach) : json_null());
    json_object_set_new(o, "next_gpus", d->next ? json_integer(d->next) : json_null());
    json_object_set_new(o, "next_seeds",
                        d->next_seeds ? json_integer((json_int_t)d->next_seeds) : json_null());
    json_object_set_new(o, "next_why", json_string(d->next_why));
    for (size_t i = 0; i < npoints; i++) {
        json_t *one = i ? encode_comparison(&d->iou_change[i]) : json_object();
        json_object_set_new(one, "state", json_string(decision_iou_name(d->iou[i])));
        json_array_append_new(iou, one);
    }
    json_object_set_new(o, result_by_accuracy(d->base->rows) ? "accuracy" : "iou", iou);
    for (size_t i = 0; i < d->ncaveats; i++)
        json_array_append_new(caveats, text(d->caveats[i].text));
    json_object_set_new(o, "caveats", caveats);
}

static json_t *encode_verdict(const struct report_series *rs)
{
    json_t *o = json_object(), *words = encode_lines(rs->words.headline);

    if (rs->as->series.npoints > 1)
        set_decision(o, &rs->as->decision, rs->as->series.npoints);
    json_object_set_new(o, "headline", text(rs->words.headline));
    append_lines(words, rs->words.caveats);
    append_lines(words, rs->words.reasons);
    json_object_set_new(o, "words", words);
    return o;
}

static json_t *encode_model(const struct model *m, const struct model *choice)
{
    json_t *o = json_object(), *coefficients = json_array();
    struct buf formula = {0};

    model_describe(m, &formula);
    for (int i = 0; i < MODEL_TERMS; i++)
        json_array_append_new(coefficients, number(m->coefficient[i]));
    json_object_set_new(o, "law", json_string(model_name(m->law)));
    json_object_set_new(o, "chosen", json_boolean(m == choice));
    json_object_set_new(o, "formula", json_string(formula.data ? formula.data : ""));
    json_object_set_new(o, "coefficients", coefficients);
    json_object_set_new(o, "serial", number(m->serial));
    json_object_set_new(o, "serial_interval", encode_interval(&m->serial_interval));
    json_object_set_new(o, "coherency", number(m->coherency));
    json_object_set_new(o, "coherency_interval", encode_interval(&m->coherency_interval));
    json_object_set_new(o, "error", number(m->error));
    json_object_set_new(o, "leave_one_out_error", number(m->loo_error));
    json_object_set_new(o, "aicc", number(m->aicc));
    json_object_set_new(o, "peak_gpus", number(m->peak));
    buf_destroy(&formula);
    return o;
}

static json_t *encode_models(const struct model models[MODEL_NLAWS], const struct model *choice)
{
    json_t *list = json_array();

    for (int i = 0; i < MODEL_NLAWS; i++)
        if (models[i].fitted)
            json_array_append_new(list, encode_model(&models[i], choice));
    return list;
}

static json_t *encode_convergence(const struct convergence *c)
{
    json_t *o = json_object(), *points = json_array();

    if (c->metric == CONVERGENCE_NONE) {
        json_decref(o);
        json_decref(points);
        return json_null();
    }
    json_object_set_new(o, "metric",
                        json_string(c->metric == CONVERGENCE_SCORE ? "score" : "loss"));
    json_object_set_new(o, "target", number(c->target));
    for (size_t i = 0; i < c->npoints; i++) {
        const struct convergence_point *p = &c->points[i];
        json_t *one = json_object();
        json_object_set_new(one, "gpus", json_integer(p->gpus));
        json_object_set_new(one, "runs", json_integer((json_int_t)p->nruns));
        json_object_set_new(one, "reached", json_integer((json_int_t)p->nreached));
        json_object_set_new(one, "epochs", number(p->epochs));
        json_object_set_new(one, "epoch_s", number(p->epoch_s));
        json_object_set_new(one, "seconds", number(p->seconds));
        json_object_set_new(one, "epochs_ratio", number(p->epochs_ratio));
        json_object_set_new(one, "epoch_s_ratio", number(p->epoch_s_ratio));
        json_object_set_new(one, "speedup", number(p->speedup));
        json_array_append_new(points, one);
    }
    json_object_set_new(o, "points", points);
    return o;
}

static json_t *encode_noise(const struct noise_scale *n)
{
    json_t *o = json_object();

    json_object_set_new(o, "critical_batch", n->measured ? number(n->critical_batch) : json_null());
    json_object_set_new(o, "interval", n->measured ? encode_interval(&n->interval) : json_null());
    json_object_set_new(o, "interval_over", json_string(n->over_epochs ? "epochs" : "runs"));
    json_object_set_new(o, "gpus", n->measured ? number(n->gpus) : json_null());
    json_object_set_new(o, "why_not", json_string(n->measured ? "" : n->why_not));
    return o;
}

/* By their keys; null: not known. */
static json_t *encode_settings(const char *settings)
{
    json_t *o = settings ? json_object() : json_null();
    struct setting_text s;

    while (settings && settings_next(&settings, &s)) {
        struct buf key = {0}, value = {0};
        buf_add_bytes(&key, s.key, s.nkey);
        settings_add_value(&value, &s);
        if (!key.failed && !value.failed)
            json_object_set_new(o, key.data, text(value.data));
        buf_destroy(&key);
        buf_destroy(&value);
    }
    return o;
}

static json_t *encode_series(const struct report_series *rs)
{
    static const char *const modes[] = {"unknown", "one count", "strong", "weak in the batch",
                                        "weak"};
    const struct series *s = &rs->as->series;
    json_t *o = json_object(), *points = json_array(), *levels = json_array();

    json_object_set_new(o, "engine", text(s->engine));
    json_object_set_new(o, "quality", json_string(s->quality));
    json_object_set_new(o, "study", text(rs->source->title));
    json_object_set_new(o, "label", text(rs->label));
    json_object_set_new(o, "settings", encode_settings(s->settings));
    json_object_set_new(o, "one_epoch", json_integer(rs->as->series.one_epoch));
    json_object_set_new(o, "scaling", json_string(modes[s->mode]));
    json_object_set_new(o, "base_gpus", json_integer(s->points[0].gpus));
    json_object_set_new(o, "efficiency_by", json_string(s->by_images ? "images" : "time"));
    for (size_t i = 0; i < s->npoints; i++)
        json_array_append_new(points, encode_point(s, &s->points[i]));
    json_object_set_new(o, "points", points);
    json_object_set_new(o, "verdict", encode_verdict(rs));
    json_object_set_new(o, "models", encode_models(rs->as->steady, rs->as->steady_choice));
    json_object_set_new(o, "models_whole", encode_models(rs->as->whole, rs->as->whole_choice));
    json_object_set_new(o, "advice", encode_advice(&rs->as->advice));
    json_object_set_new(o, "convergence", encode_convergence(&rs->as->convergence));
    for (size_t i = 0; i < rs->as->nlevels; i++)
        json_array_append_new(levels, encode_convergence(&rs->as->levels[i]));
    json_object_set_new(o, "reach", levels);
    json_object_set_new(o, "noise_scale", encode_noise(&rs->as->noise));
    return o;
}

static json_t *encode_pair(const struct report *r, const struct analysis_pair *pair)
{
    json_t *o = json_object(), *list = json_array();

    json_object_set_new(o, "a", text(r->series[pair->a].label));
    json_object_set_new(o, "b", text(r->series[pair->b].label));
    for (size_t i = 0; i < pair->ndifferences; i++) {
        const struct analysis_difference *d = &pair->differences[i];
        json_t *one = encode_comparison(&d->compare);
        json_object_set_new(one, "gpus", json_integer(d->gpus));
        json_object_set_new(one, "quantity", json_string(quantity_key(d->quantity)));
        json_object_set_new(one, "ratio", encode_ratio(&d->ratio));
        json_array_append_new(list, one);
    }
    json_object_set_new(o, "differences", list);
    return o;
}

static json_t *encode_rules(const struct rule rules[RULES_COUNT])
{
    json_t *list = json_array();

    for (int i = 0; i < RULES_COUNT; i++) {
        json_t *one = json_object();
        json_object_set_new(one, "rule", json_integer(rules[i].number));
        json_object_set_new(one, "text", json_string(rules[i].text));
        json_object_set_new(one, "state", json_string(rule_state_name(rules[i].state)));
        json_object_set_new(one, "why", text(rules[i].why));
        json_array_append_new(list, one);
    }
    return list;
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
    json_object_set_new(o, "accuracy", number(r->accuracy));
    json_object_set_new(o, "dice", number(r->dice));
    json_object_set_new(o, "log", r->log[0] ? text(r->log) : json_null());
    json_object_set_new(o, "device", r->device[0] ? text(r->device) : json_null());
    json_object_set_new(o, "note", text(r->note));
    json_object_set_new(o, "settings", encode_settings(r->settings));
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
    json_t *o = json_object(), *series = json_array(), *runs = json_array(), *pairs = json_array();

    json_object_set_new(o, "schema", json_integer(SCHEMA));
    json_object_set_new(o, "study", text(r->title));
    json_object_set_new(o, "created", json_string(r->created));
    json_object_set_new(o, "version", json_string(PACKAGE_VERSION));
    for (size_t i = 0; i < r->nseries; i++)
        json_array_append_new(series, encode_series(&r->series[i]));
    json_object_set_new(o, "engines", series);
    for (size_t i = 0; i < r->analysis.npairs; i++)
        json_array_append_new(pairs, encode_pair(r, &r->analysis.pairs[i]));
    json_object_set_new(o, "pairs", pairs);
    json_object_set_new(o, "rule", json_string(r->rule));
    json_object_set_new(o, "rules", encode_rules(r->analysis.rules));
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
