/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "src/clock.h"
#include "src/cluster/connection.h"
#include "src/format/sha256.h"

#define ALL_UP_TO 32
#define RETRY_S 0.1      /* delay after a failed attempt: the peer may not have started yet */
#define CONNECT_S 3.0    /* a peer that has not answered by then is tried again */
#define STRANGERS 256    /* connections that may be open in addition to the ranks' */
#define MARK "unetctl doctor 2" /* changes with the message */

enum message_kind { GREETING = 1, ANSWER = 2 };

/* A record in the machine's byte order. */
struct message {
    char mark[16];
    int32_t kind, index; /* of the sender */
    double time;         /* its clock */
    unsigned char nonce[16]; /* random; the answer repeats the greeting's */
    unsigned char code[HMAC_SIZE]; /* of all before it, with the rehearsal's token */
};

/* One connection: to a peer, or from a rank that greets this one (peer is NULL). */
struct line {
    int fd; /* -1: not connected */
    struct mesh_peer *peer;
    bool done;
    /* by clock_now(): when the connection was begun, from when it may be tried again, and when the
     * greeting was sent, or 0 */
    double since, again, sent;
    struct message message; /* the one that is being received */
    size_t length;
};

struct mesh {
    int listener, index;
    struct hmac_sha256_ctx key;
    unsigned char nonce[16]; /* of this rank's greetings */
    struct line *lines;      /* the peers', then those of ranks that greet this one */
    size_t npeers, nlines, nranks, naccepted, nawaited;
    bool *awaited; /* by rank: its greeting is to be answered */
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
    l->sent = 0;
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
    l->fd = connection_begin(found);
    if (l->fd < 0)
        postpone(l, strerror(errno));
    freeaddrinfo(found);
}

static void sign_message(const struct mesh *m, const struct message *message,
                         unsigned char dst[HMAC_SIZE])
{
    hmac_sign(&m->key, &(struct hmac_part){message, offsetof(struct message, code)}, 1, dst);
}

/* Sends a message. If the connection was refused, this says so. */
static void send_message(const struct mesh *m, struct line *l, enum message_kind kind,
                         const unsigned char nonce[16])
{
    struct message message = {.mark = {0}, .kind = kind, .index = m->index, .time = wall_clock()};

    memcpy(message.mark, MARK, sizeof message.mark);
    memcpy(message.nonce, nonce, sizeof message.nonce);
    sign_message(m, &message, message.code);
    l->sent = clock_now();
    if (connection_send(l->fd, &message, sizeof message) != (ssize_t)sizeof message && l->peer)
        postpone(l, strerror(errno));
}

/* Returns whether the line's message is of this kind and from a rank of this rehearsal. */
static bool is_genuine(const struct mesh *m, const struct line *l, enum message_kind kind)
{
    unsigned char code[HMAC_SIZE];

    sign_message(m, &l->message, code);
    return memcmp(l->message.mark, MARK, sizeof l->message.mark) == 0 &&
           l->message.kind == (int32_t)kind && memeql_sec(code, l->message.code, HMAC_SIZE);
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
        if (i->ifa_addr && resolve_is_same(i->ifa_addr, (const struct sockaddr *)&own))
            snprintf(dst, 32, "%s", i->ifa_name);
    freeifaddrs(all);
}

static void take_answer(const struct mesh *m, struct line *l)
{
    struct mesh_peer *p = l->peer;
    int index = l->message.index;

    l->done = true;
    p->rtt_s = clock_now() - l->sent;
    if (!is_genuine(m, l, ANSWER) || memcmp(l->message.nonce, m->nonce, sizeof m->nonce) != 0) {
        snprintf(p->error, sizeof p->error, "something else answers at port %d", p->port);
    } else if (index == m->index) {
        snprintf(p->error, sizeof p->error, "its name resolves to this rank itself");
    } else if (index != p->index) {
        snprintf(p->error, sizeof p->error, "its name resolves to rank %d", index);
    } else {
        p->reached = true;
        p->clock_s = l->message.time - (wall_clock() - p->rtt_s / 2);
        name_interface(l->fd, p->interface);
        *p->error = 0;
    }
    close_line(l);
}

/* Answers a greeting, and nothing else. The other side closes the connection first, because the
 * side that does makes its port unusable for a minute, and the run itself needs the port of this
 * side. */
static void answer_guest(struct mesh *m, struct line *l)
{
    size_t index = (size_t)l->message.index;

    l->length = 0;
    if (!is_genuine(m, l, GREETING) || index >= m->nranks) {
        close_line(l);
        return;
    }
    send_message(m, l, ANSWER, l->message.nonce);
    l->done = true;
    m->nawaited -= m->awaited[index];
    m->awaited[index] = false;
}

/* Accepts a connection, and closes the oldest one if there are too many; its rank tries again. */
static void accept_guest(struct mesh *m)
{
    size_t place = m->npeers + m->naccepted % (m->nlines - m->npeers);
    int fd = connection_accept(m->listener, NULL, 0);

    if (fd < 0)
        return;
    close_line(&m->lines[place]);
    m->lines[place] = (struct line){.fd = fd};
    m->naccepted++;
}

static void serve_line(struct mesh *m, struct line *l, short events)
{
    int got = CONNECTION_LATE;

    if (l->fd < 0)
        return;
    if (events && l->peer && l->sent == 0)
        send_message(m, l, GREETING, m->nonce);
    else if (events)
        got = connection_receive(l->fd, &l->message, sizeof l->message, &l->length);
    else if (l->peer && clock_now() - l->since > CONNECT_S)
        postpone(l, l->sent > 0 ? "it accepts the connection but does not answer" : "no answer");
    if (got == CONNECTION_CLOSED && l->peer)
        postpone(l, "something else, or a rank of another rehearsal, hangs up");
    else if (got == CONNECTION_CLOSED)
        close_line(l);
    else if (got == CONNECTION_DONE && l->peer)
        take_answer(m, l);
    else if (got == CONNECTION_DONE)
        answer_guest(m, l);
}

static bool is_finished(const struct mesh *m)
{
    for (size_t i = 0; i < m->nlines; i++)
        if (i < m->npeers ? !m->lines[i].done : m->lines[i].done && m->lines[i].fd >= 0)
            return false;
    return m->listener < 0 || m->nawaited == 0;
}

/* Performs one round: begins the connections that are due, waits briefly, and handles those with
 * events. */
static void run_round(struct mesh *m)
{
    size_t n = m->nlines;

    for (size_t i = 0; i < n; i++) {
        struct line *l = &m->lines[i];
        if (l->peer && !l->done && l->fd < 0 && clock_now() >= l->again)
            start_line(l);
        m->polls[i] = (struct pollfd){l->fd, l->peer && l->sent == 0 ? POLLOUT : POLLIN, 0};
    }
    m->polls[n] = (struct pollfd){m->listener, POLLIN, 0};
    if (poll(m->polls, n + 1, 50) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        serve_line(m, &m->lines[i], m->polls[i].revents);
    if (m->polls[n].revents & POLLIN)
        accept_guest(m);
}

void mesh_greet(int listener, int index, size_t nranks, const unsigned char token[TOKEN_SIZE],
                struct mesh_peer *peers, size_t npeers, double patience_s)
{
    struct mesh m = {.listener = listener, .index = index, .nranks = nranks, .npeers = npeers,
                     .nlines = npeers + nranks + STRANGERS};
    double end = clock_now() + patience_s;
    struct err e = {0};

    hmac_sha256_set_key(&m.key, TOKEN_SIZE, token);
    m.lines = mem_zero(m.nlines, sizeof *m.lines, &e);
    m.polls = mem_zero(m.nlines + 1, sizeof *m.polls, &e);
    m.awaited = mem_zero(nranks, sizeof *m.awaited, &e);
    bool ready = m.lines && m.polls && m.awaited && token_draw(m.nonce, sizeof m.nonce, &e) == 0;
    for (size_t i = 0; i < npeers; i++)
        snprintf(peers[i].error, sizeof peers[i].error, "%.199s", ready ? "no answer" : e.text);
    for (size_t i = 0; m.lines && i < m.nlines; i++)
        m.lines[i] = (struct line){.fd = -1, .peer = i < npeers ? &peers[i] : NULL};
    for (size_t i = 0; ready && i < nranks; i++)
        m.nawaited += m.awaited[i] = mesh_is_peer(i, (size_t)index, nranks);
    while (ready && clock_now() < end && !is_finished(&m))
        run_round(&m);
    for (size_t i = 0; m.lines && i < m.nlines; i++)
        close_line(&m.lines[i]);
    free(m.lines);
    free(m.polls);
    free(m.awaited);
}
