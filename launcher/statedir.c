/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/statedir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int statedir_path(const char *name, char dst[PATH_MAX], struct err *e)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n;

    if (state && state[0] == '/')
        n = snprintf(dst, PATH_MAX, "%s/unetctl/%s", state, name);
    else if (home && home[0] == '/')
        n = snprintf(dst, PATH_MAX, "%s/.local/state/unetctl/%s", home, name);
    else
        return err_set(e, ERR_USAGE, "neither XDG_STATE_HOME nor HOME is set: there is no place to "
                       "remember %s; set HOME", name);
    if (n >= PATH_MAX)
        return err_set(e, ERR_USAGE, "the path of the user's state folder is too long");
    return 0;
}

int statedir_make(const char *folder, struct err *e)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/", folder) >= (int)sizeof path)
        return err_set(e, ERR_INTERNAL, "the path %s is too long", folder);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0777) < 0 && errno != EEXIST)
            return err_errno(e, ERR_INTERNAL, errno, "can't make the folder %s", path);
        *slash = '/';
    }
    return 0;
}
