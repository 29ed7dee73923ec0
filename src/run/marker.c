/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/run/marker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/files.h"
#include "src/log.h"

static const char *start_of(const char *dir)
{
    const char *start = getenv("UNETCTL_START"), *slash = start ? strrchr(start, '/') : NULL;
    char folder[PATH_MAX];
    struct stat a, b;

    if (!slash || slash == start ||
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - start), start) >= (int)sizeof folder)
        return NULL;
    if (stat(folder, &a) || stat(dir, &b) || a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return NULL;
    return start;
}

bool marker_has_start(const char *dir)
{
    return start_of(dir) != NULL;
}

static bool has_marker(const char *dir, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

/* Says why this process may not write a marker. A FAILED of an earlier start (of the job's script)
 * cannot be there, because each start moves it away first. */
static int set_taken(const char *dir, struct err *e)
{
    const char *start = start_of(dir);

    if (has_marker(dir, "DONE"))
        return err_set(e, ERR_RESUMABLE, "%s: it is marked DONE already", dir);
    if (!start || has_marker(dir, "FAILED"))
        return err_set(e, ERR_RESUMABLE, "%s: another rank has already marked it FAILED", dir);
    return err_set(e, ERR_RESUMABLE, "%s: a later start of this job has taken it over (%s is "
                   "gone); this one ends and leaves no result", dir, start);
}

int marker_check(const char *dir, struct err *e)
{
    const char *start = start_of(dir);

    return start && access(start, F_OK) && errno == ENOENT ? set_taken(dir, e) : 0;
}

/* Fills the start's own file. It is never created here: if it is missing, a later start has
 * taken over the folder. */
static int fill_marker(const char *start, const void *data, size_t n)
{
    int fd = files_open(start, O_WRONLY | O_TRUNC | O_NOFOLLOW, 0);

    if (fd < 0)
        return -1;
    errno = ENOSPC; /* reported if write is short, which sets no errno */
    int rc = write(fd, data, n) == (ssize_t)n ? fsync(fd) : -1;
    int saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

/* Creates a file for a process without a start, unless dir has a marker. */
static int make_start(const char *dir, char path[PATH_MAX], struct err *e)
{
    int n = snprintf(path, PATH_MAX, "%s/.marker.tmp-%ld", dir, (long)getpid());

    if (has_marker(dir, "DONE") || has_marker(dir, "FAILED"))
        return set_taken(dir, e);
    int fd = n < PATH_MAX ? files_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd < 0)
        return files_error(e, ERR_INTERNAL, n < PATH_MAX ? errno : ENAMETOOLONG, "cannot write",
                           path);
    close(fd);
    return 0;
}

int marker_write(const char *dir, const char *name, const void *data, size_t n, struct err *e)
{
    const char *start = start_of(dir);
    char path[PATH_MAX], own[PATH_MAX];
    struct err later;

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return err_set(e, ERR_INTERNAL, "%s/%s: the path is too long", dir, name);
    if (!start && make_start(dir, own, e))
        return -1;
    if (fill_marker(start ? start : own, data, n) || files_rename(start ? start : own, path, 0)) {
        int code = errno;
        if (!start)
            files_unlink(own);
        return start && code == ENOENT ? set_taken(dir, e)
                                       : files_error(e, ERR_INTERNAL, code, "cannot write", path);
    }
    if (atomicfile_sync_folder(path, &later))
        log_warn("%s; a power failure now might lose it", later.text);
    return 0;
}
