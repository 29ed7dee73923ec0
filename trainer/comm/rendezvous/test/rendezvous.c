/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks as processes that meet or fail to meet: a case starts some or all of them, may break
 * something, and checks the results of ranks. */
#include "config.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/clock.h"
#include "t/port.h"

#define MOST 64

static int port;
static const char *hosts[MOST];
static int ports[MOST];

struct outcome {
    bool came, relayed;
    int rc;
    struct err e;
    char blob[16];
    double seconds;
};

struct rank {
    struct rendezvous_config c;
    double delay_s; /* before the rank starts */
    double leave_s; /* time after which the rank is killed; 0 for never */
    pid_t process;
    int pipe;
    struct outcome got;
};

static struct rank ranks[MOST];

static struct sockaddr_in address(int of_port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)of_port),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int listener(int at_port)
{
    struct sockaddr_in a = address(at_port);
    int s = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 8))
        bail_out("no port");
    return s;
}

static int free_port(void)
{
    int s = listener(0), at_port = port_of(s);

    close(s);
    return at_port;
}

/* Sets up n ranks that agree; a case then changes some of them. */
static void set_up_ranks(int n, double timeout_s)
{
    port = free_port();
    for (int r = 0; r < n; r++) {
        hosts[r] = "127.0.0.1";
        ports[r] = port + r;
        ranks[r] = (struct rank){.c = {.rank = r, .size = n, .hosts = hosts, .ports = ports,
                                       .host = "here", .device = "", .program = "unet-train 1",
                                       .plan = 7, .timeout_s = timeout_s}};
    }
}

static void run_rank(struct rank *r)
{
    struct outcome o = {.came = true};
    double began;

    clock_sleep(r->delay_s);
    if (r->leave_s > 0 && fork() == 0) {
        clock_sleep(r->leave_s);
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    began = clock_now();
    strcpy(o.blob, r->c.rank == 0 ? "of rank 0" : "");
    struct rendezvous *v = rendezvous_open(&r->c, o.blob, sizeof o.blob, &o.relayed, &o.e);
    o.rc = v ? 0 : -1;
    o.seconds = clock_now() - began;
    _exit(write(r->pipe, &o, sizeof o) != (ssize_t)sizeof o); /* closes what v holds */
}

static void start_ranks(struct rank *r)
{
    int ends[2];

    if (pipe(ends))
        bail_out("no pipe");
    r->pipe = ends[1];
    r->process = fork();
    if (r->process == 0)
        run_rank(r);
    close(ends[1]);
    r->pipe = ends[0];
}

static void start_all(int n)
{
    for (int r = 0; r < n; r++)
        start_ranks(&ranks[r]);
}

static void end_ranks(struct rank *r)
{
    if (read(r->pipe, &r->got, sizeof r->got) != (ssize_t)sizeof r->got)
        r->got = (struct outcome){.rc = -1};
    close(r->pipe);
    waitpid(r->process, NULL, 0);
}

static void end_all(int n)
{
    for (int r = 0; r < n; r++)
        end_ranks(&ranks[r]);
}

static bool no(int r)
{
    const struct outcome *o = &ranks[r].got;

    printf("# rank %d, code %d after %.1f s: %s\n", r, o->e.code, o->seconds, o->e.text);
    return false;
}

static bool all_met(int n)
{
    for (int r = 0; r < n; r++)
        if (ranks[r].got.rc || strcmp(ranks[r].got.blob, "of rank 0") != 0)
            return no(r);
    return true;
}

/* Whether rank r has failed in time, with code 5 and this text. */
static bool failed(int r, const char *text)
{
    struct outcome *o = &ranks[r].got;

    if (o->rc && o->e.code == ERR_PEER && strstr(o->e.text, text) &&
        o->seconds < ranks[r].c.timeout_s + 6)
        return true;
    return no(r);
}

/* Whether rank r has failed with this text, received from rank 0, which reports it. */
static bool relayed_to(int r, const char *text)
{
    return failed(r, text) && ranks[r].got.relayed && !ranks[0].got.relayed &&
           strcmp(ranks[r].got.e.text, ranks[0].got.e.text) == 0;
}

static void test_order(void)
{
    set_up_ranks(4, 20);
    ranks[0].delay_s = 0.4;
    start_all(4);
    end_all(4);
    ok(all_met(4), "rank 0 comes last");
    set_up_ranks(4, 20);
    ranks[1].delay_s = 0.5;
    ranks[3].delay_s = 0.2;
    start_all(4);
    end_all(4);
    ok(all_met(4), "rank 0 comes first, rank 1 is slow");
    set_up_ranks(MOST, 60);
    for (int r = MOST - 1; r >= 0; r--)
        start_ranks(&ranks[r]);
    end_all(MOST);
    ok(all_met(MOST), "%d ranks", MOST);
}

static void test_missing(void)
{
    set_up_ranks(4, 0.5);
    hosts[2] = "n07";
    start_ranks(&ranks[0]);
    start_ranks(&ranks[1]);
    start_ranks(&ranks[3]);
    end_ranks(&ranks[0]);
    end_ranks(&ranks[1]);
    end_ranks(&ranks[3]);
    ok(failed(0, "waited 0.5 s") && failed(0, "rank 2 (n07) did not connect"),
       "a rank is missing: %s", ranks[0].got.e.text);
    ok(relayed_to(1, "rank 2 (n07)") && relayed_to(3, "rank 2 (n07)"), "all hear the same");

    set_up_ranks(30, 0.5);
    start_ranks(&ranks[0]);
    end_ranks(&ranks[0]);
    ok(failed(0, "rank 8 (127.0.0.1) and 21 more did not connect"), "all are missing: %s",
       ranks[0].got.e.text);

    set_up_ranks(2, 0.5);
    start_ranks(&ranks[1]);
    end_ranks(&ranks[1]);
    ok(failed(1, "rank 0 was not reached at 127.0.0.1:") && failed(1, "no process listens"),
       "rank 0 is missing: %s", ranks[1].got.e.text);
}

static void test_lost(void)
{
    set_up_ranks(3, 30);
    ranks[1].leave_s = 0.3;
    start_ranks(&ranks[0]);
    start_ranks(&ranks[1]);
    end_ranks(&ranks[0]);
    end_ranks(&ranks[1]);
    ok(failed(0, "rank 1 on here (process") && ranks[0].got.seconds < 20,
       "a rank is killed while another is awaited, which ends it at once: %s", ranks[0].got.e.text);
    set_up_ranks(3, 30);
    ranks[0].leave_s = 0.5;
    start_ranks(&ranks[0]);
    start_ranks(&ranks[1]);
    end_ranks(&ranks[0]);
    end_ranks(&ranks[1]);
    ok(failed(1, "rank 0 on 127.0.0.1 has ended") && ranks[1].got.seconds < 20,
       "rank 0 is killed: %s", ranks[1].got.e.text);
}

static bool is_listening(void)
{
    struct sockaddr_in a = address(port);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    bool yes = connect(s, (struct sockaddr *)&a, sizeof a) == 0;

    close(s);
    return yes;
}

static void await_listener(void)
{
    for (int i = 0; i < 200 && !is_listening(); i++)
        clock_sleep(0.02);
}

static void test_stopped(void)
{
    set_up_ranks(2, 1);
    start_ranks(&ranks[0]);
    await_listener();
    kill(ranks[0].process, SIGSTOP);
    start_ranks(&ranks[1]);
    end_ranks(&ranks[1]);
    ok(failed(1, "rank 0 is stopped"), "rank 0 is stopped: %s", ranks[1].got.e.text);
    kill(ranks[0].process, SIGKILL);
    end_ranks(&ranks[0]);

    set_up_ranks(2, 0.6);
    ranks[1].delay_s = 0.1;
    start_ranks(&ranks[0]);
    start_ranks(&ranks[1]);
    kill(ranks[1].process, SIGSTOP);
    end_ranks(&ranks[0]);
    ok(failed(0, "rank 1 (127.0.0.1) did not connect"), "rank 1 is stopped before it comes: %s",
       ranks[0].got.e.text);
    kill(ranks[1].process, SIGKILL);
    end_ranks(&ranks[1]);
}

static void test_twice(void)
{
    set_up_ranks(3, 20);
    ranks[2].c.rank = 1;
    start_all(3);
    end_all(3);
    ok(failed(0, "rank 1 connected twice: from here (process"), "a rank came twice: %s",
       ranks[0].got.e.text);
    ok(relayed_to(1, "twice") && relayed_to(2, "twice"), "and both hear it");

    set_up_ranks(2, 3);
    start_ranks(&ranks[0]);
    await_listener();
    ranks[1].c.rank = 0;
    ranks[1].c.timeout_s = 0.2;
    start_ranks(&ranks[1]);
    end_ranks(&ranks[1]);
    ok(failed(1, "another rank 0 listens at port"), "rank 0 was started twice: %s",
       ranks[1].got.e.text);
    end_ranks(&ranks[0]);
}

static void test_differing(void)
{
    static const char *other_hosts[] = {"127.0.0.1", "127.0.0.1", "n08"};

    set_up_ranks(3, 20);
    ranks[2].c.size = 4;
    hosts[3] = "127.0.0.1";
    start_all(3);
    end_all(3);
    ok(relayed_to(2, "rank 2 on here says that the run has 4 ranks, rank 0 on here says 3") &&
           relayed_to(1, "stale"),
       "another world size: %s", ranks[0].got.e.text);
    set_up_ranks(3, 20);
    ranks[2].c.hosts = other_hosts;
    start_all(3);
    end_all(3);
    ok(relayed_to(1, "rank 2 on here has another cluster spec than rank 0 on here") &&
           relayed_to(2, "stale"),
       "a stale spec: %s", ranks[0].got.e.text);
    set_up_ranks(3, 20);
    ranks[1].c.plan = 8;
    start_all(3);
    end_all(3);
    ok(relayed_to(1, "rank 1 on here has another run.json") && relayed_to(2, "rank 1"),
       "another plan: %s", ranks[0].got.e.text);
    set_up_ranks(3, 20);
    ranks[1].c.program = "unet-train 2";
    start_all(3);
    end_all(3);
    ok(relayed_to(1, "rank 1 on here runs unet-train 2, rank 0 on here runs unet-train 1") &&
           relayed_to(2, "rank 1"),
       "another version: %s", ranks[0].got.e.text);
    set_up_ranks(3, 20);
    ranks[0].c.device = "GPU-a";
    ranks[1].c.device = ranks[2].c.device = "GPU-b";
    start_all(3);
    end_all(3);
    ok(failed(0, "has the same device as rank") && failed(0, "GPU-b") && relayed_to(1, "GPU-b"),
       "one device for two: %s", ranks[0].got.e.text);
    set_up_ranks(3, 20);
    for (int r = 0; r < 3; r++)
        ranks[r].c.device = (const char *const[]){"GPU-a", "GPU-b", "GPU-c"}[r];
    start_all(3);
    end_all(3);
    ok(all_met(3), "a device for each");
}

static void test_token(void)
{
    set_up_ranks(3, 1);
    ranks[2].c.token[TOKEN_SIZE - 1] ^= 1;
    start_all(3);
    end_all(3);
    ok(failed(2, "has another token") && !ranks[2].got.relayed && ranks[2].got.seconds < 1,
       "a rank with another token is sent away: %s", ranks[2].got.e.text);
    ok(failed(0, "rank 2 (127.0.0.1) did not connect; one from ") &&
           failed(0, "had another token") && relayed_to(1, "token"),
       "and does not end the run, but is reported: %s", ranks[0].got.e.text);
}

static int call(void)
{
    struct sockaddr_in a = address(port);
    int s = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(s, (struct sockaddr *)&a, sizeof a))
        bail_out("rank 0 does not listen");
    return s;
}

static void test_strangers(void)
{
    char garbage[5000];
    int silent, s;

    memset(garbage, 'G', sizeof garbage);
    set_up_ranks(3, 20);
    start_ranks(&ranks[0]);
    await_listener();
    silent = call();
    for (int i = 0; i < 100; i++) {
        s = call();
        if (i % 2 && send(s, garbage, (size_t)(1 + 37 * i), MSG_NOSIGNAL) < 0)
            printf("# rank 0 has hung up\n");
        close(s);
    }
    s = call();
    start_ranks(&ranks[1]);
    start_ranks(&ranks[2]);
    end_all(3);
    ok(all_met(3), "garbage, silence and calls that end at once do no harm");
    close(s);
    close(silent);

    set_up_ranks(2, 0.5);
    start_ranks(&ranks[0]);
    await_listener();
    s = call();
    if (send(s, garbage, 100, MSG_NOSIGNAL) < 0)
        printf("# rank 0 has hung up\n");
    silent = call();
    end_ranks(&ranks[0]);
    ok(failed(0, "1 connection was not from a rank (the last from") && failed(0, "sends nothing"),
       "but are reported if a rank is missing: %s", ranks[0].got.e.text);
    close(s);
    close(silent);
}

static void test_port(void)
{
    set_up_ranks(2, 0.5);
    int s = listener(port);
    start_all(2);
    int taken = accept(s, NULL, NULL); /* a program that sends first */
    if (send(taken, "220 mail.example ready for anything you have to say\r\n", 50, 0) < 0)
        bail_out("nobody called");
    end_all(2);
    ok(failed(0, "another program uses port"), "the port is taken: %s", ranks[0].got.e.text);
    ok(failed(1, "rank 0 was not reached"), "by a stranger: %s", ranks[1].got.e.text);
    close(taken);
    close(s);

    set_up_ranks(2, 0.5);
    hosts[0] = "no-such-host.invalid";
    start_ranks(&ranks[1]);
    end_ranks(&ranks[1]);
    ok(failed(1, "no-such-host.invalid") && failed(1, "has no address here"),
       "a name without address: %s", ranks[1].got.e.text);
    set_up_ranks(2, 0.5);
    hosts[0] = "127.1";
    hosts[1] = "n02";
    start_ranks(&ranks[1]);
    end_ranks(&ranks[1]);
    ok(failed(1, "that is this host itself"), "a name that leads home: %s", ranks[1].got.e.text);
}

static void test_interrupt(void)
{
    static const atomic_int terminated = SIGTERM;

    set_up_ranks(2, 30);
    ranks[0].c.interrupt = &terminated;
    start_ranks(&ranks[0]);
    end_ranks(&ranks[0]);
    ok(ranks[0].got.e.code == 128 + SIGTERM && ranks[0].got.seconds < 5, "a signal ends rank 0: %s",
       ranks[0].got.e.text);
    ranks[1].c.interrupt = &terminated;
    start_ranks(&ranks[1]);
    end_ranks(&ranks[1]);
    ok(ranks[1].got.e.code == 128 + SIGTERM && ranks[1].got.seconds < 5, "and another rank: %s",
       ranks[1].got.e.text);
}

int main(void)
{
    test_order();
    test_missing();
    test_lost();
    test_stopped();
    test_twice();
    test_differing();
    test_token();
    test_strangers();
    test_port();
    test_interrupt();
    return done_testing();
}
