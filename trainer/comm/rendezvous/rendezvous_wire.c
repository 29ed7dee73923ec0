/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/rendezvous/rendezvous_wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "src/clock.h"
#include "src/hash.h"

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

int rendezvous_wire_nap_ms(double deadline)
{
    double left = deadline - clock_now();

    return left <= 0 ? 0 : left >= 0.1 ? 100 : (int)(1000 * left) + 1;
}

double rendezvous_wire_patience_s(const struct rendezvous_config *c, double most_s)
{
    return c->timeout_s / 4 < most_s ? c->timeout_s / 4 : most_s;
}

/* Waits until the socket is ready; returns as rendezvous_wire_read. */
static int await_socket(const struct rendezvous_config *c, int socket, short event, double deadline,
                 struct err *e)
{
    struct pollfd p = {.fd = socket, .events = event};

    for (;;) {
        if (c->interrupt && *c->interrupt)
            return err_signal(e, *c->interrupt);
        int nap = rendezvous_wire_nap_ms(deadline);
        if (poll(&p, 1, nap) > 0)
            return 0;
        if (nap == 0)
            return 1;
    }
}

static int transfer(const struct rendezvous_config *c, int socket, char *data, size_t nbytes,
                    bool out, double deadline, struct err *e)
{
    for (size_t at = 0; at < nbytes;) {
        ssize_t n = out ? send(socket, data + at, nbytes - at, MSG_NOSIGNAL)
                        : recv(socket, data + at, nbytes - at, 0);
        if (n > 0) {
            at += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            return 2;
        int rc = await_socket(c, socket, out ? POLLOUT : POLLIN, deadline, e);
        if (rc)
            return rc;
    }
    return 0;
}

int rendezvous_wire_read(const struct rendezvous_config *c, int socket, void *dst, size_t nbytes,
                         double deadline, struct err *e)
{
    return transfer(c, socket, dst, nbytes, false, deadline, e);
}

int rendezvous_wire_write(const struct rendezvous_config *c, int socket, const void *data,
                          size_t nbytes, double deadline, struct err *e)
{
    return transfer(c, socket, (char *)(uintptr_t)data, nbytes, true, deadline, e);
}
