/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of hosts. Names that the machine can't know, those of a sandbox whose nodes are all
 * this machine (unetctl sandbox up --mode flat), stand in the file $UNETCTL_HOSTS, which is as
 * /etc/hosts: ADDRESS NAME..., and comes first. */
#ifndef UNETCTL_SRC_CLUSTER_RESOLVE_H
#define UNETCTL_SRC_CLUSTER_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>

/* Does $UNETCTL_HOSTS have it? Then its address is meant, also one of loopback. */
bool resolve_is_listed(const char *host);

/* As getaddrinfo. */
int resolve_host(const char *host, const char *service, const struct addrinfo *hints,
                 struct addrinfo **list);

#endif
