/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/rights.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Many systems give each user a group of the same name, and files that it may write. */
static bool is_own_group(gid_t group)
{
    const struct passwd *me = getpwuid(geteuid());
    const struct group *g = me && me->pw_gid == group ? getgrgid(group) : NULL;

    return g && strcmp(g->gr_name, me->pw_name) == 0;
}

/* Writes "the group staff", or its number if it has no name. */
static void put_name(const char *kind, unsigned id, const char *name, char *dst, size_t size)
{
    if (name)
        snprintf(dst, size, "%s %s", kind, name);
    else
        snprintf(dst, size, "%s %u", kind, id);
}

/* Sets who may write there, or returns false. In a folder above the given path that is sticky, as
 * /tmp is, others can replace nothing; the owners of folders above are trusted. */
static bool find_who(const struct stat *st, bool above, char *who, size_t size)
{
    if (above && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
        return false;
    if (!above && st->st_uid && st->st_uid != geteuid()) {
        const struct passwd *p = getpwuid(st->st_uid);
        put_name("its owner", st->st_uid, p ? p->pw_name : NULL, who, size);
    } else if (st->st_mode & S_IWOTH) {
        snprintf(who, size, "every user");
    } else if (st->st_mode & S_IWGRP && st->st_gid && !is_own_group(st->st_gid)) {
        const struct group *g = getgrgid(st->st_gid);
        put_name("the group", st->st_gid, g ? g->gr_name : NULL, who, size);
    } else {
        return false;
    }
    return true;
}

bool rights_find_writer(const char *path, struct rights_writer *dst)
{
    struct stat st;
    bool above = false;

    if (!realpath(path, dst->path))
        return false;
    for (;; above = true) {
        char *slash = strrchr(dst->path, '/');
        if (stat(dst->path, &st) == 0 && find_who(&st, above, dst->who, sizeof dst->who))
            return true;
        if (!slash || !dst->path[1])
            return false;
        slash[slash == dst->path] = 0;
    }
}
