/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes greet each other. This rank's own port, a port that never answers, a closed port
 * and an unknown name are not reached, each for its own reason. */
#include "config.h"
#include "launcher/doctor/mesh.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/cluster/listener.h"
#include "t/port.h"

/* Opens a port that the system chooses. */
static int open_port(int *port)
{
    int fd = listener_open(NULL, 0);

    *port = port_of(fd);
    return fd;
}

static void check_pair(void)
{
    int port0, port1, fd0 = open_port(&port0), fd1 = open_port(&port1), status;
    struct mesh_peer to_0 = {.index = 0, .host = "127.0.0.1", .port = port0};
    struct mesh_peer to_1 = {.index = 1, .host = "127.0.0.1", .port = port1};
    pid_t child = fork();

    if (child == 0) {
        mesh_greet(fd1, 1, "job", &to_0, 1, 1, 20);
        _exit(to_0.reached ? 0 : 1);
    }
    mesh_greet(fd0, 0, "job", &to_1, 1, 1, 20);
    waitpid(child, &status, 0);
    ok(to_1.reached, "rank 0 reaches rank 1: %s", to_1.error);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank 1 reaches rank 0");
    is_str(to_1.interface, "lo", "the interface of the connection is named");
    ok(to_1.clock_s > -1 && to_1.clock_s < 1, "clocks of one host agree: %g", to_1.clock_s);
    close(fd0);
    close(fd1);
}

/* Checks a name that leads back to this rank itself. */
static void check_self(void)
{
    int port, fd = open_port(&port);
    struct mesh_peer peer = {.index = 1, .host = "127.0.0.1", .port = port};

    mesh_greet(fd, 0, "job", &peer, 1, 1, 20);
    ok(!peer.reached && strstr(peer.error, "to this rank itself"), "%s", peer.error);
    close(fd);
}

static void check_strangers(void)
{
    int port, silent = open_port(&port);
    struct mesh_peer peer = {.index = 1, .host = "127.0.0.1", .port = port};

    mesh_greet(-1, 0, "job", &peer, 1, 0, 0.5);
    ok(!peer.reached && *peer.error, "a peer that never answers is not reached: %s", peer.error);
    close(silent);
    mesh_greet(-1, 0, "job", &peer, 1, 0, 0.3);
    ok(!peer.reached && strstr(peer.error, "refused"),
       "a peer with a closed port is not reached: %s", peer.error);
    peer.host = "no-such-host.invalid";
    mesh_greet(-1, 0, "job", &peer, 1, 0, 20);
    ok(!peer.reached && strstr(peer.error, "does not resolve"), "%s", peer.error);
}

int main(void)
{
    size_t n = 0;

    ok(mesh_is_peer(3, 0, 1000) && mesh_is_peer(999, 0, 1000) && mesh_is_peer(990, 10, 1000),
       "peers are rank 0 and the next 32, modulo the number of ranks");
    ok(!mesh_is_peer(3, 3, 10) && !mesh_is_peer(1, 999, 1000),
       "neither the rank itself nor the previous one is a peer");
    for (size_t j = 0; j < 14; j++)
        n += mesh_is_peer(5, j, 14);
    is_int(n, 13, "in a small job all ranks are peers");
    check_pair();
    check_self();
    check_strangers();
    done_testing();
}
