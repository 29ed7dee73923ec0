/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a step on this host, for the tests of spec_view and spec_check. */
#ifndef UNETCTL_LAUNCHER_SPEC_TEST_SPEC_RANKS_H
#define UNETCTL_LAUNCHER_SPEC_TEST_SPEC_RANKS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/spec/spec_view.h"
#include "t/tap.h"

struct spec_rank {
    struct spec_source source;
    struct cluster_spec spec;
    struct buf text;
    struct spec_view view;
};

/* Returns the first of three consecutive ports that are free. */
static int free_ports(void)
{
    for (int base = 20000 + getpid() % 20000; base < 60000; base += 3) {
        int n = 0;
        for (; n < 3; n++) {
            struct sockaddr_in6 a = {.sin6_family = AF_INET6,
                                     .sin6_port = htons((uint16_t)(base + n))};
            int fd = socket(AF_INET6, SOCK_STREAM, 0);
            int rc = bind(fd, (struct sockaddr *)&a, sizeof a);
            close(fd);
            if (rc)
                break;
        }
        if (n == 3)
            return base;
    }
    bail_out("no free ports");
    return 0;
}

/* Opens a rank of a step with these tasks on host; with NULL, NULL and -1, the rank that Slurm's
 * variables describe. */
static void open_rank(struct spec_rank *r, const char *host, const char *tasks, long rank,
                      int port_base)
{
    struct spec_options o = {.nodelist = host, .tasks = tasks, .rank = rank};
    struct err e = {0};

    *r = (struct spec_rank){0};
    if (spec_source_read(&o, &r->source, &e))
        bail_out("%s", e.text);
    r->spec = (struct cluster_spec){.nodes = r->source.nodes, .tasks = r->source.tasks.tasks,
                                    .rank = r->source.rank, .port_base = port_base};
    if (cluster_spec_encode(&r->spec, &r->text, &e) ||
        spec_view_open(&r->view, &r->spec, &r->source, r->text.data, &e))
        bail_out("%s", e.text);
}

static void close_rank(struct spec_rank *r)
{
    spec_view_close(&r->view);
    buf_destroy(&r->text);
    spec_source_destroy(&r->source);
}

#endif
