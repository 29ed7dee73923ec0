/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/stage/stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/files.h"
#include "src/format/sha256.h"
#include "src/parallel.h"

#define MAX_SPLIT ((size_t)1 << 30)
#define BLOCK 4096

/* An image or a mask of split.json. */
struct entry {
    const char *locator, *sha256;
};

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->locator, ((const struct entry *)b)->locator);
}

static size_t add_part(const json_t *root, const char *part, struct entry *dst)
{
    const json_t *item;
    size_t i, n = 0;

    json_array_foreach(json_object_get(root, part), i, item) {
        dst[n++] = (struct entry){jsonio_text(item, "image"), jsonio_text(item, "image_sha256")};
        if (json_object_get(item, "mask"))
            dst[n++] = (struct entry){jsonio_text(item, "mask"), jsonio_text(item, "mask_sha256")};
    }
    return n;
}

/* Returns whether the name leads to no other folder than one below the data folder. */
static bool is_inside(const char *name)
{
    bool inside = *name && *name != '/';

    for (const char *part = name; inside && part; part = strchr(part, '/')) {
        part += *part == '/';
        inside = strncmp(part, "..", 2) != 0 || (part[2] && part[2] != '/');
    }
    return inside;
}

/* Adds the files of a folder of masks, NAME/. */
static int add_folder(struct stage_list *dst, const char *dir, const char *name, struct err *e)
{
    char path[PATH_MAX];
    struct dirent **files = NULL;
    int n = scandir(path_format(path, "%s/%s", dir, name), &files, files_are_shown, alphasort);
    int rc = n < 0 ? err_errno(e, ERR_DATA, errno, "%s", path) : 0;

    for (int i = 0; i < n; i++) {
        path_format(path, "%s%s", name, files[i]->d_name);
        rc = rc ? rc : setting_append_line(&dst->names, path, e);
        free(files[i]);
    }
    free(files);
    return rc;
}

/* Adds the file of each entry, once. dir: the data folder; of_records: a locator is FILE#RECORD. */
static int add_names(struct stage_list *dst, const struct entry *entries, size_t n, const char *dir,
                     bool of_records, struct err *e)
{
    struct setting_lines *names = &dst->names;
    char name[PATH_MAX], *record;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        path_format(name, "%s", entries[i].locator);
        if (of_records && (record = strrchr(name, '#')))
            *record = 0;
        if (!is_inside(name))
            rc = err_set(e, ERR_DATA, "'%.200s' is not a file of the data folder; make a new split",
                         name);
        else if (name[strlen(name) - 1] == '/')
            rc = add_folder(dst, dir, name, e);
        else if (!names->count || strcmp(names->lines[names->count - 1], name) != 0)
            rc = setting_append_line(names, name, e);
    }
    return rc;
}

static void hash_entries(const struct entry *entries, size_t n, char hash[17])
{
    struct sha256_ctx s;
    char hex[65];

    sha256_init(&s);
    for (size_t i = 0; i < n; i++) {
        sha256_add(&s, entries[i].locator, strlen(entries[i].locator) + 1);
        sha256_add(&s, entries[i].sha256, strlen(entries[i].sha256) + 1);
    }
    sha256_finish(&s, hex);
    memcpy(hash, hex, 16);
    hash[16] = 0;
}

int stage_list_read(struct stage_list *dst, const char *split_file, struct err *e)
{
    json_t *root = jsonio_read(split_file, MAX_SPLIT, e);
    size_t most = 2 * (json_array_size(json_object_get(root, "train")) +
                       json_array_size(json_object_get(root, "val")));
    struct entry *entries = root ? mem_zero(most, sizeof *entries, e) : NULL;
    const char *format = jsonio_text(root, "format");
    int rc = -1;

    *dst = (struct stage_list){0};
    if (entries) {
        size_t n = add_part(root, "train", entries);
        n += add_part(root, "val", entries + n);
        if (n)
            qsort(entries, n, sizeof *entries, compare_entries);
        hash_entries(entries, n, dst->hash);
        bool of_records = *format && strcmp(format, "pairs") && strcmp(format, "folders");
        rc = n ? add_names(dst, entries, n, jsonio_text(root, "data"), of_records, e)
               : err_set(e, ERR_DATA, "it names no files");
        if (rc)
            err_prefix(e, "%s", split_file);
    }
    free(entries);
    json_decref(root);
    if (rc)
        stage_list_destroy(dst);
    return rc;
}

void stage_list_destroy(struct stage_list *list)
{
    setting_clear_lines(&list->names);
}

int stage_list_measure(const struct stage_list *list, const char *dir, int64_t *nbytes,
                       struct err *e)
{
    char path[PATH_MAX];
    struct stat st;

    *nbytes = 0;
    for (size_t i = 0; i < list->names.count; i++) {
        const char *name = list->names.lines[i];
        if (stat(path_format(path, "%s/%s", dir, name), &st))
            return err_errno(e, ERR_DATA, errno, "%s/%s", dir, name);
        *nbytes += (st.st_size + BLOCK - 1) / BLOCK * BLOCK;
    }
    return 0;
}

/* ---- the copy ---- */

#define THREADS 8
#define PIECE (1 << 20)
#define SPARE 0.01 /* of the size, for folders and the like */

/* ---- the folder ---- */

static int find_folder(const char *text, char folder[PATH_MAX], struct err *e)
{
    char *found = path_expand(text, e);
    struct stat st;

    if (!found)
        return err_prefix(e, "data.stage %s", text);
    path_format(folder, "%s", found);
    free(found);
    if (*folder != '/' || stat(folder, &st) || !S_ISDIR(st.st_mode) || access(folder, W_OK | X_OK))
        return err_set(e, ERR_CONFIG, "data.stage %s: %s is not a folder that can be written; choose "
                       "another one", text, folder);
    return 0;
}

/* Makes the user's own folder below. Anyone may have made one of that name before. */
static int make_root(const char *folder, char root[PATH_MAX], struct err *e)
{
    char name[PATH_MAX];

    path_format(name, "%s/unetctl-%u", folder, (unsigned)geteuid());
    return path_make_own(name, root, e) ? err_prefix(e, "data.stage") : 0;
}

/* ---- locks ---- */

static int take_lock(int fd, int how)
{
    int rc;

    while ((rc = flock(fd, how)) && errno == EINTR)
        continue;
    return rc;
}

/* ---- removal ---- */

/* Removes a copy, whose lock the caller holds exclusively. It is renamed first, so that a copy that
 * is removed in part is never taken for a complete one. */
static void remove_copy(const char *copy)
{
    char tmp[PATH_MAX];

    files_remove_tree(path_format(tmp, "%s.tmp", copy));
    if (rename(copy, tmp) == 0)
        files_remove_tree(tmp);
}

/* Removes copies that no process uses, except that of this hash, and the user's folder if it is
 * then empty. */
static void remove_unused(const char *root, const char *except)
{
    char copy[PATH_MAX], lock[PATH_MAX];
    const struct dirent *entry;
    DIR *d = opendir(root);

    while (d && (entry = readdir(d))) {
        const char *end = strstr(entry->d_name, ".lock");
        if (!end || end[5] || strncmp(entry->d_name, except, 16) == 0)
            continue;
        path_format(lock, "%s/%s", root, entry->d_name);
        path_format(copy, "%.*s", (int)(strlen(lock) - 5), lock);
        int fd = open(lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && take_lock(fd, LOCK_EX | LOCK_NB) == 0 && path_is_current(fd, lock)) {
            remove_copy(copy);
            unlink(lock);
        }
        if (fd >= 0)
            close(fd);
    }
    if (d)
        closedir(d);
    if (rmdir(root)) {
        /* it is in use */
    }
}

int stage_remove(const char *text, struct err *e)
{
    char folder[PATH_MAX], root[PATH_MAX];

    if (find_folder(text, folder, e) || make_root(folder, root, e))
        return -1;
    remove_unused(root, "-");
    return 0;
}

/* ---- copying ---- */

struct copy {
    const struct stage_list *list;
    const char *from, *to;
};

static int write_error(const char *path, struct err *e)
{
    return err_errno(e, ERR_DATA, errno, "data.stage: cannot write %s; remove data.stage, or choose "
                     "another folder", path);
}

static int copy_bytes(int in, int out, const char *from, const char *to, struct err *e)
{
    char *piece = malloc(PIECE);
    ssize_t n = -1;
    int rc = 0;

    if (!piece)
        return err_errno(e, ERR_INTERNAL, ENOMEM, "%s", to);
    while (rc == 0 && (n = read(in, piece, PIECE)) > 0)
        for (ssize_t done = 0, k; rc == 0 && done < n; done += k)
            if ((k = write(out, piece + done, (size_t)(n - done))) < 0)
                rc = write_error(to, e);
    if (rc == 0 && n < 0)
        rc = err_errno(e, ERR_DATA, errno, "data.stage: cannot read %s", from);
    free(piece);
    return rc;
}

/* A parallel_f. */
static int copy_file(void *arg, size_t i, struct err *e)
{
    const struct copy *c = arg;
    char from[PATH_MAX], to[PATH_MAX];
    int rc;

    path_format(from, "%s/%s", c->from, c->list->names.lines[i]);
    path_format(to, "%s/%s", c->to, c->list->names.lines[i]);
    for (char *p = to + strlen(c->to) + 1; *to && (p = strchr(p, '/')); p++) {
        *p = 0;
        rc = mkdir(to, 0700) && errno != EEXIST ? write_error(to, e) : 0;
        *p = '/';
        if (rc)
            return rc;
    }
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return err_errno(e, ERR_DATA, errno, "data.stage: cannot read %s", from);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    rc = out < 0 ? write_error(to, e) : copy_bytes(in, out, from, to, e);
    if (out >= 0 && close(out) && rc == 0)
        rc = write_error(to, e);
    close(in);
    return rc;
}

/* Checks that the file system of `folder` has room for so many bytes and files. */
static int check_room(const char *folder, int64_t nbytes, size_t nfiles, struct err *e)
{
    double need = (1 + SPARE) * (double)nbytes;
    struct statvfs fs;

    if (statvfs(folder, &fs))
        return err_errno(e, ERR_CONFIG, errno, "data.stage: %s", folder);
    double room = (double)fs.f_bavail * (double)fs.f_frsize;
    if (room < need)
        return err_set(e, ERR_DATA, "data.stage: the data need %.1f MiB, and %s has %.1f MiB left; "
                       "remove data.stage, or choose another folder", need / 0x1p20, folder,
                       room / 0x1p20);
    if (fs.f_files && fs.f_favail < nfiles)
        return err_set(e, ERR_DATA, "data.stage: the data are %zu files, and %s has room for %llu "
                       "more; remove data.stage, or choose another folder", nfiles, folder,
                       (unsigned long long)fs.f_favail);
    return 0;
}

/* Makes the copy `path` below root. The caller holds its lock exclusively. */
static int make_copy(const char *root, const char *path, const struct stage_list *list,
                     const char *data, struct err *e)
{
    char tmp[PATH_MAX];
    struct copy c = {list, data, path_format(tmp, "%s.tmp", path)};
    int64_t nbytes;

    remove_copy(path);
    remove_unused(root, list->hash);
    if (stage_list_measure(list, data, &nbytes, e) ||
        check_room(root, nbytes, list->names.count, e))
        return -1;
    int rc = mkdir(tmp, 0700) ? write_error(tmp, e)
                              : parallel_each(list->names.count, THREADS, copy_file, &c, e);
    if (rc == 0 && rename(tmp, path))
        rc = write_error(path, e);
    if (rc)
        files_remove_tree(tmp);
    return rc;
}

/* Takes the lock of the copy, shared, and sets dst->lock if the copy exists. Otherwise makes the
 * copy, and leaves dst->lock at -1: the lock cannot be changed to a shared one without a moment in
 * which another process may remove the copy. */
static int try_enter(const char *root, const struct stage_list *list, const char *data,
                     struct stage *dst, struct err *e)
{
    char file[PATH_MAX];
    int rc = 0;

    path_format(dst->path, "%s/%s", root, list->hash);
    path_format(file, "%s.lock", dst->path);
    int fd = open(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0600); /* not closed by exec */
    if (fd < 0 && errno == ENOENT)
        return 0; /* a process has removed root */
    if (fd < 0 || take_lock(fd, LOCK_SH))
        rc = write_error(file, e);
    else if (path_is_current(fd, file) && access(dst->path, F_OK) == 0)
        dst->lock = fd;
    else if (take_lock(fd, LOCK_EX))
        rc = write_error(file, e);
    else if (path_is_current(fd, file) && access(dst->path, F_OK))
        rc = make_copy(root, dst->path, list, data, e);
    if (fd >= 0 && dst->lock < 0)
        close(fd);
    return rc;
}

int stage_enter(const struct stage_request *r, struct stage *dst, struct err *e)
{
    char folder[PATH_MAX], root[PATH_MAX];
    struct stage_list list;

    dst->lock = -1;
    if (find_folder(r->folder, folder, e) || stage_list_read(&list, r->split, e))
        return -1;
    int rc = 0;
    while (rc == 0 && dst->lock < 0) {
        rc = make_root(folder, root, e);
        if (rc == 0)
            rc = try_enter(root, &list, r->data, dst, e);
    }
    if (rc == 0)
        rc = stage_list_measure(&list, dst->path, &dst->nbytes, e);
    stage_list_destroy(&list);
    return rc;
}

int stage_check(const struct stage_request *r, struct err *e)
{
    char folder[PATH_MAX], root[PATH_MAX];
    struct stage_list list;
    int64_t nbytes;

    if (find_folder(r->folder, folder, e) || make_root(folder, root, e))
        return -1;
    rmdir(root);
    if (access(r->split, F_OK))
        return 0;
    if (stage_list_read(&list, r->split, e))
        return -1;
    int rc = stage_list_measure(&list, r->data, &nbytes, e) ||
                     check_room(folder, nbytes, list.names.count, e) ? -1 : 0;
    stage_list_destroy(&list);
    return rc;
}
