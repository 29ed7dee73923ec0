/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/spec/spec_report.h"

#include "t/tap.h"

#define CLUSTER                                                                                    \
    "{\"cluster\":{\"worker\":[\"n1:8888\",\"n2:8888\"]},\"task\":{\"type\":\"worker\",\"index\":"

static struct spec_report first = {.node = "n1",
                                   .port = 8888,
                                   .text = CLUSTER "0}}",
                                   .nodes_name = "A",
                                   .nodes_text = "n[1-2]",
                                   .tasks_name = "B",
                                   .tasks_text = "1(x2)"};
static int found;
static char problem[2048], remedy[512];

static void take(void *arg, const char *what, const char *todo)
{
    found++;
    snprintf(problem, sizeof problem, "%s", what);
    snprintf(remedy, sizeof remedy, "%s", todo);
}

static void differs(const char *what, struct spec_report r, const char *part, const char *todo)
{
    json_t *a = spec_report_encode(&r), *b = spec_report_encode(&first);

    found = 0;
    *problem = *remedy = 0;
    spec_report_compare(a, b, take, NULL);
    ok(found == (*part != 0) && strstr(problem, part) && strstr(remedy, todo), "%s: %s", what,
       *problem ? problem : "(nothing)");
    json_decref(a);
    json_decref(b);
}

int main(void)
{
    char a[65], b[65];
    struct spec_report r = first;

    spec_report_hash(CLUSTER "0}}", a);
    spec_report_hash(CLUSTER "1}}", b);
    is_str(a, b, "the hash does not include the task");
    spec_report_hash("{\"cluster\":{\"worker\":[\"n1:8888\",\"n2:8889\"]},\"task\":{\"index\":0}}",
                     b);
    ok(strcmp(a, b) != 0, "the hash includes the port");
    r.node = "n2";
    r.text = CLUSTER "1}}";
    differs("the next rank", r, "", "");
    r.text = "{\"cluster\":{\"worker\":[\"n1:9000\",\"n2:9000\"]},\"task\":{\"index\":1}}";
    r.port = 9000;
    differs("another port", r, "it listens at port 9000", "--port-base");
    r.nodes_text = "n[1-3]";
    differs("another node list", r,
            "it sees another cluster: A=n[1-3] B=1(x2); rank 0 on n1 has A=n[1-2]", "one srun");
    r = first;
    r.tasks_name = "C";
    differs("another variable", r, "C=1(x2)", "one srun");
    json_t *nothing = json_object(), *mine = spec_report_encode(&first);
    found = 0;
    spec_report_compare(nothing, mine, take, NULL);
    ok(found == 1 && strstr(problem, "? ?"), "a report without contents differs: %s", problem);
    json_decref(nothing);
    json_decref(mine);
    return done_testing();
}
