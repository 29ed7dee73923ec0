/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/spec/spec_report.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/format/sha256.h"

void spec_report_hash(const char *text, char hex[65])
{
    const char *end = strstr(text, "},\"task\":{");
    struct sha256_ctx s;

    sha256_init(&s);
    sha256_add(&s, text, end ? (size_t)(end - text) : strlen(text));
    sha256_finish(&s, hex);
}

json_t *spec_report_encode(const struct spec_report *r)
{
    char nodes[400], tasks[400], hex[65];

    spec_report_hash(r->text, hex);
    snprintf(nodes, sizeof nodes, "%s=%.300s", r->nodes_name, r->nodes_text);
    snprintf(tasks, sizeof tasks, "%s=%.300s", r->tasks_name, r->tasks_text);
    return json_pack("{s:s,s:i,s:s,s:s,s:s}", "node", r->node, "port", r->port, "hash", hex,
                     "nodes", nodes, "per_node", tasks);
}

const char *spec_report_text(const json_t *report, const char *key)
{
    const char *text = json_string_value(json_object_get(report, key));

    return text ? text : "?";
}

static bool differs(const json_t *a, const json_t *b, const char *key)
{
    return !json_equal(json_object_get(a, key), json_object_get(b, key));
}

void spec_report_compare(const json_t *report, const json_t *first, spec_report_f *found, void *arg)
{
    const char *node = spec_report_text(first, "node");
    char problem[2048];

    if (differs(report, first, "nodes") || differs(report, first, "per_node")) {
        snprintf(problem, sizeof problem, "it sees another cluster: %s %s; rank 0 on %s has %s %s",
                 spec_report_text(report, "nodes"), spec_report_text(report, "per_node"), node,
                 spec_report_text(first, "nodes"), spec_report_text(first, "per_node"));
        found(arg, problem, SPEC_REPORT_ONE_STEP);
    } else if (differs(report, first, "hash")) {
        snprintf(problem, sizeof problem, "it has another specification of the same nodes: it "
                 "listens at port %lld, sha256 %.16s; rank 0 on %s has %.16s",
                 (long long)json_integer_value(json_object_get(report, "port")),
                 spec_report_text(report, "hash"), node, spec_report_text(first, "hash"));
        found(arg, problem,
              "give every rank the same --port-base, --jobs and --resolver, and the same "
              "SLURM_JOB_ID and SLURM_DISTRIBUTION");
    }
}
