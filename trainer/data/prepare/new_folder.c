/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/prepare/new_folder.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int new_folder_open(struct new_folder *f, const char *path, struct err *e)
{
    if (snprintf(f->path, sizeof f->path, "%s", path) >= PATH_MAX)
        return err_set(e, ERR_DATA, "%.100s...: this path is too long", path);
    f->made = mkdir(path, 0777) == 0;
    if (!f->made && new_folder_make(path, e))
        return -1;
    return check_empty(path, e);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st, (void)type;
    if (where->level > 0)
        (void)remove(path);
    return 0;
}

void new_folder_discard(const struct new_folder *f)
{
    nftw(f->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    if (f->made)
        rmdir(f->path);
}
