/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of hosts. The file $UNETCTL_HOSTS, in the format of /etc/hosts (ADDRESS NAME...), has
 * precedence. A private Slurm (unetctl sandbox) in flat mode lists its nodes there, all of which
 * are this machine. */
#ifndef UNETCTL_SRC_CLUSTER_RESOLVE_H
#define UNETCTL_SRC_CLUSTER_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>

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

#endif
