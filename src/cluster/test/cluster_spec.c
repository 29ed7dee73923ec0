/* SPDX-License-Identifier: BSD-3-Clause */
/* The expectations for CLUSTER_SPEC_TF are those of TensorFlow's slurm_cluster_resolver_test.py and
 * of the resolver's README. */
#include "src/base.h"
#include "src/cluster/cluster_spec.h"

#include "src/cluster/nodelist.h"
#include "t/tap.h"

/* The arguments of the cases below; a zero means that the argument is not given. */
struct input {
    const char *nodes, *tasks, *jobs;
    size_t rank;
    int port_base;
    enum cluster_spec_order order;
    int gpus_per_node, gpus_per_task, plane;
    const char *suffix;
};

#define IN(n, t, ...) (struct input){.nodes = n, .tasks = t, __VA_ARGS__}

/* Returns the specification or the error, which the caller frees. */
static char *encoded(const struct input *in)
{
    struct err e = {0};
    struct buf b = {0};
    struct tasklist tasks = {0};
    struct cluster_spec s = {.rank = in->rank, .port_base = in->port_base ? in->port_base : 8888,
                             .order = in->order, .gpus_per_node = in->gpus_per_node,
                             .gpus_per_task = in->gpus_per_task, .plane = in->plane,
                             .host_suffix = in->suffix};
    struct nodelist *nodes = nodelist_decode(in->nodes, NODELIST_LIMIT, &e);
    int rc = nodes ? tasklist_decode(in->tasks, NODELIST_LIMIT, &tasks, &e) : -1;

    s.nodes = nodes;
    s.tasks = tasks.tasks;
    if (rc == 0 && in->jobs)
        rc = cluster_spec_decode_jobs(in->jobs, &s, &e);
    if (rc == 0)
        rc = cluster_spec_encode(&s, &b, &e);
    nodelist_destroy(nodes);
    tasklist_destroy(&tasks);
    if (rc) {
        buf_destroy(&b);
        buf_addf(&b, "%d: %s", e.code, e.text);
    }
    return buf_steal(&b);
}

static void gives(const char *what, struct input in, const char *want)
{
    char *got = encoded(&in);
    is_str(got, want, "%s", what);
    free(got);
}

static void refuses(const char *what, struct input in, const char *want)
{
    char *got = encoded(&in);
    if (!ok(got && strstr(got, want), "%s", what))
        printf("# got '%s', want '%s'\n", got, want);
    free(got);
}

#define W "{\"cluster\":{\"worker\":["
#define T3 "t02n13,t02n41,t02n43"
#define PS_AND_2                                                                                   \
    "{\"cluster\":{\"ps\":[\"t02n13:8888\"],\"worker\":[\"t02n41:8888\",\"t02n43:8888\"]},"

static void other_forms(void)
{
    struct cluster_spec spec = {.rank = 3, .port_base = 7000, .host_suffix = "i"};
    struct tasklist tasks;
    struct buf b = {0};
    struct err e = {0};

    struct nodelist *nodes = nodelist_decode("jw[9-11]", 100, &e);
    if (!nodes || tasklist_decode("2,1(x2)", 100, &tasks, &e))
        bail_out("%s", e.text);
    spec.nodes = nodes;
    spec.tasks = tasks.tasks;
    ok(cluster_spec_encode(&spec, &b, &e) == 0, "a suffix is added to hosts");
    is_str(b.data,
           W "\"jw9i:7000\",\"jw9i:7001\",\"jw10i:7000\",\"jw11i:7000\"]},\"task\":{\"type\":"
                     "\"worker\",\"index\":3}}", "every address has it");
    buf_destroy(&b);
    ok(cluster_spec_encode_env(&spec, &b, &e) == 0, "variables are encoded");
    is_str(b.data, "RANK=3\nWORLD_SIZE=4\nLOCAL_RANK=0\nLOCAL_WORLD_SIZE=1\nGROUP_RANK=2\n"
                   "MASTER_ADDR=jw9i\nMASTER_PORT=7000", "the variables of the last rank");
    buf_destroy(&b);
    spec.rank = 1;
    ok(cluster_spec_encode_env(&spec, &b, &e) == 0, "the variables of rank 1 are encoded");
    is_str(b.data, "RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nLOCAL_WORLD_SIZE=2\nGROUP_RANK=0\n"
                   "MASTER_ADDR=jw9i\nMASTER_PORT=7000", "rank 1 is the second on the first node");
    buf_destroy(&b);
    spec.rank = 4;
    ok(cluster_spec_encode_env(&spec, &b, &e) == -1 && e.code == ERR_PEER,
       "a rank that is too large is refused");
    buf_destroy(&b);
    nodelist_destroy(nodes);
    tasklist_destroy(&tasks);
}

static void slurm_order(void)
{
    gives("one task", IN("n1", "1"), W "\"n1:8888\"]},\"task\":{\"type\":\"worker\",\"index\":0}}");
    gives("3 GPUs on nodes of 2", IN("node[1-2]", "2,1", .rank = 2),
          W "\"node1:8888\",\"node1:8889\",\"node2:8888\"]},\"task\":{\"type\":\"worker\","
            "\"index\":2}}");
    gives("the order of the list is kept", IN("n[3,1]", "1(x2)", .port_base = 13565),
          W "\"n3:13565\",\"n1:13565\"]},\"task\":{\"type\":\"worker\",\"index\":0}}");
    gives("the last ports", IN("n1", "2", .port_base = 65534),
          W "\"n1:65534\",\"n1:65535\"]},\"task\":{\"type\":\"worker\",\"index\":0}}");
    gives("jobs in the order in which they are written",
          IN(T3, "1(x3)", .jobs = "worker=2,ps=1", .rank = 2),
          "{\"cluster\":{\"worker\":[\"t02n13:8888\",\"t02n41:8888\"],\"ps\":[\"t02n43:8888\"]},"
          "\"task\":{\"type\":\"ps\",\"index\":0}}");
    gives("chief, ps, worker, evaluator share nodes",
          IN("n[1-2]", "3,1", .jobs = "chief:1,ps:1,worker:1,evaluator:1", .rank = 3),
          "{\"cluster\":{\"chief\":[\"n1:8888\"],\"ps\":[\"n1:8889\"],\"worker\":[\"n1:8890\"],"
          "\"evaluator\":[\"n2:8888\"]},\"task\":{\"type\":\"evaluator\",\"index\":0}}");
    gives("a job without tasks", IN("n1", "1", .jobs = "ps:0,worker:1"),
          "{\"cluster\":{\"ps\":[],\"worker\":[\"n1:8888\"]},"
          "\"task\":{\"type\":\"worker\",\"index\":0}}");
    gives("a suffix of hosts", IN("jwb[1-2]", "2,1", .suffix = "i.juwels"),
          W "\"jwb1i.juwels:8888\",\"jwb1i.juwels:8889\",\"jwb2i.juwels:8888\"]},"
            "\"task\":{\"type\":\"worker\",\"index\":0}}");
    refuses("two chiefs", IN("n[1-2]", "1,1", .jobs = "chief:2"),
            "5: requested 2 tasks of type chief; TensorFlow takes one");
    refuses("a rank too large", IN("n1", "2", .rank = 2), "5: rank 2: there are 2 tasks");
    refuses("a node twice", IN("n1,n2,n1", "1(x3)"), "5: node n1 is listed twice");
    refuses("ports beyond 65535", IN("n1", "3", .port_base = 65534), "5: 3 tasks on a node need "
            "ports from 65534 to 65536");
}

/* The places that srun -N3 -n7 gave to ranks on nodes of 4 cores of a real Slurm. */
static void distributions(void)
{
    static const char *const nodes = "n[1-3]", *const tasks = "4,2,1";
    static const char end[] = "]},\"task\":{\"type\":\"worker\",\"index\":0}}";
    static const struct {
        int plane;
        const char *want;
    } cases[] = {
        {0, "\"n1:1\",\"n1:2\",\"n1:3\",\"n1:4\",\"n2:1\",\"n2:2\",\"n3:1\""},
        {1, "\"n1:1\",\"n2:1\",\"n3:1\",\"n1:2\",\"n2:2\",\"n1:3\",\"n1:4\""},
        {2, "\"n1:1\",\"n1:2\",\"n2:1\",\"n2:2\",\"n3:1\",\"n1:3\",\"n1:4\""},
        {3, "\"n1:1\",\"n1:2\",\"n1:3\",\"n2:1\",\"n2:2\",\"n3:1\",\"n1:4\""},
        {2147483647, "\"n1:1\",\"n1:2\",\"n1:3\",\"n1:4\",\"n2:1\",\"n2:2\",\"n3:1\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[200];
        snprintf(want, sizeof want, W "%s%s", cases[i].want, end);
        gives("a distribution", IN(nodes, tasks, .port_base = 1, .plane = cases[i].plane), want);
    }
}

static void tf_order(void)
{
    static const char two[] =
        "{\"cluster\":{\"worker\":[\"t02n13:8888\",\"t02n13:8889\",\"t02n41:8888\","
        "\"t02n41:8889\"]},\"task\":{\"type\":\"worker\",\"index\":3}}";

    gives("SimpleRetrievalFromEnv",
          IN(T3, "1(x3)", .order = CLUSTER_SPEC_TF, .gpus_per_node = 1, .gpus_per_task = 1),
          W "\"t02n13:8888\",\"t02n41:8888\",\"t02n43:8888\"]},\"task\":{\"type\":\"worker\","
            "\"index\":0}}");
    gives("SimpleSuccessfulRetrieval",
          IN(T3, "1(x3)", .jobs = "ps:1,worker:2", .order = CLUSTER_SPEC_TF, .gpus_per_node = 1,
             .gpus_per_task = 1),
          PS_AND_2 "\"task\":{\"type\":\"ps\",\"index\":0}}");
    gives("SimpleMasterRetrieval", IN(T3, "1(x3)", .jobs = "ps:1,worker:2", .rank = 2,
          .order = CLUSTER_SPEC_TF), PS_AND_2 "\"task\":{\"type\":\"worker\",\"index\":1}}");
    gives("README, 2 nodes x 2 tasks x 4 GPUs", IN("t02n13,t02n41", "2(x2)", .rank = 3,
          .order = CLUSTER_SPEC_TF, .gpus_per_node = 4, .gpus_per_task = 2), two);
    gives("hosts are sorted by name", IN("t02n41,t02n13", "2(x2)", .rank = 3,
          .order = CLUSTER_SPEC_TF), two);
    gives("README, port 1337", IN("t02n13,t02n41", "2(x2)", .jobs = "ps:1,worker:3", .rank = 1,
          .port_base = 1337, .order = CLUSTER_SPEC_TF),
          "{\"cluster\":{\"ps\":[\"t02n13:1337\"],\"worker\":[\"t02n13:1338\",\"t02n41:1337\","
          "\"t02n41:1338\"]},\"task\":{\"type\":\"worker\",\"index\":0}}");
    gives("sorting takes the tasks along, and n10 before n9", IN("n[9-10]", "2,1",
          .order = CLUSTER_SPEC_TF),
          W "\"n10:8888\",\"n9:8888\",\"n9:8889\"]},\"task\":{\"type\":\"worker\",\"index\":0}}");
    gives("no GPUs at all", IN("n1", "1", .order = CLUSTER_SPEC_TF, .gpus_per_node = 0),
          W "\"n1:8888\"]},\"task\":{\"type\":\"worker\",\"index\":0}}");
    refuses("more GPUs than a node has",
            IN("n[1-2]", "2(x2)", .order = CLUSTER_SPEC_TF, .gpus_per_node = 3, .gpus_per_task = 2),
            "5: requested more GPUs per node than available");
    refuses("jobs that do not add up",
            IN(T3, "1(x3)", .jobs = "ps:1,worker:3", .order = CLUSTER_SPEC_TF),
            "5: requested 4 tasks but 3 were assigned");
}

static void jobs(void)
{
    static const char *const bad[] = {
        "", "ps", "ps:", "ps:-1", "ps:x", ":1", "ps:1,", "ps:1;worker:2", "p\"s:1", "ps:1 ",
            "ps:=1",
        "ps:99999999999", "ps:1,ps:2", "a_name_of_more_than_thirty_one_bytes:1"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuses(bad[i], IN(T3, "1(x3)", .jobs = bad[i]), "2: jobs");
}

/* Checks that find and encode agree on each rank of 7, for several distributions, both orders of
 * nodes and two lists of jobs. */
static void find(void)
{
    int tasks[] = {4, 2, 1}, wrong = 0;
    struct err e = {0};
    struct nodelist *nodes = nodelist_decode("n[3,1,2]", 10, &e);
    struct cluster_spec s = {.nodes = nodes, .tasks = tasks, .port_base = 8888};
    struct cluster_spec_task t, u;
    char want[80];

    for (int i = 0; i < 32; i++) {
        s.plane = i % 4;
        s.order = i & 4 ? CLUSTER_SPEC_TF : CLUSTER_SPEC_SLURM;
        cluster_spec_decode_jobs(i & 8 ? "worker:3,ps:4" : "worker:7", &s, &e);
        for (s.rank = 0; s.rank < 7; s.rank++) {
            struct buf b = {0};
            if (cluster_spec_find(&s, s.rank, &t, &e) || cluster_spec_encode(&s, &b, &e)) {
                wrong++;
                continue;
            }
            snprintf(want, sizeof want, "\"task\":{\"type\":\"%s\",\"index\":%zu}}", t.type,
                     t.index);
            wrong += !strstr(b.data, want);
            const char *at = strstr(b.data, t.type) + strlen(t.type) + 3;
            for (size_t k = 0; k < t.index; k++)
                at = strchr(at, ',') + 1;
            snprintf(want, sizeof want, "\"%s:%d\"", t.host, t.port);
            wrong += strncmp(at, want, strlen(want)) != 0 || t.port != 8888 + t.slot;
            wrong += cluster_spec_find_type(&s, t.type, t.index, &u, &e) || u.host != t.host ||
                     u.slot != t.slot;
            buf_destroy(&b);
        }
    }
    is_int(wrong, 0, "find and encode agree on 224 tasks");
    ok(cluster_spec_find(&s, 7, &t, &e) && strstr(e.text, "rank 7"),
       "a rank that is too large is refused: %s",
       e.text);
    ok(cluster_spec_find_type(&s, "ps", 4, &t, &e) && e.code == ERR_USAGE,
       "a fifth ps is refused: %s",
       e.text);
    ok(cluster_spec_find_type(&s, "chief", 0, &t, &e) && e.code == ERR_USAGE,
       "a chief that does not exist is refused: %s",
       e.text);
    nodelist_destroy(nodes);
}

static void too_many(void)
{
    refuses("more tasks than fit in memory", IN("n[1-1000000]", "65536(x1000000)"),
            "5: there are more than 4194304 tasks");
}

/* Checks every address of 10000 nodes with 8 tasks each. */
static void many(void)
{
    char *text = encoded(&IN("node[00001-10000]", "8(x10000)", .rank = 79999));
    size_t wrong = 0;
    char want[32];
    const char *p = text + strlen(W);

    for (int i = 0; i < 80000; i++) {
        int n = snprintf(want, sizeof want, "\"node%05d:%d\"%s", i / 8 + 1, 8888 + i % 8,
                         i < 79999 ? "," : "");
        wrong += strncmp(p, want, (size_t)n) != 0;
        p += n;
    }
    is_int(wrong, 0, "each of 80000 addresses is right");
    is_str(p, "]},\"task\":{\"type\":\"worker\",\"index\":79999}}",
           "the specification ends with the task");
    free(text);
}

int main(void)
{
    slurm_order();
    other_forms();
    tf_order();
    distributions();
    jobs();
    find();
    many();
    too_many();
    return done_testing();
}
