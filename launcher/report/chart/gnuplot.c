/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/chart/gnuplot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_FOUND 127

/* The child: never returns. alarm outlives exec and ends a gnuplot that hangs. */
static void become_gnuplot(const char *dir, const char *script, int output)
{
    if (chdir(dir) == 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0) {
        alarm(GNUPLOT_LIMIT_S);
        unsetenv("GNUTERM");
        execlp("gnuplot", "gnuplot", "-d", script, (char *)NULL);
    }
    _exit(errno == ENOENT ? NOT_FOUND : 126);
}

/* Keep the last bytes of what it says, as one line. */
static void read_output(int fd, char *last, size_t size)
{
    char piece[256];
    size_t length = 0;
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        for (ssize_t i = 0; i < n; i++) {
            if (length == size - 1)
                memmove(last, last + 1, --length);
            last[length++] = (unsigned char)piece[i] < ' ' ? ' ' : piece[i];
        }
    last[length] = '\0';
}

int gnuplot_run(const char *dir, const char *script, struct err *e)
{
    char last[256];
    int ends[2], status;
    pid_t pid;

    if (pipe(ends))
        return err_errno(e, ERR_INTERNAL, errno, "can't start gnuplot");
    pid = fork();
    if (pid == 0)
        become_gnuplot(dir, script, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_errno(e, ERR_INTERNAL, errno, "can't start gnuplot");
    }
    read_output(ends[0], last, sizeof last);
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return err_set(e, ERR_INTERNAL, "gnuplot is not installed");
    return err_set(e, ERR_INTERNAL, "gnuplot failed on %s/%s: %s", dir, script, last);
}
