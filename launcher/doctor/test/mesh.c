/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes greet each other. This rank's own port, a port that never answers, a closed port
 * and an unknown name are not reached, each for its own reason. */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "src/cluster/connection.h"
#include "t/port.h"

static const unsigned char token[TOKEN_SIZE] = {1}, other[TOKEN_SIZE] = {2};

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
        mesh_greet(fd1, 1, 2, token, &to_0, 1, 20);
        _exit(to_0.reached ? 0 : 1);
    }
    mesh_greet(fd0, 0, 2, token, &to_1, 1, 20);
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

    mesh_greet(fd, 0, 1, token, &peer, 1, 20);
    ok(!peer.reached && strstr(peer.error, "to this rank itself"), "%s", peer.error);
    close(fd);
}

static void check_strangers(void)
{
    int port, silent = open_port(&port);
    struct mesh_peer peer = {.index = 1, .host = "127.0.0.1", .port = port};

    mesh_greet(-1, 0, 1, token, &peer, 1, 0.5);
    ok(!peer.reached && *peer.error, "a peer that never answers is not reached: %s", peer.error);
    close(silent);
    mesh_greet(-1, 0, 1, token, &peer, 1, 0.3);
    ok(!peer.reached && strstr(peer.error, "refused"),
       "a peer with a closed port is not reached: %s", peer.error);
    peer.host = "no-such-host.invalid";
    mesh_greet(-1, 0, 1, token, &peer, 1, 20);
    ok(!peer.reached && strstr(peer.error, "does not resolve"), "%s", peer.error);
}

static int call(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int s = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(s, (struct sockaddr *)&a, sizeof a))
        bail_out("no connection");
    return s;
}

/* More connections than a rank keeps, of which some send what is not a greeting, and a rank of
 * another rehearsal: the ranks find each other, and the strangers get no answer. */
static void check_crowd(void)
{
    static int crowd[400];
    int port0, port1, fd0 = open_port(&port0), fd1 = open_port(&port1), status, nanswers = 0;
    struct mesh_peer to_0 = {.index = 0, .host = "127.0.0.1", .port = port0}, again = to_0;
    struct mesh_peer to_1 = {.index = 1, .host = "127.0.0.1", .port = port1};
    char bytes[80] = "unetctl doctor 2", answer;
    pid_t child = fork();

    if (child == 0) {
        mesh_greet(-1, 1, 1, other, &again, 1, 1);
        mesh_greet(fd1, 1, 2, token, &to_0, 1, 20);
        _exit(!to_0.reached || again.reached || !strstr(again.error, "another rehearsal"));
    }
    bytes[16] = 1;
    for (int i = 0; i < 400; i++) {
        crowd[i] = call(port0);
        if (send(crowd[i], bytes, i % 2 ? sizeof bytes : 5, MSG_NOSIGNAL) < 0)
            bail_out("not sent");
    }
    mesh_greet(fd0, 0, 2, token, &to_1, 1, 20);
    waitpid(child, &status, 0);
    for (int i = 0; i < 400; i++) {
        nanswers += recv(crowd[i], &answer, 1, MSG_DONTWAIT) > 0;
        close(crowd[i]);
    }
    ok(to_1.reached, "a rank finds its peer among 400 strangers: %s", to_1.error);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
       "it is found by its peer, not by a rank of another rehearsal");
    is_int(nanswers, 0, "strangers get no answer");
    close(fd0);
    close(fd1);
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
    check_crowd();
    return done_testing();
}
