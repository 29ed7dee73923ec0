/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets at which a rank waits for others. */
#ifndef UNETCTL_SRC_CLUSTER_LISTENER_H
#define UNETCTL_SRC_CLUSTER_LISTENER_H

/* A TCP socket, non-blocking and closed on exec, that listens at port (0: the system chooses
 * one) on all IPv6 and IPv4 interfaces, as the name of a host often resolves to 127.0.1.1 on the
 * host itself. A host of $UNETCTL_HOSTS (resolve.h; NULL is none) listens only at its own
 * address: other nodes may be on the same machine with the same port. The caller closes it. -1
 * with errno. */
int listener_open(const char *host, int port);

/* A non-blocking connection, possibly in progress, to the process on this machine that already
 * listens at this address. The caller closes it. -1 with errno. */
int listener_call(const char *host, int port);

#endif
