/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of hosts, and sockets: listening, connecting, and input and output in bounded time. */
#pragma once

#include "src/base.h"

#include <netdb.h>
#include <stdatomic.h>
#include <sys/types.h>

/* Addresses of hosts. The file $UNETCTL_HOSTS, in the format of /etc/hosts (ADDRESS NAME...), has
 * precedence. A private Slurm (unetctl sandbox) in flat mode lists its nodes there, all of which
 * are this machine. */

/* Returns whether host is listed in $UNETCTL_HOSTS. If so, its address is used even if it is a
 * loopback address. */
bool resolve_is_listed(const char *host);

/* Works like getaddrinfo, with the same result codes, for the listed address if there is one. */
int resolve_host(const char *host, const char *service, const struct addrinfo *hints,
                 struct addrinfo **list);

/* Returns whether both are the same address, whatever their ports are. */
bool resolve_is_same(const struct sockaddr *a, const struct sockaddr *b);

/* Returns whether the list contains the address of an interface of this machine. */
bool resolve_is_own(const struct addrinfo *list);

/* Input and output on stream sockets in bounded time: no call waits beyond its deadline, a time of
 * clock_now(), nor longer than 0.1 s after *interrupt has become nonzero (interrupt may be NULL).
 * Whether a socket is blocking does not matter. Those made here are not, and are closed on exec. */

/* What the functions below return, if they say nothing else. */
enum connection_state {
    CONNECTION_INTERRUPTED = -1,
    CONNECTION_DONE,
    CONNECTION_LATE,  /* the deadline has passed, or there is no more at present */
    CONNECTION_CLOSED /* by the peer, or it has failed */
};

/* Connects to the address. Returns the socket, or -1 with errno: ETIMEDOUT, EINTR for an interrupt,
 * or why it was refused. */
int connection_open(const struct addrinfo *a, double deadline,
                    const atomic_int *interrupt);

/* The same in two steps. connection_begin returns the socket or -1 with errno; once it can be
 * written to, connection_error returns 0 if it is connected, or why not (an errno). */
int connection_begin(const struct addrinfo *a);
int connection_error(int fd);

/* Accepts a connection and writes the peer's address to dst, unless dst is NULL. Returns the
 * socket, or -1 with errno. */
int connection_accept(int listener, char *dst, size_t size);

/* Transfer all nbytes. */
int connection_read(int fd, void *dst, size_t nbytes, double deadline,
                    const atomic_int *interrupt);
int connection_write(int fd, const void *data, size_t nbytes, double deadline,
                     const atomic_int *interrupt);

/* Transfers what it can without waiting: appends to the *n of nbytes bytes that dst has. */
int connection_receive(int fd, void *dst, size_t nbytes, size_t *n);

/* Sends what it can without waiting. Returns the number of bytes, or -1 with errno. */
ssize_t connection_send(int fd, const void *data, size_t nbytes);

/* Waits for the events of poll. */
int connection_await(int fd, short events, double deadline, const atomic_int *interrupt);

/* Returns a timeout for poll: short enough to notice signals, and not beyond the deadline. */
int connection_nap_ms(double deadline);

/* Sockets at which a rank waits for others. */

/* Returns a TCP socket, non-blocking and closed on exec, that listens at port, or -1 with errno.
 * With port 0 the system chooses one. The socket listens on all IPv6 and IPv4 interfaces,
 * because on the host itself its name often resolves to 127.0.1.1. A host of $UNETCTL_HOSTS
 * listens only at its own address, since other nodes may be on the same machine with
 * the same port; host may be NULL. The caller closes the socket. */
int listener_open(const char *host, int port);

/* Returns the port of a listening socket, or 0. */
int listener_port(int socket);
