/* SPDX-License-Identifier: BSD-3-Clause */
/* A file system that is late or fails, for LD_PRELOAD:
 *
 *   LATE=SECONDS    files named DONE and FAILED do not exist for this process before they are so
 *                   old, as on a host whose NFS client has cached that they do not exist; jobs,
 *                   which inherit this, see them
 *   DONE_SYNC=no    syncing a folder in which DONE is fails with EIO
 *   LOCKS=FILE      there are no locks by flock; FILE has a byte for each call */
#include "src/base.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* Returns whether this is a marker that is not visible yet. */
static int is_late(int dir, const char *path)
{
    const char *late = getenv("LATE"), *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path;
    struct stat st;

    if (!late || !name || getenv("SLURM_JOB_ID") ||
        (strcmp(name, "DONE") != 0 && strcmp(name, "FAILED") != 0) ||
        syscall(SYS_newfstatat, dir, path, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        difftime(time(NULL), st.st_mtime) >= atof(late))
        return 0;
    errno = ENOENT;
    return 1;
}

static mode_t mode_of(int flags, va_list ap)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        mode_t mode = mode_of(flags, ap);                                                          \
        va_end(ap);                                                                                \
        return is_late(AT_FDCWD, path) ? -1 : NEXT(name)(path, flags, mode);                       \
    }
#define OPENAT(name)                                                                               \
    int name(int dir, const char *path, int flags, ...)                                            \
    {                                                                                              \
        va_list ap;                                                                                \
        va_start(ap, flags);                                                                       \
        mode_t mode = mode_of(flags, ap);                                                          \
        va_end(ap);                                                                                \
        return is_late(dir, path) ? -1 : NEXT(name)(dir, path, flags, mode);                       \
    }
#define STAT(name, type)                                                                           \
    int name(const char *restrict path, struct type *restrict st)                                  \
    {                                                                                              \
        return is_late(AT_FDCWD, path) ? -1 : NEXT(name)(path, st);                                \
    }
#define STATAT(name, type)                                                                         \
    int name(int dir, const char *restrict path, struct type *restrict st, int flags)              \
    {                                                                                              \
        return is_late(dir, path) ? -1 : NEXT(name)(dir, path, st, flags);                         \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)
STATAT(fstatat, stat)
STATAT(fstatat64, stat64)

int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict st)
{
    return is_late(dir, path) ? -1 : NEXT(statx)(dir, path, flags, mask, st);
}

int access(const char *path, int mode)
{
    return is_late(AT_FDCWD, path) ? -1 : NEXT(access)(path, mode);
}

int faccessat(int dir, const char *path, int mode, int flags)
{
    return is_late(dir, path) ? -1 : NEXT(faccessat)(dir, path, mode, flags);
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
    return is_late(AT_FDCWD, path) ? NULL : NEXT(fopen)(path, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode)
{
    return is_late(AT_FDCWD, path) ? NULL : NEXT(fopen64)(path, mode);
}

int flock(int fd, int how)
{
    const char *calls = getenv("LOCKS");
    int file = calls ? NEXT(open)(calls, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0666) : -1;

    if (!calls)
        return NEXT(flock)(fd, how);
    errno = file >= 0 && write(file, ".", 1) == 1 ? ENOSYS : EIO;
    close(file);
    return -1;
}

int fsync(int fd)
{
    const char *works = getenv("DONE_SYNC");
    struct stat st;

    if (works && strcmp(works, "no") == 0 && syscall(SYS_newfstatat, fd, "DONE", &st, 0) == 0) {
        errno = EIO;
        return -1;
    }
    return NEXT(fsync)(fd);
}
