/* SPDX-License-Identifier: BSD-3-Clause */
/* Three ranks as processes connected by lifelines. One fails, is killed, stopped or slow; or all
 * leave without a fault, or wait in the same collective. */
#include "src/base.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "src/clock.h"
#include "src/cluster/connection.h"
#include "t/port.h"

#define N 3

enum trouble { NONE, KILLED, STOPPED, SLOW, FAILED, STUCK };

struct outcome {
    bool relayed, called;
    int rc;
    struct err e;
    double seconds;
};

static const char *hosts[N] = {"n00", "n01", "n02"};
static struct outcome got[N];

static void note_loss(void *arg, const char *host, const struct err *e)
{
    (void)host, (void)e;
    *(bool *)arg = true;
}

static int free_port(void)
{
    int s = listener_open(NULL, 0), port = port_of(s);

    close(s);
    return port;
}

static struct lifeline *connect_ranks(int rank, int port, bool *called)
{
    const char *addresses[N] = {"127.0.0.1", "127.0.0.1", "127.0.0.1"};
    struct rendezvous_config c = {.rank = rank, .size = N, .hosts = addresses,
                                  .ports = (int[]){port, port, port}, .host = hosts[rank],
                                  .device = "", .program = "test", .folder = "/nowhere",
                                  .timeout_s = 20};
    bool relayed;
    struct err e;
    struct rendezvous *r = rendezvous_open(&c, NULL, 0, &relayed, &e);
    struct lifeline *l = r ? lifeline_open(r, hosts, note_loss, called, &e) : NULL;

    if (!l)
        fprintf(stderr, "%s\n", e.text);
    return l;
}

/* What the victim does after its first collective: the given trouble, or nothing for NONE and
 * STUCK. With STUCK there is no victim: all ranks wait in the same collective. */
static void cause_trouble(struct lifeline *l, enum trouble trouble)
{
    struct err e;

    switch (trouble) {
    case NONE:
    case STUCK: break;
    case KILLED: raise(SIGKILL); break;
    case STOPPED: raise(SIGSTOP); break;
    case SLOW: clock_sleep(20); break;
    case FAILED:
        err_set(&e, ERR_DATA, "image 7 is broken");
        lifeline_fail(l, &e);
        clock_sleep(1);
        break;
    }
}

static void run_rank(int rank, int port, enum trouble trouble, int victim, int results)
{
    struct outcome o = {0};
    struct lifeline *l = connect_ranks(rank, port, &o.called);

    if (!l)
        _exit(1);
    lifeline_count(l);
    if (rank == victim)
        cause_trouble(l, trouble);
    else if (trouble != NONE)
        lifeline_count(l);
    double began = clock_now();
    double most = trouble == STUCK ? 2 : 15;
    bool asks = trouble == STOPPED || trouble == SLOW || trouble == STUCK;
    while (o.rc == 0 && trouble != NONE && rank != victim && clock_now() < began + most) {
        o.rc = lifeline_check(l, &o.relayed, &o.e);
        if (o.rc == 0 && asks && clock_now() > began + 0.3)
            o.rc = lifeline_ask(l, &o.relayed, &o.e);
        clock_sleep(0.01);
    }
    o.seconds = clock_now() - began;
    lifeline_close(l);
    _exit(write(results, &o, sizeof o) != (ssize_t)sizeof o);
}

static void run_case(enum trouble trouble, int victim)
{
    int port = free_port(), ends[N][2];
    pid_t processes[N];

    for (int r = 0; r < N; r++) {
        if (pipe(ends[r]))
            bail_out("no pipe");
        processes[r] = fork();
        if (processes[r] == 0)
            run_rank(r, port, trouble, victim, ends[r][1]);
        close(ends[r][1]);
    }
    for (int r = 0; r < N; r++) {
        if (r == victim)
            continue;
        if (read(ends[r][0], &got[r], sizeof got[r]) != (ssize_t)sizeof got[r])
            got[r] = (struct outcome){.e = {.text = "it said nothing"}};
    }
    for (int r = 0; r < N; r++) {
        close(ends[r][0]);
        if (r == victim)
            kill(processes[r], SIGKILL);
        waitpid(processes[r], NULL, 0);
    }
}

static bool heard(int rank, int code, const char *text)
{
    const struct outcome *o = &got[rank];

    if (o->rc && o->e.code == code && strstr(o->e.text, text) && o->seconds < 12)
        return true;
    printf("# rank %d after %.1f s: code %d, %s\n", rank, o->seconds, o->e.code, o->e.text);
    return false;
}

int main(void)
{
    run_case(NONE, -1);
    ok(!got[0].called && !got[1].called && !got[2].called,
       "a rank that leaves without a fault is not lost");
    run_case(KILLED, 2);
    ok(heard(0, ERR_PEER, "rank 2 on n02 is gone") && !got[0].relayed && got[0].called,
       "a rank is killed: %s", got[0].e.text);
    ok(heard(1, ERR_PEER, "rank 2 on n02 is gone") && got[1].relayed, "all hear it");
    run_case(KILLED, 0);
    ok(heard(1, ERR_PEER, "rank 0 on n00 is gone") && heard(2, ERR_PEER, "rank 0 on n00"),
       "rank 0 is killed: %s", got[1].e.text);
    run_case(STOPPED, 1);
    ok(heard(0, ERR_PEER, "rank 1 on n01: no answer") &&
       heard(2, ERR_PEER, "rank 1 on n01: no answer"), "a rank is stopped: %s", got[0].e.text);
    run_case(STOPPED, 0);
    ok(heard(1, ERR_PEER, "rank 0 on n00: no answer") && heard(2, ERR_PEER, "rank 0 on n00"),
       "rank 0 is stopped: %s", got[1].e.text);
    run_case(SLOW, 1);
    ok(heard(0, ERR_PEER, "rank 1 on n01: alive, but slow or stuck") &&
       heard(2, ERR_PEER, "has not reached collective 2"), "a rank is slow: %s", got[0].e.text);
    run_case(SLOW, 0);
    ok(heard(1, ERR_PEER, "rank 0 on n00: alive, but slow or stuck"), "rank 0 is slow: %s",
       got[1].e.text);
    run_case(STUCK, -1);
    ok(got[0].rc == 0 && got[1].rc == 0 && got[2].rc == 0 && got[1].seconds > 2,
       "no rank is blamed if all wait in the same collective%s%s", got[1].rc ? ": " : "",
       got[1].e.text);
    run_case(FAILED, 1);
    ok(heard(0, ERR_DATA, "rank 1 on n01: image 7 is broken") && got[0].relayed &&
       heard(2, ERR_DATA, "rank 1 on n01: image 7 is broken"), "a rank fails: %s", got[0].e.text);
    return done_testing();
}
