/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/tables.h"

#include <math.h>
#include <string.h>

#include "launcher/collect/results/settings.h"
#include "src/buf.h"
#include "src/plural.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

tables_fill_f *const tables_of_series[] = {tables_fill_speed,       tables_fill_quality,
                                           tables_fill_parts,       tables_fill_each,
                                           tables_fill_models,
                                           tables_fill_convergence, tables_fill_levels,
                                           tables_fill_settings,    NULL};

static void add_interval_cell(struct table *t, const struct interval *i, int decimals)
{
    if (interval_is_known(i))
        table_addf(t, "%.*f..%.*f", decimals, table_round(i->low, decimals), decimals,
                   table_round(i->high, decimals));
    else
        table_addf(t, "-");
}

static void add_percent(struct table *t, double share, int decimals)
{
    if (isfinite(share))
        table_addf(t, "%.*f %%", decimals, 100 * share);
    else
        table_addf(t, "-");
}

static void add_nodes(struct table *t, const struct series_point *p)
{
    if (p->nodes)
        table_addf(t, "%d", p->nodes);
    else
        table_addf(t, "-");
}

static void add_p(struct table *t, const struct comparison *c)
{
    if (isnan(c->p_holm))
        table_addf(t, "-");
    else if (c->p_holm < 0.001)
        table_addf(t, "< 0.001");
    else
        table_addf(t, "%.3f", c->p_holm);
}

static void add_test(struct table *t, const struct comparison *c)
{
    if (c->test == COMPARE_NONE)
        table_addf(t, "-");
    else
        table_addf(t, "%s", compare_test_name(c->test));
}

static const char *method_of(const struct series *s)
{
    for (size_t i = 0; i < s->npoints; i++) {
        const struct interval *known = &series_speedup(s, &s->points[i])->interval;
        if (interval_is_known(known))
            return interval_method_name(known->method);
    }
    return NULL;
}

void tables_fill_speed(struct table *t, const struct report_series *rs)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"nodes", false}, {"runs", false}, {"first epoch s", false},
        {"steady epoch s", false}, {"95 % interval", false}, {"training s", false},
        {"speed-up total", false}, {"speed-up steady", false}, {"95 % interval", false},
        {"speed-up one epoch", false}, {"efficiency total", false}, {"efficiency steady", false},
        {"efficiency by images", false}, {"images/s", false}, {"GPU-hours", false}, {"kWh", false}};
    const struct series *s = &rs->as->series;
    const char *method = method_of(s);
    struct buf mode = {0};

    series_describe_mode(s, &mode);
    table_init(
        t, columns, COUNT(columns),
        "Speed of %s, against %d GPU%s: medians over the runs of a count. Scaling: %s. One epoch: "
        "the one of index %ld.%s%s%s",
        rs->label, s->points[0].gpus, plural(s->points[0].gpus), mode.data ? mode.data : "",
        s->one_epoch, method ? " Interval of the speed-up: " : "", method ? method : "",
        method ? "." : "");
    t->failed |= mode.failed;
    buf_destroy(&mode);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        table_addf(t, "%d", p->gpus);
        add_nodes(t, p);
        table_addf(t, "%zu", p->nruns);
        table_add_number(t, p->q[QUANTITY_FIRST_EPOCH].median, 2);
        table_add_number(t, p->q[QUANTITY_STEADY_EPOCH].median, 2);
        add_interval_cell(t, &p->q[QUANTITY_STEADY_EPOCH].interval, 2);
        table_add_number(t, p->q[QUANTITY_TRAINING].median, 1);
        table_add_number(t, p->speedup[QUANTITY_TRAINING].value, 2);
        table_add_number(t, p->speedup[QUANTITY_STEADY_EPOCH].value, 2);
        add_interval_cell(t, &p->speedup[QUANTITY_STEADY_EPOCH].interval, 2);
        table_add_number(t, p->speedup[QUANTITY_ONE_EPOCH].value, 2);
        table_add_number(t, p->efficiency[QUANTITY_TRAINING].value, 3);
        table_add_number(t, p->efficiency[QUANTITY_STEADY_EPOCH].value, 3);
        table_add_number(t, p->image_efficiency.value, 3);
        table_add_number(t, p->q[QUANTITY_RATE].median, 1);
        table_add_number(t, p->gpu_hours, p->gpu_hours < 0.1 ? 4 : 2);
        table_add_number(t, p->q[QUANTITY_ENERGY].median, 3);
    }
}

void tables_fill_quality(struct table *t, const struct report_series *rs)
{
#define QUALITY_COLUMNS(word)                         \
    {                                                 \
        {"GPUs", false},        {"runs", false},      \
        {word, false},          {"median", false},    \
        {"least", false},       {"most", false},      \
        {"change", false},      {"its interval", false}, \
        {"p (Holm)", false},    {"test", true},       \
        {"judgement", true},    {"Dice", false},      \
        {"final loss", false},  {"images per epoch", false}, \
        {"evaluation s", false}}
    static const struct table_column by_iou[] = QUALITY_COLUMNS("IoU");
    static const struct table_column by_accuracy[] = QUALITY_COLUMNS("accuracy");
    const struct series *s = &rs->as->series;
    bool classes = result_by_accuracy(&s->rows[0]);
    const struct decision *d = &rs->as->decision;

    table_init(t, classes ? by_accuracy : by_iou, COUNT(by_iou),
               "Quality of %s after the last epoch: %s is the mean over the runs of a count, "
               "change the difference from the base case's; its 95 %% interval is simultaneous "
               "over all counts. What is judged is whether that interval lies above -%.2f.",
               rs->label, s->quality, DECISION_IOU_MARGIN);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        const struct comparison none = {.p_holm = NAN, .difference = NAN};
        const struct comparison *c = i && d->iou_change ? &d->iou_change[i] : &none;
        const struct summary *iou = &p->q[QUANTITY_IOU];
        table_addf(t, "%d", p->gpus);
        table_addf(t, "%zu", p->nruns);
        table_add_number(t, iou->mean, 4);
        table_add_number(t, iou->count > 1 ? iou->median : NAN, 4);
        table_add_number(t, iou->count > 1 ? iou->min : NAN, 4);
        table_add_number(t, iou->count > 1 ? iou->max : NAN, 4);
        table_add_number(t, i ? c->difference : NAN, 4);
        if (i && d->iou_change)
            add_interval_cell(t, &c->interval, 4);
        else
            table_addf(t, "-");
        add_p(t, c);
        add_test(t, c);
        table_addf(t, "%s", i == 0 ? "base case" : d->iou ? decision_iou_name(d->iou[i]) : "-");
        table_add_number(t, classes ? NAN : p->q[QUANTITY_DICE].median, 4);
        table_add_number(t, p->q[QUANTITY_LOSS].median, 4);
        table_add_number(t, p->q[QUANTITY_IMAGES].median, 0);
        table_add_number(t, p->q[QUANTITY_EVALUATION].median, 3);
    }
}

void tables_fill_parts(struct table *t, const struct report_series *rs)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"start-up s", false}, {"first epoch s", false}, {"steady epoch s", false},
        {"communication s", false}, {"of the epoch", false}, {"data wait s", false},
        {"of the epoch", false}, {"evaluation s", false}, {"whole run s", false},
        {"speed-up", false}, {"efficiency", false}, {"shared cores", true}};
    const struct series *s = &rs->as->series;

    table_init(
        t, columns, COUNT(columns),
        "Where the time of %s goes: start of the process to its first step, epochs, evaluation; "
        "inside of a steady epoch, communication that computing did not hide and waiting for "
        "data, as rank 0 saw them. Speed-up and efficiency are those of the whole run.",
        rs->label);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        double epoch = p->q[QUANTITY_STEADY_EPOCH].median;
        table_addf(t, "%d", p->gpus);
        table_add_number(t, p->q[QUANTITY_STARTUP].median, 2);
        table_add_number(t, p->q[QUANTITY_FIRST_EPOCH].median, 2);
        table_add_number(t, epoch, 2);
        table_add_number(t, p->q[QUANTITY_COMM].median, 3);
        add_percent(t, p->q[QUANTITY_COMM].median / epoch, 0);
        table_add_number(t, p->q[QUANTITY_DATA].median, 3);
        add_percent(t, p->q[QUANTITY_DATA].median / epoch, 0);
        table_add_number(t, p->q[QUANTITY_EVALUATION].median, 2);
        table_add_number(t, p->q[QUANTITY_WHOLE].median, 1);
        table_add_number(t, p->speedup[QUANTITY_WHOLE].value, 2);
        table_add_number(t, p->efficiency[QUANTITY_WHOLE].value, 3);
        table_addf(t, "%s", p->oversubscribed ? "yes" : "-");
    }
}

/* "1.87 (0.93)" */
static void add_scaling(struct table *t, const struct series_point *p, enum quantity q)
{
    if (isfinite(p->speedup[q].value))
        table_addf(t, "%.2f (%.2f)", p->speedup[q].value, p->efficiency[q].value);
    else
        table_addf(t, "-");
}

void tables_fill_each(struct table *t, const struct report_series *rs)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"start-up", false}, {"first epoch", false}, {"one epoch", false},
        {"steady epoch", false}, {"communication", false}, {"data wait", false},
        {"evaluation", false}, {"training", false}, {"whole run", false}};
    const struct series *s = &rs->as->series;

    table_init(t, columns, COUNT(columns),
               "Speed-up of each part of %s, and in brackets its efficiency: its time with %d "
               "GPU%s over that with N, both medians over runs.",
               rs->label, s->points[0].gpus, plural(s->points[0].gpus));
    for (size_t i = 0; i < s->npoints; i++) {
        table_addf(t, "%d", s->points[i].gpus);
        for (int q = 0; q < QUANTITY_NTIMES; q++)
            add_scaling(t, &s->points[i], (enum quantity)q);
    }
}

static void add_model(struct table *t, const struct model *m, bool chosen)
{
    struct buf formula = {0};

    model_describe(m, &formula);
    table_addf(t, "%s%s", model_name(m->law), chosen ? " (chosen)" : "");
    table_addf(t, "%s", formula.data ? formula.data : "");
    t->failed |= formula.failed;
    buf_destroy(&formula);
    table_add_number(t, m->serial, 4);
    add_interval_cell(t, &m->serial_interval, 4);
    table_add_number(t, m->coherency, 5);
    add_interval_cell(t, &m->coherency_interval, 5);
    add_percent(t, m->error, 1);
    add_percent(t, m->loo_error, 1);
    table_add_number(t, m->aicc, 1);
    table_add_number(t, m->peak, 0);
}

void tables_fill_models(struct table *t, const struct report_series *rs)
{
    static const struct table_column columns[] = {
        {"model", true}, {"formula", true}, {"serial share", false}, {"95 % interval", false},
        {"coherency", false}, {"95 % interval", false}, {"error", false}, {"leave-one-out", false},
        {"AICc", false}, {"least time at", false}};

    table_init(
        t, columns, COUNT(columns),
        "Models fitted to the steady epochs of %s. Error: root mean square of relative errors; "
        "leave-one-out: the same, each count predicted from the others.",
        rs->label);
    for (int i = 0; i < MODEL_NLAWS; i++)
        if (rs->as->steady[i].fitted)
            add_model(t, &rs->as->steady[i], rs->as->steady_choice == &rs->as->steady[i]);
}

void tables_fill_convergence(struct table *t, const struct report_series *rs)
{
    static const struct table_column columns[] = {
        {"GPUs", false},          {"runs", false},
        {"reached it", false},    {"epochs", false},
        {"s per epoch", false},   {"seconds", false},
        {"epochs, times", false}, {"epochs pass, times", false},
        {"speed-up", false}};
    const struct convergence *c = &rs->as->convergence;
    const char *target = c->metric == CONVERGENCE_LOSS                     ? "a loss"
                         : result_by_accuracy(&rs->as->series.rows[0]) ? "an accuracy"
                                                                           : "an IoU";

    table_init(t, columns, COUNT(columns),
               "Time to accuracy of %s, to %s of %.4g%s: epochs it takes (what the larger batch "
               "costs) and seconds of an epoch (what the hardware gives).",
               rs->label, target, c->target,
               c->chosen ? "" : " (the best of the worst count's median run)");
    for (size_t i = 0; c->metric != CONVERGENCE_NONE && i < c->npoints; i++) {
        const struct convergence_point *p = &c->points[i];
        table_addf(t, "%d", p->gpus);
        table_addf(t, "%zu", p->nruns);
        table_addf(t, "%zu", p->nreached);
        table_add_number(t, p->epochs, 0);
        table_add_number(t, p->epoch_s, 2);
        table_add_number(t, p->seconds, 1);
        table_add_number(t, p->epochs_ratio, 2);
        table_add_number(t, p->epoch_s_ratio, 2);
        table_add_number(t, p->speedup, 2);
    }
}

void tables_fill_levels(struct table *t, const struct report_series *rs)
{
    static const struct table_column columns[] = {
        {"reach", false},   {"GPUs", false},    {"runs", false},    {"reached it", false},
        {"epochs", false},  {"seconds", false}, {"speed-up", false}, {"of images/s", false}};
    const struct analysis_series *as = rs->as;

    table_init(t, columns, COUNT(columns),
               "Time of %s until the validation's %s first was so high, against the base case's; "
               "beside it the speed-up of images per second, which knows nothing of learning.",
               rs->label, as->series.quality);
    for (size_t i = 0; i < as->nlevels; i++)
        for (size_t k = 0; k < as->levels[i].npoints; k++) {
            const struct convergence_point *p = &as->levels[i].points[k];
            table_addf(t, "%.2f", as->levels[i].target);
            table_addf(t, "%d", p->gpus);
            table_addf(t, "%zu", p->nruns);
            table_addf(t, "%zu", p->nreached);
            table_add_number(t, p->epochs, 0);
            table_add_number(t, p->seconds, 1);
            table_add_number(t, p->speedup, 2);
            table_add_number(t, as->series.points[k].image_speedup.value, 2);
        }
}

void tables_fill_settings(struct table *t, const struct report_series *rs)
{
    static const struct table_column columns[] = {{"setting", true}, {"value", true}};
    const char *text = rs->as->series.settings;
    struct setting_text s;

    table_init(t, columns, COUNT(columns),
               "Settings of %s that can change time or quality; the others have their built-in "
               "values.", rs->label);
    while (text && settings_next(&text, &s)) {
        struct buf value = {0};
        settings_add_value(&value, &s);
        table_addf(t, "%.*s", (int)s.nkey, s.key);
        table_addf(t, "%s", value.data ? value.data : "");
        t->failed |= value.failed;
        buf_destroy(&value);
    }
}

void tables_fill_short(struct table *t, const struct report_series *rs)
{
#define SHORT_COLUMNS(word)                                             \
    {                                                                   \
        {"GPUs", false},     {"runs", false},       {"epoch s", false}, \
        {"train s", false},  {"speed-up", false},   {"steady", false},  \
        {"interval", false}, {"efficiency", false}, {word, false}}
    static const struct table_column by_iou[] = SHORT_COLUMNS("IoU");
    static const struct table_column by_accuracy[] = SHORT_COLUMNS("accuracy");
    const struct series *s = &rs->as->series;

    table_init(t, result_by_accuracy(&s->rows[0]) ? by_accuracy : by_iou, COUNT(by_iou),
               "%s: speed-up of the whole training, of steady epochs, and their efficiency; %s: "
               "mean over runs", rs->label, s->quality);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct series_point *p = &s->points[i];
        table_addf(t, "%d", p->gpus);
        table_addf(t, "%zu", p->nruns);
        table_add_number(t, p->q[QUANTITY_STEADY_EPOCH].median, 2);
        table_add_number(t, p->q[QUANTITY_TRAINING].median, 1);
        table_add_number(t, p->speedup[QUANTITY_TRAINING].value, 2);
        table_add_number(t, series_speedup(s, p)->value, 2);
        add_interval_cell(t, &series_speedup(s, p)->interval, 2);
        table_add_number(t, series_efficiency(s, p)->value, 3);
        table_add_number(t, p->q[QUANTITY_IOU].mean, 4);
    }
}

void tables_fill_pair(struct table *t, const struct report *r, const struct analysis_pair *pair)
{
    static const struct table_column columns[] = {{"GPUs", false},
                                                  {"quantity", true},
                                                  {"first", false},
                                                  {"second", false},
                                                  {"second minus first", false},
                                                  {"95 % interval", false},
                                                  {"first / second", false},
                                                  {"95 % interval", false},
                                                  {"p (Holm)", false},
                                                  {"test", true},
                                                  {"significant", true}};

    table_init(t, columns, COUNT(columns),
               "%s (first) against %s (second), at each count that both ran on: means over runs; "
               "first / second is of medians.",
               r->series[pair->a].label, r->series[pair->b].label);
    for (size_t i = 0; i < pair->ndifferences; i++) {
        const struct analysis_difference *d = &pair->differences[i];
        table_addf(t, "%d", d->gpus);
        table_addf(t, "%s", series_quantity_name(&r->series[pair->a].as->series, d->quantity));
        table_add_number(t, d->compare.a, 4);
        table_add_number(t, d->compare.b, 4);
        table_add_number(t, d->compare.difference, 4);
        add_interval_cell(t, &d->compare.interval, 4);
        table_add_number(t, d->quantity == QUANTITY_IOU ? NAN : d->ratio.value, 3);
        if (d->quantity == QUANTITY_IOU)
            table_addf(t, "-");
        else
            add_interval_cell(t, &d->ratio.interval, 3);
        add_p(t, &d->compare);
        add_test(t, &d->compare);
        table_addf(t, "%s", d->compare.test <= COMPARE_IMAGES ? "too few runs"
                            : d->compare.significant          ? "yes"
                            : d->compare.enough             ? "no"
                                                            : "no (few runs)");
    }
}

void tables_add(struct buf *b, const struct report *r, tables_fill_f *const *fill,
                table_encode_f *encode)
{
    struct table t;

    for (size_t i = 0; i < r->nseries; i++)
        for (size_t k = 0; fill[k]; k++) {
            fill[k](&t, &r->series[i]);
            table_append(&t, encode, b);
        }
    for (size_t i = 0; i < r->analysis.npairs; i++) {
        tables_fill_pair(&t, r, &r->analysis.pairs[i]);
        table_append(&t, encode, b);
    }
}

void tables_fill_rules(struct table *t, const struct report *r)
{
    static const struct table_column columns[] = {
        {"rule", false}, {"asks for", true}, {"state", true}, {"why", true}};

    table_init(t, columns, COUNT(columns),
               "The twelve rules of Hoefler and Belli (\"Scientific benchmarking of parallel "
               "computing systems\", SC 2015), as this report meets them.");
    for (int i = 0; i < RULES_COUNT; i++) {
        const struct rule *rule = &r->analysis.rules[i];
        table_addf(t, "%d", rule->number);
        table_addf(t, "%s", rule->text);
        table_addf(t, "%s", rule_state_name(rule->state));
        table_addf(t, "%s", rule->why);
    }
}

void tables_fill_runs(struct table *t, const struct results *results, size_t most)
{
    static const struct table_column columns[] = {
        {"run", true}, {"engine", true}, {"GPUs", false}, {"seed", false}, {"attempt", false},
        {"state", true}, {"epochs", false}, {"training s", false}, {"quality", false},
        {"host", true},
        {"device", true}, {"note", true}};

    if (results->count > most)
        table_init(t, columns, COUNT(columns),
                   "The first %zu of %zu runs and their states; results.csv has them all.",
                   most, results->count);
    else
        table_init(t, columns, COUNT(columns),
                   "Every run, its state, and its IoU, or accuracy where images have classes.");
    for (size_t i = 0; i < results->count && i < most; i++) {
        const struct result *r = &results->rows[i];
        table_addf(t, "%s", r->run);
        table_addf(t, "%s", r->engine);
        table_addf(t, "%d", r->gpus);
        table_addf(t, "%ld", r->seed);
        table_addf(t, "%d", r->attempt);
        table_addf(t, "%s", result_state_name(r->state));
        table_addf(t, "%ld", r->epochs);
        table_add_number(t, r->training_time, 1);
        table_add_number(t, result_quality(r), 4);
        table_addf(t, "%s", r->host[0] ? r->host : "-");
        table_addf(t, "%s", r->device[0] ? r->device : "-");
        table_addf(t, "%s", r->note[0] ? r->note : "-");
    }
}
