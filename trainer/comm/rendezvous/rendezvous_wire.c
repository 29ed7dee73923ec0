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

void rendezvous_wire_sign_hello(const unsigned char token[TOKEN_SIZE],
                                const struct rendezvous_greeting *greeting,
                                const struct rendezvous_hello *hello, char dst[TOKEN_SIGNATURE])
{
    struct token_part parts[] = {{greeting, sizeof *greeting},
                                 {hello, offsetof(struct rendezvous_hello, signature)}};

    token_sign(token, parts, 2, dst);
}

void rendezvous_wire_sign_verdict(const unsigned char token[TOKEN_SIZE],
                                  const struct rendezvous_hello *hello,
                                  const struct rendezvous_verdict *verdict, const void *blob,
                                  char dst[TOKEN_SIGNATURE])
{
    struct token_part parts[] = {{hello->nonce, sizeof hello->nonce},
                                 {verdict, offsetof(struct rendezvous_verdict, signature)},
                                 {blob, verdict->nblob}};

    token_sign(token, parts, 3, dst);
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
