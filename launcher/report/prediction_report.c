/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/prediction_report.h"

#include <math.h>
#include <stdbool.h>

#include "launcher/report/markup/escape.h"
#include "launcher/report/markup/table.h"
#include "src/plural.h"

static void add_bounds(struct table *t, const char *head, const struct bounds *v, double unit,
                       int decimals)
{
    table_addf(t, head, "%.*f", decimals, v->expected * unit);
    table_addf(t, "low..high", "%.*f..%.*f", decimals, v->low * unit, decimals, v->high * unit);
}

static void add_prediction_table(const struct prediction *p, const char *label, struct buf *b)
{
    struct table t;

    escape_format(b, escape_plain, p->scenarios ? "Scenarios, not measured: %s, from its runs on "
                                                : "Predicted, not measured: %s, from its runs on ",
                  label);
    buf_addf(b, "%d", p->base);
    if (p->largest > p->base)
        buf_addf(b, " to %d", p->largest);
    buf_addf(b, " GPU%s.\n\n", plural(p->largest));
    table_init(&t, "%s", label);
    for (size_t i = 0; i < p->npoints; i++) {
        const struct prediction_point *at = &p->points[i];
        table_addf(&t, "GPUs", "%d%s", at->gpus, at->extrapolated ? "*" : "");
        table_addf(&t, "nodes", "%d", at->nodes);
        add_bounds(&t, "step ms", &at->step_s, 1e3, 1);
        table_addf(&t, "sums ms", "%.3f..%.3f", 1e3 * at->comm_s.low, 1e3 * at->comm_s.high);
        add_bounds(&t, p->interval[0] == 'e' ? "epoch s" : "interval s", &at->epoch_s, 1, 2);
        table_add_number(&t, "measured", at->measured_epoch_s, 2);
        add_bounds(&t, "speed-up", &at->speedup, 1, 2);
        add_bounds(&t, "efficiency", &at->efficiency, 1, 3);
    }
    table_append(&t, table_encode_text, b);
}

static void add_link(struct buf *b, const struct prediction_link *l)
{
    buf_addf(b, "%s (%s: %.4g GB/s, %.3g us)", l->name, l->what, l->bytes_per_s / 1e9,
             1e6 * l->latency_s);
}

void prediction_report_explain(const struct model *m, const char *interval, int gpus_per_node,
                               struct buf *b)
{
    int largest = (int)m->largest;

    model_explain(m, interval, b);
    buf_addf(b, ". Intervals of %.0f %% are over all laws, by the evidence for each. ",
             100 * MODEL_LEVEL);
    if (m->ncounts > 2)
        buf_addf(b, "A number that is left out is predicted within %.1f %%, the largest within "
                 "%.1f %%. ", 100 * m->loo_error, 100 * m->largest_error);
    else
        buf_add(b, "Two numbers of GPUs cannot check the model: measure a third. ");
    if (largest <= gpus_per_node)
        buf_addf(b, "No measured number is on several nodes, so what a node boundary costs%s is "
                 "unknown. ", m->known.links ? " beyond the links" : "");
    buf_addf(b, "A limit, such as that of the storage, may set in beyond %d GPUs; no such limit "
             "was seen up to %d. ", largest, largest);
}

static void add_assumptions(const struct prediction *p, const struct prediction_network *n,
                            struct buf *b)
{
    bool extrapolated = false;

    buf_addf(b, "It assumes: a step of %.1f ms for %.0f %s on %d GPU%s, as measured; %.2f MB "
             "of gradients, summed once a step; %d GPU%s on a node, connected by ",
             1e3 * p->step_s, p->batch, p->unit, p->base, plural(p->base), p->bytes / 1e6,
             p->gpus_per_node, plural(p->gpus_per_node));
    add_link(b, &n->within);
    buf_add(b, " within it and by ");
    add_link(b, &n->between);
    buf_add(b, " between nodes. ");
    if (p->base > 1)
        buf_addf(b, "Speed-up and efficiency are relative to %d GPUs. ", p->base);
    if (n->sums)
        buf_addf(b, "%d sums of batch norm a step, of few bytes and never hidden. ", n->sums);
    else
        buf_add(b, "No sums of synchronised batch norm beside the measured ones (--norm-sums). ");
    buf_add(b, "Three cases of the links: the whole bandwidth, a tree, all but the last slice hidden "
               "behind backward; 80 % of the bandwidth, nothing hidden; half of it, a ring for "
               "each MiB. ");
    if (p->scenarios)
        buf_add(b, "One number of GPUs was measured, so nothing is known of what more GPUs lose. "
                   "Low, middle and high are scenarios: these cases, with a serial part of 0, 2 "
                   "and 5 % of the epoch, and GPUs that wait for the slowest, whose steps vary by "
                   "0, 1 and 3 %. Measure two more numbers for a prediction. ");
    else
        prediction_report_explain(&p->model, p->interval, p->gpus_per_node, b);
    buf_add(b, "The quality of the network that is trained is not predicted.");
    for (size_t i = 0; i < p->npoints; i++)
        extrapolated |= p->points[i].extrapolated;
    if (extrapolated)
        buf_addf(b, " * More than twice the largest number that was measured (%d): an "
                 "extrapolation that only a measurement can confirm.", p->largest);
}

void prediction_report_encode_text(const struct prediction *p,
                                   const struct prediction_network *network, const char *label,
                                   const struct text_form *form, struct buf *b)
{
    struct buf assumptions = {0};

    add_prediction_table(p, label, b);
    add_assumptions(p, network, &assumptions);
    text_wrap(b, assumptions.data ? assumptions.data : "", 0, form->columns);
    b->failed |= assumptions.failed;
    buf_destroy(&assumptions);
    buf_add(b, "\n");
}

static json_t *encode_bounds(const struct bounds *v)
{
    return json_pack("{s:f, s:f, s:f}", "low", v->low, "expected", v->expected, "high", v->high);
}

static json_t *encode_link(const struct prediction_link *l)
{
    return json_pack("{s:s, s:f, s:f}", "name", l->name, "bytes_per_s", l->bytes_per_s, "latency_s",
                     l->latency_s);
}

static json_t *known_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *encode_point(const struct prediction_point *p)
{
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "gpus", p->gpus, "nodes",
                     p->nodes,
                     "step_s", encode_bounds(&p->step_s), "comm_s", encode_bounds(&p->comm_s),
                     "epoch_s", encode_bounds(&p->epoch_s), "speedup", encode_bounds(&p->speedup),
                     "efficiency", encode_bounds(&p->efficiency), "measured_epoch_s",
                     known_or_null(p->measured_epoch_s),
                     "extrapolated", p->extrapolated);
}

json_t *prediction_report_encode_json(const struct prediction *p,
                                      const struct prediction_network *network, const char *label)
{
    const struct model *m = &p->model;
    json_t *points = json_array();

    for (size_t i = 0; i < p->npoints; i++)
        json_array_append_new(points, encode_point(&p->points[i]));
    return json_pack("{s:s, s:i, s:i, s:i, s:f, s:i, s:f, s:f, s:o, s:b, s:o, s:o, s:o}", "label",
                     label, "base_gpus", p->base, "largest_gpus", p->largest, "gpus_per_node",
                     p->gpus_per_node, "gradient_bytes", p->bytes, "norm_sums", network->sums,
                     "base_step_s", p->step_s,
                     "base_batch", p->batch, "leave_one_out_error", known_or_null(m->loo_error),
                     "scenarios", p->scenarios, "within", encode_link(&network->within), "between",
                     encode_link(&network->between), "points", points);
}
