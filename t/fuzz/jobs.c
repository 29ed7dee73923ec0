/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of task types, and the specification that they make of three nodes: cluster_spec_find and
 * cluster_spec_find_type agree on each rank's host and port, and the JSON contains the host. */
#include "src/base.h"
#include "src/cluster/cluster_spec.h"

#include "t/fuzz/fuzz.h"

static void check_rank(struct cluster_spec *s, size_t rank)
{
    struct cluster_spec_task t, u;
    struct err e = {0};
    struct buf b = {0};

    s->rank = rank;
    FUZZ_REQUIRE(cluster_spec_encode(s, &b, &e) == 0);
    FUZZ_REQUIRE(cluster_spec_find(s, rank, &t, &e) == 0);
    FUZZ_REQUIRE(cluster_spec_find_type(s, t.type, t.index, &u, &e) == 0);
    FUZZ_REQUIRE(t.host == u.host && t.port == u.port);
    FUZZ_REQUIRE(strncmp(b.data, "{\"cluster\":{", 12) == 0 && strstr(b.data, t.host));
    buf_destroy(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const int tasks[] = {3, 1, 2};
    char *text = fuzz_text(data, n);
    struct err e = {0};
    struct cluster_spec s = {.tasks = tasks, .port_base = 8888, .plane = n % 3,
                             .order = n & 8 ? CLUSTER_SPEC_TF : CLUSTER_SPEC_SLURM};
    struct buf b = {0};

    if (cluster_spec_decode_jobs(text, &s, &e)) {
        FUZZ_REQUIRE(e.code == ERR_USAGE && e.text[0]);
        free(text);
        return 0;
    }
    free(text);
    FUZZ_REQUIRE(s.njobs >= 1 && s.njobs <= CLUSTER_SPEC_JOBS_MAX);
    struct nodelist *nodes = nodelist_decode("n[10,9,1]", 3, &e);
    s.nodes = nodes;
    int rc = cluster_spec_encode(&s, &b, &e);
    FUZZ_REQUIRE(rc == 0 || e.code == ERR_PEER);
    for (size_t rank = 0; rc == 0 && rank < 6; rank++)
        check_rank(&s, rank);
    buf_destroy(&b);
    nodelist_destroy(nodes);
    return 0;
}
