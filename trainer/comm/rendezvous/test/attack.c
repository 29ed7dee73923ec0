/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers without the token: a stranger, one that replays or reflects messages, one in the middle
 * that changes them, one that sends nothing or slowly, and one that has rank 0's port. They learn
 * nothing, and a run continues despite them or fails with a text that says what happened. */
#include "src/base.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "trainer/comm/rendezvous/rendezvous.h"
#include "trainer/comm/rendezvous/rendezvous_internal.h"
#include "trainer/comm/rendezvous/test/ranks.h"

#define GREETING sizeof(struct rendezvous_greeting)
#define CALL sizeof(struct rendezvous_call)
#define WAIT_FRAME (CHANNEL_OVERHEAD + sizeof(struct rendezvous_answer))
#define OTHER_MARK (RENDEZVOUS_WIRE_MARK + (UINT64_C(1) << 56)) /* the next version's */

static void meet_all(const char *what)
{
    start_ranks(&ranks[1]);
    end_all(2);
    ok(all_met(2), "the ranks meet in spite of %s", what);
}

/* Reads until the peer closes. Returns the number of bytes. */
static size_t read_all(int s, unsigned char *dst, size_t nbytes)
{
    size_t n = 0;

    for (ssize_t got; n < nbytes && (got = recv(s, dst + n, nbytes - n, 0)) > 0;)
        n += (size_t)got;
    return n;
}

/* Sends nbytes to rank 0 after its greeting. Returns how many bytes of answer come, or -1 if they
 * are not zeros. */
static int ask(const void *bytes, size_t nbytes)
{
    unsigned char answer[8192];
    int s = call();

    if (recv(s, answer, GREETING, MSG_WAITALL) != GREETING ||
        send(s, bytes, nbytes, MSG_NOSIGNAL) != (ssize_t)nbytes)
        bail_out("no greeting");
    size_t n = read_all(s, answer, sizeof answer);
    close(s);
    for (size_t i = 0; i < n; i++)
        if (answer[i])
            return -1;
    return (int)n;
}

static void test_stranger(void)
{
    struct rendezvous_call c = {.mark = RENDEZVOUS_WIRE_MARK, .rank = 1};
    uint32_t length = sizeof(struct rendezvous_hello);

    set_up_ranks(2, 20);
    start_ranks(&ranks[0]);
    await_listener();
    memcpy(c.frame, &length, sizeof length);
    is_int(ask(&c, sizeof c), CHANNEL_HEAD, "a stranger gets a refusal and nothing else");
    memset(c.frame, 0xff, sizeof c.frame);
    is_int(ask(&c, sizeof c), CHANNEL_HEAD, "also with an immense length");
    c.rank = 1 << 30;
    is_int(ask(&c, sizeof c), CHANNEL_HEAD, "and with a rank out of range");
    c.mark = OTHER_MARK;
    is_int(ask(&c, sizeof c.mark), 0, "one of another version gets nothing");
    meet_all("strangers that call themselves ranks");

    set_up_ranks(2, 1);
    start_ranks(&ranks[0]);
    await_listener();
    c = (struct rendezvous_call){.mark = OTHER_MARK};
    ask(&c, sizeof c.mark);
    end_ranks(&ranks[0]);
    ok(failed(0, "a unet-train of another version"), "rank 0 reports the version: %s",
       ranks[0].got.e.text);
}

/* --- one in the middle --- */

enum { DOWN, UP }; /* from rank 0, and to rank 0 */

/* Connections to 127.0.0.3 are forwarded to rank 0 at 127.0.0.2. */
static struct relay {
    int change[2]; /* the byte of a direction in which a bit is changed; -1: none */
    int hold;      /* the first connection gets only so many bytes from rank 0; -1: all */
    int nconnections;
    size_t nbytes[2]; /* of the last connection */
    unsigned char bytes[2][8192];
} *relay; /* shared with its process */

static pid_t relay_process;
static char direct_file[] = "/tmp/unetctl-direct.XXXXXX";
static char relayed_file[] = "/tmp/unetctl-relay.XXXXXX";

static void make_files(void)
{
    int a = mkstemp(direct_file), b = mkstemp(relayed_file);

    relay = mmap(NULL, sizeof *relay, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (a < 0 || b < 0 || relay == MAP_FAILED || dprintf(a, "127.0.0.2 n00\n") < 0 ||
        dprintf(b, "127.0.0.3 n00\n") < 0)
        bail_out("no files");
    close(a);
    close(b);
}

static int local_socket(const char *at, bool listens)
{
    struct sockaddr_in a = address(port);
    int s = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    inet_pton(AF_INET, at, &a.sin_addr);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listens ? bind(s, (struct sockaddr *)&a, sizeof a) || listen(s, 8)
                : connect(s, (struct sockaddr *)&a, sizeof a)) {
        close(s);
        return -1;
    }
    return s;
}

/* Forwards what has arrived. Returns false when the connection has ended. */
static bool forward(int from, int to, int direction)
{
    unsigned char data[1024];
    ssize_t n = recv(from, data, sizeof data, 0);
    size_t *at = &relay->nbytes[direction];
    int change = relay->change[direction] - (int)*at;

    if (n <= 0)
        return false;
    if (*at + (size_t)n <= sizeof relay->bytes[direction])
        memcpy(relay->bytes[direction] + *at, data, (size_t)n);
    *at += (size_t)n;
    if (change >= 0 && change < n)
        data[change] ^= 1;
    if (direction == DOWN && relay->hold >= 0 && relay->nconnections == 1 &&
        *at > (size_t)relay->hold)
        return true;
    return send(to, data, (size_t)n, MSG_NOSIGNAL) == n;
}

static void run_relay(int listener_socket)
{
    for (;;) {
        int rank = accept(listener_socket, NULL, NULL), host = -1;
        while ((host = local_socket("127.0.0.2", false)) < 0)
            clock_sleep(0.02);
        relay->nconnections++;
        relay->nbytes[UP] = relay->nbytes[DOWN] = 0;
        for (;;) {
            struct pollfd p[] = {{rank, POLLIN, 0}, {host, POLLIN, 0}};
            poll(p, 2, -1);
            if ((p[1].revents && !forward(host, rank, DOWN)) ||
                (p[0].revents && !forward(rank, host, UP)))
                break;
        }
        close(rank);
        close(host);
    }
}

/* Sets up two ranks: rank 1 reaches rank 0 only by the relay. */
static void begin_relay(double timeout_s)
{
    set_up_ranks(2, timeout_s);
    hosts[0] = hosts[1] = "n00";
    ranks[0].hosts_file = direct_file;
    ranks[1].hosts_file = relayed_file;
    *relay = (struct relay){.change = {-1, -1}, .hold = -1};
    int s = local_socket("127.0.0.3", true);
    relay_process = fork();
    if (relay_process == 0)
        run_relay(s);
    close(s);
}

static void end_relay(void)
{
    kill(relay_process, SIGKILL);
    waitpid(relay_process, NULL, 0);
}

static void change_byte(int direction, size_t at, double timeout_s)
{
    begin_relay(timeout_s);
    relay->change[direction] = (int)at;
    start_all(2);
    end_all(2);
    end_relay();
}

static void test_middle(void)
{
    begin_relay(20);
    start_all(2);
    end_all(2);
    end_relay();
    ok(all_met(2), "one in the middle that only forwards is not noticed");
    ok(!memmem(relay->bytes[DOWN], relay->nbytes[DOWN], "of rank 0", 9) &&
           !memmem(relay->bytes[UP], relay->nbytes[UP], "unet-train", 10),
       "and can read neither the blob nor the hello");
    change_byte(DOWN, 20, 1);
    ok(failed(1, "has another token"), "it changes the greeting: %s", ranks[1].got.e.text);
    change_byte(UP, offsetof(struct rendezvous_call, rank), 1);
    ok(failed(0, "calls itself rank 0 had another token, or its messages are changed") &&
           failed(1, "has another token"),
       "it changes the rank of the call: %s", ranks[0].got.e.text);
    change_byte(UP, CALL - CHANNEL_CODE - 4, 1);
    ok(failed(0, "calls itself rank 1 had another token, or its messages are changed"),
       "it changes the hello: %s", ranks[0].got.e.text);
    change_byte(DOWN, GREETING + 5, 1);
    ok(failed(1, "does not know the token of this run: another program, or one that changes"),
       "it changes the first answer: %s", ranks[1].got.e.text);
    change_byte(DOWN, GREETING + WAIT_FRAME + 8, 20);
    ok(failed(1, "a message of rank 0 on n00 was changed on its way"),
       "it changes the result: %s", ranks[1].got.e.text);
    begin_relay(8);
    relay->hold = GREETING;
    ranks[2] = ranks[0];
    ranks[2].c.rank = 2;
    for (int r = 0; r < 3; r++)
        ranks[r].c.size = 3;
    hosts[2] = "n00";
    ranks[2].delay_s = 3;
    start_all(3);
    end_all(3);
    end_relay();
    ok(all_met(3) && relay->nconnections > 1,
       "it delays the answer: the rank tries again, and rank 0 does not take that for its end");
}

/* --- replay --- */

static void test_replay(void)
{
    struct relay session;
    unsigned char rest[8192];

    begin_relay(20);
    start_all(2);
    end_all(2);
    end_relay();
    session = *relay;

    set_up_ranks(2, 20);
    start_ranks(&ranks[0]);
    await_listener();
    is_int(ask(session.bytes[UP], session.nbytes[UP]), CHANNEL_HEAD,
           "a rank's messages of an earlier session are refused");
    meet_all("a replay of rank 1");

    set_up_ranks(2, 1);
    int s = listener(port);
    start_ranks(&ranks[1]);
    for (struct pollfd p = {s, POLLIN, 0}; poll(&p, 1, 1500) > 0;) {
        int rank = accept(s, NULL, NULL);
        if (send(rank, session.bytes[DOWN], session.nbytes[DOWN], MSG_NOSIGNAL) > 0)
            read_all(rank, rest, CALL);
        close(rank);
    }
    end_ranks(&ranks[1]);
    close(s);
    ok(failed(1, "does not know the token of this run"), "nor does a rank believe rank 0's: %s",
       ranks[1].got.e.text);
}

/* --- lifelines --- */

/* Leaves without a fault after a while, or receives a fault. */
static void live(struct rank *r, struct rendezvous *v, struct outcome *o)
{
    static const char *const names[] = {"n00", "n01"};
    struct lifeline *l = lifeline_open(v, names, NULL, NULL, &o->e);
    struct err e;

    err_set(&e, ERR_DATA, "image 7 is broken");
    if (r->c.rank == 1)
        lifeline_fail(l, &e);
    for (double until = clock_now() + 5; o->rc == 0 && clock_now() < until;) {
        o->rc = lifeline_check(l, &o->relayed, &o->e);
        clock_sleep(0.01);
    }
    lifeline_close(l);
}

static void test_lifeline(void)
{
    static const char *const what[] = {"nothing", "the length", "the text", "the code"};
    size_t word = CALL + CHANNEL_HEAD, at[] = {0, CALL + 3, word + 20, word + 36};

    for (int i = 0; i < 4; i++) {
        begin_relay(20);
        if (i > 0)
            relay->change[UP] = (int)at[i];
        ranks[0].live = ranks[1].live = live;
        start_all(2);
        end_all(2);
        end_relay();
        ok(i ? failed(0, "a message of rank 1 on n01 was changed on its way")
             : ranks[0].got.e.code == ERR_DATA && strstr(ranks[0].got.e.text, "image 7"),
           "one in the middle of a lifeline changes %s: %s", what[i], ranks[0].got.e.text);
        ok(!i || failed(1, "a message of rank 1 on n01 was changed"), "the other ranks hear it");
    }
}

/* --- many, silent and slow ones --- */

static void test_crowd(void)
{
    static int crowd[700];
    struct rlimit before, few = {60, 60};
    const uint64_t mark = RENDEZVOUS_WIRE_MARK;

    for (int limited = 0; limited < 2; limited++) {
        set_up_ranks(2, 30);
        getrlimit(RLIMIT_NOFILE, &before);
        few.rlim_max = limited ? few.rlim_cur : before.rlim_max;
        start_ranks(&ranks[0]);
        if (limited)
            prlimit(ranks[0].process, RLIMIT_NOFILE, &few, NULL);
        await_listener();
        for (int i = 0; i < 700; i++) {
            crowd[i] = call();
            if (send(crowd[i], &mark, (size_t)(i % 8), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                continue; /* rank 0 has made room already */
        }
        meet_all(limited ? "strangers that take all descriptors"
                         : "700 connections that begin a call and do not end it");
        for (int i = 0; i < 700; i++)
            close(crowd[i]);
    }
}

/* --- one that has rank 0's port --- */

enum squatter { SILENT, SLOW, REFLECTS, OTHER_VERSION };

static void serve_rank(int s, enum squatter kind)
{
    struct rendezvous_greeting greeting = {.mark = RENDEZVOUS_WIRE_MARK};
    struct rendezvous_call c;

    if (kind == OTHER_VERSION)
        greeting.mark = OTHER_MARK;
    if (kind == SLOW) {
        for (size_t i = 0; i < sizeof greeting; i++) {
            if (send(s, (char *)&greeting + i, 1, MSG_NOSIGNAL) < 0)
                return;
            clock_sleep(0.1);
        }
    } else if (kind == REFLECTS || kind == OTHER_VERSION) {
        if (send(s, &greeting, sizeof greeting, MSG_NOSIGNAL) < 0 ||
            recv(s, &c, sizeof c, MSG_WAITALL) != (ssize_t)sizeof c ||
            send(s, c.frame, sizeof c.frame, MSG_NOSIGNAL) < 0)
            return;
    }
    if (kind == SILENT || kind == SLOW)
        (void)!recv(s, &c, sizeof c, MSG_WAITALL);
}

static pid_t start_squatter(enum squatter kind)
{
    int s = listener(port);
    pid_t process = fork();

    while (process == 0) {
        int rank = accept(s, NULL, NULL);
        serve_rank(rank, kind);
        close(rank);
    }
    close(s);
    return process;
}

static void test_squatter(void)
{
    static const char *const names[] = {"sends nothing", "greets slowly",
                                        "sends a rank's own message back", "has another version"};

    for (int kind = 0; kind < 4; kind++) {
        set_up_ranks(2, 6);
        pid_t process = start_squatter((enum squatter)kind);
        start_all(2);
        end_all(2);
        ok(all_met(2), "the ranks meet although a program that %s has rank 0's port", names[kind]);
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
    }
    set_up_ranks(2, 1);
    pid_t process = start_squatter(OTHER_VERSION);
    start_ranks(&ranks[1]);
    end_ranks(&ranks[1]);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    ok(failed(1, "a unet-train of another version listens"), "without rank 0 its rank says why: %s",
       ranks[1].got.e.text);
}

int main(void)
{
    make_files();
    test_stranger();
    test_middle();
    test_replay();
    test_lifeline();
    test_crowd();
    test_squatter();
    unlink(direct_file);
    unlink(relayed_file);
    return done_testing();
}
