/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/cluster/resolve.h"

static int listen_at(const struct sockaddr *address, socklen_t n)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1,
        no = 0;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if ((address->sa_family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no,
                                                      sizeof no) == 0) &&
        bind(fd, address, n) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

static int listen_as(const char *host, int port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    char service[16];

    snprintf(service, sizeof service, "%d", port);
    if (resolve_host(host, service, &hints, &found)) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int fd = listen_at(found->ai_addr, found->ai_addrlen), reason = errno;
    freeaddrinfo(found);
    errno = reason;
    return fd;
}

int listener_open(const char *host, int port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
                               .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                               .sin_addr = {htonl(INADDR_ANY)}};

    if (resolve_is_listed(host))
        return listen_as(host, port);
    int fd = listen_at((struct sockaddr *)&six, sizeof six);
    /* EADDRINUSE is final; anything else may mean that the host has no IPv6 */
    if (fd < 0 && errno != EADDRINUSE)
        fd = listen_at((struct sockaddr *)&four, sizeof four);
    return fd;
}

int listener_port(int socket)
{
    struct sockaddr_in6 a; /* the port is at the same place in both families */
    socklen_t n = sizeof a;

    return getsockname(socket, (struct sockaddr *)&a, &n) ? 0 : ntohs(a.sin6_port);
}
