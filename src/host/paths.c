/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/host/paths.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void look_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_program_dir);
}

int paths_bindir(char *dst, size_t size)
{
    look_once();
    return *bindir && (size_t)snprintf(dst, size, "%s", bindir) < size ? 0 : -1;
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
    look_once();
    if (!*bindir)
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
