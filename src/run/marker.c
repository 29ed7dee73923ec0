/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/run/marker.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/files.h"

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

/* Creates a file beside the marker for a process without a start, unless dir has a marker. */
static int make_start(const char *dir, const char *marker, char path[PATH_MAX], struct err *e)
{
    int n = snprintf(path, PATH_MAX, "%s.tmp-%ld", marker, (long)getpid());

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
    if (!start && make_start(dir, path, own, e))
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

/* ---- locks ---- */

#define PAUSE_S 0.1
#define NAME_SIZE 256

/* ---- the file ---- */

/* Returns the rights of a lock file: those who may write to its folder may take the lock. */
static mode_t find_mode(const char *path)
{
    char folder[PATH_MAX];
    struct stat st;

    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    mode_t may = stat(slash ? folder : ".", &st) ? 0 : st.st_mode & (S_IWGRP | S_IWOTH);
    return S_IRUSR | S_IWUSR | may | may << 1;
}

int lockfile_open(const char *path, bool inherited, struct err *e)
{
    mode_t mode = find_mode(path);
    struct stat st;
    int fd = files_open(path, O_RDWR | O_CREAT, mode);

    if (fd < 0)
        return files_error(e, ERR_INTERNAL, errno, "cannot lock", path);
    if (inherited)
        fcntl(fd, F_SETFD, 0);
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0777) != mode &&
        fchmod(fd, mode))
        log_debug("%s: its rights cannot be changed: %s", path, strerror(errno));
    return fd;
}

/* ---- the holder ---- */

/* Writes "pid 7 (unetctl submit)". */
static void name_process(long pid, char dst[NAME_SIZE])
{
    char path[64], words[128] = "";

    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
    const char *first = strrchr(words, '/') ? strrchr(words, '/') + 1 : words;
    const char *second = strlen(words) + 1 < n ? words + strlen(words) + 1 : "";

    if (f)
        fclose(f);
    snprintf(dst, NAME_SIZE, *first ? "pid %ld (%s%s%s)" : "pid %ld", pid, first,
             *second ? " " : "", second);
}

/* Returns whether the descriptor of a process is of this file and holds a lock. */
static bool holds(const char *pid, const char *fd, const struct stat *file)
{
    char path[2 * NAME_MAX + 32], line[256];
    struct stat st;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, fd);
    if (stat(path, &st) || st.st_dev != file->st_dev || st.st_ino != file->st_ino)
        return false;
    snprintf(path, sizeof path, "/proc/%s/fdinfo/%s", pid, fd);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        found |= strncmp(line, "lock:", 5) == 0;
    if (f)
        fclose(f);
    return found;
}

/* Returns the process of this host that holds a lock on the file, as far as this user may look into
 * it, or 0. */
static long find_process(const struct stat *file)
{
    char path[NAME_MAX + 32];
    const struct dirent *entry, *one;
    DIR *proc = opendir("/proc");
    long found = 0;

    while (proc && !found && (entry = readdir(proc))) {
        long pid = strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/%s/fd", entry->d_name);
        DIR *d = pid > 0 ? opendir(path) : NULL;
        while (d && !found && (one = readdir(d)))
            found = holds(entry->d_name, one->d_name, file) ? pid : 0;
        if (d)
            closedir(d);
    }
    if (proc)
        closedir(proc);
    return found;
}

/* Writes the user of a process, " of user NAME", or "". */
static void name_user(long pid, char dst[NAME_SIZE])
{
    char path[64];
    struct stat st;
    const struct passwd *user;

    snprintf(path, sizeof path, "/proc/%ld", pid);
    user = stat(path, &st) || st.st_uid == geteuid() ? NULL : getpwuid(st.st_uid);
    snprintf(dst, NAME_SIZE, "%s%.200s", user ? " of user " : "", user ? user->pw_name : "");
}

/* Names the process that holds the lock. What the file says is believed only of other hosts: a
 * process of this host that is not found is another user's. */
static void find_holder(int fd, char dst[3 * NAME_SIZE])
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char host[128] = "", line[NAME_SIZE] = "", process[NAME_SIZE], user[NAME_SIZE];
    struct stat st;
    long pid = fstat(fd, &st) ? 0 : find_process(&st);

    gethostname(host, sizeof host - 1);
    if (!pid && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        pid = lock.l_pid > 0 ? lock.l_pid : 0;
    if (pid) {
        name_process(pid, process);
        name_user(pid, user);
        snprintf(dst, 3 * NAME_SIZE, "%s%s on host %s", process, user, host);
        return;
    }
    ssize_t n = pread(fd, line, sizeof line - 1, 0);
    line[n > 0 ? n : 0] = 0;
    line[strcspn(line, "\n")] = 0;
    size_t length = strlen(host);
    bool is_here = strncmp(line, "host ", 5) == 0 && strncmp(line + 5, host, length) == 0 &&
                   line[5 + length] == ',';
    if (*line && !is_here)
        snprintf(dst, 3 * NAME_SIZE, "%s, or another user's process", line);
    else
        snprintf(dst, 3 * NAME_SIZE, "another user's process");
}

int lockfile_sign(int fd, const char *path, const char *rest, struct err *e)
{
    char host[128] = "", process[NAME_SIZE], text[128 + NAME_SIZE + PATH_MAX + 16];

    gethostname(host, sizeof host - 1);
    name_process((long)getpid(), process);
    int n = snprintf(text, sizeof text, "host %s, %s\n%s\n", host, process, rest);
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n)
        return err_errno(e, ERR_INTERNAL, errno, "%s", path);
    return 0;
}

/* ---- the lock ---- */

int lockfile_take(int fd, const char *path, const char *what, int timeout_s, struct err *e)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    double end = clock_now() + timeout_s;
    char holder[3 * NAME_SIZE];
    bool is_reported = false;

    while (fcntl(fd, F_OFD_SETLK, &lock)) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return err_errno(e, ERR_INTERNAL, errno, "cannot lock %s", path);
        bool is_over = clock_now() >= end;
        if (is_over || !is_reported)
            find_holder(fd, holder);
        if (is_over)
            return err_set(e, ERR_TIMEOUT, "%s has been locked for more than %d s by %.400s; wait "
                           "for it, or end it", path, timeout_s, holder);
        if (!is_reported)
            log_info("waiting for %s (%s)", what, holder);
        is_reported = true;
        clock_sleep(PAUSE_S);
    }
    return 0;
}

void lockfile_release(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    fcntl(fd, F_OFD_SETLK, &lock);
}

/* ---- the token ---- */

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
