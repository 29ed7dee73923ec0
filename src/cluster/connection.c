/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/cluster/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/clock.h"

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
    if (strncmp(dst, MAPPED, strlen(MAPPED)) == 0)
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
