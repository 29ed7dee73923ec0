/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/rendezvous/rendezvous_wire.h"

#include <string.h>

#include "src/cluster/connection.h"
#include "src/map.h"

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

int rendezvous_wire_read(const struct rendezvous_config *c, int socket, void *dst, size_t nbytes,
                         double deadline, struct err *e)
{
    return check_signal(c, connection_read(socket, dst, nbytes, deadline, c->interrupt), e);
}

int rendezvous_wire_write(const struct rendezvous_config *c, int socket, const void *data,
                          size_t nbytes, double deadline, struct err *e)
{
    return check_signal(c, connection_write(socket, data, nbytes, deadline, c->interrupt), e);
}
