/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/run/marker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static char dir[] = "/tmp/marker-XXXXXX", other[] = "/tmp/marker-XXXXXX";

static bool exists(const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void start(const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    close(open(path, O_WRONLY | O_CREAT, 0666));
    setenv("UNETCTL_START", path, 1);
}

static void remove_all(void)
{
    char command[256];

    snprintf(command, sizeof command, "rm -rf %s %s", dir, other);
    if (system(command) != 0)
        printf("# %s and %s stay\n", dir, other);
}

static char *content(const char *name)
{
    static char text[64];
    char path[256];
    struct err e;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    char *data = atomicfile_read(path, sizeof text - 1, &n, &e);
    snprintf(text, sizeof text, "%s", data ? data : "(none)");
    free(data);
    return text;
}

int main(void)
{
    struct err e = {0};
    char path[256];

    unsetenv("UNETCTL_START");
    if (!mkdtemp(dir) || !mkdtemp(other))
        return 1;
    ok(!marker_has_start(dir) && marker_check(dir, &e) == 0,
       "without a start any process may write");
    is_int(marker_write(dir, "DONE", "by hand", 7, &e), 0, "a marker is written without a start");
    is_str(content("DONE"), "by hand", "it has its text");
    ok(marker_write(dir, "FAILED", "by hand", 7, &e) && strstr(e.text, "marked DONE already") &&
       !exists("FAILED"), "then no other: %s", e.text);
    unlink(strcat(strcpy(path, dir), "/DONE"));
    is_int(marker_write(dir, "FAILED", "by hand", 7, &e), 0, "FAILED is written likewise");
    ok(marker_write(dir, "DONE", "by hand", 7, &e) && !exists("DONE"), "then no other: %s", e.text);
    unlink(strcat(strcpy(path, dir), "/FAILED"));

    start("running-1");
    ok(marker_has_start(dir) && marker_check(dir, &e) == 0, "a start may write");
    is_int(marker_write(dir, "DONE", "one", 3, &e), 0, "a start writes its marker");
    is_str(content("DONE"), "one", "the marker has its text");
    ok(!exists("running-1"), "the start's file has become the marker");
    e.code = 0;
    ok(marker_write(dir, "FAILED", "one", 3, &e) && e.code == ERR_RESUMABLE && !exists("FAILED"),
       "only the first of two markers is written");
    unlink(strcat(strcpy(path, dir), "/DONE"));
    start("running-1");
    is_int(marker_write(dir, "FAILED", "rank 2", 6, &e), 0, "a rank marks its failure");
    ok(marker_write(dir, "FAILED", "rank 1", 6, &e) && strstr(e.text, "another rank"),
       "another rank of the same start learns that, and not of a later start: %s", e.text);
    unlink(strcat(strcpy(path, dir), "/FAILED"));
    unlink(strcat(strcpy(path, dir), "/DONE"));

    start("running-2");
    unlink(getenv("UNETCTL_START"));
    ok(marker_has_start(dir), "a start whose folder was taken over still names it");
    ok(marker_check(dir, &e) && e.code == ERR_RESUMABLE && strstr(e.text, "running-2"),
       "it may not write results: %s", e.text);
    ok(marker_write(dir, "DONE", "two", 3, &e) && e.code == ERR_RESUMABLE,
       "it may not write a marker");
    ok(!exists("DONE") && !exists("running-2"),
       "nothing is written, and its file is not created again");
    is_int(marker_write(other, "DONE", "x", 1, &e), 0,
           "in another folder it writes as without a start");

    start("running-3");
    snprintf(path, sizeof path, "%s/DONE", dir);
    mkdir(path, 0777);
    ok(marker_write(dir, "DONE", "three", 5, &e) && e.code == ERR_INTERNAL, "%s", e.text);
    rmdir(path);
    is_int(marker_write(dir, "FAILED", "3", 1, &e), 0,
           "after an error another marker can be written");
    is_str(content("FAILED"), "3", "that marker has its own text");
    setenv("UNETCTL_START", "no-folder", 1);
    ok(!marker_has_start(dir), "a start without a folder does not count");
    remove_all();
    return done_testing();
}
