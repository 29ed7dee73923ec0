/* SPDX-License-Identifier: BSD-3-Clause */
/* What ends each transfer: all bytes, the deadline, the peer, or an interrupt. */
#include "src/base.h"
#include "src/cluster/connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "src/clock.h"
#include "t/port.h"

static atomic_int interrupt = 1;

/* The loopback address of this host. */
static struct addrinfo *address_of(int port)
{
    static struct sockaddr_in to;
    static struct addrinfo a = {.ai_family = AF_INET, .ai_addr = (struct sockaddr *)&to,
                                .ai_addrlen = sizeof to};

    to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                              .sin_addr = {htonl(INADDR_LOOPBACK)}};
    return &a;
}

static void check_connect(int pair[2])
{
    int listener = listener_open(NULL, 0), port = port_of(listener);
    char peer[INET6_ADDRSTRLEN];

    pair[0] = connection_open(address_of(port), clock_now() + 10, NULL);
    ok(pair[0] >= 0, "a connection is made");
    ok(connection_await(listener, POLLIN, clock_now() + 10, NULL) == CONNECTION_DONE,
       "the listener has it");
    pair[1] = connection_accept(listener, peer, sizeof peer);
    is_str(peer, "127.0.0.1", "accepted, with the peer's address");
    for (int i = 0; i < 2; i++)
        ok(fcntl(pair[i], F_GETFL) & O_NONBLOCK && fcntl(pair[i], F_GETFD) & FD_CLOEXEC,
           "the socket is non-blocking and closed on exec");
    ok(connection_accept(listener, NULL, 0) == -1 && errno == EAGAIN, "there is no other");
    close(listener);
    ok(connection_open(address_of(port), clock_now() + 10, NULL) == -1 && errno == ECONNREFUSED,
       "where nothing listens it is refused");
}

static void check_transfer(int a, int b)
{
    static char data[1 << 20];
    char got[8] = "";
    size_t n = 0;
    double began = clock_now();

    is_int(connection_read(b, got, 4, began + 0.2, NULL), CONNECTION_LATE, "nothing comes");
    ok(clock_now() - began >= 0.2, "which is waited for until the deadline");
    is_int(connection_read(b, got, 4, began + 60, &interrupt), CONNECTION_INTERRUPTED,
           "or an interrupt");
    is_int(connection_receive(b, got, 4, &n), CONNECTION_LATE, "or not at all");
    is_int(connection_write(a, "ab", 2, clock_now() + 10, NULL), CONNECTION_DONE, "two bytes");
    (void)connection_await(b, POLLIN, clock_now() + 10, NULL);
    is_int(connection_receive(b, got, 4, &n), CONNECTION_LATE, "of four are not all");
    is_int((long)n, 2, "but counted");
    is_int(connection_send(a, "cd", 2), 2, "two more");
    (void)connection_await(b, POLLIN, clock_now() + 10, NULL);
    is_int(connection_receive(b, got, 4, &n), CONNECTION_DONE, "are all");
    is_str(got, "abcd", "in their order");
    int state = CONNECTION_DONE;
    for (int i = 0; i < 64 && state == CONNECTION_DONE; i++)
        state = connection_write(a, data, sizeof data, clock_now() + 0.1, NULL);
    is_int(state, CONNECTION_LATE, "a peer that reads nothing delays no longer than the deadline");
    close(b);
    is_int(connection_write(a, data, sizeof data, clock_now() + 10, NULL), CONNECTION_CLOSED,
           "one that is gone is reported, without a signal");
    is_int(connection_read(a, got, 4, clock_now() + 10, NULL), CONNECTION_CLOSED,
           "also to a reader");
    close(a);
}

int main(void)
{
    int tcp[2], local[2];

    check_connect(tcp);
    check_transfer(tcp[0], tcp[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, local))
        bail_out("no sockets");
    check_transfer(local[0], local[1]); /* these are blocking */
    return done_testing();
}
