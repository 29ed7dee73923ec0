/* SPDX-License-Identifier: BSD-3-Clause */
/* Links, ranks and nodes that are slow are named, and no others; damaged files are refused. */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include "t/tap.h"

/* Ranks 0 to 2n - 1 on n nodes. A link has 10 GB/s within a node and 5 GB/s between nodes, times
 * the factors of both its ranks and that of its pair. */
static json_t *measure(int nranks, const double *factors, int slow_a, int slow_b)
{
    json_t *hosts = json_array(), *links = json_array(), *small = json_array();
    char host[16];

    for (int i = 0; i < nranks; i++) {
        snprintf(host, sizeof host, "n%d", i / 2);
        json_array_append_new(hosts, json_string(host));
        for (int j = 0; j < i; j++) {
            double speed = (i / 2 == j / 2 ? 10e9 : 5e9) * (factors ? factors[i] * factors[j] : 1);
            if (i == slow_a && j == slow_b)
                speed *= 0.3;
            speed *= 1 + 0.1 * ((i * 7 + j * 3) % 5 - 2) / 2; /* up to 10 % around it */
            json_array_append_new(links, json_pack("[i,i,f]", j, i, 128e6 / speed));
            json_array_append_new(small, json_pack("[i,i,f]", j, i, i / 2 == j / 2 ? 2e-6 : 8e-6));
        }
    }
    return json_pack("{s:i,s:s,s:o,s:[{s:i,s:f,s:o},{s:i,s:f,s:o}],s:[s]}", "schema", 1, "comm",
                     "mpi", "hosts", hosts, "sizes", "bytes", 1000, "sum_s", 1e-5, "links", small,
                     "bytes", 128000000, "sum_s", 0.1, "links", links, "left_out",
                     "exchanges with 268435456 bytes");
}

static char slow_node[16]; /* by judge: the first, or "" */

/* Returns the warnings as one text; releases measured. */
static const char *judge(json_t *measured)
{
    static char text[4096];
    struct findings f = {0};
    json_t *slow = json_array();

    bandwidth_judge(measured, &f, slow);
    snprintf(slow_node, sizeof slow_node, "%s",
             json_array_size(slow) ? json_string_value(json_array_get(slow, 0)) : "");
    json_decref(slow);
    *text = 0;
    for (size_t i = 0; i < f.count; i++)
        if (f.list[i].level != FINDING_OK)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s|", f.list[i].text);
    findings_destroy(&f);
    json_decref(measured);
    return text;
}

static void test_judge(void)
{
    double rank[14], node[14];

    for (int i = 0; i < 14; i++) {
        rank[i] = i == 5 ? 0.2 : 1;
        node[i] = i / 2 == 3 ? 0.2 : 1;
    }
    is_str(judge(measure(14, NULL, -1, -1)), "", "equal links: nothing is slow");
    const char *text = judge(measure(14, rank, -1, -1));
    ok(strstr(text, "rank 5 on n2 is slow"), "a slow rank is named");
    ok(!strstr(text, "rank 4") && !strstr(text, "node n") && !strstr(text, "link"),
       "its peers are not");
    is_str(slow_node, "", "no node is slow");
    text = judge(measure(14, node, -1, -1));
    ok(strstr(text, "node n3 is slow") && !strstr(text, "rank 6") && !strstr(text, "link"),
       "a slow node is named, and not its ranks");
    is_str(slow_node, "n3", "it is the only one in the list");
    text = judge(measure(14, NULL, 9, 4));
    ok(strstr(text, "the link of rank 4 on n2 and rank 9 on n4 is slow") &&
           !strstr(text, "node n"), "a slow link is named");
    text = judge(measure(6, rank + 1, -1, -1));
    ok(strstr(text, "rank 4 on n2 is slow") && !strstr(text, "rank 5"), "one of 6 ranks is named");
    is_str(judge(measure(2, NULL, -1, -1)), "", "two ranks have no peers to be compared with");
}

static void test_links(void)
{
    struct bandwidth_link l[BANDWIDTH_KINDS];
    json_t *measured = measure(8, NULL, -1, -1);

    bandwidth_links(measured, l);
    ok(l[0].bytes_per_s > 9e9 && l[0].bytes_per_s < 11e9 && l[1].bytes_per_s > 4.5e9 &&
           l[1].bytes_per_s < 5.5e9, "the bandwidth is that of the largest messages");
    ok(l[0].latency_s > 1e-6 && l[0].latency_s < 3e-6 && l[1].latency_s > 7e-6 &&
           l[1].latency_s < 9e-6, "the latency is that of the smallest");
    json_decref(measured);
    measured = json_pack("{s:[s,s,s,s],s:[{s:i,s:f,s:[]},{s:i,s:f,s:[]}]}", "hosts", "a", "a", "a",
                         "a", "sizes", "bytes", 1000, "sum_s", 4e-6, "links", "bytes", 1000000,
                         "sum_s", 1e-3, "links");
    bandwidth_links(measured, l);
    ok(l[0].bytes_per_s > 1.49e9 && l[0].bytes_per_s < 1.51e9 && l[0].latency_s > 0.9e-6 &&
           l[0].latency_s < 1.1e-6 && l[1].bytes_per_s == 0,
       "shared memory: from the sums, and nothing between nodes");
    json_decref(measured);
}

static void test_read(void)
{
    static const char *const bad[] = {
        "", "[]", "{'schema':1}", "{'schema':1,'hosts':['a'],'sizes':[{'bytes':1}]}",
        "{'schema':1,'hosts':['a','b'],'sizes':[]}",
        "{'schema':1,'hosts':['a','b'],'sizes':[{'bytes':0}]}",
        "{'schema':1,'hosts':['a','b'],'sizes':[{'bytes':1,'links':[[0,2,1]]}]}",
        "{'schema':1,'hosts':['a','b'],'sizes':[{'bytes':1,'links':[[0,0,1]]}]}",
        "{'schema':1,'hosts':['a','b'],'sizes':[{'bytes':1,'links':[[0,1,0]]}]}",
        "{'schema':1,'hosts':['a',2],'sizes':[{'bytes':1}]}",
        "{'schema':7,'hosts':['a','b'],'sizes':[{'bytes':1}]}",
    };
    struct err e;

    ok(!bandwidth_read(".", &e) && e.code == ERR_DATA, "a missing file is refused");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s", bad[i]);
        for (char *p = text; *p; p++)
            *p = *p == '\'' ? '"' : *p;
        FILE *f = fopen(BANDWIDTH_FILE, "w");
        fputs(text, f);
        fclose(f);
        json_t *read = bandwidth_read(".", &e);
        ok(!read && e.code == ERR_DATA, "refused: %s", bad[i]);
        json_decref(read);
    }
    json_t *measured = measure(4, NULL, -1, -1);
    json_dump_file(measured, BANDWIDTH_FILE, 0);
    json_t *read = bandwidth_read(".", &e);
    ok(read && json_equal(read, measured), "a whole file is read");
    json_decref(read);
    json_decref(measured);
    unlink(BANDWIDTH_FILE);
}

int main(void)
{
    test_judge();
    test_links();
    test_read();
    return done_testing();
}
