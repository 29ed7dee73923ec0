/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 of a rendezvous: listens, greets every peer, and compares those that have the token. */
#include "src/base.h"
#include "trainer/comm/rendezvous/rendezvous_internal.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "src/clock.h"
#include "src/cluster/connection.h"

#define PORT_WAIT_S 2.0 /* for an earlier process to release the port */
#define LINGER_S 1.0    /* for late ranks to connect after the rendezvous has failed */
#define ANSWER_S 1.0    /* for an answer to fit into a connection's buffer */
#define STRANGERS 256   /* connections that may be open in addition to the ranks' */
#define NAMED 8         /* missing ranks that an error names */
#define EVENTS 64

/* A connection to this port. */
struct guest {
    struct guest *next; /* in host.callers */
    int socket;
    char address[INET6_ADDRSTRLEN];
    struct rendezvous_greeting greeting;
    struct rendezvous_call call;
    size_t nread; /* of the call */
    bool member;  /* it has the token and fits the run; then: */
    struct channel channel;
    struct rendezvous_hello hello;
};

struct host {
    const struct rendezvous_config *c;
    const void *blob;
    size_t nblob;
    uint64_t spec; /* hash of the addresses */
    double deadline;
    int listener, epoll, port;
    struct guest **members; /* by rank */
    struct guest *callers;  /* their call is not complete, so they may be strangers */
    int nmembers, ncallers;
    int ninformed; /* ranks to which the result was sent */
    struct map devices; /* maps the device's text to its rank */
    bool failed;
    struct err error;
    int nstrangers;      /* connections that were not from ranks, or had to make room */
    char stranger[INET6_ADDRSTRLEN]; /* address of the last of them */
    char impostor[400];              /* error text about the last peer with a wrong token */
};

/* --- the listening socket --- */

/* Listens at a port that the system chooses, and publishes it. */
static int open_other_port(struct host *h, struct err *e)
{
    const struct rendezvous_config *c = h->c;

    h->listener = listener_open(c->hosts[0], 0);
    if (h->listener < 0)
        return err_errno(e, ERR_PEER, errno, "rank 0 of %d on %s cannot listen at any port",
                         c->size, c->host);
    h->port = listener_port(h->listener);
    if (port_file_write(c->folder, h->port, e))
        return err_prefix(e, "rank 0 of %d on %s: another program uses port %d", c->size, c->host,
                          c->ports[0]);
    log_warn("rank 0 on %s: another program uses port %d (ss -ltnp shows whose it is); rank 0 "
             "listens at port %d, which the other ranks read in %s/port", c->host, c->ports[0],
             h->port, c->folder);
    return 0;
}

/* Listens at rank 0's port of the cluster spec, or if it stays in use at another one. */
static int open_listener(struct host *h, struct err *e)
{
    const struct rendezvous_config *c = h->c;
    double until = clock_now() + rendezvous_wire_patience_s(c, PORT_WAIT_S);

    h->port = c->ports[0];
    h->listener = c->listener > 0 ? c->listener : -1;
    if (h->listener > 0)
        return 0;
    port_file_remove(c->folder);
    for (;;) {
        h->listener = listener_open(c->hosts[0], h->port);
        if (h->listener >= 0)
            return 0;
        if (errno != EADDRINUSE)
            return err_errno(e, ERR_PEER, errno, "rank 0 of %d on %s cannot listen at port %d",
                             c->size, c->host, h->port);
        if (err_interrupt(e, c->interrupt))
            return -1;
        if (clock_now() >= until)
            return open_other_port(h, e);
        clock_sleep(0.1);
    }
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

static void link_caller(struct host *h, struct guest *g)
{
    g->next = h->callers;
    h->callers = g;
    h->ncallers++;
}

static void unlink_caller(struct host *h, struct guest *g)
{
    struct guest **p = &h->callers;

    while (*p != g)
        p = &(*p)->next;
    *p = g->next;
    h->ncallers--;
}

static void drop_caller(struct host *h, struct guest *g)
{
    unlink_caller(h, g);
    free_guest(g);
}

/* Records a connection that is not from a rank of this run, for the error if one is missing. */
static void note_stranger(struct host *h, const struct guest *g)
{
    if (g->nread >= sizeof g->call.mark && g->call.mark != RENDEZVOUS_WIRE_MARK &&
        memcmp(&g->call.mark, RENDEZVOUS_WIRE_NAME, strlen(RENDEZVOUS_WIRE_NAME)) == 0)
        snprintf(h->impostor, sizeof h->impostor, "; one from %s is a unet-train of another "
                 "version: install the same version on all hosts", g->address);
    h->nstrangers++;
    snprintf(h->stranger, sizeof h->stranger, "%s", g->address);
}

/* Drops the caller that has been connected longest. A rank that was slow to send its call tries
 * again. */
static void drop_oldest(struct host *h)
{
    struct guest *g = h->callers;

    while (g->next)
        g = g->next;
    note_stranger(h, g);
    drop_caller(h, g);
}

/* Handles the failure of accept. Strangers that take all descriptors must not end the run. */
static int refuse_guest(struct host *h, struct err *e)
{
    if (errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
        return 0;
    if (!h->callers)
        return err_errno(e, ERR_PEER, errno, "rank 0 of %d on %s cannot accept more than %d "
                         "connections (ulimit -n)", h->c->size, h->c->host, h->nmembers);
    drop_oldest(h);
    return 0;
}

static int accept_guest(struct host *h, struct err *e)
{
    char address[sizeof ((struct guest *)0)->address];
    int s = connection_accept(h->listener, address, sizeof address);

    if (s < 0)
        return refuse_guest(h, e);
    if (h->callers && h->ncallers + h->nmembers >= h->c->size + STRANGERS)
        drop_oldest(h);
    struct guest *g = mem_zero(1, sizeof *g, e);
    if (!g) {
        close(s);
        return -1;
    }
    g->socket = s;
    memcpy(g->address, address, sizeof address);
    link_caller(h, g);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = g};
    g->greeting.mark = RENDEZVOUS_WIRE_MARK;
    if (token_draw(g->greeting.nonce, sizeof g->greeting.nonce, e) ||
        epoll_ctl(h->epoll, EPOLL_CTL_ADD, s, &event))
        return err_errno(e, ERR_INTERNAL, errno, "rank 0 cannot accept a connection");
    /* The buffer of a new connection has room for the greeting. */
    if (connection_send(s, &g->greeting, sizeof g->greeting) != (ssize_t)sizeof g->greeting)
        drop_caller(h, g);
    return 0;
}

/* --- answers --- */

/* Sends an answer, with body behind it, to a peer that has the token. Returns as
 * rendezvous_wire_write. */
static int send_answer(struct host *h, struct guest *g, enum rendezvous_verdict verdict,
                       const void *body, size_t nbody)
{
    unsigned char frame[RENDEZVOUS_WIRE_FRAME];
    double now = clock_now(), left = h->deadline - now;
    struct rendezvous_answer answer = {.verdict = verdict, .code = h->failed ? h->error.code : 0,
                                       .wait_ms = left > 0 ? (uint32_t)(1e3 * left) : 0};
    size_t n = channel_seal(&g->channel, &answer, sizeof answer, body, nbody, frame);
    struct err ignored;

    return rendezvous_wire_write(h->c, g->socket, frame, n, now + ANSWER_S, &ignored);
}

static int send_result(struct host *h, struct guest *g)
{
    h->ninformed++;
    if (h->failed)
        return send_answer(h, g, RENDEZVOUS_FAILED, h->error.text, strlen(h->error.text));
    return send_answer(h, g, RENDEZVOUS_AGREED, h->blob, h->nblob);
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
            send_result(h, h->members[r]);
}

static int check_hello(struct host *h, const struct guest *g, struct err *e)
{
    const struct rendezvous_config *c = h->c;
    const struct rendezvous_hello *hello = &g->hello;
    int rank = g->call.rank;
    size_t other;

    if (hello->size != c->size)
        return err_set(e, ERR_PEER, "rank %d on %s says that the run has %d ranks, rank 0 on %s "
                       "says %d: one has a stale cluster spec; make it in the job step that starts "
                       "the ranks (unetctl spec)", rank, hello->host, hello->size, c->host,
                       c->size);
    if (rank < 1 || rank >= c->size)
        return err_set(e, ERR_PEER, "%s on %s calls itself rank %d of %d", hello->program,
                       hello->host, rank, c->size);
    if (h->members[rank]) {
        const struct rendezvous_hello *first = &h->members[rank]->hello;
        return err_set(e, ERR_PEER, "rank %d connected twice: from %s (process %lld) and from %s "
                       "(process %lld); it was started twice, or two tasks have the same place in "
                       "the cluster spec", rank, first->host, (long long)first->process,
                       hello->host, (long long)hello->process);
    }
    if (hello->spec != h->spec)
        return err_set(e, ERR_PEER, "rank %d on %s has another cluster spec than rank 0 on %s: one "
                       "of them is stale; make it in the job step that starts the ranks (unetctl spec)",
                       rank, hello->host, c->host);
    if (strcmp(hello->program, c->program) != 0)
        return err_set(e, ERR_PEER, "rank %d on %s runs %s, rank 0 on %s runs %s; install the same on all hosts",
                       rank, hello->host, hello->program, c->host,
                       c->program);
    if (hello->plan != c->plan)
        return err_set(e, ERR_PEER, "rank %d on %s has another run.json or other options than rank "
                       "0 on %s; all ranks of a run must read the same files", rank,
                       hello->host, c->host);
    if (*hello->device && map_get(&h->devices, hello->device, &other) &&
        other != (size_t)rank)
        return err_set(e, ERR_PEER, "rank %d on %s has the same device as rank %zu: %s; a node "
                       "needs as many GPUs as ranks (--gpus-per-node), and its ranks need either "
                       "the same CUDA_VISIBLE_DEVICES or a GPU of their own each "
                       "(--gpus-per-task=1); train.backend: cpu needs no GPU", rank, hello->host,
                       other, hello->device);
    if (*hello->device && map_set(&h->devices, hello->device, (size_t)rank))
        return mem_fail(e);
    return 0;
}

/* A peer without the token gets nothing but a frame of length 0. */
static void refuse_stranger(struct host *h, struct guest *g)
{
    static const char refusal[CHANNEL_HEAD];

    snprintf(h->impostor, sizeof h->impostor, "; one from %s that calls itself rank %d had another "
             "token, or its messages are changed on their way: it belongs to another run or "
             "attempt, or its folder of results is not the one here", g->address, g->call.rank);
    (void)connection_send(g->socket, refusal, sizeof refusal);
    drop_caller(h, g);
}

/* Returns 1 if a member has left to try again, which it announces by a byte (rendezvous.c), -1 if
 * it has ended, 0 otherwise. */
static int check_member(const struct guest *g)
{
    char byte;
    size_t n = 0;
    int state = connection_receive(g->socket, &byte, 1, &n);

    return state == CONNECTION_DONE ? 1 : state == CONNECTION_CLOSED ? -1 : 0;
}

/* Its next event finds that the connection has ended. */
static void demote_member(struct host *h, struct guest *g)
{
    h->members[g->call.rank] = NULL;
    h->nmembers--;
    g->member = false;
    link_caller(h, g);
}

/* Takes a complete call. A peer with another token is dropped. A hello that does not fit the run
 * makes the rendezvous fail for all. If it has failed, the peer gets that error and is dropped;
 * otherwise it becomes a member. */
static void admit(struct host *h, struct guest *g)
{
    struct rendezvous_call *call = &g->call;
    struct rendezvous_hello *hello = &g->hello;
    struct err e;

    rendezvous_wire_connect(&g->channel, h->c, &g->greeting, call);
    if (channel_frame_size(call->frame) != sizeof call->frame ||
        channel_unseal(&g->channel, call->frame, sizeof call->frame)) {
        refuse_stranger(h, g);
        return;
    }
    memcpy(hello, call->frame + CHANNEL_HEAD, sizeof *hello);
    hello->program[sizeof hello->program - 1] = 0;
    hello->host[sizeof hello->host - 1] = 0;
    hello->device[sizeof hello->device - 1] = 0;
    if (call->rank > 0 && call->rank < h->c->size && h->members[call->rank] &&
        check_member(h->members[call->rank]) > 0)
        demote_member(h, h->members[call->rank]);
    if (!h->failed && check_hello(h, g, &e))
        fail_all(h, &e);
    if (h->failed) {
        send_result(h, g);
        drop_caller(h, g);
        return;
    }
    unlink_caller(h, g);
    g->member = true;
    h->members[call->rank] = g;
    h->nmembers++;
    send_answer(h, g, RENDEZVOUS_WAIT, NULL, 0);
}

static void lose_member(struct host *h, struct guest *g)
{
    const struct rendezvous_hello *hello = &g->hello;
    struct err e;

    epoll_ctl(h->epoll, EPOLL_CTL_DEL, g->socket, NULL);
    err_set(&e, ERR_PEER, "rank %d on %s (process %lld) has ended while rank 0 waited for others; "
            "its output or the system's log says why", g->call.rank, hello->host,
            (long long)hello->process);
    fail_all(h, &e);
}

/* Called when a connection has data or has ended. */
static void receive_call(struct host *h, struct guest *g)
{
    struct rendezvous_call *call = &g->call;

    if (g->member) {
        int state = check_member(g);
        if (state > 0)
            demote_member(h, g);
        else if (state < 0)
            lose_member(h, g);
        return;
    }
    int got = connection_receive(g->socket, call, sizeof *call, &g->nread);
    bool odd = g->nread >= sizeof call->mark && call->mark != RENDEZVOUS_WIRE_MARK;
    if (got == CONNECTION_DONE && !odd) {
        admit(h, g);
    } else if (got == CONNECTION_CLOSED || odd) {
        if (odd)
            note_stranger(h, g);
        drop_caller(h, g);
    }
}

/* --- waiting for all ranks --- */

static void set_missing(const struct host *h, struct err *e)
{
    const struct rendezvous_config *c = h->c;
    int nmissing = c->size - 1 - h->nmembers, named = 0;
    char names[500] = "", strangers[160] = "", silent[160] = "", other[160] = "";
    size_t at = 0;

    for (int r = 1; r < c->size && named < NAMED; r++)
        if (!h->members[r])
            at += (size_t)snprintf(names + at, sizeof names - at, "%srank %d (%.48s)",
                                   named++ ? ", " : "", r, c->hosts[r]);
    if (nmissing > named)
        snprintf(names + at, sizeof names - at, " and %d more", nmissing - named);
    if (h->nstrangers)
        snprintf(strangers, sizeof strangers, "; %d connection%s not from a rank (the last from %s)",
                 h->nstrangers, h->nstrangers > 1 ? "s were" : " was", h->stranger);
    if (h->ncallers)
        snprintf(silent, sizeof silent, "; a connection from %s sends nothing: its process is "
                 "stopped, or not a rank", h->callers->address);
    if (h->port != c->ports[0])
        snprintf(other, sizeof other, "; port %d of the cluster spec belongs to another program, "
                 "or this run was started twice (ss -ltnp)", c->ports[0]);
    err_set(e, ERR_PEER, "rank 0 of %d on %s has waited %g s at port %d: %s did not connect"
            "%s%s%s%s; %s output or the system's log says why; unetctl doctor --gpus N looks for reasons",
            c->size, c->host, c->timeout_s, h->port, names, h->impostor, silent,
            strangers, other, nmissing > 1 ? "their" : "its");
}

static int take_events(struct host *h, struct err *e)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(h->epoll, events, EVENTS, connection_nap_ms(h->deadline));

    /* Messages are handled before new connections: accepting may drop a caller whose event is still
     * in the list. */
    for (int i = 0; i < n; i++)
        if (events[i].data.ptr)
            receive_call(h, events[i].data.ptr);
    for (int i = 0; i < n; i++)
        if (!events[i].data.ptr && accept_guest(h, e))
            return -1;
    return 0;
}

static bool have_all_come(struct host *h)
{
    int wanted = h->c->size - 1;

    if (h->nmembers < wanted)
        return false;
    for (int r = 1; r <= wanted; r++)
        if (check_member(h->members[r]) > 0)
            demote_member(h, h->members[r]);
    return h->nmembers == wanted;
}

static int gather_ranks(struct host *h)
{
    const struct rendezvous_config *c = h->c;
    struct err e;

    while (h->failed ? h->ninformed < c->size - 1 : !have_all_come(h)) {
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
        if (send_result(h, h->members[r]))
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
                           struct rendezvous_link *links, struct err *e)
{
    struct host h = {.c = c, .blob = blob, .nblob = nbytes, .listener = -1, .epoll = -1,
                     .spec = rendezvous_wire_hash_spec(c), .deadline = clock_now() + c->timeout_s};
    int rc = open_host(&h, e) || gather_ranks(&h) ? -1 : 0;

    if (h.failed)
        *e = h.error;
    for (int r = 1; h.members && r < c->size; r++) {
        struct guest *g = h.members[r];
        if (rc == 0) {
            links[r] = (struct rendezvous_link){.socket = g->socket, .channel = g->channel};
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
