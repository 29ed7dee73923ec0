/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's folders: $XDG_STATE_HOME/unetctl or ~/.local/state/unetctl for the state of unetctl,
 * $XDG_CONFIG_HOME/unetctl or ~/.config/unetctl for files that the user writes. A variable that is
 * not an absolute path is ignored. */
#ifndef UNETCTL_LAUNCHER_HOST_STATEDIR_H
#define UNETCTL_LAUNCHER_HOST_STATEDIR_H

#include <limits.h>

#include "src/err.h"

/* Stores the absolute path of `name` in the state folder, where it need not exist. Returns 0, or
 * -1 with ERR_USAGE if the environment defines no such folder. */
int statedir_path(const char *name, char dst[PATH_MAX], struct err *e);

/* The same for the folder of files that the user writes. */
int statedir_config_path(const char *name, char dst[PATH_MAX], struct err *e);

#endif
