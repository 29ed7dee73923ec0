/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures how long N ranks take for a rendezvous (trainer/comm/rendezvous/rendezvous.h), as
 * processes of this machine that start together: the time until the last one may continue, and rank
 * 0's processor time per rank, which does not depend on other programs of the machine.
 *
 *   make bench/rendezvous && bench/rendezvous [ROUNDS [RANKS...]]     in the build folder;
 *   result: doc/SCALING.md */
#include "src/base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "src/clock.h"
#include "src/stat.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#define MOST_ROUNDS 99
#define BLOB 128 /* the size of an ncclUniqueId */

struct outcome { double ended, cpu_s; };

static int free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(s, (struct sockaddr *)&a, sizeof a) || getsockname(s, (struct sockaddr *)&a, &length))
        exit(1);
    close(s);
    return ntohs(a.sin_port);
}

static void run_rank(struct rendezvous_config *c, int rank, int released, int results)
{
    struct rusage before, after;
    struct outcome o;
    char blob[BLOB] = "", byte;
    bool relayed;
    struct err e;

    c->rank = rank;
    if (read(released, &byte, 1) != 0) /* returns when the parent closes its end */
        _exit(1);
    getrusage(RUSAGE_SELF, &before);
    struct rendezvous *r = rendezvous_open(c, blob, sizeof blob, &relayed, &e);
    o.ended = clock_now();
    getrusage(RUSAGE_SELF, &after);
    o.cpu_s = rank ? 0
                   : (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec +
                              after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
                         1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec +
                                         after.ru_stime.tv_usec - before.ru_stime.tv_usec);
    if (!r)
        fprintf(stderr, "%s\n", e.text);
    _exit(!r || write(results, &o, sizeof o) != (ssize_t)sizeof o);
}

static struct outcome run_rendezvous(int n)
{
    const char **hosts = malloc((size_t)n * sizeof *hosts);
    int *ports = malloc((size_t)n * sizeof *ports), release[2], results[2];
    struct rendezvous_config c = {.size = n, .hosts = hosts, .ports = ports, .host = "here",
                                  .device = "", .program = "bench", .folder = ".",
                                  .timeout_s = 120};
    struct outcome o, all = {0};

    if (!hosts || !ports || pipe(release) || pipe(results))
        exit(1);
    for (int r = 0, port = free_port(); r < n; r++) {
        hosts[r] = "127.0.0.1";
        ports[r] = port;
    }
    for (int r = 0; r < n; r++) {
        if (fork() == 0) {
            close(release[1]);
            run_rank(&c, r, release[0], results[1]);
        }
    }
    sleep(1); /* until all processes wait for the start */
    double began = clock_now();
    close(release[1]);
    for (int r = 0; r < n; r++) {
        if (read(results[0], &o, sizeof o) != (ssize_t)sizeof o)
            exit(1);
        all.ended = o.ended - began > all.ended ? o.ended - began : all.ended;
        all.cpu_s += o.cpu_s;
    }
    while (wait(NULL) > 0)
        ;
    close(release[0]);
    close(results[0]);
    close(results[1]);
    free(hosts);
    free(ports);
    return all;
}

int main(int argc, char **argv)
{
    static char *usual[] = {"2", "14", "64", "256", "512"};
    int rounds = argc > 1 ? atoi(argv[1]) : 5, n = argc > 2 ? argc - 2 : 5;
    char **sizes = argc > 2 ? argv + 2 : usual;
    double wall[MOST_ROUNDS], cpu[MOST_ROUNDS];

    if (rounds < 1 || rounds > MOST_ROUNDS)
        return 2;
    printf("ranks  all met, ms: median (least..most)  rank 0's processor, us a rank: median\n");
    for (int i = 0; i < n; i++) {
        int size = atoi(sizes[i]);
        for (int r = 0; r < rounds; r++) {
            struct outcome o = run_rendezvous(size);
            wall[r] = 1e3 * o.ended;
            cpu[r] = 1e6 * o.cpu_s / size;
        }
        stat_sort(wall, (size_t)rounds);
        stat_sort(cpu, (size_t)rounds);
        printf("%5d  %8.1f (%.1f..%.1f)  %10.1f\n", size, wall[rounds / 2], wall[0],
               wall[rounds - 1], cpu[rounds / 2]);
        fflush(stdout);
    }
    return 0;
}
