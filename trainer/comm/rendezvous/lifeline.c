/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread polls the connections to the other ranks (on rank 0 to all, elsewhere to rank 0) and
 * exchanges short messages over them, sealed by the channel of the rendezvous. The rank itself
 * reads the recorded error, and sends only its own error and, when it leaves, WORD_BYE. */
#include "src/base.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "src/clock.h"
#include "src/cluster/connection.h"

#define ANSWER_S 3.0 /* for the answers to WORD_WHERE */
#define SETTLE_S 2.0 /* in addition, for rank 0's verdict to arrive */
/* A host that is down closes no connection. TCP keep-alive notices it after about 40 s. */
#define KEEP_IDLE_S 10
#define KEEP_EVERY_S 5
#define KEEP_COUNT 6

enum word_kind {
    WORD_BYE,   /* the rank leaves normally */
    WORD_LOST,  /* the run cannot continue; has an error */
    WORD_ASK,   /* to rank 0: a collective does not end */
    WORD_WHERE, /* from rank 0: asks for the current collective */
    WORD_HERE   /* to rank 0: the current collective is number `count` */
};

/* A message; an error's text follows. */
struct word {
    int32_t kind, code;
    int64_t count;
};

#define FRAME (CHANNEL_OVERHEAD + sizeof(struct word) + ERR_TEXT_SIZE)

struct peer {
    int socket;
    struct channel *channel;
    atomic_bool gone; /* it has left or is lost */
    bool answered; /* it has answered the question in flight */
    int64_t count; /* the number of its current collective, in that answer */
    unsigned char frame[FRAME]; /* the message being received */
    size_t nread;
};

struct lifeline {
    struct rendezvous *r;
    const char *const *hosts;
    lifeline_lost_f lost;
    void *arg;
    struct peer *peers; /* on rank 0 all ranks, by rank; on others only rank 0 */
    struct pollfd *polls;
    int npeers, wake;
    pthread_t thread;
    pthread_mutex_t lock; /* held while sealing and sending, and to access error */
    atomic_long count;
    atomic_bool closing, asked, failed;
    double answers_until; /* rank 0: end of the question in flight, or 0 */
    _Atomic double heard; /* other ranks: when rank 0 last asked for their collective, or 0 */
    bool relayed;
    struct err error;
};

/* Sends a message without waiting. If the connection cannot take a short message at once, the peer
 * is dead or stopped, and the message is dropped. */
static void send_word(struct lifeline *l, struct peer *p, enum word_kind kind, const struct err *e)
{
    struct word w = {.kind = kind, .count = l->count, .code = e ? e->code : 0};
    unsigned char frame[FRAME];

    if (p->gone || p->socket < 0)
        return;
    pthread_mutex_lock(&l->lock);
    size_t nbytes = channel_seal(p->channel, &w, sizeof w, e ? e->text : NULL,
                                 e ? strnlen(e->text, ERR_TEXT_SIZE) : 0, frame);
    ssize_t n = connection_send(p->socket, frame, nbytes);
    if (n < 0 && errno != EPIPE)
        p->channel->out.place--; /* the next message takes its place */
    else if (n < (ssize_t)nbytes)
        p->gone = true;
    pthread_mutex_unlock(&l->lock);
}

static void wake_thread(struct lifeline *l)
{
    uint64_t one = 1;

    if (write(l->wake, &one, sizeof one) < 0)
        return; /* the thread is already awake */
}

/* Records the first error, forwards it to the other ranks if this is rank 0, and calls l->lost.
 * Called only by the thread. */
static void record_loss(struct lifeline *l, const char *host, const struct err *e, bool relayed)
{
    if (l->failed)
        return;
    pthread_mutex_lock(&l->lock);
    l->error = *e;
    l->relayed = relayed;
    pthread_mutex_unlock(&l->lock);
    l->failed = true;
    if (l->r->rank == 0)
        for (int i = 1; i < l->npeers; i++)
            send_word(l, &l->peers[i], WORD_LOST, e);
    if (l->lost)
        l->lost(l->arg, host, e);
}

static int rank_of(const struct lifeline *l, const struct peer *p)
{
    return l->r->rank == 0 ? (int)(p - l->peers) : 0;
}

/* forged: a message arrived that the peer has not sent; otherwise the connection has ended. */
static void lose_peer(struct lifeline *l, struct peer *p, bool forged)
{
    struct err e;
    int rank = rank_of(l, p);

    p->gone = l->closing || !forged; /* it can still be notified after a forged message */
    if (l->closing)
        return;
    if (forged)
        err_set(&e, ERR_PEER, "a message of rank %d on %s was changed on its way, or sent by "
                "another program; look for what relays the connections of the ranks", rank,
                l->hosts[rank]);
    else
        err_set(&e, ERR_PEER, "rank %d on %s is gone: it was killed or has crashed, or its host is "
                "down; its output or the system's log says why (out of memory?)", rank,
                l->hosts[rank]);
    record_loss(l, forged ? NULL : l->hosts[rank], &e, false);
    p->gone = true;
}

/* --- rank 0 asks all ranks for their collective --- */

static void begin_question(struct lifeline *l)
{
    if (l->failed || l->answers_until > 0)
        return;
    l->answers_until = clock_now() + ANSWER_S;
    for (int i = 1; i < l->npeers; i++) {
        l->peers[i].answered = false;
        send_word(l, &l->peers[i], WORD_WHERE, NULL);
    }
}

/* Called when every rank has answered or time is up. Reports the ranks that are silent, or if all
 * have answered those that are behind. */
static void end_question(struct lifeline *l)
{
    int64_t most = l->count;
    const char *host = NULL;
    char silent[300] = "", behind[300] = "";
    size_t nsilent = 0, nbehind = 0;
    struct err e;

    l->answers_until = 0;
    for (int i = 1; i < l->npeers; i++)
        if (l->peers[i].answered && l->peers[i].count > most)
            most = l->peers[i].count;
    for (int i = 0; i < l->npeers; i++) {
        const struct peer *p = &l->peers[i];
        bool answered = i == 0 || p->answered;
        int64_t count = i == 0 ? (int64_t)l->count : p->count;
        host = host || answered ? host : l->hosts[i];
        if (!answered && nsilent < sizeof silent - 64)
            nsilent += (size_t)snprintf(silent + nsilent, sizeof silent - nsilent,
                                        "%srank %d on %.32s", nsilent ? ", " : "", i, l->hosts[i]);
        else if (answered && count < most && nbehind < sizeof behind - 64)
            nbehind += (size_t)snprintf(behind + nbehind, sizeof behind - nbehind,
                                        "%srank %d on %.32s", nbehind ? ", " : "", i, l->hosts[i]);
    }
    if (nsilent)
        err_set(&e, ERR_PEER, "%s: no answer for %g s: stopped (SIGSTOP, a debugger), or the host "
                "hangs; all ranks wait for collective %lld", silent, ANSWER_S, (long long)most);
    else if (nbehind)
        err_set(&e, ERR_PEER, "%s: alive, but slow or stuck: it has not reached collective %lld, "
                "in which the others wait; check the load and the file systems of its host, or "
                "raise train.timeout_s", behind, (long long)most);
    else
        return; /* all are in the same collective, which may be about to end */
    record_loss(l, host, &e, false);
}

static bool is_answered(const struct lifeline *l)
{
    for (int i = 1; i < l->npeers; i++)
        if (!l->peers[i].answered)
            return false;
    return true;
}

/* --- messages --- */

static void handle_word(struct lifeline *l, struct peer *p, const struct word *w, const char *text,
                        size_t length)
{
    struct err e = {.code = w->code ? w->code : ERR_PEER};

    switch ((enum word_kind)w->kind) {
    case WORD_BYE: p->gone = true; break;
    case WORD_LOST:
        memcpy(e.text, text, length < sizeof e.text ? length : sizeof e.text - 1);
        if (l->r->rank == 0)
            err_rank(&e, rank_of(l, p), l->hosts[rank_of(l, p)]);
        record_loss(l, NULL, &e, true);
        break;
    case WORD_ASK: begin_question(l); break;
    case WORD_WHERE:
        l->heard = clock_now();
        send_word(l, p, WORD_HERE, NULL);
        break;
    case WORD_HERE:
        p->answered = true;
        p->count = w->count;
        break;
    }
}

static void open_word(struct lifeline *l, struct peer *p, size_t nbytes)
{
    const unsigned char *payload = p->frame + CHANNEL_HEAD;
    struct word w;

    p->nread = 0;
    if (channel_unseal(p->channel, p->frame, nbytes)) {
        lose_peer(l, p, true);
        return;
    }
    memcpy(&w, payload, sizeof w);
    handle_word(l, p, &w, (const char *)payload + sizeof w,
                nbytes - CHANNEL_OVERHEAD - sizeof w);
}

static void receive_word(struct lifeline *l, struct peer *p)
{
    size_t wanted = p->nread < CHANNEL_HEAD ? CHANNEL_HEAD : channel_frame_size(p->frame);
    int got = connection_receive(p->socket, p->frame, wanted, &p->nread);

    if (got == CONNECTION_CLOSED)
        lose_peer(l, p, false);
    if (got != CONNECTION_DONE)
        return;
    size_t nbytes = channel_frame_size(p->frame);
    if (nbytes < CHANNEL_OVERHEAD + sizeof(struct word) || nbytes > sizeof p->frame)
        lose_peer(l, p, true);
    else if (p->nread == nbytes)
        open_word(l, p, nbytes);
}

static void *watch_peers(void *arg)
{
    struct lifeline *l = arg;
    uint64_t ignored;

    while (!l->closing) {
        for (int i = 0; i < l->npeers; i++)
            l->polls[i] = (struct pollfd){.fd = l->peers[i].gone ? -1 : l->peers[i].socket,
                                          .events = POLLIN};
        l->polls[l->npeers] = (struct pollfd){.fd = l->wake, .events = POLLIN};
        poll(l->polls, (nfds_t)l->npeers + 1, l->answers_until > 0 ? 50 : -1);
        if (l->polls[l->npeers].revents && read(l->wake, &ignored, sizeof ignored) < 0)
            continue;
        if (l->asked) {
            l->asked = false;
            if (l->r->rank == 0)
                begin_question(l);
            else
                send_word(l, &l->peers[0], WORD_ASK, NULL);
        }
        for (int i = 0; i < l->npeers; i++)
            if (l->polls[i].revents)
                receive_word(l, &l->peers[i]);
        if (l->answers_until > 0 && (is_answered(l) || clock_now() >= l->answers_until))
            end_question(l);
    }
    return NULL;
}

/* --- called by the rank --- */

static void keep_alive(int socket)
{
    int yes = 1, idle = KEEP_IDLE_S, every = KEEP_EVERY_S, count = KEEP_COUNT;

    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

struct lifeline *lifeline_open(struct rendezvous *r, const char *const *hosts, lifeline_lost_f lost,
                               void *arg, struct err *e)
{
    struct lifeline *l = mem_zero(1, sizeof *l, e);
    int n = r->rank == 0 ? r->size : 1;

    if (l) {
        *l = (struct lifeline){.r = r, .hosts = hosts, .lost = lost, .arg = arg, .npeers = n,
                               .wake = -1};
        l->peers = mem_zero((size_t)n, sizeof *l->peers, e);
        l->polls = mem_zero((size_t)n + 1, sizeof *l->polls, e);
    }
    if (!l || !l->peers || !l->polls)
        goto fail;
    for (int i = 0; i < n; i++) {
        l->peers[i].socket = r->links[i].socket;
        l->peers[i].channel = &r->links[i].channel;
        keep_alive(r->links[i].socket);
    }
    l->peers[0].gone = r->rank == 0; /* this rank itself */
    pthread_mutex_init(&l->lock, NULL);
    l->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int reason = l->wake < 0 ? errno : pthread_create(&l->thread, NULL, watch_peers, l);
    if (reason == 0)
        return l;
    err_errno(e, ERR_INTERNAL, reason, "cannot start a thread to watch the other ranks");
fail:
    if (l && l->wake >= 0)
        close(l->wake);
    if (l) {
        free(l->peers);
        free(l->polls);
    }
    free(l);
    rendezvous_close(r);
    return NULL;
}

void lifeline_count(struct lifeline *l)
{
    l->count++;
}

int lifeline_check(struct lifeline *l, bool *relayed, struct err *e)
{
    if (!l->failed)
        return 0;
    pthread_mutex_lock(&l->lock);
    *e = l->error;
    *relayed = l->relayed;
    pthread_mutex_unlock(&l->lock);
    return -1;
}

int lifeline_ask(struct lifeline *l, bool *relayed, struct err *e)
{
    long count = l->count;
    double began = clock_now(), until = began + ANSWER_S + SETTLE_S;

    l->asked = true;
    wake_thread(l);
    while (!l->failed && clock_now() < until)
        clock_sleep(0.02);
    /* A question of another rank that began up to ANSWER_S earlier counts, too. */
    if (l->failed || l->r->rank == 0 || l->heard > began - ANSWER_S)
        return lifeline_check(l, relayed, e);
    *relayed = false;
    return err_set(e, ERR_PEER, "rank 0 on %s: no answer for %g s: stopped (SIGSTOP, a debugger), "
                   "or the host hangs; rank %d waits in collective %ld", l->hosts[0],
                   ANSWER_S + SETTLE_S, l->r->rank, count);
}

void lifeline_fail(struct lifeline *l, const struct err *e)
{
    for (int i = 0; i < l->npeers; i++)
        send_word(l, &l->peers[i], WORD_LOST, e);
}

void lifeline_close(struct lifeline *l)
{
    if (!l)
        return;
    /* first, because peers may close the connection as soon as they get WORD_BYE */
    l->closing = true;
    for (int i = 0; i < l->npeers; i++)
        send_word(l, &l->peers[i], WORD_BYE, NULL);
    wake_thread(l);
    pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->lock);
    close(l->wake);
    rendezvous_close(l->r);
    free(l->peers);
    free(l->polls);
    free(l);
}
