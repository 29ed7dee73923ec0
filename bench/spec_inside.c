/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures for bench/spec the time within the process from the two texts to the JSON of all
 * addresses. `spec_inside NODELIST TASKS_PER_NODE RANK TIMES` prints the processor time of each
 * repetition in microseconds, one per line, and on stderr the bytes of the JSON. Each repetition
 * allocates and frees all its memory. */
#include "config.h"
#include "src/cluster/cluster_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/cluster/tasklist.h"

/* Processor time, so that other programs of the machine do not count. */
static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int encode_spec(const char *nodelist, const char *tasks, size_t rank, size_t *size, struct err *e)
{
    struct tasklist t = {0};
    struct buf json = {0};
    struct nodelist *nodes = nodelist_decode(nodelist, NODELIST_LIMIT, e);
    int rc = nodes ? tasklist_decode(tasks, NODELIST_LIMIT, &t, e) : -1;

    if (rc == 0) {
        struct cluster_spec s = {.nodes = nodes, .tasks = t.tasks, .rank = rank, .port_base = 8888};
        rc = cluster_spec_encode(&s, &json, e);
    }
    *size = json.length;
    buf_destroy(&json);
    tasklist_destroy(&t);
    nodelist_destroy(nodes);
    return rc;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    size_t size = 0;

    if (argc != 5) {
        fprintf(stderr, "usage: spec_inside NODELIST TASKS_PER_NODE RANK TIMES\n");
        return 2;
    }
    for (int i = 0; i < atoi(argv[4]); i++) {
        double start = cpu_now();
        if (encode_spec(argv[1], argv[2], strtoul(argv[3], NULL, 10), &size, &e)) {
            fprintf(stderr, "spec_inside: %s\n", e.text);
            return 1;
        }
        printf("%.1f\n", (cpu_now() - start) * 1e6);
    }
    fprintf(stderr, "%zu\n", size);
    return 0;
}
