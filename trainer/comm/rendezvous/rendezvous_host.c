/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 of a rendezvous: listens, greets every peer, and compares the ranks. */
#include "config.h"
#include "trainer/comm/rendezvous/rendezvous_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/cluster/listener.h"
#include "src/map.h"
#include "src/mem.h"

#define PORT_WAIT_S 5.0 /* for an earlier process to release the port */
#define LINGER_S 1.0    /* for late ranks to connect after the rendezvous has failed */
#define VERDICT_S 1.0   /* for a verdict to fit into a connection's buffer */
#define STRANGERS 64    /* connections that may be open in addition to the ranks' */
#define NAMED 8         /* missing ranks that an error names */
#define EVENTS 64
#define MAPPED "::ffff:"

/* A connection to this port. */
struct guest {
    struct guest *next; /* in host.callers */
    int socket;
    char address[INET6_ADDRSTRLEN];
    struct rendezvous_greeting greeting;
    struct rendezvous_hello hello;
    size_t nread;
    bool member;
};

struct host {
    const struct rendezvous_config *c;
    const void *blob;
    size_t nblob;
    double deadline;
    int listener, epoll;
    struct guest **members; /* by rank */
    struct guest *callers;  /* their hello is not complete */
    int nmembers, ncallers;
    int ninformed; /* ranks to which a verdict was sent */
    struct map devices; /* maps the device's text to its rank */
    bool failed;
    struct err error;
    int nstrangers;      /* connections that were not from ranks, or had to make room */
    char stranger[INET6_ADDRSTRLEN]; /* address of the last of them */
    char impostor[400];              /* error text about the last peer with a wrong token */
};

/* --- the listening socket --- */

/* Whether another rank 0, of any run, listens at this port. */
static bool has_other_host(const struct rendezvous_config *c)
{
    struct rendezvous_greeting greeting = {0};
    struct err ignored;
    int s = listener_call(c->hosts[0], c->ports[0]);

    if (s < 0)
        return false;
    rendezvous_wire_read(c, s, &greeting, sizeof greeting, clock_now() + 1, &ignored);
    close(s);
    return greeting.mark == RENDEZVOUS_WIRE_MARK;
}

/* Listens at rank 0's port; waits some seconds if it is in use. */
static int open_listener(struct host *h, struct err *e)
{
    const struct rendezvous_config *c = h->c;
    double until = clock_now() + (c->timeout_s < PORT_WAIT_S ? c->timeout_s : PORT_WAIT_S);

    for (;;) {
        h->listener = listener_open(c->hosts[0], c->ports[0]);
        if (h->listener >= 0)
            return 0;
        if (errno != EADDRINUSE)
            return err_errno(e, ERR_PEER, errno, "rank 0 of %d on %s cannot listen at port %d",
                             c->size, c->host, c->ports[0]);
        if (c->interrupt && *c->interrupt)
            return err_signal(e, *c->interrupt);
        if (clock_now() >= until)
            break;
        clock_sleep(0.1);
    }
    return has_other_host(c)
               ? err_set(e, ERR_PEER, "rank 0 of %d on %s: another rank 0 listens at port %d: this "
                         "run was started twice, or another run has the same port (unetctl spec "
                         "--port-base, port_base of the site)", c->size, c->host, c->ports[0])
               : err_set(e, ERR_PEER, "rank 0 of %d on %s: another program uses port %d; "
                         "choose another one (unetctl spec --port-base, port_base of the site; ss "
                         "-ltnp shows whose it is)",
                         c->size, c->host, c->ports[0]);
}

/* Raises the limit of open files to one connection per rank, and some more. */
static void raise_limit(int size)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)size + STRANGERS + 64;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* --- connections --- */

static void free_guest(struct guest *g)
{
    if (!g)
        return;
    close(g->socket);
    free(g);
}

static void drop_caller(struct host *h, struct guest *g)
{
    struct guest **p = &h->callers;

    while (*p != g)
        p = &(*p)->next;
    *p = g->next;
    h->ncallers--;
    free_guest(g);
}

/* Drops the oldest caller if there are too many. */
static void make_room(struct host *h)
{
    struct guest *g = h->callers;

    if (h->ncallers < h->c->size + STRANGERS)
        return;
    while (g->next)
        g = g->next;
    h->nstrangers++;
    snprintf(h->stranger, sizeof h->stranger, "%s", g->address);
    drop_caller(h, g);
}

static int accept_guest(struct host *h, struct err *e)
{
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    double left = h->deadline - clock_now();
    int s = accept4(h->listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (s < 0)
        return errno == EMFILE || errno == ENFILE || errno == ENOMEM
                   ? err_errno(e, ERR_PEER, errno, "rank 0 of %d on %s cannot accept more than "
                               "%d connections (ulimit -n)", h->c->size, h->c->host,
                               h->nmembers + h->ncallers)
                   : 0;
    make_room(h);
    struct guest *g = mem_zero(1, sizeof *g, e);
    if (!g) {
        close(s);
        return -1;
    }
    g->socket = s;
    getnameinfo((struct sockaddr *)&from, length, g->address, sizeof g->address, NULL, 0,
                NI_NUMERICHOST);
    /* an IPv4 address, as an IPv6 listener reports it */
    if (strncmp(g->address, MAPPED, strlen(MAPPED)) == 0)
        memmove(g->address, g->address + strlen(MAPPED), strlen(g->address + strlen(MAPPED)) + 1);
    g->next = h->callers;
    h->callers = g;
    h->ncallers++;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = g};
    g->greeting.mark = RENDEZVOUS_WIRE_MARK;
    g->greeting.wait_ms = left > 0 ? (uint32_t)(1e3 * left) : 0;
    if (token_draw(g->greeting.nonce, sizeof g->greeting.nonce, e) ||
        epoll_ctl(h->epoll, EPOLL_CTL_ADD, s, &event))
        return err_errno(e, ERR_INTERNAL, errno, "rank 0 cannot accept a connection");
    /* The buffer of a new connection has room for the greeting. */
    if (send(s, &g->greeting, sizeof g->greeting, MSG_NOSIGNAL) != (ssize_t)sizeof g->greeting)
        drop_caller(h, g);
    return 0;
}

/* --- verdicts --- */

static int send_verdict(struct host *h, struct guest *g)
{
    const struct rendezvous_config *c = h->c;
    struct rendezvous_verdict verdict = {.mark = RENDEZVOUS_WIRE_MARK};
    struct err ignored;

    verdict.code = h->failed ? h->error.code : 0;
    verdict.nblob = h->failed ? 0 : (uint32_t)h->nblob;
    if (h->failed)
        snprintf(verdict.text, sizeof verdict.text, "%s", h->error.text);
    rendezvous_wire_sign_verdict(c->token, &g->hello, &verdict, h->blob, verdict.signature);
    double deadline = clock_now() + VERDICT_S;
    int rc = rendezvous_wire_write(c, g->socket, &verdict, sizeof verdict, deadline, &ignored);
    if (rc == 0 && verdict.nblob)
        rc = rendezvous_wire_write(c, g->socket, h->blob, verdict.nblob, deadline, &ignored);
    h->ninformed++;
    return rc;
}

/* Records the first failure and sends it to the members; ranks that connect later get it from
 * admit. Later failures are ignored. */
static void fail_all(struct host *h, const struct err *e)
{
    if (h->failed)
        return;
    h->failed = true;
    h->error = *e;
    if (h->deadline > clock_now() + LINGER_S)
        h->deadline = clock_now() + LINGER_S;
    for (int r = 1; r < h->c->size; r++)
        if (h->members[r])
            send_verdict(h, h->members[r]);
}

static int check_hello(struct host *h, const struct rendezvous_hello *hello, struct err *e)
{
    const struct rendezvous_config *c = h->c;
    size_t other;

    if (hello->size != c->size)
        return err_set(e, ERR_PEER, "rank %d on %s says that the run has %d ranks, rank 0 on %s "
                       "says %d: one has a stale cluster spec; make it in the job step that starts "
                       "the ranks (unetctl spec)", hello->rank, hello->host, hello->size, c->host,
                       c->size);
    if (hello->rank < 1 || hello->rank >= c->size)
        return err_set(e, ERR_PEER, "%s on %s calls itself rank %d of %d", hello->program,
                       hello->host, hello->rank, c->size);
    if (h->members[hello->rank]) {
        const struct rendezvous_hello *first = &h->members[hello->rank]->hello;
        return err_set(e, ERR_PEER, "rank %d connected twice: from %s (process %lld) and from %s "
                       "(process %lld); it was started twice, or two tasks have the same place in "
                       "the cluster spec", hello->rank, first->host, (long long)first->process,
                       hello->host, (long long)hello->process);
    }
    if (hello->spec != rendezvous_wire_hash_spec(c))
        return err_set(e, ERR_PEER, "rank %d on %s has another cluster spec than rank 0 on %s: one "
                       "of them is stale; make it in the job step that starts the ranks (unetctl "
                       "spec)", hello->rank, hello->host, c->host);
    if (strcmp(hello->program, c->program) != 0)
        return err_set(e, ERR_PEER, "rank %d on %s runs %s, rank 0 on %s runs %s; install the same "
                       "on all hosts", hello->rank, hello->host, hello->program, c->host,
                       c->program);
    if (hello->plan != c->plan)
        return err_set(e, ERR_PEER, "rank %d on %s has another run.json or other options than rank "
                       "0 on %s; all ranks of a run must read the same files", hello->rank,
                       hello->host, c->host);
    if (*hello->device && map_get(&h->devices, hello->device, &other))
        return err_set(e, ERR_PEER, "rank %d on %s has the same device as rank %zu: %s; give each "
                       "task its own (srun --gpus-per-task=1)", hello->rank, hello->host, other,
                       hello->device);
    if (*hello->device && map_set(&h->devices, hello->device, (size_t)hello->rank))
        return mem_fail(e);
    return 0;
}

/* Checks a complete hello. A peer with another token is dropped. A hello that does not fit the run
 * makes the rendezvous fail for all. If it has failed, the peer gets that error and is dropped;
 * otherwise it becomes a member. */
static void admit(struct host *h, struct guest *g)
{
    char signature[TOKEN_SIGNATURE];
    struct rendezvous_hello *hello = &g->hello;
    struct err e;

    hello->program[sizeof hello->program - 1] = 0;
    hello->host[sizeof hello->host - 1] = 0;
    hello->device[sizeof hello->device - 1] = 0;
    rendezvous_wire_sign_hello(h->c->token, &g->greeting, hello, signature);
    if (!token_same(signature, hello->signature)) {
        snprintf(h->impostor, sizeof h->impostor, "; one from %s that calls itself rank %d on "
                 "%.64s had another token: it belongs to another run or attempt, or its folder of "
                 "results is not the one here", g->address, hello->rank, hello->host);
        send_verdict(h, g); /* its signature shows the peer that the tokens differ */
        h->ninformed--;
        drop_caller(h, g);
        return;
    }
    if (!h->failed && check_hello(h, hello, &e))
        fail_all(h, &e);
    if (h->failed) {
        send_verdict(h, g);
        drop_caller(h, g);
        return;
    }
    struct guest **p = &h->callers;
    while (*p != g)
        p = &(*p)->next;
    *p = g->next;
    h->ncallers--;
    g->member = true;
    h->members[hello->rank] = g;
    h->nmembers++;
}

static void lose_member(struct host *h, struct guest *g)
{
    const struct rendezvous_hello *hello = &g->hello;
    struct err e;

    epoll_ctl(h->epoll, EPOLL_CTL_DEL, g->socket, NULL);
    err_set(&e, ERR_PEER, "rank %d on %s (process %lld) has ended while rank 0 waited for others; "
            "its output or the system's log says why", hello->rank, hello->host,
            (long long)hello->process);
    fail_all(h, &e);
}

static void receive_hello(struct host *h, struct guest *g)
{
    char excess[64];

    if (g->member) {
        ssize_t n = recv(g->socket, excess, sizeof excess, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            lose_member(h, g);
        return;
    }
    ssize_t n = recv(g->socket, (char *)&g->hello + g->nread, sizeof g->hello - g->nread, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    g->nread += n > 0 ? (size_t)n : 0;
    bool odd = g->nread >= sizeof g->hello.mark && g->hello.mark != RENDEZVOUS_WIRE_MARK;
    if (n > 0 && !odd && g->nread == sizeof g->hello) {
        admit(h, g);
    } else if (n <= 0 || odd) {
        h->nstrangers += odd;
        if (odd)
            snprintf(h->stranger, sizeof h->stranger, "%s", g->address);
        drop_caller(h, g);
    }
}

/* --- waiting for all ranks --- */

static void set_missing(const struct host *h, struct err *e)
{
    const struct rendezvous_config *c = h->c;
    int nmissing = c->size - 1 - h->nmembers, named = 0;
    char names[500] = "", strangers[160] = "", silent[160] = "";
    size_t at = 0;

    for (int r = 1; r < c->size && named < NAMED; r++)
        if (!h->members[r])
            at += (size_t)snprintf(names + at, sizeof names - at, "%srank %d (%.48s)",
                                   named++ ? ", " : "", r, c->hosts[r]);
    if (nmissing > named)
        snprintf(names + at, sizeof names - at, " and %d more", nmissing - named);
    if (h->nstrangers)
        snprintf(strangers, sizeof strangers, "; %d connection%s not from a rank (the last from "
                 "%s)", h->nstrangers, h->nstrangers > 1 ? "s were" : " was", h->stranger);
    if (h->ncallers)
        snprintf(silent, sizeof silent, "; a connection from %s sends nothing: its process is "
                 "stopped, or not a rank", h->callers->address);
    err_set(e, ERR_PEER, "rank 0 of %d on %s has waited %g s at port %d: %s did not connect%s%s%s; "
            "%s output or the system's log says why; unetctl doctor --gpus N looks for reasons",
            c->size, c->host, c->timeout_s, c->ports[0], names, h->impostor, silent,
            strangers, nmissing > 1 ? "their" : "its");
}

static int take_events(struct host *h, struct err *e)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(h->epoll, events, EVENTS, rendezvous_wire_nap_ms(h->deadline));

    /* Messages are handled before new connections: accepting may drop a caller whose event is still
     * in the list. */
    for (int i = 0; i < n; i++)
        if (events[i].data.ptr)
            receive_hello(h, events[i].data.ptr);
    for (int i = 0; i < n; i++)
        if (!events[i].data.ptr && accept_guest(h, e))
            return -1;
    return 0;
}

static int gather_ranks(struct host *h)
{
    const struct rendezvous_config *c = h->c;
    struct err e;

    while (h->failed ? h->ninformed < c->size - 1 : h->nmembers < c->size - 1) {
        bool expired = clock_now() >= h->deadline;
        if (expired && h->failed)
            break;
        if (!h->failed && c->interrupt && *c->interrupt) {
            err_signal(&e, *c->interrupt);
            fail_all(h, &e);
        } else if (expired) {
            set_missing(h, &e);
            fail_all(h, &e);
        } else if (take_events(h, &e)) {
            fail_all(h, &e);
        }
    }
    for (int r = 1; r < c->size && !h->failed; r++)
        if (send_verdict(h, h->members[r]))
            lose_member(h, h->members[r]);
    return h->failed ? -1 : 0;
}

static int open_host(struct host *h, struct err *e)
{
    struct epoll_event event = {.events = EPOLLIN};

    h->members = mem_zero((size_t)h->c->size, sizeof *h->members, e);
    if (!h->members || (*h->c->device && map_set(&h->devices, h->c->device, 0)))
        return mem_fail(e);
    raise_limit(h->c->size);
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (h->epoll < 0)
        return err_errno(e, ERR_INTERNAL, errno, "epoll_create1");
    if (open_listener(h, e))
        return -1;
    if (epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->listener, &event))
        return err_errno(e, ERR_INTERNAL, errno, "epoll_ctl");
    return 0;
}

int rendezvous_host_gather(const struct rendezvous_config *c, const void *blob, size_t nbytes,
                           int *sockets, struct err *e)
{
    struct host h = {.c = c, .blob = blob, .nblob = nbytes, .listener = -1, .epoll = -1,
                     .deadline = clock_now() + c->timeout_s};
    int rc = open_host(&h, e) || gather_ranks(&h) ? -1 : 0;

    if (h.failed)
        *e = h.error;
    for (int r = 1; h.members && r < c->size; r++) {
        struct guest *g = h.members[r];
        if (rc == 0) {
            sockets[r] = g->socket;
            free(g);
        } else {
            free_guest(g);
        }
    }
    while (h.callers)
        drop_caller(&h, h.callers);
    if (h.listener >= 0)
        close(h.listener);
    if (h.epoll >= 0)
        close(h.epoll);
    free(h.members);
    map_destroy(&h.devices);
    return rc;
}
