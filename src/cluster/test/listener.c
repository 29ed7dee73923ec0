/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses a listener has, and which listeners may share a port. */
#include "src/base.h"
#include "src/cluster/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include "t/port.h"

static bool reaches(const char *address, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    inet_pton(AF_INET, address, &a.sin_addr);
    bool is_there = connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    close(fd);
    return is_there;
}

static void check_listed(void)
{
    char path[] = "/tmp/unetctl-hosts.XXXXXX";
    int file = mkstemp(path), first, second, port;

    dprintf(file, "127.0.1.1 node1\n127.0.1.2 node2\nnonsense node3\n");
    close(file);
    setenv("UNETCTL_HOSTS", path, 1);
    first = listener_open("node1", 0);
    port = port_of(first);
    ok(reaches("127.0.1.1", port) && !reaches("127.0.1.2", port),
       "a listed host listens at its own address only");
    second = listener_open("node2", port);
    ok(second >= 0 && reaches("127.0.1.2", port),
       "another listed host listens at the same port of its own address");
    ok(listener_open("node1", port) == -1 && errno == EADDRINUSE,
       "a port that is in use is refused");
    ok(listener_open("node3", port) == -1 && errno == EADDRNOTAVAIL,
       "an invalid address in the list is refused");
    close(first);
    close(second);
    first = listener_open("elsewhere", 0);
    ok(reaches("127.0.1.2", port_of(first)), "a host that is not listed listens at all addresses");
    close(first);
    remove(path);
    unsetenv("UNETCTL_HOSTS");
}

int main(void)
{
    int fd = listener_open(NULL, 0), port = port_of(fd);

    ok(reaches("127.0.0.1", port) && reaches("127.0.1.1", port),
       "a listener has every address of this host");
    ok(fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC,
       "the socket is non-blocking and closed on exec");
    ok(listener_open("localhost", port) == -1 && errno == EADDRINUSE,
       "a port that is in use is refused");
    close(fd);
    fd = listener_open("localhost", port);
    ok(fd >= 0, "a closed port can be used again at once");
    close(fd);
    check_listed();
    return done_testing();
}
