/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets at which a rank waits for others. */
#ifndef UNETCTL_SRC_CLUSTER_LISTENER_H
#define UNETCTL_SRC_CLUSTER_LISTENER_H

/* Returns a TCP socket, non-blocking and closed on exec, that listens at port, or -1 with errno.
 * With port 0 the system chooses one. The socket listens on all IPv6 and IPv4 interfaces,
 * because on the host itself its name often resolves to 127.0.1.1. A host of $UNETCTL_HOSTS
 * (resolve.h) listens only at its own address, since other nodes may be on the same machine with
 * the same port; host may be NULL. The caller closes the socket. */
int listener_open(const char *host, int port);

/* Returns the port of a listening socket, or 0. */
int listener_port(int socket);

#endif
