/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/run/ranks/ranks.h"

#include "t/tap.h"

static void refuse_spec(const char *text, const char *want)
{
    struct spec s;
    struct err e = {0};

    ok(spec_read(text, &s, &e) == -1 && e.code == ERR_PEER && strstr(e.text, want), "refused: %s",
       e.text);
}

int main(void)
{
    struct spec s;
    struct err e = {0};

    ok(spec_read("{\"cluster\":{\"worker\":[\"n01:8888\",\"n01:8889\",\"n02:8888\"]},"
                 "\"task\":{\"type\":\"worker\",\"index\":2}}", &s, &e) == 0,
       "three workers %s", e.text);
    is_int(s.nworkers, 3, "are three");
    is_int(s.rank, 2, "this one is the last");
    is_str(s.hosts[2], "n02", "on n02");
    is_int(s.ports[1], 8889, "the second has its own port");
    spec_destroy(&s);

    ok(spec_read("{\"cluster\":{\"worker\":[\"a:1\"],\"chief\":[\"c:1\"]},"
                 "\"task\":{\"type\":\"worker\",\"index\":0}}", &s, &e) == 0 && s.rank == 1 &&
       s.nworkers == 2, "the chief comes first %s", e.text);
    is_str(s.hosts[0], "c", "its host is rank 0's");
    spec_destroy(&s);

    ok(spec_read("{\"cluster\":{\"worker\":[\"[fe80::1]:13565\"]},"
                 "\"task\":{\"type\":\"worker\",\"index\":0}}", &s, &e) == 0, "IPv6 %s", e.text);
    is_str(s.hosts[0], "fe80::1", "without its brackets");
    is_int(s.ports[0], 13565, "and its port");
    spec_destroy(&s);
    spec_destroy(NULL);

#define TASK "\"task\":{\"type\":\"worker\",\"index\":0}}"
    refuse_spec("", "not JSON");
    refuse_spec("{\"cluster\":", "not JSON");
    refuse_spec("[]", "must be an object");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\"]}}", "task: must be");
    refuse_spec("{\"environment\":\"cloud\",\"cluster\":{\"worker\":[\"a:1\"]}," TASK,
                "environment: unknown key");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\"]},\"cluster\":{}," TASK, "cluster: given twice");
    refuse_spec("{\"cluster\":{\"ps\":[\"a:1\"]}," TASK, "cluster.ps: unknown key");
    refuse_spec("{\"cluster\":{\"worker\":\"a:1\"}," TASK, "must be a list");
    refuse_spec("{\"cluster\":{\"worker\":[\"a\"]}," TASK, "entry 0 is no");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:0\"]}," TASK, "entry 0 is no");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:70000\"]}," TASK, "entry 0 is no");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\",\":1\"]}," TASK, "entry 1 is no");
    refuse_spec("{\"cluster\":{\"worker\":[7]}," TASK, "entry 0 is no");
    refuse_spec("{\"cluster\":{}," TASK, "task.index: 0, but the cluster has 0");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"ps\",\"index\":0}}",
                "task.type: 'ps' does not train");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"worker\",\"index\":1}}",
                "task.index: 1, but the cluster has 1");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"worker\",\"index\":-1}}",
                "task.index");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"worker\",\"index\":0.5}}",
                "task.index");
    refuse_spec("{\"cluster\":{\"worker\":[\"a:1\"]},\"task\":{\"type\":\"worker\",\"index\":\"0\"}}",
                "numeric \"index\"");
    return done_testing();
}
