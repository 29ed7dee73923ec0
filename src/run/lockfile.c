/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/run/lockfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/files.h"
#include "src/log.h"

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
