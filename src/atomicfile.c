/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/atomicfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct atomicfile {
    char *path; /* where it goes, no symbolic link */
    char *tmp;
    FILE *stream;
};

static void destroy(struct atomicfile *a)
{
    if (!a)
        return;
    free(a->path);
    free(a->tmp);
    free(a);
}

/* The file that path means: links followed, and nothing but a regular file or nothing at all. */
static char *resolve(const char *path, struct err *e)
{
    struct stat st;
    char *real;

    if (lstat(path, &st) && errno == ENOENT)
        real = strdup(path);
    else
        real = realpath(path, NULL);
    if (!real) {
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", path);
        return NULL;
    }
    if (stat(real, &st) == 0 && !S_ISREG(st.st_mode)) {
        err_set(e, ERR_INTERNAL, "cannot write %s: it exists and is not a regular file", path);
        free(real);
        return NULL;
    }
    return real;
}

/* Creates a->tmp; O_EXCL and not mkstemp, so that the umask applies to mode. */
static int create_tmp(struct atomicfile *a, mode_t mode)
{
    size_t size = strlen(a->path) + 64;
    int fd = -1;

    a->tmp = malloc(size);
    for (int i = 0; a->tmp && i < 1000; i++) {
        snprintf(a->tmp, size, "%s.tmp-%ld-%d", a->path, (long)getpid(), i);
        fd = open(a->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

struct atomicfile *atomicfile_open(const char *path, mode_t mode, struct err *e)
{
    struct atomicfile *a = calloc(1, sizeof *a);

    if (!a) {
        err_errno(e, ERR_INTERNAL, ENOMEM, "cannot write %s", path);
        return NULL;
    }
    a->path = resolve(path, e);
    if (!a->path) {
        destroy(a);
        return NULL;
    }
    int fd = create_tmp(a, mode);
    if (fd < 0) {
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", path);
        destroy(a);
        return NULL;
    }
    a->stream = fdopen(fd, "w");
    if (!a->stream) {
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", path);
        close(fd);
        unlink(a->tmp);
        destroy(a);
        return NULL;
    }
    return a;
}

FILE *atomicfile_stream(struct atomicfile *a)
{
    return a->stream;
}

void atomicfile_abort(struct atomicfile *a)
{
    if (!a)
        return;
    if (a->stream)
        fclose(a->stream);
    unlink(a->tmp);
    destroy(a);
}

/* A rename is on disk only after its folder is. File systems that can't sync folders say EINVAL. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int rc = fd < 0 || (fsync(fd) && errno != EINVAL) ? -1 : 0;
    int saved = errno;

    if (fd >= 0)
        close(fd);
    free(folder);
    errno = saved;
    return rc;
}

/* Everything up to the rename; errno says why it failed. */
static int flush_stream(struct atomicfile *a)
{
    if (ferror(a->stream)) {
        errno = errno ? errno : EIO;
        return -1;
    }
    if (fflush(a->stream) || fsync(fileno(a->stream)))
        return -1;
    FILE *stream = a->stream;
    a->stream = NULL;
    return fclose(stream) ? -1 : 0;
}

int atomicfile_sync_folder(const char *path, struct err *e)
{
    if (sync_folder(path) == 0)
        return 0;
    return err_errno(e, ERR_INTERNAL, errno, "cannot sync the folder of %s", path);
}

int atomicfile_commit(struct atomicfile *a, struct err *e)
{
    if (flush_stream(a) || rename(a->tmp, a->path)) {
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", a->path);
        atomicfile_abort(a);
        return -1;
    }
    int rc = atomicfile_sync_folder(a->path, e);
    destroy(a);
    return rc;
}

int atomicfile_write(const char *path, const void *data, size_t n, mode_t mode, struct err *e)
{
    struct atomicfile *a = atomicfile_open(path, mode, e);

    if (!a)
        return -1;
    if (n && fwrite(data, 1, n, a->stream) != n) {
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", path);
        atomicfile_abort(a);
        return -1;
    }
    return atomicfile_commit(a, e);
}

int atomicfile_batch_add(struct atomicfile_batch *b, const char *path, const void *data, size_t n,
                         mode_t mode, struct err *e)
{
    struct atomicfile_pair *grown = realloc(b->files, (b->count + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, ENOMEM, "cannot write %s", path);
    b->files = grown;
    struct atomicfile *a = atomicfile_open(path, mode, e);
    if (!a)
        return -1;
    bool written = fwrite(data, 1, n, a->stream) == n && fflush(a->stream) == 0;
    int saved = errno;
    if (fclose(a->stream) || !written) {
        a->stream = NULL;
        err_errno(e, ERR_INTERNAL, written ? errno : saved, "cannot write %s", path);
        atomicfile_abort(a);
        return -1;
    }
    b->files[b->count++] = (struct atomicfile_pair){a->path, a->tmp};
    free(a);
    return 0;
}

static int sync_all(const struct atomicfile_batch *b)
{
    int fd = open(b->files[0].tmp, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fd = open(b->files[0].path, O_RDONLY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : syncfs(fd);
    int saved = errno;

    if (fd >= 0)
        close(fd);
    errno = saved;
    return rc;
}

int atomicfile_batch_commit(struct atomicfile_batch *b, struct err *e)
{
    size_t n = 0;
    int rc = b->count ? sync_all(b) : 0;

    while (rc == 0 && n < b->count) {
        rc = rename(b->files[n].tmp, b->files[n].path);
        n += rc == 0;
    }
    if (rc == 0 && b->count)
        rc = sync_all(b);
    if (rc)
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", b->files[n < b->count ? n : 0].path);
    atomicfile_batch_abort(b);
    return rc;
}

void atomicfile_batch_abort(struct atomicfile_batch *b)
{
    for (size_t i = 0; i < b->count; i++) {
        unlink(b->files[i].tmp); /* is not there any more once it was renamed */
        free(b->files[i].tmp);
        free(b->files[i].path);
    }
    free(b->files);
    *b = (struct atomicfile_batch){0};
}

/* O_NONBLOCK: a FIFO without a writer would hold us; it means nothing to a regular file. */
static int open_regular(const char *path, struct stat *st, struct err *e)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || fstat(fd, st)) {
        err_errno(e, ERR_DATA, errno, "cannot read %s", path);
    } else if (!S_ISREG(st->st_mode)) {
        err_set(e, ERR_DATA, "cannot read %s: %s", path,
                S_ISDIR(st->st_mode) ? "it is a folder" : "not a regular file");
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Reads to the end. The size that stat tells is a hint: files grow, and those of /proc say 0. */
static char *read_all(int fd, size_t hint, size_t limit, size_t *n)
{
    size_t capacity = hint + 1, length = 0;
    char *data = malloc(capacity + 1);

    while (data) {
        ssize_t got = read(fd, data + length, capacity - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        length += (size_t)got;
        if (length > limit) {
            errno = EFBIG;
            break;
        }
        if (got == 0) {
            data[length] = 0;
            *n = length;
            return data;
        }
        if (length == capacity) {
            char *more = realloc(data, 2 * capacity + 1);
            if (!more)
                break;
            data = more;
            capacity *= 2;
        }
    }
    free(data);
    return NULL;
}

char *atomicfile_read(const char *path, size_t limit, size_t *n, struct err *e)
{
    struct stat st;
    int fd = open_regular(path, &st, e);

    if (fd < 0)
        return NULL;
    bool large = (uintmax_t)st.st_size > limit;
    char *data = large ? NULL : read_all(fd, (size_t)st.st_size, limit, n);
    if (!data && (large || errno == EFBIG))
        err_set(e, ERR_DATA,
                "cannot read %s: it has more than the %zu bytes expected of such a file", path,
                limit);
    else if (!data)
        err_errno(e, ERR_DATA, errno, "cannot read %s", path);
    close(fd);
    return data;
}

/* 1 if the file's last line has no newline, 0 if it has or there is none, -1 with errno. */
static int is_torn(int fd, off_t size)
{
    char last = '\n';

    if (size > 0 && pread(fd, &last, 1, size - 1) != 1)
        return -1;
    return last != '\n';
}

static int append_line(int fd, const char *line)
{
    struct stat st;
    size_t n = strlen(line);
    int torn = fstat(fd, &st) ? -1 : is_torn(fd, st.st_size);

    if (torn < 0)
        return -1;
    char *text = malloc(n + 3);
    if (!text)
        return -1;
    size_t total = (size_t)sprintf(text, "%s%s%s", torn ? "\n" : "", line,
                                   n && line[n - 1] == '\n' ? "" : "\n");
    errno = ENOSPC; /* what a short write means */
    ssize_t written = write(fd, text, total);
    free(text);
    if (written == (ssize_t)total && fsync(fd) == 0)
        return 0;
    int saved = errno;
    if (written > 0 && ftruncate(fd, st.st_size))
        return -1;
    errno = saved;
    return -1;
}

int atomicfile_append(const char *path, const char *line, struct err *e)
{
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);

    if (fd < 0)
        return err_errno(e, ERR_INTERNAL, errno, "cannot append to %s", path);
    int rc = append_line(fd, line);
    if (rc)
        err_errno(e, ERR_INTERNAL, errno, "cannot append to %s", path);
    close(fd);
    return rc;
}
