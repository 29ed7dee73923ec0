/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/mesh.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/cluster/resolve.h"

#define ALL_UP_TO 32
#define MESSAGE 128      /* bytes of a greeting, and of an answer */
#define RETRY_S 0.1      /* delay after a failed attempt: the peer may not have started yet */
#define CONNECT_S 3.0    /* a peer that has not answered by then is tried again */
#define MAX_GUESTS 4096

/* One connection: to a peer, or from a rank that greets this one (peer is NULL). */
struct line {
    int fd; /* -1: not connected */
    struct mesh_peer *peer;
    bool connected, done;
    /* by clock_now(): when the connection was begun, from when it may be tried again, and when the
     * greeting was sent */
    double since, again, sent;
    char buffer[MESSAGE];
    size_t length;
};

struct mesh {
    int listener, index;
    const char *token;
    struct line *lines; /* the peers', then those of greeting ranks */
    size_t npeers, nlines, capacity, nanswered;
    struct pollfd *polls;
};

bool mesh_is_peer(size_t i, size_t j, size_t nranks)
{
    return i != j && (j == 0 || (j + nranks - i) % nranks <= ALL_UP_TO);
}

static double wall_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void close_line(struct line *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    l->connected = false;
    l->length = 0;
}

/* Schedules another attempt. error is the reason that remains if no attempt succeeds. */
static void postpone(struct line *l, const char *error)
{
    snprintf(l->peer->error, sizeof l->peer->error, "%s", error);
    close_line(l);
    l->again = clock_now() + RETRY_S;
}

static void start_line(struct line *l)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    char port[16];

    snprintf(port, sizeof port, "%d", l->peer->port);
    int rc = resolve_host(l->peer->host, port, &hints, &found);
    if (rc) {
        snprintf(l->peer->error, sizeof l->peer->error, "its name does not resolve: %s",
                 gai_strerror(rc));
        l->done = true;
        return;
    }
    l->since = clock_now();
    l->fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->fd < 0 || (connect(l->fd, found->ai_addr, found->ai_addrlen) && errno != EINPROGRESS))
        postpone(l, strerror(errno));
    freeaddrinfo(found);
}

static void send_message(struct line *l, const char *fmt, const char *token, int index, double time)
{
    char message[MESSAGE] = "";

    snprintf(message, sizeof message, fmt, token, index, time);
    l->sent = clock_now();
    if (send(l->fd, message, sizeof message, MSG_NOSIGNAL) != MESSAGE && l->peer)
        postpone(l, strerror(errno));
}

static void finish_connect(const struct mesh *m, struct line *l)
{
    socklen_t n = sizeof(int);
    int error = 0;

    getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &n);
    if (error) {
        postpone(l, strerror(error));
        return;
    }
    l->connected = true;
    send_message(l, "unetctl-doctor %s %d %.6f\n", m->token, m->index, 0);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
    if (!a || a->sa_family != b->ss_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, 16) == 0;
}

/* Finds the network interface that a connection uses. */
static void name_interface(int fd, char dst[32])
{
    struct sockaddr_storage own;
    socklen_t n = sizeof own;
    struct ifaddrs *all;

    if (getsockname(fd, (struct sockaddr *)&own, &n) || getifaddrs(&all))
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (same_address(i->ifa_addr, &own))
            snprintf(dst, 32, "%s", i->ifa_name);
    freeifaddrs(all);
}

static void take_answer(const struct mesh *m, struct line *l)
{
    struct mesh_peer *p = l->peer;
    char token[80];
    double time;
    int index;

    l->done = true;
    p->rtt_s = clock_now() - l->sent;
    if (sscanf(l->buffer, "unetctl-doctor %79s %d %lf", token, &index, &time) != 3 ||
        strcmp(token, m->token) != 0)
        snprintf(p->error, sizeof p->error, "something else answers at port %d", p->port);
    else if (index == m->index)
        snprintf(p->error, sizeof p->error, "its name resolves to this rank itself");
    else if (index != p->index)
        snprintf(p->error, sizeof p->error, "its name resolves to rank %d", index);
    else {
        p->reached = true;
        p->clock_s = time - (wall_clock() - p->rtt_s / 2);
        name_interface(l->fd, p->interface);
        *p->error = 0;
    }
    close_line(l);
}

/* Answers a greeting. The other side closes the connection first, because the side that does
 * makes its port unusable for a minute, and the run itself needs the port of this side. */
static void answer_guest(struct mesh *m, struct line *l)
{
    l->length = 0;
    if (strncmp(l->buffer, "unetctl-doctor ", 15) == 0) {
        send_message(l, "unetctl-doctor %s %d %.6f\n", m->token, m->index, wall_clock());
        m->nanswered++;
    }
}

static void receive_echo(struct mesh *m, struct line *l)
{
    ssize_t n = recv(l->fd, l->buffer + l->length, MESSAGE - l->length, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 && l->peer)
        postpone(l, n ? strerror(errno) : "something else answers and hangs up");
    else if (n <= 0)
        close_line(l);
    else if ((l->length += (size_t)n) == MESSAGE) {
        l->buffer[MESSAGE - 1] = 0;
        if (l->peer)
            take_answer(m, l);
        else
            answer_guest(m, l);
    }
}

static void accept_guest(struct mesh *m)
{
    int fd = accept4(m->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (m->nlines == m->capacity) {
        close(fd);
        return;
    }
    m->lines[m->nlines++] = (struct line){.fd = fd, .connected = true};
}

static void serve_line(struct mesh *m, struct line *l, short events)
{
    double now = clock_now();

    if (l->fd < 0)
        return;
    if (events && !l->connected)
        finish_connect(m, l);
    else if (events)
        receive_echo(m, l);
    else if (l->peer && now - l->since > CONNECT_S)
        postpone(l, l->connected ? "it accepts the connection but does not answer" : "no answer");
}

static bool is_finished(const struct mesh *m, size_t nexpected)
{
    for (size_t i = 0; i < m->nlines; i++)
        if (i < m->npeers ? !m->lines[i].done : m->lines[i].fd >= 0)
            return false;
    return m->listener < 0 || m->nanswered >= nexpected;
}

/* Performs one round: begins the connections that are due, waits briefly, and handles those with
 * events. */
static void run_round(struct mesh *m)
{
    size_t n = m->nlines;

    for (size_t i = 0; i < m->npeers; i++)
        if (!m->lines[i].done && m->lines[i].fd < 0 && clock_now() >= m->lines[i].again)
            start_line(&m->lines[i]);
    for (size_t i = 0; i < n; i++)
        m->polls[i] = (struct pollfd){m->lines[i].fd, m->lines[i].connected ? POLLIN : POLLOUT, 0};
    m->polls[n] = (struct pollfd){m->listener, POLLIN, 0};
    if (poll(m->polls, n + 1, 50) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        serve_line(m, &m->lines[i], m->polls[i].revents);
    if (m->polls[n].revents & POLLIN)
        accept_guest(m);
}

void mesh_greet(int listener, int index, const char *token, struct mesh_peer *peers, size_t npeers,
                size_t nexpected, double patience_s)
{
    struct mesh m = {.listener = listener, .index = index, .token = token, .npeers = npeers,
                     .nlines = npeers, .capacity = npeers + MAX_GUESTS};
    double end = clock_now() + patience_s;

    m.lines = calloc(m.capacity, sizeof *m.lines);
    m.polls = calloc(m.capacity + 1, sizeof *m.polls);
    for (size_t i = 0; i < npeers; i++) {
        snprintf(peers[i].error, sizeof peers[i].error, "%s", m.lines &&
                 m.polls ? "no answer" : "no memory");
        if (m.lines)
            m.lines[i] = (struct line){.fd = -1, .peer = &peers[i]};
    }
    while (m.lines && m.polls && clock_now() < end && !is_finished(&m, nexpected))
        run_round(&m);
    for (size_t i = 0; m.lines && i < m.nlines; i++)
        close_line(&m.lines[i]);
    free(m.lines);
    free(m.polls);
}
