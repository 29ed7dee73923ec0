/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets at which a rank awaits others. */
#ifndef UNETCTL_SRC_CLUSTER_LISTENER_H
#define UNETCTL_SRC_CLUSTER_LISTENER_H

/* A TCP socket, non-blocking and closed on exec, that listens at port (0: the system chooses one)
 * on all interfaces, IPv6's and IPv4's: the name of this host often leads to 127.0.1.1 here and
 * elsewhere not. Only a host of $UNETCTL_HOSTS (resolve.h) is listened for at its own address, as
 * other nodes are this machine too and may have the same port; NULL is none. The caller closes it.
 * -1 with errno. */
int listener_open(const char *host, int port);

/* A non-blocking connection, perhaps still being made, to whoever on this machine has what
 * listener_open was asked for and did not get. The caller closes it. -1 with errno. */
int listener_call(const char *host, int port);

#endif
