/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/prepare/new_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trainer/data/source/source.h"

#define MARK_SIZE (PATH_MAX + 16)

static int check_empty(const char *path, struct err *e)
{
    DIR *d = opendir(path);
    struct dirent *entry;
    int rc = 0;

    if (!d)
        return err_errno(e, ERR_DATA, errno, "%s: cannot list this folder", path);
    while (rc == 0 && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = err_set(e, ERR_DATA,
                         "%s: this folder is not empty (it contains %s); choose another with --out",
                         path, entry->d_name);
    closedir(d);
    return rc;
}

int new_folder_make(const char *path, struct err *e)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return err_errno(e, ERR_DATA, errno, "%s: cannot create this folder", path);
    return 0;
}

static void mark_path(const struct new_folder *f, char dst[MARK_SIZE])
{
    snprintf(dst, MARK_SIZE, "%s/" SOURCE_UNFINISHED, f->path);
}

int new_folder_open(struct new_folder *f, const char *path, struct err *e)
{
    char mark[MARK_SIZE];

    if (snprintf(f->path, sizeof f->path, "%s", path) >= PATH_MAX)
        return err_set(e, ERR_DATA, "%.100s...: this path is too long", path);
    f->made = mkdir(path, 0777) == 0;
    if (!f->made && new_folder_make(path, e))
        return -1;
    if (check_empty(path, e))
        return -1;
    mark_path(f, mark);
    int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        err_errno(e, ERR_DATA, errno, "%s: cannot write in this folder", path);
        if (f->made)
            rmdir(path);
        return -1;
    }
    close(fd);
    return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    if (where->level > 0)
        (void)remove(path);
    return 0;
}

int new_folder_close(const struct new_folder *f, int rc, struct err *e)
{
    char mark[MARK_SIZE];

    mark_path(f, mark);
    if (rc == 0)
        return unlink(mark) ? err_errno(e, ERR_DATA, errno, "cannot remove %s", mark) : 0;
    nftw(f->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (f->made)
        rmdir(f->path);
    return rc;
}
