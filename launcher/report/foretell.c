/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/foretell.h"

#include <math.h>
#include <stdlib.h>

#include "launcher/report/markup/table.h"
#include "src/plural.h"

static void add_bounds(struct table *t, const struct bounds *v, double unit, int decimals)
{
    table_addf(t, "%.*f", decimals, v->expected * unit);
    table_addf(t, "%.*f..%.*f", decimals, v->low * unit, decimals, v->high * unit);
}

static void add_point(struct table *t, const struct prediction_point *p)
{
    table_addf(t, "%d%s", p->gpus, p->extrapolated ? "*" : "");
    table_addf(t, "%d", p->nodes);
    add_bounds(t, &p->step_s, 1e3, 1);
    table_addf(t, "%.3f..%.3f", 1e3 * p->comm_s.low, 1e3 * p->comm_s.high);
    add_bounds(t, &p->epoch_s, 1, 2);
    table_add_number(t, p->measured_epoch_s, 2);
    add_bounds(t, &p->speedup, 1, 2);
    add_bounds(t, &p->efficiency, 1, 3);
}

static void add_prediction_table(const struct prediction *p, const char *label, struct buf *b)
{
    static const struct table_column columns[] = {
        {"GPUs", false}, {"nodes", false}, {"step ms", false}, {"low..high", false},
        {"sums ms", false}, {"epoch s", false}, {"low..high", false}, {"measured", false},
        {"speed-up", false}, {"low..high", false}, {"efficiency", false}, {"low..high", false}};
    struct table t;

    if (p->largest > p->base)
        buf_addf(b, "Predicted, not measured: %s, from its runs on %d to %d GPUs.\n\n", label,
                 p->base, p->largest);
    else
        buf_addf(b, "Predicted, not measured: %s, from its runs on %d GPU%s.\n\n", label, p->base,
                 plural(p->base));
    table_init(&t, columns, sizeof columns / sizeof *columns, "%s", label);
    for (size_t i = 0; i < p->npoints; i++)
        add_point(&t, &p->points[i]);
    table_append(&t, table_encode_text, b);
}

static void add_assumptions(const struct prediction *p, const struct prediction_network *n,
                            struct buf *b)
{
    buf_addf(b, "It assumes: a step of %.1f ms for %.0f images on %d GPU%s, as measured; %.2f MB "
             "of gradients, summed once a step; %d GPUs on a node, by %s (%s: %.4g GB/s, %.3g us) "
             "within it and %s (%s: %.4g GB/s, %.3g us) between nodes. ",
             1e3 * p->step_s, p->batch, p->base, plural(p->base), p->bytes / 1e6,
             p->gpus_per_node, n->within.name, n->within.what, n->within.bytes_per_s / 1e9,
             1e6 * n->within.latency_s, n->between.name, n->between.what,
             n->between.bytes_per_s / 1e9, 1e6 * n->between.latency_s);
    if (n->sums)
        buf_addf(b, "%d sums of batch norm a step, of few bytes and never hidden. ", n->sums);
    else
        buf_add(b, "No sums of synchronised batch norm beside the measured ones (--norm-sums). ");
    buf_add(b, "Low: the links as published, a tree, all but the last slice hidden behind "
            "backward. Expected: 80 % of the bandwidth, nothing hidden. High: half of it, a ring "
            "for each MiB. ");
    if (p->njitter)
        buf_addf(b, "GPUs wait for the slowest: a step's standard deviation of %.2g %% (%.2g to "
                 "%.2g), taken from %zu measured number%s. ", 100 * p->jitter.expected,
                 100 * p->jitter.low, 100 * p->jitter.high, p->njitter, plural(p->njitter));
    else
        buf_addf(b, "GPUs wait for the slowest: a step's standard deviation of %.2g %% (%.2g to "
                 "%.2g), assumed, as one number of GPUs was measured. ", 100 * p->jitter.expected,
                 100 * p->jitter.low, 100 * p->jitter.high);
    buf_add(b, "It knows nothing of shared file systems, other jobs on the network, or quality.");
    for (size_t i = 0; i < p->npoints; i++)
        if (p->points[i].extrapolated) {
            buf_addf(b, " * More than twice the largest number that was measured (%d): an "
                     "extrapolation that only a measurement can confirm.", p->largest);
            break;
        }
}

void foretell_encode_text(const struct prediction *p, const struct prediction_network *network,
                          const char *label, const struct text_form *form, struct buf *b)
{
    struct buf assumptions = {0};
    char *text;

    add_prediction_table(p, label, b);
    add_assumptions(p, network, &assumptions);
    text = buf_steal(&assumptions);
    if (text)
        text_wrap(b, text, 0, form->columns);
    else
        b->failed = true;
    free(text);
    buf_add(b, "\n");
}

static json_t *encode_bounds(const struct bounds *v)
{
    return json_pack("{s:f, s:f, s:f}", "low", v->low, "expected", v->expected, "high", v->high);
}

static json_t *encode_link(const struct link *l)
{
    return json_pack("{s:s, s:f, s:f}", "name", l->name, "bytes_per_s", l->bytes_per_s, "latency_s",
                     l->latency_s);
}

static json_t *encode_point(const struct prediction_point *p)
{
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "gpus", p->gpus, "nodes",
                     p->nodes,
                     "step_s", encode_bounds(&p->step_s), "comm_s", encode_bounds(&p->comm_s),
                     "epoch_s", encode_bounds(&p->epoch_s), "speedup", encode_bounds(&p->speedup),
                     "efficiency", encode_bounds(&p->efficiency), "measured_epoch_s",
                     isnan(p->measured_epoch_s) ? json_null() : json_real(p->measured_epoch_s),
                     "extrapolated", p->extrapolated);
}

json_t *foretell_encode_json(const struct prediction *p, const struct prediction_network *network,
                             const char *label)
{
    json_t *points = json_array();

    for (size_t i = 0; i < p->npoints; i++)
        json_array_append_new(points, encode_point(&p->points[i]));
    return json_pack("{s:s, s:i, s:i, s:i, s:f, s:i, s:f, s:f, s:o, s:b, s:o, s:o, s:o}", "label",
                     label, "base_gpus", p->base, "largest_gpus", p->largest, "gpus_per_node",
                     p->gpus_per_node, "gradient_bytes", p->bytes, "norm_sums", network->sums,
                     "base_step_s", p->step_s,
                     "base_batch", p->batch, "jitter", encode_bounds(&p->jitter), "jitter_assumed",
                     p->njitter == 0, "within", encode_link(&network->within), "between",
                     encode_link(&network->between), "points", points);
}
