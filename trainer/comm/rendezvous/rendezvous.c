/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes a rendezvous. On ranks other than 0 (rank 0: rendezvous_host.c) it connects with
 * retries, sends a signed hello, and waits for rank 0's verdict. Errors say where the connection
 * failed. */
#include "config.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/cluster/resolve.h"
#include "src/mem.h"
#include "trainer/comm/rendezvous/rendezvous_wire.h"

#define CONNECT_S 5.0  /* for one address to answer */
#define GREETING_S 5.0 /* for the greeting, which rank 0 sends at once */
#define GRACE_S 5.0    /* for a verdict that rank 0 sends at its deadline */
#define RETRY_LEAST_S 0.02
#define RETRY_MOST_S 1.0

/* The attempts of a rank to reach rank 0. */
struct visit {
    const struct rendezvous_config *c;
    double deadline;
    char reason[400]; /* why the last attempt failed */
    char address[INET6_ADDRSTRLEN];
};

static double sooner(double a, double b)
{
    return a < b ? a : b;
}

/* Whether `address`, to which the name of rank 0's host resolves, is a loopback address of this
 * host although rank 0's host is another one. */
static bool is_own_loopback(const struct rendezvous_config *c, const char *address)
{
    bool loopback = strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;

    return loopback && strcmp(c->hosts[0], address) != 0 &&
           strcmp(c->hosts[0], "localhost") != 0 && strcmp(c->hosts[0], c->hosts[c->rank]) != 0;
}

__attribute__((format(printf, 2, 3)))
static int set_reason(struct visit *v, const char *fmt, ...)
{
    va_list ap;
    int n = 0;

    va_start(ap, fmt);
    if (*v->address)
        n = snprintf(v->reason, sizeof v->reason, "at %s ", v->address);
    vsnprintf(v->reason + n, sizeof v->reason - (size_t)n, fmt, ap);
    va_end(ap);
    size_t length = strlen(v->reason);
    if (*v->address && is_own_loopback(v->c, v->address))
        snprintf(v->reason + length, sizeof v->reason - length, "; that is this host itself, %s, "
                 "but %s should be another one: correct /etc/hosts or the name service here",
                 v->c->host, v->c->hosts[0]);
    return -1;
}

/* Returns a socket, -1 with v->reason, or -2 with a signal's error. */
static int connect_address(struct visit *v, const struct addrinfo *a, struct err *e)
{
    struct pollfd p = {.events = POLLOUT};
    socklen_t length = sizeof errno;
    int reason = 0, verdict = 0;
    double until = sooner(v->deadline, clock_now() + CONNECT_S);

    getnameinfo(a->ai_addr, a->ai_addrlen, v->address, sizeof v->address, NULL, 0, NI_NUMERICHOST);
    p.fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (p.fd < 0)
        return set_reason(v, "cannot make a socket: %s", strerror(errno));
    if (connect(p.fd, a->ai_addr, a->ai_addrlen) && errno != EINPROGRESS)
        reason = errno;
    while (reason == 0) {
        int nap = rendezvous_wire_nap_ms(until);
        if (v->c->interrupt && *v->c->interrupt)
            verdict = err_signal(e, *v->c->interrupt) - 1;
        if (verdict || poll(&p, 1, nap) > 0)
            break;
        if (nap == 0)
            reason = ETIMEDOUT;
    }
    if (!verdict && reason == 0 && getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &reason, &length))
        reason = errno;
    if (!verdict && reason == 0)
        return p.fd;
    close(p.fd);
    if (verdict)
        return verdict;
    return set_reason(v, "%s",
                      reason == ECONNREFUSED ? "no process listens (rank 0 has not started, "
                                               "or has ended: its output says why)"
                      : reason == ETIMEDOUT  ? "no answer (a firewall, or an interface that "
                                               "the ranks do not share)"
                                             : strerror(reason));
}

/* Waits for the greeting, by which rank 0 accepts the connection. Returns 0, or -1 or -2 as
 * connect_address. */
static int read_greeting(struct visit *v, int socket, struct rendezvous_greeting *greeting,
                         struct err *e)
{
    double until = sooner(v->deadline, clock_now() + GREETING_S);
    char mark[sizeof greeting->mark];
    int rc = rendezvous_wire_read(v->c, socket, greeting, sizeof *greeting, until, e);

    if (rc < 0)
        return -2;
    memcpy(mark, &greeting->mark, sizeof mark);
    if (rc == 0 && greeting->mark == RENDEZVOUS_WIRE_MARK)
        return 0;
    if (rc == 1)
        return set_reason(v,
                          "a process accepts connections but sends nothing: rank 0 is stopped, or "
                          "another program uses the port");
    if (rc == 2)
        return set_reason(
            v, "connections are accepted and closed: rank 0 is ending, or another program "
               "uses the port");
    if (memcmp(mark, RENDEZVOUS_WIRE_NAME, strlen(RENDEZVOUS_WIRE_NAME)) == 0)
        return set_reason(
            v, "a unet-train of another version listens; install the same version on all "
               "hosts");
    return set_reason(v, "another program uses the port; choose another one (unetctl spec "
                      "--port-base)");
}

/* Tries the addresses of rank 0's host name until one sends a greeting. Returns as
 * connect_address. */
static int call_host(struct visit *v, struct rendezvous_greeting *greeting, struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[16];
    int socket = -1;

    *v->address = 0;
    snprintf(port, sizeof port, "%d", v->c->ports[0]);
    int rc = resolve_host(v->c->hosts[0], port, &hints, &list);
    if (rc)
        return set_reason(v, "the name has no address here: %s", gai_strerror(rc));
    for (const struct addrinfo *a = list; a && socket == -1; a = a->ai_next) {
        socket = connect_address(v, a, e);
        rc = socket >= 0 ? read_greeting(v, socket, greeting, e) : 0;
        if (rc) {
            close(socket);
            socket = rc;
        }
    }
    freeaddrinfo(list);
    return socket;
}

static int set_unreached(const struct visit *v, struct err *e)
{
    const struct rendezvous_config *c = v->c;

    return err_set(e, ERR_PEER, "rank %d of %d on %s: rank 0 was not reached at %s:%d within %g s: "
                   "%s", c->rank, c->size, c->host, c->hosts[0], c->ports[0], c->timeout_s,
                   v->reason);
}

static int reach_host(struct visit *v, struct rendezvous_greeting *greeting, struct err *e)
{
    double nap = RETRY_LEAST_S;

    for (;;) {
        int socket = call_host(v, greeting, e);
        if (socket != -1)
            return socket < 0 ? -1 : socket;
        if (clock_now() + nap >= v->deadline)
            return set_unreached(v, e);
        /* The delay depends on the rank, so that ranks started together do not retry together. */
        clock_sleep(nap * (0.75 + 0.5 * (v->c->rank % 16) / 16));
        nap = sooner(1.5 * nap, RETRY_MOST_S);
        if (v->c->interrupt && *v->c->interrupt)
            return err_signal(e, *v->c->interrupt);
    }
}

static int send_hello(const struct rendezvous_config *c, int socket,
                     const struct rendezvous_greeting *greeting, struct rendezvous_hello *hello,
                     double deadline, struct err *e)
{
    *hello = (struct rendezvous_hello){
        .mark = RENDEZVOUS_WIRE_MARK, .rank = c->rank, .size = c->size, .plan = c->plan,
        .spec = rendezvous_wire_hash_spec(c), .process = getpid()};
    snprintf(hello->program, sizeof hello->program, "%s", c->program);
    snprintf(hello->host, sizeof hello->host, "%s", c->host);
    snprintf(hello->device, sizeof hello->device, "%s", c->device);
    if (token_draw(hello->nonce, sizeof hello->nonce, e))
        return -1;
    rendezvous_wire_sign_hello(c->token, greeting, hello, hello->signature);
    return rendezvous_wire_write(c, socket, hello, sizeof *hello, deadline, e);
}

static int set_silent(const struct rendezvous_config *c, bool closed, double waited_s,
                      struct err *e)
{
    if (closed)
        return err_set(e, ERR_PEER,
                       "rank %d of %d on %s: rank 0 on %s has ended while it waited for "
                       "ranks; its output or the system's log says why",
                       c->rank, c->size, c->host, c->hosts[0]);
    return err_set(e, ERR_PEER, "rank %d of %d on %s: rank 0 on %s has not answered for %.0f s: it "
                   "is stopped, or its host hangs", c->rank, c->size, c->host, c->hosts[0],
                   waited_s);
}

static int read_verdict(const struct rendezvous_config *c, int socket,
                        const struct rendezvous_hello *hello, void *blob, size_t nbytes,
                        double deadline, bool *relayed, struct err *e)
{
    struct rendezvous_verdict verdict;
    char signature[TOKEN_SIGNATURE];
    double began = clock_now();
    int rc = rendezvous_wire_read(c, socket, &verdict, sizeof verdict, deadline, e);

    bool blob_follows = rc == 0 && verdict.nblob == nbytes;
    if (blob_follows)
        rc = rendezvous_wire_read(c, socket, blob, nbytes, deadline, e);
    if (rc)
        return rc < 0 ? -1 : set_silent(c, rc == 2, clock_now() - began, e);
    verdict.text[sizeof verdict.text - 1] = 0;
    if (!blob_follows)
        verdict.nblob = 0;
    rendezvous_wire_sign_verdict(c->token, hello, &verdict, blob, signature);
    verdict.signature[TOKEN_SIGNATURE - 1] = 0;
    if (verdict.mark != RENDEZVOUS_WIRE_MARK || !token_same(signature, verdict.signature))
        return err_set(e, ERR_PEER, "rank %d of %d on %s: the rank 0 that listens at %s:%d has "
                       "another token: it belongs to another run or attempt, or its folder of "
                       "results is not the one here", c->rank, c->size, c->host, c->hosts[0],
                       c->ports[0]);
    if (verdict.code == 0 && blob_follows)
        return 0;
    *relayed = true;
    return err_set(e, verdict.code ? verdict.code : ERR_PEER, "%s", verdict.text);
}

static int visit_host(const struct rendezvous_config *c, void *blob, size_t nbytes, int *socket,
                      bool *relayed, struct err *e)
{
    struct visit v = {.c = c, .deadline = clock_now() + c->timeout_s};
    struct rendezvous_greeting greeting;
    struct rendezvous_hello hello;

    *socket = reach_host(&v, &greeting, e);
    if (*socket < 0)
        return -1;
    double deadline = clock_now() + greeting.wait_ms / 1e3 + GRACE_S;
    int rc = send_hello(c, *socket, &greeting, &hello, deadline, e);
    if (rc > 0)
        return set_silent(c, rc == 2, GRACE_S, e);
    return rc ? -1 : read_verdict(c, *socket, &hello, blob, nbytes, deadline, relayed, e);
}

struct rendezvous *rendezvous_open(const struct rendezvous_config *config, void *blob,
                                   size_t nbytes, bool *relayed, struct err *e)
{
    struct rendezvous *r = mem_zero(1, sizeof *r, e);
    int n = config->rank == 0 ? config->size : 1;

    *relayed = false;
    if (!r || !(r->sockets = mem_alloc((size_t)n, sizeof *r->sockets, e))) {
        free(r);
        return NULL;
    }
    r->rank = config->rank;
    r->size = config->size;
    for (int i = 0; i < n; i++)
        r->sockets[i] = -1;
    int rc = nbytes > RENDEZVOUS_BLOB_MAX
                 ? err_set(e, ERR_INTERNAL, "a blob of %zu bytes", nbytes)
             : config->rank == 0
                 ? rendezvous_host_gather(config, blob, nbytes, r->sockets, e)
                 : visit_host(config, blob, nbytes, r->sockets, relayed, e);
    if (rc == 0)
        return r;
    rendezvous_close(r);
    return NULL;
}

void rendezvous_close(struct rendezvous *r)
{
    if (!r)
        return;
    for (int i = 0; i < (r->rank == 0 ? r->size : 1); i++)
        if (r->sockets[i] >= 0)
            close(r->sockets[i]);
    free(r->sockets);
    free(r);
}
