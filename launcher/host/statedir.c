/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/host/statedir.h"

#include <stdio.h>
#include <stdlib.h>

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
        return err_set(e, ERR_USAGE, "neither %s nor HOME is set, so there is no folder for %s; "
                                     "set HOME", variable, name);
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
