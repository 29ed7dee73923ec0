/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/run/token.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/files.h"

int token_draw(void *dst, size_t nbytes, struct err *e)
{
    ssize_t n;

    do
        n = getrandom(dst, nbytes, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)nbytes ? 0
                                : err_errno(e, ERR_INTERNAL, errno, "cannot get random numbers");
}

/* Returns 0, 1 if there is no such file, or -1. */
static int read_token(const char *path, unsigned char dst[TOKEN_SIZE], struct err *e)
{
    struct stat st;
    int fd = files_open(path, O_RDONLY | O_NOFOLLOW, 0);

    if (fd < 0)
        return errno == ENOENT ? 1
                               : files_error(e, ERR_PEER, errno, "cannot read the run's token", path);
    bool known = fstat(fd, &st) == 0;
    ssize_t n = known ? read(fd, dst, TOKEN_SIZE) : -1;
    close(fd);
    if (n != TOKEN_SIZE || st.st_size != TOKEN_SIZE)
        return err_set(e, ERR_PEER, "%s is not a token of %d bytes; remove it, and the next start "
                       "makes another", path, TOKEN_SIZE);
    if (st.st_mode & 077 || st.st_uid != geteuid())
        return err_set(e, ERR_PEER, "other users can read %s; remove it, and the next start makes "
                       "another", path);
    return 0;
}

/* The file is complete before it gets its name, and link() lets only one rank give it that name,
 * also on network file systems. */
static int make_token(const char *dir, const char *path, struct err *e)
{
    char temporary[PATH_MAX + 32];
    uint64_t random;
    unsigned char token[TOKEN_SIZE];
    int rc = -1;

    if (files_make_folder(dir))
        return files_error(e, ERR_PEER, errno, "cannot make the folder", dir);
    if (token_draw(token, sizeof token, e) || token_draw(&random, sizeof random, e))
        return -1;
    snprintf(temporary, sizeof temporary, "%s.%016" PRIx64, path, random);
    int fd = files_open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return files_error(e, ERR_PEER, errno, "cannot write the run's token to", dir);
    if (write(fd, token, sizeof token) != (ssize_t)sizeof token || fsync(fd))
        err_errno(e, ERR_PEER, errno, "cannot write %s", temporary);
    else if (files_link(temporary, path) && errno != EEXIST)
        files_error(e, ERR_PEER, errno, "cannot make", path);
    else
        rc = 0;
    close(fd);
    files_unlink(temporary);
    return rc;
}

int token_share(const char *dir, unsigned char dst[TOKEN_SIZE], struct err *e)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/token", dir) >= (int)sizeof path)
        return err_set(e, ERR_PEER, "%.200s...: the path is too long", dir);
    int rc = read_token(path, dst, e);
    if (rc <= 0)
        return rc;
    if (make_token(dir, path, e))
        return -1;
    rc = read_token(path, dst, e);
    return rc > 0 ? err_set(e, ERR_PEER, "%s was removed while it was made; start again", path)
                  : rc;
}
