/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/chart/picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_FOUND 127 /* the exit code of the child if there is no rsvg-convert */

/* Runs in the child and does not return. The alarm survives exec and ends a program that hangs. */
static void become_rsvg(const char *dir, const char *name, const char *format, int output)
{
    char from[64], to[64];

    snprintf(from, sizeof from, "%s.svg", name);
    snprintf(to, sizeof to, "%s.%s", name, format);
    if (chdir(dir) == 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0) {
        alarm(PICTURE_LIMIT_S);
        execlp("rsvg-convert", "rsvg-convert", "--format", format, "--zoom",
               format[1] == 'n' ? "4" : "1", "--output", to, from, (char *)NULL);
    }
    _exit(errno == ENOENT ? NOT_FOUND : 126);
}

/* Reads the output to its end, and keeps its beginning as one line. */
static void read_output(int fd, char *first, size_t size)
{
    char piece[256];
    size_t length = 0;
    ssize_t n;

    while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        for (ssize_t i = 0; i < n && length < size - 1; i++)
            first[length++] = (unsigned char)piece[i] < ' ' ? ' ' : piece[i];
    first[length] = '\0';
}

static int make_one(const char *dir, const char *name, const char *format, struct err *e)
{
    char said[256];
    int ends[2], status;
    pid_t pid;

    if (pipe(ends))
        return err_errno(e, ERR_INTERNAL, errno, "cannot start rsvg-convert");
    pid = fork();
    if (pid == 0)
        become_rsvg(dir, name, format, ends[1]);
    close(ends[1]);
    if (pid > 0)
        read_output(ends[0], said, sizeof said);
    close(ends[0]);
    if (pid < 0)
        return err_errno(e, ERR_INTERNAL, errno, "cannot start rsvg-convert");
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return err_set(e, ERR_INTERNAL, "rsvg-convert (librsvg2-bin) is not installed");
    return err_set(e, ERR_INTERNAL, "rsvg-convert failed on %s/%s.svg: %s", dir, name, said);
}

int picture_make(const char *dir, const char *name, struct err *e)
{
    return make_one(dir, name, "pdf", e) || make_one(dir, name, "png", e) ? -1 : 0;
}
