/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/host/path.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "src/files.h"
#include "t/tap.h"

static void is_expanded(const char *text, const char *want)
{
    struct err e;
    char *path = path_expand(text, &e);

    is_str(path ? path : e.text, want, "'%s' is expanded", text);
    free(path);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-path.XXXXXX", path[PATH_MAX], deep[PATH_MAX], file[PATH_MAX];
    struct stat st;
    struct err e;

    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    is_str(path_format(path, "%s/%d", "a", 3), "a/3", "a path is formatted");
    is_str(path_format(path, "/%*s", PATH_MAX, "x"), "", "a path that is too long becomes empty");
    setenv("HOME", "/h", 1);
    setenv("UTEST_A1", "v", 1);
    setenv("HOME", "h", 1);
    unsetenv("XDG_STATE_HOME");
    ok(statedir_path("x", path, &e) == -1 &&
           strstr(e.text, "neither XDG_STATE_HOME nor HOME is an absolute path"),
       "a HOME that is relative is named: %s", e.text);
    setenv("HOME", "/h", 1);
    unsetenv("UTEST_NONE");
    is_expanded("~", "/h");
    is_expanded("~/a", "/h/a");
    is_expanded("~a/~", "~a/~");
    is_expanded("$UTEST_A1/${UTEST_A1}b$", "v/vb$");
    is_expanded("$$UTEST_A1 $1 ${UTEST_A1 $/", "$UTEST_A1 $1 ${UTEST_A1 $/");
    ok(!path_expand("/x/$UTEST_NONE/y", &e) && e.code == ERR_CONFIG &&
           strstr(e.text, "$UTEST_NONE is not set"),
       "a variable that is not set is an error: %s", e.text);
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
    int reader = open(deep, O_RDONLY), lock = -1;
    ok(flock(reader, LOCK_EX) == 0 && path_lock_folder(deep, &lock, &e) == 0 && lock >= 0,
       "who may read a folder cannot keep others from writing there");
    path_format(path, "%s/.lock", deep);
    ok(stat(path, &st) == 0 && (st.st_mode & 0077) == 0, "nor open its lock");
    path_unlock_folder(deep, lock);
    ok(access(path, F_OK) != 0, "which is gone afterwards");
    close(reader);
    unlink(file);
    rmdir(deep);
    path_format(path, "%s/a", dir);
    rmdir(path);
    char name[PATH_MAX], again[PATH_MAX];
    path_format(name, "%s/own", dir);
    ok(path_make_own(name, path, &e) == 0 && stat(path, &st) == 0 && (st.st_mode & 07777) == 0700,
       "a folder of one's own is made");
    ok(path_make_own(name, again, &e) == 0 && strcmp(path, again) == 0, "and found again");
    rmdir(path);
    ok(symlink(dir, name) == 0 && path_make_own(name, path, &e) == 0 && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode) && strcmp(path, name) != 0, "a link of that name is passed over");
    char bytes[5000] = "";
    ok(atomicfile_write(path_format(file, "%s/file", path), bytes, sizeof bytes, 0600, &e) == 0 &&
           symlink(file, path_format(deep, "%s/link", path)) == 0 &&
           path_measure(path, false) == 8192 && path_measure(path, true) == 16384,
       "a folder is measured in whole blocks, with the files that links name or without");
    unlink(deep);
    unlink(file);
    unlink(name);
    ok(path_make_own(name, again, &e) == 0 && strcmp(path, again) == 0,
       "the other name stays in use");
    for (int i = 1; i < 100; i++) {
        rmdir(path_format(path, i > 1 ? "%s.%d" : "%s", name, i));
        if (mkdir(path, 0700) || chmod(path, 0755))
            bail_out("%s", path);
    }
    ok(path_make_own(name, path, &e) == -1 && e.code == ERR_CONFIG && strstr(e.text, "own.99 are"),
       "all names may be taken: %s", e.text);
    files_remove_tree(dir);
    return done_testing();
}
