/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/host/path.h"

#include <sys/stat.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "t/tap.h"

int main(void)
{
    char dir[] = "/tmp/unetctl-path.XXXXXX", path[PATH_MAX], deep[PATH_MAX], file[PATH_MAX];
    struct stat st;
    struct err e;

    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    is_str(path_format(path, "%s/%d", "a", 3), "a/3", "a path is formatted");
    is_str(path_format(path, "/%*s", PATH_MAX, "x"), "", "a path that is too long becomes empty");
    path_format(deep, "%s/a/b", dir);
    ok(path_make_folder(deep, &e) == 0 && stat(deep, &st) == 0, "parent folders are created");
    ok(path_make_folder(deep, &e) == 0, "a folder that exists is accepted");
    path_format(file, "%s/a/file", dir);
    ok(atomicfile_write(file, "x", 1, 0600, &e) == 0 && path_make_folder(file, &e) == -1,
       "a file in place of the folder is an error");
    ok(strstr(e.text, file) != NULL, "the error names the file");
    path_format(path, "%s/below", file);
    ok(path_make_folder(path, &e) == -1 && e.code == ERR_INTERNAL,
       "a folder below a file is an error");
    unlink(file);
    rmdir(deep);
    path_format(path, "%s/a", dir);
    rmdir(path);
    rmdir(dir);
    return done_testing();
}
