/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank finds rank 0: the port, the encrypted connection, and the messages. */
#include "src/base.h"
#include "trainer/comm/rendezvous/rendezvous.h"

#include <arpa/inet.h>
#include <math.h>
#include <netdb.h>
#include <nettle/chacha-poly1305.h>
#include <nettle/version.h>

#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/cluster/connection.h"
#include "src/files.h"
#include "trainer/comm/rendezvous/rendezvous_internal.h"

#define LONGEST 16 /* bytes of the file */

static void make_path(char path[PATH_MAX], const char *dir)
{
    snprintf(path, PATH_MAX, "%s/port", dir); /* as short as the token's, which was opened */
}

int port_file_write(const char *dir, int port, struct err *e)
{
    char path[PATH_MAX], text[LONGEST];
    int n = snprintf(text, sizeof text, "%d\n", port);

    make_path(path, dir);
    return atomicfile_write(path, text, (size_t)n, 0600, e);
}

/* Returns the port, or 0 without a valid file. */
static int port_file_read(const char *dir)
{
    char path[PATH_MAX];
    struct err ignored;
    size_t n;

    make_path(path, dir);
    char *text = atomicfile_read(path, LONGEST, &n, &ignored);
    long port = text ? strtol(text, NULL, 10) : 0;
    free(text);
    return port > 0 && port <= 65535 ? (int)port : 0;
}

void port_file_remove(const char *dir)
{
    char path[PATH_MAX];

    make_path(path, dir);
    files_unlink(path);
}

static void init_direction(struct channel_direction *d, const struct hmac_sha256_ctx *token,
                           const char *label, const struct channel_origin *origin)
{
    struct hmac_part parts[] = {{label, strlen(label) + 1},
                                {&origin->mark, sizeof origin->mark},
                                {&origin->rank, sizeof origin->rank},
                                {origin->host_nonce, CHANNEL_NONCE},
                                {origin->rank_nonce, CHANNEL_NONCE}};

    hmac_sign(token, parts, sizeof parts / sizeof *parts, d->key);
    d->place = 0;
}

void channel_init(struct channel *c, const unsigned char token[TOKEN_SIZE],
                  const struct channel_origin *origin, bool is_host)
{
    struct hmac_sha256_ctx key;

    hmac_sha256_set_key(&key, TOKEN_SIZE, token);
    init_direction(is_host ? &c->out : &c->in, &key, "unetctl rendezvous, rank 0 to rank", origin);
    init_direction(is_host ? &c->in : &c->out, &key, "unetctl rendezvous, rank to rank 0", origin);
}

static void begin_message(struct chacha_poly1305_ctx *ctx, const struct channel_direction *d)
{
    unsigned char nonce[CHACHA_POLY1305_NONCE_SIZE] = {0};

    memcpy(nonce, &d->place, sizeof d->place);
    chacha_poly1305_set_key(ctx, d->key);
    chacha_poly1305_set_nonce(ctx, nonce);
}

static void finish_message(struct chacha_poly1305_ctx *ctx, unsigned char code[CHANNEL_CODE])
{
#if NETTLE_VERSION_MAJOR < 4
    chacha_poly1305_digest(ctx, CHANNEL_CODE, code);
#else
    chacha_poly1305_digest(ctx, code);
#endif
}

size_t channel_seal(struct channel *c, const void *head, size_t nhead, const void *body,
                    size_t nbody, unsigned char *dst)
{
    uint32_t length = (uint32_t)(nhead + nbody);
    unsigned char *payload = dst + CHANNEL_HEAD;
    struct chacha_poly1305_ctx ctx;

    memcpy(dst, &length, sizeof length);
    memcpy(payload, head, nhead);
    if (nbody)
        memcpy(payload + nhead, body, nbody);
    begin_message(&ctx, &c->out);
    chacha_poly1305_encrypt(&ctx, length, payload, payload);
    finish_message(&ctx, payload + length);
    c->out.place++;
    return CHANNEL_OVERHEAD + length;
}

size_t channel_frame_size(const unsigned char *frame)
{
    uint32_t length;

    memcpy(&length, frame, sizeof length);
    return CHANNEL_OVERHEAD + (size_t)length;
}

int channel_unseal(struct channel *c, unsigned char *frame, size_t nbytes)
{
    unsigned char code[CHANNEL_CODE], *payload = frame + CHANNEL_HEAD;
    size_t npayload = nbytes - CHANNEL_OVERHEAD;
    struct chacha_poly1305_ctx ctx;

    begin_message(&ctx, &c->in);
    chacha_poly1305_decrypt(&ctx, npayload, payload, payload);
    finish_message(&ctx, code);
    if (!memeql_sec(code, payload + npayload, CHANNEL_CODE))
        return -1;
    c->in.place++;
    return 0;
}

void rendezvous_wire_connect(struct channel *dst, const struct rendezvous_config *c,
                             const struct rendezvous_greeting *greeting,
                             const struct rendezvous_call *call)
{
    struct channel_origin origin = {.mark = RENDEZVOUS_WIRE_MARK, .rank = call->rank};

    memcpy(origin.host_nonce, greeting->nonce, sizeof origin.host_nonce);
    memcpy(origin.rank_nonce, call->nonce, sizeof origin.rank_nonce);
    channel_init(dst, c->token, &origin, c->rank == 0);
}

uint64_t rendezvous_wire_hash_spec(const struct rendezvous_config *c)
{
    uint64_t h = HASH_BEGIN;

    for (int i = 0; i < c->size; i++)
        h = hash_bytes(hash_text(h, c->hosts[i]), &c->ports[i], sizeof *c->ports);
    return h;
}

double rendezvous_wire_patience_s(const struct rendezvous_config *c, double most_s)
{
    return c->timeout_s / 4 < most_s ? c->timeout_s / 4 : most_s;
}

static int check_signal(const struct rendezvous_config *c, int state, struct err *e)
{
    return state == CONNECTION_INTERRUPTED ? err_signal(e, *c->interrupt) : state;
}

/* Transfer nbytes. Return enum connection_state, with a signal's error if interrupted. */
static int rendezvous_wire_read(const struct rendezvous_config *c, int socket, void *dst,
                                size_t nbytes, double deadline, struct err *e)
{
    return check_signal(c, connection_read(socket, dst, nbytes, deadline, c->interrupt), e);
}

int rendezvous_wire_write(const struct rendezvous_config *c, int socket, const void *data,
                          size_t nbytes, double deadline, struct err *e)
{
    return check_signal(c, connection_write(socket, data, nbytes, deadline, c->interrupt), e);
}

/* Opens and closes a rendezvous. On ranks other than 0 (rank 0: rendezvous_host.c) it connects with
 * retries to the port of the cluster spec and to the one that rank 0 has published, until a peer
 * proves that it is rank 0, and waits for its verdict. Errors say where the connection failed. */

#define CONNECT_S 5.0  /* for one address to answer */
#define GREETING_S 5.0 /* for the greeting, which rank 0 sends at once */
#define ANSWER_S 30.0  /* for the first answer, also sent at once: the network may stall */
#define GRACE_S 5.0    /* for an answer that rank 0 sends at its deadline */
#define RETRY_LEAST_S 0.02
#define RETRY_MOST_S 1.0

/* The attempts of a rank to reach rank 0. */
struct visit {
    const struct rendezvous_config *c;
    double deadline;
    char reason[400]; /* why the last attempt failed */
    char stranger[400]; /* the last reason that was a peer without the token, or "" */
    char address[INET6_ADDRSTRLEN];
    int port;
    struct channel channel;
    struct rendezvous_answer answer; /* the last one */
    unsigned char frame[RENDEZVOUS_WIRE_FRAME];
    size_t nbody; /* bytes behind the answer */
};

/* Returns whether `address`, to which the name of rank 0's host resolves, is a loopback address of
 * this host although rank 0's host is another one. */
static bool is_own_loopback(const struct rendezvous_config *c, const char *address)
{
    bool loopback = strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;

    return loopback && !c->address && strcmp(c->hosts[0], address) != 0 &&
           strcmp(c->hosts[0], "localhost") != 0 && strcmp(c->hosts[0], c->hosts[c->rank]) != 0;
}

__attribute__((format(printf, 2, 3)))
static int set_reason(struct visit *v, const char *fmt, ...)
{
    va_list ap;
    int n = 0;

    va_start(ap, fmt);
    if (*v->address)
        n = snprintf(v->reason, sizeof v->reason, "at %s port %d ", v->address, v->port);
    vsnprintf(v->reason + n, sizeof v->reason - (size_t)n, fmt, ap);
    va_end(ap);
    size_t length = strlen(v->reason);
    if (*v->address && is_own_loopback(v->c, v->address))
        snprintf(v->reason + length, sizeof v->reason - length, "; that is this host itself, %s, "
                 "but %s should be another one: correct /etc/hosts or the name service here",
                 v->c->host, v->c->hosts[0]);
    return -1;
}

/* Keeps the reason, which says more than that of a later attempt that finds no process. */
static int keep_reason(struct visit *v)
{
    memcpy(v->stranger, v->reason, sizeof v->stranger);
    return -1;
}

/* Returns a socket, -1 with v->reason, or -2 with a signal's error. */
static int connect_address(struct visit *v, const struct addrinfo *a, struct err *e)
{
    getnameinfo(a->ai_addr, a->ai_addrlen, v->address, sizeof v->address, NULL, 0, NI_NUMERICHOST);
    int fd = connection_open(a, fmin(v->deadline, clock_now() + CONNECT_S), v->c->interrupt);
    if (fd >= 0)
        return fd;
    if (errno == EINTR)
        return err_signal(e, *v->c->interrupt) - 1;
    return set_reason(v, "%s",
                      errno == ECONNREFUSED ? "no process listens (rank 0 has not started, "
                                              "or has ended: its output says why)"
                      : errno == ETIMEDOUT  ? "no answer (a firewall, or an interface that "
                                              "the ranks do not share)"
                                            : strerror(errno));
}

/* Waits for the greeting, by which rank 0 accepts the connection. Returns 0, or -1 or -2 as
 * connect_address. */
static int read_greeting(struct visit *v, int socket, struct rendezvous_greeting *greeting,
                         struct err *e)
{
    const uint64_t own = RENDEZVOUS_WIRE_MARK;
    double wait_s = rendezvous_wire_patience_s(v->c, GREETING_S);
    double until = fmin(v->deadline, clock_now() + wait_s);
    char mark[sizeof greeting->mark];
    int rc = rendezvous_wire_read(v->c, socket, greeting, sizeof *greeting, until, e);

    if (rc < 0)
        return -2;
    memcpy(mark, &greeting->mark, sizeof mark);
    if (rc == 0 && greeting->mark == own)
        return 0;
    if (rc == CONNECTION_LATE)
        return set_reason(v,
                          "a process accepts connections but sends nothing: rank 0 is stopped, or "
                          "another program uses the port");
    if (rc == CONNECTION_CLOSED)
        return set_reason(
            v, "connections are accepted and closed: rank 0 is ending, or another program uses the port");
    if (memcmp(mark, RENDEZVOUS_WIRE_NAME, strlen(RENDEZVOUS_WIRE_NAME)) == 0) {
        (void)connection_send(socket, &own, sizeof own); /* which rank 0 reports */
        set_reason(v, "a unet-train of another version listens; install the same version on all hosts");
    } else {
        set_reason(v, "another program uses the port; choose another one (unetctl spec --port-base)");
    }
    return keep_reason(v);
}

/* Receives and opens an answer. Returns as rendezvous_wire_read, 3 for a refusal, or 4 if it is not
 * an answer of rank 0. */
static int read_answer(struct visit *v, int socket, double until, struct err *e)
{
    size_t n = CHANNEL_HEAD, least = CHANNEL_OVERHEAD + sizeof v->answer;
    int rc = rendezvous_wire_read(v->c, socket, v->frame, n, until, e);

    if (rc)
        return rc;
    n = channel_frame_size(v->frame);
    if (n < least || n > sizeof v->frame)
        return n == CHANNEL_OVERHEAD ? 3 : 4;
    rc = rendezvous_wire_read(v->c, socket, v->frame + CHANNEL_HEAD, n - CHANNEL_HEAD, until, e);
    if (rc)
        return rc;
    if (channel_unseal(&v->channel, v->frame, n))
        return 4;
    memcpy(&v->answer, v->frame + CHANNEL_HEAD, sizeof v->answer);
    v->nbody = n - least;
    return 0;
}

/* Sends the call with the sealed hello. Returns as rendezvous_wire_write. */
static int send_call(struct visit *v, int socket, const struct rendezvous_greeting *greeting,
                     double until, struct err *e)
{
    const struct rendezvous_config *c = v->c;
    struct rendezvous_call call = {.mark = RENDEZVOUS_WIRE_MARK, .rank = c->rank};
    struct rendezvous_hello hello = {.size = c->size, .plan = c->plan, .process = getpid(),
                                     .spec = rendezvous_wire_hash_spec(c)};

    snprintf(hello.program, sizeof hello.program, "%s", c->program);
    snprintf(hello.host, sizeof hello.host, "%s", c->host);
    snprintf(hello.device, sizeof hello.device, "%s", c->device);
    if (token_draw(call.nonce, sizeof call.nonce, e))
        return -1;
    rendezvous_wire_connect(&v->channel, c, greeting, &call);
    channel_seal(&v->channel, &hello, sizeof hello, NULL, 0, call.frame);
    return rendezvous_wire_write(c, socket, &call, sizeof call, until, e);
}

/* Proves to the peer that this is a rank, and lets it prove that it is rank 0. Returns 0 with its
 * answer, or -1 or -2 as connect_address. */
static int shake_hands(struct visit *v, int socket, struct err *e)
{
    double wait_s = rendezvous_wire_patience_s(v->c, ANSWER_S);
    struct rendezvous_greeting greeting;
    int rc = read_greeting(v, socket, &greeting, e);

    if (rc)
        return rc;
    double until = fmin(v->deadline, clock_now() + wait_s);
    rc = send_call(v, socket, &greeting, until, e);
    if (rc == 0)
        rc = read_answer(v, socket, until, e);
    if (rc <= 0)
        return rc ? -2 : 0;
    /* Rank 0, if it is only slow, must not take this for the end of a rank. */
    (void)connection_send(socket, "", 1);
    set_reason(v, "%s",
               rc == CONNECTION_LATE ? "a process greets but does not answer: rank 0 is stopped, or it is "
                           "another program"
               : rc == CONNECTION_CLOSED ? "a process greets and closes the connection: rank 0 is ending, or it "
                           "is another program"
               : rc == 3 ? "the rank 0 that listens has another token: it belongs to another run "
                           "or attempt, or its folder of results is not the one here"
                         : "a process answers that does not know the token of this run: another "
                           "program, or one that changes messages on their way");
    return rc >= 3 ? keep_reason(v) : -1;
}

/* Tries the addresses of rank 0's host name at v->port. Returns as connect_address. */
static int call_port(struct visit *v, struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char port[16];
    int socket = -1;

    *v->address = 0;
    snprintf(port, sizeof port, "%d", v->port);
    int rc = resolve_host(v->c->address ? v->c->address : v->c->hosts[0], port, &hints, &list);
    if (rc)
        return set_reason(v, "the name has no address here: %s", gai_strerror(rc));
    for (const struct addrinfo *a = list; a && socket == -1; a = a->ai_next) {
        socket = connect_address(v, a, e);
        rc = socket >= 0 ? shake_hands(v, socket, e) : 0;
        if (rc) {
            close(socket);
            socket = rc;
        }
    }
    freeaddrinfo(list);
    return socket;
}

/* Tries the port of the cluster spec and then the one that rank 0 has published, if any. */
static int call_host(struct visit *v, struct err *e)
{
    v->port = v->c->ports[0];
    int socket = call_port(v, e);
    if (socket != -1 || v->c->address)
        return socket;
    int other = port_file_read(v->c->folder);
    if (other == 0 || other == v->port)
        return -1;
    v->port = other;
    return call_port(v, e);
}

static int set_unreached(const struct visit *v, struct err *e)
{
    const struct rendezvous_config *c = v->c;
    bool had_stranger = *v->stranger && strcmp(v->stranger, v->reason) != 0;

    return err_set(e, ERR_PEER, "rank %d of %d on %s: rank 0 was not reached at %s:%d within %g s: %s%s%s",
                   c->rank, c->size, c->host, c->hosts[0], c->ports[0], c->timeout_s,
                   v->reason, had_stranger ? "; before, " : "", had_stranger ? v->stranger : "");
}

static int reach_host(struct visit *v, struct err *e)
{
    double nap = RETRY_LEAST_S;

    for (;;) {
        int socket = call_host(v, e);
        if (socket != -1)
            return socket < 0 ? -1 : socket;
        if (clock_now() + nap >= v->deadline)
            return set_unreached(v, e);
        /* The delay depends on the rank, so that ranks started together do not retry together. */
        clock_sleep(nap * (0.75 + 0.5 * (v->c->rank % 16) / 16));
        nap = fmin(1.5 * nap, RETRY_MOST_S);
        if (err_interrupt(e, v->c->interrupt))
            return -1;
    }
}

/* Sets the error for an answer that did not come from rank 0. rc: of read_answer. */
static int set_silent(const struct rendezvous_config *c, int rc, double waited_s, struct err *e)
{
    if (rc == CONNECTION_LATE)
        return err_set(e, ERR_PEER, "rank %d of %d on %s: rank 0 on %s has not answered for %.0f "
                       "s: it is stopped, or its host hangs", c->rank, c->size, c->host,
                       c->hosts[0], waited_s);
    if (rc == CONNECTION_CLOSED)
        return err_set(e, ERR_PEER,
                       "rank %d of %d on %s: rank 0 on %s has ended while it waited for "
                       "ranks; its output or the system's log says why",
                       c->rank, c->size, c->host, c->hosts[0]);
    return err_set(e, ERR_PEER, "rank %d of %d on %s: a message of rank 0 on %s was changed on its "
                   "way, or sent by another program; look for what relays the connections of the ranks",
                   c->rank, c->size, c->host, c->hosts[0]);
}

/* Waits until rank 0 has decided. */
static int await_result(struct visit *v, int socket, void *blob, size_t nbytes, bool *relayed,
                        struct err *e)
{
    double began = clock_now(), deadline = began + v->answer.wait_ms / 1e3 + GRACE_S;
    const unsigned char *body = v->frame + CHANNEL_HEAD + sizeof v->answer;

    while (v->answer.verdict == RENDEZVOUS_WAIT) {
        int rc = read_answer(v, socket, deadline, e);
        if (rc)
            return rc < 0 ? -1 : set_silent(v->c, rc, clock_now() - began, e);
    }
    if (v->answer.verdict == RENDEZVOUS_AGREED && v->nbody != nbytes)
        return err_set(e, ERR_INTERNAL, "rank 0 on %s sent %zu bytes instead of %zu",
                       v->c->hosts[0], v->nbody, nbytes);
    if (v->answer.verdict == RENDEZVOUS_AGREED) {
        if (nbytes)
            memcpy(blob, body, nbytes);
        return 0;
    }
    *relayed = true;
    return err_set(e, v->answer.code ? v->answer.code : ERR_PEER, "%.*s", (int)v->nbody,
                   (const char *)body);
}

static int visit_host(const struct rendezvous_config *c, void *blob, size_t nbytes,
                      struct rendezvous_link *link, bool *relayed, struct err *e)
{
    struct visit v = {.c = c, .deadline = clock_now() + c->timeout_s};

    link->socket = reach_host(&v, e);
    if (link->socket < 0 || await_result(&v, link->socket, blob, nbytes, relayed, e))
        return -1;
    link->channel = v.channel;
    return 0;
}

struct rendezvous *rendezvous_open(const struct rendezvous_config *config, void *blob,
                                   size_t nbytes, bool *relayed, struct err *e)
{
    struct rendezvous *r = mem_zero(1, sizeof *r, e);
    int n = config->rank == 0 ? config->size : 1;

    *relayed = false;
    if (!r || !(r->links = mem_zero((size_t)n, sizeof *r->links, e))) {
        free(r);
        return NULL;
    }
    r->rank = config->rank;
    r->size = config->size;
    for (int i = 0; i < n; i++)
        r->links[i].socket = -1;
    int rc = nbytes > RENDEZVOUS_BLOB_MAX
                 ? err_set(e, ERR_INTERNAL, "a blob of %zu bytes", nbytes)
             : config->rank == 0
                 ? rendezvous_host_gather(config, blob, nbytes, r->links, e)
                 : visit_host(config, blob, nbytes, r->links, relayed, e);
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
        if (r->links[i].socket >= 0)
            close(r->links[i].socket);
    free(r->links);
    free(r);
}
