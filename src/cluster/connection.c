/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/connection.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "src/clock.h"

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

/* ---- connections ---- */

#define MAPPED "::ffff:" /* before an IPv4 address that an IPv6 listener reports */

int connection_nap_ms(double deadline)
{
    double left = deadline - clock_now();

    return left <= 0 ? 0 : left >= 0.1 ? 100 : (int)(1000 * left) + 1;
}

int connection_await(int fd, short events, double deadline, const atomic_int *interrupt)
{
    struct pollfd p = {.fd = fd, .events = events};

    for (;;) {
        if (interrupt && *interrupt)
            return CONNECTION_INTERRUPTED;
        int nap = connection_nap_ms(deadline);
        if (poll(&p, 1, nap) > 0)
            return CONNECTION_DONE;
        if (nap == 0)
            return CONNECTION_LATE;
    }
}

int connection_begin(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS)
        return fd;
    int reason = errno;
    close(fd);
    errno = reason;
    return -1;
}

int connection_error(int fd)
{
    socklen_t length = sizeof errno;
    int reason = 0;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &reason, &length) ? errno : reason;
}

int connection_open(const struct addrinfo *a, double deadline,
                    const atomic_int *interrupt)
{
    int fd = connection_begin(a);

    if (fd < 0)
        return -1;
    int state = connection_await(fd, POLLOUT, deadline, interrupt);
    int reason = state == CONNECTION_INTERRUPTED ? EINTR
                 : state == CONNECTION_LATE      ? ETIMEDOUT
                                                 : connection_error(fd);
    if (reason == 0)
        return fd;
    close(fd);
    errno = reason;
    return -1;
}

int connection_accept(int listener, char *dst, size_t size)
{
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    int fd = accept4(listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0 || !dst)
        return fd;
    if (getnameinfo((struct sockaddr *)&from, length, dst, (socklen_t)size, NULL, 0,
                    NI_NUMERICHOST))
        *dst = 0;
    if (text_begins(dst, MAPPED))
        memmove(dst, dst + strlen(MAPPED), strlen(dst + strlen(MAPPED)) + 1);
    return fd;
}

ssize_t connection_send(int fd, const void *data, size_t nbytes)
{
    ssize_t n;

    do
        n = send(fd, data, nbytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Moves bytes once. at: how many of the nbytes have been moved. */
static int move_some(int fd, char *data, size_t nbytes, size_t *at, bool out)
{
    ssize_t n = out ? connection_send(fd, data + *at, nbytes - *at)
                    : recv(fd, data + *at, nbytes - *at, MSG_DONTWAIT);

    if (n > 0)
        *at += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        return CONNECTION_CLOSED;
    return *at == nbytes ? CONNECTION_DONE : CONNECTION_LATE;
}

int connection_receive(int fd, void *dst, size_t nbytes, size_t *n)
{
    return move_some(fd, dst, nbytes, n, false);
}

static int move_all(int fd, char *data, size_t nbytes, bool out, double deadline,
                    const atomic_int *interrupt)
{
    int state = nbytes ? CONNECTION_LATE : CONNECTION_DONE;

    for (size_t at = 0; state == CONNECTION_LATE;) {
        state = move_some(fd, data, nbytes, &at, out);
        if (state != CONNECTION_LATE)
            break;
        int waited = connection_await(fd, out ? POLLOUT : POLLIN, deadline, interrupt);
        if (waited)
            return waited;
    }
    return state;
}

int connection_read(int fd, void *dst, size_t nbytes, double deadline,
                    const atomic_int *interrupt)
{
    return move_all(fd, dst, nbytes, false, deadline, interrupt);
}

int connection_write(int fd, const void *data, size_t nbytes, double deadline,
                     const atomic_int *interrupt)
{
    return move_all(fd, (char *)(uintptr_t)data, nbytes, true, deadline, interrupt);
}

/* ---- listeners ---- */

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
