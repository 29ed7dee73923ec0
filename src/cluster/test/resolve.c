/* SPDX-License-Identifier: BSD-3-Clause */
/* Names that $UNETCTL_HOSTS lists, and names that it does not. */
#include "src/base.h"
#include "src/cluster/connection.h"

#include <arpa/inet.h>

#include "t/tap.h"

static const char *address_of(const char *host)
{
    static char text[INET6_ADDRSTRLEN];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET}, *list = NULL;

    if (resolve_host(host, "80", &hints, &list))
        return "none";
    inet_ntop(AF_INET, &((struct sockaddr_in *)list->ai_addr)->sin_addr, text, sizeof text);
    freeaddrinfo(list);
    return text;
}

int main(void)
{
    char path[] = "/tmp/unetctl-hosts.XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!f)
        bail_out("no file in /tmp");
    fputs("# 127.0.9.9 node1\n127.0.0.1 localhost\n127.0.1.1\tnode1 node1i # node7\n127.0.1.2 "
          "node2\n", f);
    fclose(f);
    setenv("UNETCTL_HOSTS", path, 1);
    ok(strcmp(address_of("node1"), "127.0.1.1") == 0, "a name in the file is resolved");
    ok(strcmp(address_of("node1i"), "127.0.1.1") == 0, "the second name of a line is resolved");
    ok(strcmp(address_of("node2"), "127.0.1.2") == 0, "a name in the next line is resolved");
    ok(strcmp(address_of("127.0.0.5"), "127.0.0.5") == 0, "an address is resolved to itself");
    ok(strcmp(address_of("node7.invalid"), "none") == 0, "a name in a comment is not resolved");
    ok(resolve_is_listed("node1i") && !resolve_is_listed("node7") && !resolve_is_listed(NULL),
       "names in the file are listed, others are not");
    remove(path);
    ok(strcmp(address_of("127.0.0.6"), "127.0.0.6") == 0, "a missing file is ignored");
    unsetenv("UNETCTL_HOSTS");
    ok(strcmp(address_of("127.0.0.7"), "127.0.0.7") == 0, "an unset variable is ignored");
    ok(!resolve_is_listed("node1"), "without the file no name is listed");
    return done_testing();
}
