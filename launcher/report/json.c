/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report.h"

#include <math.h>

#include "launcher/collect/results/results.h"

#define SCHEMA 1

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *integer(size_t value)
{
    return json_integer((json_int_t)value);
}

/* Returns a count, for which 0 means unknown, as JSON. */
static json_t *known_count(size_t value)
{
    return value ? integer(value) : json_null();
}

/* Returns text as JSON. Bytes that are not UTF-8, which jansson refuses, may come from files. */
static json_t *text(const char *value)
{
    struct buf b = {0};
    json_t *s;

    escape_plain(&b, value);
    s = json_string(b.data ? b.data : "");
    buf_destroy(&b);
    return s;
}

struct member {
    const char *key;
    json_t *value;
};

static json_t *add_members(json_t *o, const struct member *m)
{
    for (; m->key; m++)
        json_object_set_new(o, m->key, m->value);
    return o;
}

/* Sets each {"key", value} that follows in o, and returns o. */
#define ADD(o, ...) add_members(o, (const struct member[]){__VA_ARGS__, {NULL, NULL}})
#define OBJECT(...) ADD(json_object(), __VA_ARGS__)

static json_t *encode_interval(const struct interval *i)
{
    return interval_is_known(i) && isfinite(i->low) && isfinite(i->high)
               ? OBJECT({"low", number(i->low)}, {"high", number(i->high)},
                        {"level", number(i->level)},
                        {"method", json_string(interval_method_names[i->method])})
               : json_null();
}

static json_t *encode_summary(const struct summary *s)
{
    return OBJECT({"median", number(s->median)}, {"mean", number(s->mean)},
                  {"min", number(s->min)}, {"max", number(s->max)}, {"spread", number(s->spread)},
                  {"runs", integer(s->count)}, {"outliers", integer(s->noutliers)},
                  {"interval", encode_interval(&s->interval)});
}

static json_t *encode_ratio(const struct ratio *r)
{
    return OBJECT({"value", number(r->value)}, {"interval", encode_interval(&r->interval)});
}

static json_t *add_comparison(json_t *o, const struct comparison *c)
{
    return ADD(o, {"test", json_string(compare_test_names[c->test])}, {"n", integer(c->n)},
               {"a", number(c->a)}, {"b", number(c->b)},
               {"difference", number(c->difference)}, {"interval", encode_interval(&c->interval)},
               {"p", number(c->p)}, {"family", integer(c->nfamily)},
               {"significant", json_boolean(c->significant)}, {"margin", number(c->margin)},
               {"enough_repeats", json_boolean(c->enough)},
               {"needed_repeats", known_count(c->needed)});
}

static const char *quality_key(const struct result *r)
{
    return result_by_accuracy(r) ? "accuracy" : result_quality_is_share(r) ? "iou" : "quality";
}

/* Sets the quantities of a count's runs, under the keys of logs/results.csv where that has them. */
static void set_quantities(json_t *o, const struct series_point *p)
{
    const char *const keys[QUANTITY_COUNT] = {
        [QUANTITY_STEADY_EPOCH] = "median_epoch_s", [QUANTITY_EVALUATION] = "test_time",
        [QUANTITY_TRAINING] = "training_time", [QUANTITY_QUALITY] = quality_key(p->rows)};

    for (enum quantity q = 0; q < QUANTITY_COUNT; q++)
        json_object_set_new(o, keys[q] ? keys[q] : quantities[q].key, encode_summary(&p->q[q]));
}

static json_t *encode_ratios(const struct ratio ratios[QUANTITY_NTIMES],
                             const struct ratio *by_units)
{
    json_t *o = json_object();

    for (int q = 0; q < QUANTITY_NTIMES; q++)
        json_object_set_new(o, quantities[q].key, encode_ratio(&ratios[q]));
    return ADD(o, {"images_per_s", encode_ratio(by_units)});
}

static json_t *encode_point(const struct series *s, const struct series_point *p)
{
    json_t *o = OBJECT({"gpus", json_integer(p->gpus)}, {"nodes", known_count((size_t)p->nodes)},
                       {"runs", integer(p->nruns)});

    set_quantities(o, p);
    if (s->limited)
        ADD(o, {"limited_runs", integer(p->nlimited)});
    return ADD(o, {"speedup_ideal", number(series_ideal(s, p->gpus))},
               {"speedup_total", number(p->speedup[QUANTITY_TRAINING].value)},
               {"speedup_steady", number(p->speedup[QUANTITY_STEADY_EPOCH].value)},
               {"speedup_one_epoch", number(p->speedup[QUANTITY_ONE_EPOCH].value)},
               {"efficiency_total", number(p->efficiency[QUANTITY_TRAINING].value)},
               {"efficiency", number(series_efficiency(s, p)->value)},
               {"speedups", encode_ratios(p->speedup, &p->unit_speedup)},
               {"efficiencies", encode_ratios(p->efficiency, &p->unit_efficiency)},
               {"gpu_hours", number(p->gpu_hours)},
               {"oversubscribed", json_boolean(p->oversubscribed)});
}

static json_t *append_lines(json_t *list, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        char *line = strndup(lines, n);
        json_array_append_new(list, text(line ? line : ""));
        free(line);
        lines += n + (lines[n] == '\n');
    }
    return list;
}

static json_t *encode_choice(const struct advice_choice *c)
{
    return OBJECT({"gpus", known_count((size_t)c->gpus)},
                  {"value", c->gpus ? number(c->value) : json_null()},
                  {"measured", json_boolean(c->measured)},
                  {"extrapolated", json_boolean(c->extrapolated)}, {"why", json_string(c->why)});
}

static json_t *encode_advice(const struct advice *a)
{
    return OBJECT({"least_time_s", encode_choice(&a->time)},
                  {"least_gpu_hours", encode_choice(&a->gpu_hours)},
                  {"least_energy_kwh", encode_choice(&a->energy)},
                  {"deadline", encode_choice(&a->deadline)});
}

static void add_decision(json_t *o, const struct decision *d, size_t npoints)
{
    size_t worth =
        !d->unlearnt && (d->decided || d->use != d->base) ? (size_t)d->use->gpus : 0;
    json_t *caveats = json_array(), *iou = json_array();

    for (size_t i = 0; i < npoints; i++) {
        const struct quality *q = &d->quality[i];
        json_t *one = i ? add_comparison(json_object(), &q->change) : json_object();
        json_array_append_new(
            iou, ADD(one, {"state", json_string(quality_state_name(q, NULL))},
                     {"why", q->why ? json_string(q->why) : json_null()},
                     {"distinct_runs", integer(q->nruns)}, {"collapsed", integer(q->ncollapsed)},
                     {"collapsed_at_least", number(q->collapse_least)},
                     {"collapsed_at_most", number(q->collapse_most)}));
    }
    for (size_t i = 0; i < d->ncaveats; i++)
        json_array_append_new(caveats, text(d->caveats[i].text));
    ADD(o, {"worth_gpus", known_count(worth)}, {"reach_gpus", json_integer(d->reach->gpus)},
        {"decided", json_boolean(d->decided)}, {"seeds_needed", known_count(d->seeds.n)},
        {"seeds_scatter", d->seeds.n ? number(d->seeds.scatter) : json_null()},
        {"seeds_assumed", json_boolean(d->seeds.assumed)},
        {"efficiency_needed", number(d->rule.efficiency)}, {"margin", number(d->rule.margin)},
        {"base_gpus", json_integer(d->base->gpus)}, {"speedup", encode_ratio(&d->speedup)},
        {"efficiency", encode_ratio(&d->efficiency)},
        {"limit_gpus", d->limit ? json_integer(d->limit->gpus) : json_null()},
        {"limit_why", json_string(d->limit ? d->limit_why : "")},
        {"model_reach_gpus", known_count((size_t)d->model_reach)},
        {"next_gpus", known_count((size_t)d->next)}, {"next_seeds", known_count(d->next_seeds)},
        {"next_why", json_string(d->next_why)},
        {quality_key(d->base->rows), iou}, {"caveats", caveats});
    if (d->by_time)
        ADD(o, {"by_time", json_true()});
}

static json_t *encode_verdict(const struct report_series *rs)
{
    json_t *o = json_object(), *words = append_lines(json_array(), rs->words.headline);

    if (rs->as->series.npoints > 1)
        add_decision(o, &rs->as->decision, rs->as->series.npoints);
    for (int i = WORDS_EVIDENCE; i < WORDS_NPARTS; i++)
        append_lines(words, rs->words.parts[i]);
    return ADD(o, {"headline", text(rs->words.headline)}, {"words", words});
}

static json_t *encode_law(const struct model_law *law)
{
    json_t *o;
    struct buf name = {0}, formula = {0};

    model_law_name(law, &name);
    model_law_describe(law, &formula);
    o = OBJECT({"law", json_string(name.data ? name.data : "")},
               {"formula", json_string(formula.data ? formula.data : "")},
               {"evidence", number(law->evidence)});
    buf_destroy(&name);
    buf_destroy(&formula);
    return o;
}

static json_t *encode_model(const struct model *m)
{
    json_t *laws = json_array();

    for (size_t i = 0; i < m->nlaws; i++)
        json_array_append_new(laws, encode_law(&m->laws[i]));
    return OBJECT({"usable", json_boolean(model_is_usable(m))}, {"error", number(m->error)},
                  {"leave_one_out_error", number(m->loo_error)},
                  {"largest_count_error", number(m->largest_error)}, {"laws", laws});
}

static json_t *encode_convergence(const struct convergence *c)
{
    json_t *points = c->metric == CONVERGENCE_NONE ? NULL : json_array();

    for (size_t i = 0; points && i < c->npoints; i++) {
        const struct convergence_point *p = &c->points[i];
        json_array_append_new(
            points, OBJECT({"gpus", json_integer(p->gpus)}, {"runs", integer(p->nruns)},
                           {"reached", integer(p->nreached)}, {"epochs", number(p->epochs)},
                           {"epoch_s", number(p->epoch_s)}, {"seconds", number(p->seconds)},
                           {"energy_kwh", number(p->energy_kwh)},
                           {"epochs_ratio", number(p->epochs_ratio)},
                           {"epochs_ratio_least", number(p->epochs_ratio_least)},
                           {"epochs_ratio_most", number(p->epochs_ratio_most)},
                           {"epoch_s_ratio", number(p->epoch_s_ratio)},
                           {"speedup", number(p->speedup)},
                           {"speedup_least", number(p->speedup_least)},
                           {"speedup_most", number(p->speedup_most)}));
    }
    return points ? OBJECT({"metric",
                            json_string(c->metric == CONVERGENCE_SCORE ? "score" : "loss")},
                           {"target", number(c->target)}, {"points", points})
                  : json_null();
}

static json_t *encode_noise(const struct noise_scale *n)
{
    return OBJECT({"critical_batch", n->measured ? number(n->critical_batch) : json_null()},
                  {"interval", n->measured ? encode_interval(&n->interval) : json_null()},
                  {"interval_over", json_string(n->over_epochs ? "epochs" : "runs")},
                  {"gpus", n->measured ? number(n->gpus) : json_null()},
                  {"why_not", json_string(n->measured ? "" : n->why_not)});
}

/* Returns the settings by their keys, or null if they are unknown. */
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
    const struct analysis_series *as = rs->as;
    const struct series *s = &as->series;
    json_t *points = json_array(), *levels = json_array();

    for (size_t i = 0; i < s->npoints; i++)
        json_array_append_new(points, encode_point(s, &s->points[i]));
    for (size_t i = 0; i < as->nlevels; i++)
        json_array_append_new(levels, encode_convergence(&as->levels[i]));
    json_t *o = OBJECT({"engine", text(s->engine)},
                       {"quality", s->has_quality ? text(s->quality) : json_null()},
                       {"study", text(rs->source->title)}, {"label", text(rs->label)},
                       {"settings", encode_settings(s->settings)},
                       {"one_epoch", json_integer(s->one_epoch)},
                       {"scaling", json_string(modes[s->mode])},
                       {"base_gpus", json_integer(s->points[0].gpus)},
                       {"efficiency_by", json_string(s->by_units ? "images" : "time")},
                       {"points", points}, {"verdict", encode_verdict(rs)},
                       {"model", encode_model(&as->steady)},
                       {"model_whole", encode_model(&as->whole)},
                       {"advice", encode_advice(&as->advice)},
                       {"convergence", encode_convergence(&as->convergence)}, {"reach", levels},
                       {"noise_scale", encode_noise(&as->noise)});

    /* only where they are not those of images */
    if (strcmp(s->unit, "images") != 0 || s->stepped)
        ADD(o, {"unit", text(s->unit)}, {"interval", json_string(series_interval(s))});
    if (s->lower)
        ADD(o, {"better", json_string("lower")});
    return o;
}

static json_t *encode_pair(const struct report *r, const struct analysis_pair *pair)
{
    json_t *list = json_array();

    for (size_t i = 0; i < pair->ndifferences; i++) {
        const struct analysis_difference *d = &pair->differences[i];
        json_array_append_new(list, ADD(add_comparison(json_object(), &d->compare),
                                        {"gpus", json_integer(d->gpus)},
                                        {"quantity", json_string(quantities[d->quantity].key)},
                                        {"ratio", encode_ratio(&d->ratio)}));
    }
    return OBJECT({"a", text(r->series[pair->a].label)}, {"b", text(r->series[pair->b].label)},
                  {"differences", list});
}

static json_t *encode_rules(const struct rule rules[RULES_COUNT])
{
    json_t *list = json_array();

    for (int i = 0; i < RULES_COUNT; i++)
        json_array_append_new(list, OBJECT({"rule", json_integer(rules[i].number)},
                                           {"text", json_string(rules[i].text)},
                                           {"state", json_string(rule_state_names[rules[i].state])},
                                           {"why", text(rules[i].why)}));
    return list;
}

static json_t *encode_run(const struct result *r)
{
    json_t *o = OBJECT({"run", text(r->run)}, {"engine", text(r->engine)},
                       {"gpus", json_integer(r->gpus)}, {"nodes", known_count((size_t)r->nodes)},
                       {"seed", json_integer(r->seed)}, {"attempt", json_integer(r->attempt)},
                       {"state", json_string(result_state_names[r->state])},
                  {"epochs", json_integer(r->epochs)}, {"first_epoch_s", number(r->first_epoch_s)},
                       {"median_epoch_s", number(r->median_epoch_s)},
                       {"training_time", number(r->training_time)},
                  {"test_time", number(r->test_time)}, {"images_per_s", number(r->units_per_s)},
                       {"loss", number(r->loss)}, {"iou", number(r->quality.iou)},
                       {"accuracy", number(r->quality.accuracy)}, {"dice", number(r->quality.dice)},
                       {"iou_own_size", number(r->quality.iou_own_size)},
                       {"hosts", *r->hosts ? text(r->hosts) : json_null()},
                       {"versions", *r->versions ? text(r->versions) : json_null()},
                       {"started", *r->started ? text(r->started) : json_null()},
                       {"log", r->log[0] ? text(r->log) : json_null()},
                  {"device", r->device[0] ? text(r->device) : json_null()}, {"note", text(r->note)},
                       {"kernels_checked", json_integer(r->kernels.checked)},
                       {"kernels_refused", text(r->kernels.refused)},
                       {"settings", encode_settings(r->settings)});

    if (!result_quality_is_share(r))
        ADD(o, {"quality", number(r->quality.value)}, {"metric", text(r->quality.metric)});
    if (r->limited == 1)
        ADD(o, {"limited", json_true()});
    return o;
}

static void append_runs(json_t *runs, const struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        json_array_append_new(runs, encode_run(&results->rows[i]));
}

/* Releases o and returns its text with a newline; NULL if o is NULL or memory ran out. */
static char *dump(json_t *o)
{
    char *json = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    struct buf b = {0};

    json_decref(o);
    if (!json)
        return NULL;
    buf_addf(&b, "%s\n", json);
    free(json);
    return buf_steal(&b);
}

char *json_encode_report(const struct report *r)
{
    json_t *series = json_array(), *runs = json_array(), *pairs = json_array();

    for (size_t i = 0; i < r->nseries; i++)
        json_array_append_new(series, encode_series(&r->series[i]));
    for (size_t i = 0; i < r->analysis.npairs; i++)
        json_array_append_new(pairs, encode_pair(r, &r->analysis.pairs[i]));
    for (size_t i = 0; i < r->nsources; i++)
        append_runs(runs, &r->sources[i].results);
    return dump(OBJECT({"schema", json_integer(SCHEMA)}, {"study", text(r->title)},
                       {"created", json_string(r->created)},
                       {"version", json_string(PACKAGE_VERSION)}, {"engines", series},
                       {"pairs", pairs}, {"rule", json_string(r->rule)},
                       {"rules", encode_rules(r->analysis.rules)},
                       {"problems", append_lines(json_array(), r->problems)}, {"runs", runs}));
}

char *json_encode_results(const char *study, const struct results *results)
{
    bool complete = results_count(results, RESULT_DONE) == results->count;
    json_t *runs = json_array();

    append_runs(runs, results);
    return dump(OBJECT({"schema", json_integer(SCHEMA)}, {"study", text(study)},
                       {"complete", json_boolean(complete)}, {"runs", runs}));
}

struct metric {
    const char *name;
    enum quantity quantity;
};

static const struct metric metrics[] = {
    {"training_time", QUANTITY_TRAINING}, {"first_epoch", QUANTITY_FIRST_EPOCH},
    {"steady_epoch", QUANTITY_STEADY_EPOCH}, {"startup", QUANTITY_STARTUP},
    {"communication", QUANTITY_COMM}, {"data_wait", QUANTITY_DATA},
    {"evaluation", QUANTITY_EVALUATION}, {NULL, QUANTITY_COUNT}};

/* Returns whether every count has a run with a value for m. */
static bool is_known(const struct series *s, const struct metric *m)
{
    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].q[m->quantity].count == 0)
            return false;
    return s->npoints > 0;
}

/* Adds a name without "->", which separates regions, and without control characters; "series" if
 * it is empty. */
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

char *json_encode_extra_p(const struct report *r)
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
    return dump(json_pack("{s:[s],s:o}", "parameters", "gpus", "measurements",
                          measurements));
}

static json_t *encode_bounds(const struct bounds *v)
{
    return isnan(v->expected) ? json_null()
                              : OBJECT({"low", json_real(v->low)},
                                       {"expected", json_real(v->expected)},
                                       {"high", json_real(v->high)});
}

static json_t *encode_link(const struct prediction_link *l)
{
    return !(l->bytes_per_s > 0) ? json_null()
                                 : OBJECT({"name", json_string(l->name)},
                                          {"bytes_per_s", json_real(l->bytes_per_s)},
                                          {"latency_s", json_real(l->latency_s)});
}

static json_t *encode_predicted(const struct prediction_point *p)
{
    return OBJECT({"gpus", json_integer(p->gpus)}, {"nodes", json_integer(p->nodes)},
                  {"step_s", encode_bounds(&p->step_s)}, {"comm_s", encode_bounds(&p->comm_s)},
                  {"epoch_s", encode_bounds(&p->epoch_s)}, {"speedup", encode_bounds(&p->speedup)},
                  {"efficiency", encode_bounds(&p->efficiency)},
                  {"measured_epoch_s", number(p->measured_epoch_s)},
                  {"extrapolated", json_boolean(p->extrapolated)});
}

json_t *json_encode_prediction(const struct prediction *p, const char *label)
{
    json_t *points = json_array();

    for (size_t i = 0; i < p->npoints; i++)
        json_array_append_new(points, encode_predicted(&p->points[i]));
    return OBJECT({"label", text(label)}, {"base_gpus", json_integer(p->base)},
                  {"largest_gpus", json_integer(p->largest)},
                  {"gpus_per_node", json_integer(p->gpus_per_node)},
                  {"linked", json_boolean(p->linked)},
                  {"gradient_bytes", json_real(p->bytes)},
                  {"norm_sums", json_integer(p->network->sums)},
                  {"base_step_s", number(p->linked ? p->step_s : NAN)},
                  {"base_batch", json_real(p->batch)},
                  {"leave_one_out_error", number(p->model.loo_error)},
                  {"scenarios", json_boolean(p->scenarios)},
                  {"within", encode_link(&p->network->within)},
                  {"between", encode_link(&p->network->between)}, {"points", points});
}
