/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/atomicfile.h"

#include <fcntl.h>
#include <pthread.h>

#include "src/files.h"

struct atomicfile {
    char *path; /* the final path, with symbolic links resolved */
    char *tmp;    /* in a batch, NULL after the rename */
    FILE *stream; /* in a batch, NULL after all was written */
    bool is_new; /* commit fails if path exists by then */
};

static void destroy(struct atomicfile *a)
{
    if (!a)
        return;
    free(a->path);
    free(a->tmp);
    free(a);
}

/* Returns path, or the file that it leads to if it is a symbolic link outside the folders of the
 * programs (files.h); the caller frees it. NULL if that is not a regular file, or is a link to
 * nothing. path itself need not exist. */
static char *resolve_link(const char *path, struct err *e)
{
    struct stat st;
    char *real = NULL;
    int rc = lstat(path, &st);

    if (rc == 0 && S_ISLNK(st.st_mode) && files_is_owned(path)) {
        errno = ELOOP;
    } else if (rc == 0 && S_ISLNK(st.st_mode)) {
        real = realpath(path, NULL);
        rc = real ? stat(real, &st) : -1;
    } else if (rc == 0 || errno == ENOENT) {
        real = strdup(path);
    }
    if (!real) {
        files_error(e, ERR_INTERNAL, errno, "cannot write", path);
        return NULL;
    }
    if (rc == 0 && !S_ISREG(st.st_mode)) {
        files_error(e, ERR_INTERNAL, S_ISDIR(st.st_mode) ? EISDIR : ENXIO, "cannot write", path);
        free(real);
        return NULL;
    }
    return real;
}

/* Returns mode without the group's right to write into a file that is executed, unless path is in a
 * folder whose group shares its files. */
static mode_t mode_beside(const char *path, mode_t mode)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    struct stat st;
    bool shared = folder && stat(folder, &st) == 0 && st.st_mode & S_ISGID;

    free(folder);
    return mode & 0111 && !shared ? mode & ~(mode_t)S_IWGRP : mode;
}

/* Creates a temporary file beside path and stores its name, which the caller frees, in *tmp.
 * Returns its descriptor, or -1 with errno. mkstemp would ignore the umask, so this opens with
 * O_EXCL and mode. */
static int create_tmp(const char *path, char **tmp, mode_t mode)
{
    size_t size = strlen(path) + 64;
    int fd = -1;

    *tmp = malloc(size);
    mode = mode_beside(path, mode);
    for (int i = 0; *tmp && i < 1000; i++) {
        snprintf(*tmp, size, "%s.tmp-%ld-%d", path, (long)getpid(), i);
        fd = files_open(*tmp, O_WRONLY | O_CREAT | O_EXCL, mode);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    return fd;
}

struct atomicfile *atomicfile_open(const char *path, mode_t mode, struct err *e)
{
    struct atomicfile *a = mem_zero(1, sizeof *a, e);

    if (!a || !(a->path = resolve_link(path, e))) {
        destroy(a);
        return NULL;
    }
    int fd = create_tmp(a->path, &a->tmp, mode);
    a->stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (a->stream)
        return a;
    files_error(e, ERR_INTERNAL, errno, "cannot write", path);
    if (fd >= 0) {
        close(fd);
        files_unlink(a->tmp);
    }
    destroy(a);
    return NULL;
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
    if (a->tmp)
        files_unlink(a->tmp);
    destroy(a);
}

/* Syncs the folder of path, which makes a rename in it durable. EINVAL means that the file
 * system cannot sync folders; that is not an error. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int fd = folder ? files_open(folder, O_RDONLY | O_DIRECTORY, 0) : -1;
    int rc = fd < 0 || (fsync(fd) && errno != EINVAL) ? -1 : 0;
    int saved = errno;

    if (fd >= 0)
        close(fd);
    free(folder);
    errno = saved;
    return rc;
}

/* Flushes the stream to disk: the steps before the rename. On -1, errno has the reason. */
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
    return files_error(e, ERR_INTERNAL, errno, "cannot sync the folder of", path);
}

static int refuse_existing(const char *path, struct err *e)
{
    return err_set(e, ERR_CONFIG, "%s exists already, and nothing is overwritten; give another "
                   "name, or remove it", path);
}

int atomicfile_check_new(const char *path, struct err *e)
{
    struct stat st;

    if (lstat(path, &st) == 0)
        return refuse_existing(path, e);
    return errno == ENOENT ? 0 : err_errno(e, ERR_INTERNAL, errno, "cannot write %s", path);
}

int atomicfile_check_own(const char *path, const char *mark, struct err *e)
{
    char head[4096];
    struct stat st;

    if (lstat(path, &st) && errno == ENOENT)
        return 0;
    int fd = files_open(path, O_RDONLY | O_NOFOLLOW, 0);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);
    if (fd >= 0)
        close(fd);
    if (n > 0 && memmem(head, (size_t)n, mark, strlen(mark)))
        return 0;
    return err_set(e, ERR_CONFIG, "%s exists and was not written by unetctl, so it is not "
                   "overwritten; give another name, or remove it", path);
}

struct atomicfile *atomicfile_create(const char *path, mode_t mode, struct err *e)
{
    struct atomicfile *a = atomicfile_check_new(path, e) ? NULL : atomicfile_open(path, mode, e);

    if (a)
        a->is_new = true;
    return a;
}

/* Renames tmp to path unless path exists. Returns 0, or -1 with errno (EEXIST if it does). On a
 * file system without RENAME_NOREPLACE (EINVAL) it makes a hard link, and without those it checks
 * first and then renames. */
static int rename_new(const char *tmp, const char *path)
{
    if (files_rename(tmp, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (files_link(tmp, path) == 0)
        return files_unlink(tmp);
    return errno == EEXIST || access(path, F_OK) == 0 ? (errno = EEXIST, -1)
                                                      : files_rename(tmp, path, 0);
}

int atomicfile_commit(struct atomicfile *a, struct err *e)
{
    if (flush_stream(a) ||
        (a->is_new ? rename_new(a->tmp, a->path) : files_rename(a->tmp, a->path, 0))) {
        if (a->is_new && errno == EEXIST)
            refuse_existing(a->path, e);
        else
            err_errno(e, ERR_INTERNAL, errno, "cannot write %s", a->path);
        atomicfile_abort(a);
        return -1;
    }
    log_debug("wrote %s", a->path);
    int rc = atomicfile_sync_folder(a->path, e);
    destroy(a);
    return rc;
}

/* Writes data to a and commits it. a is NULL if opening it failed; then e is already filled. */
static int write_whole(struct atomicfile *a, const void *data, size_t n, struct err *e)
{
    if (!a)
        return -1;
    if (n && fwrite(data, 1, n, a->stream) != n) {
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", a->path);
        atomicfile_abort(a);
        return -1;
    }
    return atomicfile_commit(a, e);
}

int atomicfile_write(const char *path, const void *data, size_t n, mode_t mode, struct err *e)
{
    return write_whole(atomicfile_open(path, mode, e), data, n, e);
}

int atomicfile_write_new(const char *path, const void *data, size_t n, mode_t mode, struct err *e)
{
    return write_whole(atomicfile_create(path, mode, e), data, n, e);
}

int atomicfile_open_regular(const char *path, struct stat *st, struct err *e)
{
    int fd = files_open(path, O_RDONLY, 0);

    if (fd >= 0 && fstat(fd, st) == 0)
        return fd;
    files_error(e, ERR_DATA, errno, "cannot read", path);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Reads fd to its end. hint is the size that stat reported; it may be wrong, as files grow and
 * those of /proc report 0. */
static char *read_file(int fd, size_t hint, size_t limit, size_t *n)
{
    struct buf b = {0};
    ssize_t got;

    do {
        char *dst = buf_reserve(&b, b.length ? 1 : hint + 1);
        got = dst ? read(fd, dst, b.capacity - b.length - 1) : -1;
        b.length += got > 0 ? (size_t)got : 0;
    } while (b.length <= limit && (got > 0 || (got < 0 && errno == EINTR)));
    if (got == 0 && b.length <= limit) {
        *n = b.length;
        return buf_steal(&b);
    }
    buf_destroy(&b);
    errno = got < 0 ? errno : EFBIG;
    return NULL;
}

char *atomicfile_read(const char *path, size_t limit, size_t *n, struct err *e)
{
    struct stat st;
    int fd = atomicfile_open_regular(path, &st, e);

    if (fd < 0)
        return NULL;
    bool large = (uintmax_t)st.st_size > limit;
    char *data = large ? NULL : read_file(fd, (size_t)st.st_size, limit, n);
    if (!data && (large || errno == EFBIG))
        err_set(e, ERR_DATA,
                "cannot read %s: it has more than %zu bytes, the limit for this kind of file", path,
                limit);
    else if (!data)
        err_errno(e, ERR_DATA, errno, "cannot read %s", path);
    close(fd);
    return data;
}

bool atomicfile_has(const char *path, const void *data, size_t n)
{
    size_t have;
    struct err ignored;
    char *there = access(path, F_OK) == 0 ? atomicfile_read(path, n, &have, &ignored) : NULL;
    bool same = there && have == n && memcmp(there, data, n) == 0;

    free(there);
    return same;
}

static bool take_file(struct atomicfile_batch *b, struct atomicfile *a)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    struct atomicfile **grown = realloc(b->files, (b->count + 1) * sizeof(struct atomicfile *));
    if (grown) {
        b->files = grown;
        b->files[b->count++] = a;
    }
    pthread_mutex_unlock(&lock);
    return grown != NULL;
}

int atomicfile_batch_add(struct atomicfile_batch *b, const char *path, const void *data, size_t n,
                         mode_t mode, struct err *e)
{
    if (!(mode & 0111) && atomicfile_has(path, data, n))
        return 0;
    struct atomicfile *a = atomicfile_open(path, mode, e);

    if (!a)
        return -1;
    bool failed = n && fwrite(data, 1, n, a->stream) != n;
    FILE *stream = a->stream;
    a->stream = NULL;
    if (fclose(stream) || failed || !take_file(b, a)) {
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", path);
        atomicfile_abort(a);
        return -1;
    }
    return 0;
}

static int rename_batch(struct atomicfile_batch *b, struct err *e)
{
    for (size_t i = 0; i < b->count; i++) {
        struct atomicfile *a = b->files[i];
        if (files_rename(a->tmp, a->path, 0))
            return files_error(e, ERR_INTERNAL, errno, "cannot write", a->path);
        log_debug("wrote %s", a->path);
        free(a->tmp);
        a->tmp = NULL;
    }
    return 0;
}

static int sync_batch(const struct atomicfile_batch *b, struct err *e)
{
    const struct atomicfile *a = b->count ? b->files[0] : NULL;
    int fd = a ? files_open(a->tmp ? a->tmp : a->path, O_RDONLY, 0) : -1;
    int rc = !a ? 0 : fd < 0 ? -1 : syncfs(fd);

    if (rc)
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", a->path);
    if (fd >= 0)
        close(fd);
    return rc;
}

int atomicfile_batch_commit(struct atomicfile_batch *b, struct err *e)
{
    int rc = sync_batch(b, e) || rename_batch(b, e) || sync_batch(b, e) ? -1 : 0;

    atomicfile_batch_abort(b);
    return rc;
}

void atomicfile_batch_abort(struct atomicfile_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        atomicfile_abort(b->files[i]);
    free(b->files);
    *b = (struct atomicfile_batch){0};
}

/* Returns 1 if the file's last line has no newline, 0 if it has one or the file is empty, and -1
 * with errno. */
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
    char *text = mem_textf(NULL, "%s%s%s", torn ? "\n" : "", line,
                           n && line[n - 1] == '\n' ? "" : "\n");
    size_t total = text ? strlen(text) : 0, written = 0;
    ssize_t now = 1;
    while (written < total && now > 0) { /* where a write was short, the next one sets errno */
        now = write(fd, text + written, total - written);
        written += now > 0 ? (size_t)now : 0;
    }
    free(text);
    if (total && written == total && fsync(fd) == 0)
        return 0;
    int saved = errno;
    if (written && ftruncate(fd, st.st_size))
        return -1;
    errno = saved;
    return -1;
}

int atomicfile_append(const char *path, const char *line, struct err *e)
{
    int fd = files_open(path, O_RDWR | O_APPEND | O_CREAT, 0666);
    struct stat st;

    if (fd < 0)
        return files_error(e, ERR_INTERNAL, errno, "cannot append to", path);
    bool is_new = fstat(fd, &st) == 0 && st.st_size == 0;
    int rc = append_line(fd, line) ? err_errno(e, ERR_INTERNAL, errno, "cannot append to %s",
                                               path) : 0;
    close(fd);
    if (rc == 0)
        log_debug("appended to %s", path);
    return rc == 0 && is_new ? atomicfile_sync_folder(path, e) : rc;
}
