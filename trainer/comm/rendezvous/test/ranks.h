/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks as processes of a test: it sets them up, starts some or all of them, and checks what they
 * return. */
#pragma once

#include "src/base.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "src/clock.h"
#include "t/port.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#define MOST 64

static char folder[] = "/tmp/unetctl-ranks.XXXXXX"; /* of the results */
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
    const char *hosts_file; /* $UNETCTL_HOSTS, or NULL */
    /* What it does after the rendezvous, or NULL. */
    void (*live)(struct rank *, struct rendezvous *, struct outcome *);
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

static void remove_folder(void)
{
    char path[sizeof folder + 8];

    snprintf(path, sizeof path, "%s/port", folder);
    unlink(path);
    rmdir(folder);
}

/* Sets up n ranks that agree; a case then changes some of them. */
static void set_up_ranks(int n, double timeout_s)
{
    static bool begun;

    if (!begun && (!mkdtemp(folder) || atexit(remove_folder)))
        bail_out("no temporary folder");
    begun = true;
    port = free_port();
    for (int r = 0; r < n; r++) {
        hosts[r] = "127.0.0.1";
        ports[r] = port + r;
        ranks[r] = (struct rank){.c = {.rank = r, .size = n, .hosts = hosts, .ports = ports,
                                       .host = "here", .device = "", .program = "unet-train 1",
                                       .plan = 7, .folder = folder,
                                       .timeout_s = timeout_s}};
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
    if (r->hosts_file)
        setenv("UNETCTL_HOSTS", r->hosts_file, 1);
    struct rendezvous *v = rendezvous_open(&r->c, o.blob, sizeof o.blob, &o.relayed, &o.e);
    o.rc = v ? 0 : -1;
    if (v && r->live)
        r->live(r, v, &o);
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

/* Returns whether rank r has failed in time, with code 5 and this text. */
static bool failed(int r, const char *text)
{
    struct outcome *o = &ranks[r].got;

    if (o->rc && o->e.code == ERR_PEER && strstr(o->e.text, text) &&
        o->seconds < ranks[r].c.timeout_s + 6)
        return true;
    return no(r);
}

/* Returns whether rank r has failed with this text, received from rank 0, which reports it. */
__attribute__((unused)) static bool relayed_to(int r, const char *text)
{
    return failed(r, text) && ranks[r].got.relayed && !ranks[0].got.relayed &&
           strcmp(ranks[r].got.e.text, ranks[0].got.e.text) == 0;
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

static int call(void)
{
    struct sockaddr_in a = address(port);
    int s = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(s, (struct sockaddr *)&a, sizeof a))
        bail_out("rank 0 does not listen");
    return s;
}
