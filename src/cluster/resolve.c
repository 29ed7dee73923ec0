/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster/resolve.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If the line lists host, stores its address in dst and returns true. */
static bool match_line(char *line, const char *host, char dst[64])
{
    char *rest = NULL, *address;

    line[strcspn(line, "#\n")] = '\0';
    address = strtok_r(line, " \t", &rest);
    for (const char *name; address && (name = strtok_r(NULL, " \t", &rest));)
        if (strcmp(name, host) == 0) {
            snprintf(dst, 64, "%s", address);
            return true;
        }
    return false;
}

static bool look_up(const char *path, const char *host, char dst[64])
{
    FILE *f = fopen(path, "re");
    char line[1024];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f))
        found = match_line(line, host, dst);
    if (f)
        fclose(f);
    return found;
}

static bool look_up_listed(const char *host, char dst[64])
{
    const char *path = getenv("UNETCTL_HOSTS");

    return path && host && look_up(path, host, dst);
}

bool resolve_is_listed(const char *host)
{
    char address[64];

    return look_up_listed(host, address);
}

int resolve_host(const char *host, const char *service, const struct addrinfo *hints,
                 struct addrinfo **list)
{
    char address[64];

    if (look_up_listed(host, address))
        host = address;
    return getaddrinfo(host, service, hints, list);
}

bool resolve_is_same(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)a)->sin_addr,
                      &((const struct sockaddr_in *)b)->sin_addr, sizeof(struct in_addr)) == 0;
    return a->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

bool resolve_is_own(const struct addrinfo *list)
{
    struct ifaddrs *own = NULL;
    bool found = false;

    if (getifaddrs(&own))
        return false;
    for (const struct addrinfo *a = list; a && !found; a = a->ai_next)
        for (const struct ifaddrs *i = own; i && !found; i = i->ifa_next)
            found = i->ifa_addr && resolve_is_same(a->ai_addr, i->ifa_addr);
    freeifaddrs(own);
    return found;
}
