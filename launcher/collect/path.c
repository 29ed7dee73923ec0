/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

int path_make_folder(const char *path, struct err *e)
{
    char part[PATH_MAX];
    struct stat st;

    path_format(part, "%s", path);
    for (char *p = part + 1; part[0] && *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(part, 0777); /* what is wrong with it shows at the last one */
            *p = '/';
        }
    if (mkdir(part, 0777) && errno != EEXIST)
        return err_errno(e, ERR_INTERNAL, errno, "can't make the folder %s", path);
    if (stat(part, &st) || !S_ISDIR(st.st_mode))
        return err_set(e, ERR_INTERNAL, "%s is in the way: it is no folder", path);
    return 0;
}
