/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/run/marker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t/tap.h"

/* Many processes share the token at once: all read the same bytes. */
static void test_share(void)
{
    enum { N = 8 };
    char dir[] = "/tmp/unetctl-token.XXXXXX", path[80], attempt[64];
    unsigned char token[TOKEN_SIZE], theirs[TOKEN_SIZE];
    struct err e = {0};
    int pipes[2], same = 0;

    if (!mkdtemp(dir) || pipe(pipes))
        bail_out("no temporary folder");
    snprintf(attempt, sizeof attempt, "%s/attempt-1", dir);
    snprintf(path, sizeof path, "%s/token", attempt);
    for (int i = 0; i < N; i++)
        if (fork() == 0) {
            if (token_share(attempt, token, &e))
                memset(token, i, sizeof token);
            _exit(write(pipes[1], token, sizeof token) != (ssize_t)sizeof token);
        }
    while (wait(NULL) > 0)
        ;
    ok(token_share(attempt, token, &e) == 0, "a token is shared: %s", e.text);
    for (int i = 0; i < N; i++)
        if (read(pipes[0], theirs, sizeof theirs) == (ssize_t)sizeof theirs)
            same += memcmp(theirs, token, sizeof token) == 0;
    is_int(same, N, "all processes have the same");
    chmod(path, 0644);
    ok(token_share(attempt, token, &e) && e.code == ERR_PEER &&
           strstr(e.text, "other users can read"),
       "refused when others can read it: %s", e.text);
    chmod(path, 0600);
    ok(truncate(path, 5) == 0 && token_share(attempt, token, &e) &&
       strstr(e.text, "not a token of 32"), "refused when it is cut: %s", e.text);
    unlink(path);
    rmdir(attempt);
    rmdir(dir);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    test_share();
    return done_testing();
}
