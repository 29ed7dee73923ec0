/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/host/path.h"

#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/files.h"
#include "src/run/marker.h"

/* the folder of this program, or "" if unknown */
static char bindir[PATH_MAX];
/* The source folder of a build tree, else "". */
static char source_dir[PATH_MAX];

static void find_program_dir(void)
{
    char path[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", bindir, sizeof bindir - 1);

    bindir[n > 0 ? n : 0] = 0;
    char *slash = strrchr(bindir, '/');
    if (slash)
        *slash = 0;
    snprintf(path, sizeof path, "%s/source-folder", bindir);
    FILE *f = fopen(path, "re");
    if (!f)
        return;
    if (fgets(source_dir, sizeof source_dir, f))
        source_dir[strcspn(source_dir, "\n")] = 0;
    fclose(f);
}

const char *paths_bindir(struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_program_dir);
    if (*bindir)
        return bindir;
    err_set(e, ERR_INTERNAL, "the folder of this program was not found (is /proc mounted?)");
    return NULL;
}

static bool try_folder(const char *folder, const char *name, int access_mode, char *dst,
                       size_t size)
{
    return (size_t)snprintf(dst, size, "%s/%s", folder, name) < size &&
           access(dst, access_mode) == 0;
}

/* Looks for `name` in the folder that the environment variable holds or, if that is not set, in the
 * standard places. */
static int find_part(const char *variable, const char *installed, const char *name, int access_mode,
                     char *dst, size_t size, struct err *e)
{
    char folder[PATH_MAX + 64];
    const char *chosen = getenv(variable);

    if (chosen && *chosen) {
        if (try_folder(chosen, name, access_mode, dst, size))
            return 0;
        return err_set(e, ERR_INTERNAL,
                       "%s is not in %s, the folder that the variable %s names", name,
                       chosen, variable);
    }
    if (!paths_bindir(e))
        return err_set(e, ERR_INTERNAL, "cannot find the folder of this program (is /proc "
                       "mounted?); set %s to the folder that has %s", variable, name);
    if (*source_dir) {
        if (try_folder(bindir, name, access_mode, dst, size) ||
            try_folder(source_dir, name, access_mode, dst, size))
            return 0;
        return err_set(e, ERR_INTERNAL, "%s is neither in the build folder %s nor in the source "
                       "folder %s; run make", name, bindir, source_dir);
    }
    snprintf(folder, sizeof folder, "%s/../%s/unetctl", bindir, installed);
    if (try_folder(folder, name, access_mode, dst, size))
        return 0;
    return err_set(e, ERR_INTERNAL, "%s is not in %s; install it there (make install) or set %s",
                   name, folder, variable);
}

int paths_libexec(const char *name, char *dst, size_t size, struct err *e)
{
    return find_part("UNETCTL_LIBEXECDIR", "libexec", name, X_OK, dst, size, e);
}

int paths_data(const char *name, char *dst, size_t size, struct err *e)
{
    return find_part("UNETCTL_DATADIR", "share", name, R_OK, dst, size, e);
}

/* ---- paths and folders ---- */

/* Age in seconds from which a temporary file counts as abandoned if its folder is not locked. */
#define LEFTOVER_S 3600
#define LOCK_FILE ".lock"
#define LOCK_S 60

#define OWN_MAX 99 /* names of a folder of the user's own */

const char *path_format(char dst[PATH_MAX], const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(dst, PATH_MAX, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= PATH_MAX)
        dst[0] = '\0';
    return dst;
}

static int add_variable(const char *name, size_t n, struct buf *dst, struct err *e)
{
    char text[128];

    snprintf(text, sizeof text, "%.*s", (int)n, name);
    const char *value = getenv(text);
    if (!value || !*value)
        return err_set(e, ERR_CONFIG, "$%s is not set; set it, or write $$ for a dollar sign", text);
    buf_add(dst, value);
    return 0;
}

char *path_expand(const char *text, struct err *e)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    struct buf b = {0};
    int rc = 0;

    if (*text == '~' && (text[1] == '/' || !text[1]))
        rc = add_variable("HOME", 4, &b, e), text++;
    while (rc == 0 && *text) {
        bool braces = text[0] == '$' && text[1] == '{';
        const char *name = text + 1 + braces;
        size_t n = *text == '$' && !isdigit((unsigned char)*name) ? strspn(name, letters) : 0;
        if (n && (!braces || name[n] == '}')) {
            rc = add_variable(name, n, &b, e);
            text = name + n + braces;
        } else {
            buf_add_bytes(&b, text, 1);
            text += text[0] == '$' && text[1] == '$' ? 2 : 1;
        }
    }
    char *path = rc ? NULL : buf_steal(&b);
    buf_destroy(&b);
    return path || rc ? path : (err_errno(e, ERR_INTERNAL, ENOMEM, "%s", text), NULL);
}

bool path_has_file(const char *folder, const char *name)
{
    char path[PATH_MAX];

    return access(path_format(path, "%s/%s", folder, name), F_OK) == 0;
}

bool path_is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool path_read_line(const char *path, char *dst, size_t size)
{
    FILE *f = files_stream(path, "r", FILES_TEXT_MAX);
    bool has = f && fgets(dst, (int)size, f);

    if (f)
        fclose(f);
    dst[has ? strcspn(dst, "\n") : 0] = 0;
    return has;
}

bool path_is_current(int fd, const char *path)
{
    struct stat own, there;

    return fstat(fd, &own) == 0 && files_stat(path, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

int path_lock_folder(const char *path, int *lock, struct err *e)
{
    char file[PATH_MAX];

    path_format(file, "%s/" LOCK_FILE, path);
    for (;;) {
        *lock = lockfile_open(file, false, e);
        if (*lock < 0)
            return -1;
        int rc = lockfile_take(*lock, file, "another unetctl that writes there", LOCK_S, e);
        if (rc == 0 && path_is_current(*lock, file))
            return 0;
        bool is_timeout = rc && e->code == ERR_TIMEOUT;
        close(*lock);
        *lock = -1;
        if (rc && !is_timeout) /* a file system without locks */
            files_unlink(file);
        if (rc)
            return is_timeout ? -1 : 0;
    }
}

void path_unlock_folder(const char *path, int lock)
{
    char file[PATH_MAX];

    if (lock < 0)
        return;
    files_unlink(path_format(file, "%s/" LOCK_FILE, path));
    close(lock);
}

bool path_is_leftover(const char *path, int lock)
{
    struct stat st;

    return lstat(path, &st) == 0 && (lock >= 0 || clock_age(st.st_mtime) > LEFTOVER_S);
}

int path_make_folder(const char *path, struct err *e)
{
    char part[PATH_MAX];
    int reason = 0; /* why the first folder is missing */

    path_format(part, "%s", path);
    for (char *p = part + 1; part[0] && *p; p++)
        if (*p == '/') {
            *p = '\0';
            reason = files_mkdir(part) && errno != EEXIST && !reason ? errno : reason;
            *p = '/';
        }
    if (files_make_folder(part) == 0)
        return 0;
    return files_error(e, ERR_INTERNAL, errno == ENOENT && reason ? reason : errno,
                       "cannot make the folder", path);
}

static bool is_own(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & 077);
}

int path_make_own(const char *name, char dst[PATH_MAX], struct err *e)
{
    /* one that was made beside another's stays in use when the other is gone */
    for (int make = 0; make < 2; make++)
        for (int i = 1; i <= OWN_MAX; i++) {
            path_format(dst, i > 1 ? "%s.%d" : "%s", name, i);
            bool made = make && mkdir(dst, 0700) == 0;
            if (make && !made && errno != EEXIST)
                return err_errno(e, ERR_CONFIG, errno, "cannot make the folder %s", dst);
            if (is_own(dst))
                return 0;
        }
    return err_set(e, ERR_CONFIG, "%s to %s are not folders that only you can open (mode 0700); "
                   "remove one of them, or choose another folder", name, dst);
}

int path_write(const char *folder, const char *name, char *text, struct err *e)
{
    char path[PATH_MAX];
    int rc;

    if (!text)
        return mem_fail(e);
    rc = atomicfile_write(path_format(path, "%s/%s", folder, name), text, strlen(text), 0666, e);
    free(text);
    return rc;
}

int64_t path_measure(const char *dir, bool follow)
{
    char *paths[] = {(char *)dir, NULL};
    FTS *fts = fts_open(paths, (follow ? FTS_LOGICAL : FTS_PHYSICAL) | FTS_NOCHDIR, NULL);
    int64_t bytes = 0;

    for (const FTSENT *f; fts && (f = fts_read(fts));)
        bytes += f->fts_info == FTS_F ? (f->fts_statp->st_size + 4095) / 4096 * 4096 : 0;
    if (fts)
        fts_close(fts);
    return bytes;
}

/* ---- the user's folders ---- */

static int user_path(const char *variable, const char *below_home, const char *name,
                     char dst[PATH_MAX], struct err *e)
{
    const char *chosen = getenv(variable), *home = getenv("HOME");
    int n;

    if (chosen && chosen[0] == '/')
        n = snprintf(dst, PATH_MAX, "%s/unetctl/%s", chosen, name);
    else if (home && home[0] == '/')
        n = snprintf(dst, PATH_MAX, "%s/%s/unetctl/%s", home, below_home, name);
    else
        return err_set(e, ERR_USAGE, "neither %s nor HOME is an absolute path, so there is no "
                                     "folder for %s; set HOME", variable, name);
    if (n >= PATH_MAX)
        return err_set(e, ERR_USAGE, "the path of the user's folder for %s is too long", name);
    return 0;
}

int statedir_path(const char *name, char dst[PATH_MAX], struct err *e)
{
    return user_path("XDG_STATE_HOME", ".local/state", name, dst, e);
}

int statedir_config_path(const char *name, char dst[PATH_MAX], struct err *e)
{
    return user_path("XDG_CONFIG_HOME", ".config", name, dst, e);
}
