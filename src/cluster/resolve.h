/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of hosts. The file $UNETCTL_HOSTS, in the format of /etc/hosts (ADDRESS NAME...), has
 * precedence.
 * It has the nodes of a sandbox in mode flat, which are all this machine. */
#ifndef UNETCTL_SRC_CLUSTER_RESOLVE_H
#define UNETCTL_SRC_CLUSTER_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>

/* Is host in $UNETCTL_HOSTS? Then its address is used, even a loopback address. */
bool resolve_is_listed(const char *host);

/* Like getaddrinfo. */
int resolve_host(const char *host, const char *service, const struct addrinfo *hints,
                 struct addrinfo **list);

#endif
