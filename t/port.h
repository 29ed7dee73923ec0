/* SPDX-License-Identifier: BSD-3-Clause */
/* Returns the port that the kernel assigned to a listening socket; bails out when there is none. */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "t/tap.h"

static int port_of(int fd)
{
    struct sockaddr_in6 a; /* the port is at the same place in both families */
    socklen_t n = sizeof a;

    if (fd < 0 || getsockname(fd, (struct sockaddr *)&a, &n))
        bail_out("no port");
    return ntohs(a.sin6_port);
}
