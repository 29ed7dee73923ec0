/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/files.h"

#include <fcntl.h>
#include <stdatomic.h>

struct root {
    struct root *next;
    size_t length;
    bool is_study;
    char path[]; /* absolute */
};

/* Roots are only added, so threads may read the list at any time. */
static _Atomic(struct root *) roots;
static atomic_bool incomplete; /* a root could not be added: nothing is opened */

/* Where a path leads: `name` in the folder `dir`, a descriptor to be closed if owned, else
 * AT_FDCWD. */
struct spot {
    const char *name;
    int dir;
    bool owned;
    bool follows; /* name may be a link to a folder: a study's `runs` */
    char full[PATH_MAX];
};

static bool is_word(const char *name, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(name, word, n) == 0;
}

/* Appends the parts of path to dst, without those that are "." or empty. */
static bool add_parts(const char *path, char dst[PATH_MAX])
{
    size_t length = strlen(dst);

    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        size_t n = strcspn(path, "/");
        if (length + n + 2 > PATH_MAX)
            return false;
        if (!is_word(path, n, ".")) {
            length += (size_t)snprintf(dst + length, PATH_MAX - length, "/%.*s", (int)n, path);
        }
        path += n;
    }
    return true;
}

static bool make_absolute(const char *path, char dst[PATH_MAX])
{
    char here[PATH_MAX];

    *dst = 0;
    return *path && (*path == '/' || (getcwd(here, sizeof here) && add_parts(here, dst))) &&
           add_parts(path, dst);
}

/* Returns the part of full that is below the root, or NULL. */
static const char *below(const struct root *r, const char *full)
{
    const char *rest = full + r->length;

    return strncmp(full, r->path, r->length) == 0 && *rest == '/' ? rest + 1 : NULL;
}

static void add_root(const char *dir, bool is_study)
{
    char full[PATH_MAX];

    if (!*dir)
        return; /* no path is below it */
    if (!make_absolute(dir, full)) {
        atomic_store(&incomplete, true);
        return;
    }
    size_t n = strlen(full);
    for (const struct root *r = atomic_load(&roots); r; r = r->next)
        if (strcmp(r->path, full) == 0)
            return;
    struct root *r = malloc(sizeof *r + n + 1);
    if (!r) {
        atomic_store(&incomplete, true);
        return;
    }
    *r = (struct root){.length = n, .is_study = is_study};
    memcpy(r->path, full, n + 1);
    r->next = atomic_load(&roots);
    while (!atomic_compare_exchange_weak(&roots, &r->next, r))
        ;
}

void files_own(const char *dir)
{
    add_root(dir, false);
}

void files_own_study(const char *dir)
{
    add_root(dir, true);
}

/* Returns whether the programs own what `rest` names in a study. */
static bool is_of_program(const char *rest, bool writes)
{
    static const char *const folders[] = {".unetctl", "logs", "report", "runs"};
    size_t n = strcspn(rest, "/");

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (is_word(rest, n, folders[i]))
            return true;
    return writes && !rest[n];
}

/* Returns the outermost root that has full among its files, or NULL. */
static const struct root *find_root(const char *full, bool writes)
{
    const struct root *found = NULL;

    for (const struct root *r = atomic_load(&roots); r; r = r->next) {
        const char *rest = below(r, full);
        if (rest && (!r->is_study || is_of_program(rest, writes)) &&
            (!found || r->length < found->length))
            found = r;
    }
    return found;
}

static bool goes_up(const char *rest)
{
    for (size_t n; *rest; rest += n + (rest[n] != 0)) {
        n = strcspn(rest, "/");
        if (is_word(rest, n, ".."))
            return true;
    }
    return false;
}

/* Opens the next folder of a walk, name[0..n) in *dir, and closes the one before. */
static int enter(int *dir, const char *name, size_t n, bool follows)
{
    char part[NAME_MAX + 1];
    int fd = -1;

    if (n < sizeof part) {
        memcpy(part, name, n);
        part[n] = 0;
        fd = openat(*dir, part, O_PATH | O_DIRECTORY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW));
    } else {
        errno = ENAMETOOLONG;
    }
    int saved = errno;
    close(*dir);
    *dir = fd;
    errno = saved;
    return fd < 0 ? -1 : 0;
}

/* Finds where path leads, opening the folders above it. Returns 0, or -1 with errno. */
static int find_spot(struct spot *s, const char *path, bool writes)
{
    bool known = make_absolute(path, s->full);
    const struct root *r = known ? find_root(s->full, writes) : NULL;
    const char *rest = r ? below(r, s->full) : NULL, *first = rest;

    s->name = path;
    s->dir = AT_FDCWD;
    s->owned = s->follows = false;
    if (atomic_load(&incomplete) || (!known && atomic_load(&roots))) {
        errno = *path ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    if (!r || goes_up(rest))
        return 0;
    s->owned = true;
    s->dir = open(*r->path ? r->path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->dir < 0)
        return -1;
    for (;;) {
        size_t n = strcspn(rest, "/");
        bool follows = r->is_study && rest == first && is_word(rest, n, "runs");
        if (!rest[n]) {
            s->name = rest;
            s->follows = follows;
            return 0;
        }
        if (enter(&s->dir, rest, n, follows))
            return -1;
        rest += n + 1;
    }
}

static void leave(const struct spot *s)
{
    int saved = errno;

    if (s->owned && s->dir >= 0)
        close(s->dir);
    errno = saved;
}

bool files_is_owned(const char *path)
{
    struct spot s;
    bool owned = find_spot(&s, path, true) || s.owned;

    leave(&s);
    return owned;
}

/* O_NONBLOCK keeps open from waiting for the other end of a FIFO; it has no effect on regular
 * files. */
int files_open(const char *path, int flags, mode_t mode)
{
    struct spot s;
    struct stat st;
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;

    if (find_spot(&s, path, writes))
        return -1;
    if (s.owned && !(s.follows && flags & O_DIRECTORY))
        flags |= O_NOFOLLOW;
    int fd = openat(s.dir, s.name, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
    leave(&s);
    if (fd >= 0 && (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !(flags & O_DIRECTORY)))) {
        close(fd);
        errno = S_ISDIR(st.st_mode) ? EISDIR : ENXIO;
        return -1;
    }
    return fd;
}

FILE *files_stream(const char *path, const char *mode, size_t limit)
{
    bool reads = *mode == 'r';
    int fd = files_open(path, reads ? O_RDONLY : O_WRONLY | O_APPEND | O_CREAT, 0666);
    struct stat st;
    FILE *f = NULL;

    if (fd >= 0 && reads && (fstat(fd, &st) || (uintmax_t)st.st_size > limit))
        errno = EFBIG;
    else if (fd >= 0)
        f = fdopen(fd, mode);
    if (fd >= 0 && !f) {
        int saved = errno;
        close(fd);
        errno = saved;
    }
    return f;
}

int files_stat(const char *path, struct stat *st)
{
    struct spot s;

    if (find_spot(&s, path, false))
        return -1;
    int rc = fstatat(s.dir, s.name, st, s.owned && !s.follows ? AT_SYMLINK_NOFOLLOW : 0);
    leave(&s);
    return rc;
}

int files_rename(const char *from, const char *to, unsigned flags)
{
    struct spot a, b;

    if (find_spot(&a, from, true))
        return -1;
    int rc = find_spot(&b, to, true) ? -1
             : flags ? renameat2(a.dir, a.name, b.dir, b.name, flags)
                     : renameat(a.dir, a.name, b.dir, b.name);
    leave(&a);
    leave(&b);
    return rc;
}

int files_link(const char *from, const char *to)
{
    struct spot a, b;

    if (find_spot(&a, from, true))
        return -1;
    int rc = find_spot(&b, to, true) ? -1 : linkat(a.dir, a.name, b.dir, b.name, 0);
    leave(&a);
    leave(&b);
    return rc;
}

int files_symlink(const char *target, const char *path)
{
    struct spot s;

    if (find_spot(&s, path, true))
        return -1;
    int rc = symlinkat(target, s.dir, s.name);
    leave(&s);
    return rc;
}

static int remove_name(const char *path, int flags)
{
    struct spot s;

    if (find_spot(&s, path, true))
        return -1;
    int rc = unlinkat(s.dir, s.name, flags);
    leave(&s);
    return rc;
}

int files_unlink(const char *path)
{
    return remove_name(path, 0);
}

int files_rmdir(const char *path)
{
    return remove_name(path, AT_REMOVEDIR);
}

int files_mkdir(const char *path)
{
    struct spot s;

    if (find_spot(&s, path, true))
        return -1;
    int rc = mkdirat(s.dir, s.name, 0777);
    leave(&s);
    return rc;
}

int files_make_folder(const char *path)
{
    struct stat st;

    if (files_mkdir(path) == 0)
        return 0;
    if (errno != EEXIST || files_stat(path, &st))
        return -1;
    errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
    return S_ISDIR(st.st_mode) ? 0 : -1;
}

DIR *files_list(const char *path)
{
    int fd = files_open(path, O_RDONLY | O_DIRECTORY, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    if (!d && fd >= 0)
        close(fd);
    return d;
}

int files_scan(const char *path, struct dirent ***list, int (*choose)(const struct dirent *),
               int (*compare)(const struct dirent **, const struct dirent **))
{
    int fd = files_open(path, O_RDONLY | O_DIRECTORY, 0);
    int n = fd < 0 ? -1 : scandirat(fd, ".", list, choose, compare);
    int saved = errno;

    if (fd >= 0)
        close(fd);
    errno = saved;
    return n;
}

int files_are_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void empty_folder(int fd)
{
    DIR *d = fdopendir(fd);

    for (const struct dirent *entry; d && (entry = readdir(d));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(fd, entry->d_name, 0) == 0)
            continue;
        int inner = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (inner < 0)
            continue;
        empty_folder(inner);
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    if (d)
        closedir(d);
    else
        close(fd);
}

void files_remove_tree(const char *path)
{
    struct spot s;
    int fd = find_spot(&s, path, true)
                 ? -1
                 : openat(s.dir, s.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0) {
        empty_folder(fd);
        unlinkat(s.dir, s.name, AT_REMOVEDIR);
    }
    leave(&s);
}

/* Writes which part of path is a link that files_open refuses. Returns whether there is one. */
static bool find_link(const char *path, char dst[PATH_MAX])
{
    const struct root *r = make_absolute(path, dst) ? find_root(dst, true) : NULL;
    char *first = r ? (char *)(uintptr_t)below(r, dst) : NULL;
    struct stat st;

    for (char *p = first; p && *p; p++) {
        p += strcspn(p, "/");
        char end = *p;
        *p = 0;
        if (lstat(dst, &st) == 0 && S_ISLNK(st.st_mode) &&
            !(r->is_study && strcmp(first, "runs") == 0))
            return true;
        *p = end;
        if (!end)
            break;
    }
    return false;
}

int files_error(struct err *e, int code, int number, const char *doing, const char *path)
{
    char link[PATH_MAX], full[PATH_MAX];
    int mendable = code == ERR_INTERNAL ? ERR_CONFIG : code;

    if ((number == ELOOP || number == ENOTDIR) && find_link(path, link)) {
        bool itself = make_absolute(path, full) && strcmp(full, link) == 0;
        return err_set(e, mendable, "%s %s: %s is a symbolic link, which is not followed; remove it",
                       doing, path, itself ? "it" : link);
    }
    if (number == ENXIO)
        return err_set(e, mendable, "%s %s: not a regular file%s", doing, path,
                       files_is_owned(path) ? "; remove it" : "");
    if (number == EISDIR)
        return err_set(e, code, "%s %s: it is a folder", doing, path);
    return err_errno(e, code, number, "%s %s", doing, path);
}
