/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks as processes that meet or fail to meet: a case starts some or all of them, may break
 * something, and checks the results of ranks. */
#include "src/base.h"
#include "trainer/comm/rendezvous/test/ranks.h"

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
    ok(failed(1, "of the cluster spec belongs to another program, or this run was started twice"),
       "rank 0 was started twice: %s", ranks[1].got.e.text);
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
    ok(failed(2, "has another token") && !ranks[2].got.relayed,
       "a rank with another token is sent away: %s", ranks[2].got.e.text);
    ok(failed(0, "rank 2 (127.0.0.1) did not connect; one from ") &&
           failed(0, "had another token") && relayed_to(1, "token"),
       "and does not end the run, but is reported: %s", ranks[0].got.e.text);
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
    set_up_ranks(2, 8);
    int s = listener(port);
    start_all(2);
    int taken = accept(s, NULL, NULL); /* a program that sends first */
    if (send(taken, "220 mail.example ready for anything you have to say\r\n", 50, 0) < 0)
        bail_out("nobody called");
    end_all(2);
    ok(all_met(2), "the port is taken by a stranger: the ranks meet at another one");
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
