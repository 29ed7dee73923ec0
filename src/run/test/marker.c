/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/run/marker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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
    ok(!marker_has_start(dir) && marker_check(dir, &e) == 0, "without a start anybody may write");
    is_int(marker_write(dir, "DONE", "by hand", 7, &e), 0, "a marker by hand");
    is_str(content("DONE"), "by hand", "is written");
    unlink(strcat(strcpy(path, dir), "/DONE"));

    start("running-1");
    ok(marker_has_start(dir) && marker_check(dir, &e) == 0, "a start may write");
    is_int(marker_write(dir, "DONE", "one", 3, &e), 0, "its marker");
    is_str(content("DONE"), "one", "is written");
    ok(!exists("running-1"), "and is the start's file");
    e.code = 0;
    ok(marker_write(dir, "FAILED", "one", 3, &e) && e.code == ERR_RESUMABLE && !exists("FAILED"),
       "of two markers the first counts");
    unlink(strcat(strcpy(path, dir), "/DONE"));
    start("running-1");
    is_int(marker_write(dir, "FAILED", "rank 2", 6, &e), 0, "a rank marks its failure");
    ok(marker_write(dir, "FAILED", "rank 1", 6, &e) && strstr(e.text, "another rank"),
       "another rank of the same start hears so, and of no later start: %s", e.text);
    unlink(strcat(strcpy(path, dir), "/FAILED"));
    unlink(strcat(strcpy(path, dir), "/DONE"));

    start("running-2");
    unlink(getenv("UNETCTL_START"));
    ok(marker_has_start(dir), "a start that was taken over still speaks of its folder");
    ok(marker_check(dir, &e) && e.code == ERR_RESUMABLE && strstr(e.text, "running-2"),
       "and may not write: %s", e.text);
    ok(marker_write(dir, "DONE", "two", 3, &e) && e.code == ERR_RESUMABLE, "nor mark");
    ok(!exists("DONE") && !exists("running-2"), "nothing is written, no file comes back");
    is_int(marker_write(other, "DONE", "x", 1, &e), 0, "in another folder it is as by hand");

    start("running-3");
    snprintf(path, sizeof path, "%s/DONE", dir);
    mkdir(path, 0777);
    ok(marker_write(dir, "DONE", "three", 5, &e) && e.code == ERR_INTERNAL, "%s", e.text);
    rmdir(path);
    is_int(marker_write(dir, "FAILED", "3", 1, &e), 0, "what failed can be told in another marker");
    is_str(content("FAILED"), "3", "whose text is its own");
    setenv("UNETCTL_START", "no-folder", 1);
    ok(!marker_has_start(dir), "a start without a folder is none");
    remove_all();
    return done_testing();
}
