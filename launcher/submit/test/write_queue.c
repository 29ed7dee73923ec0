/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that exist after runs were taken, dropped, or could not be written. */
#include "config.h"
#include "launcher/submit/write_queue.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "t/tap.h"

static struct err e;

static void add_run(struct write_queue *s, const char *folder, const char *text)
{
    char path[64];

    if (write_queue_add_run(s, folder, &e))
        bail_out("%s", e.text);
    snprintf(path, sizeof path, "%s/attempt-1", folder);
    if (write_queue_add_folder(s, path, &e))
        bail_out("%s", e.text);
    snprintf(path, sizeof path, "%s/run.json", folder);
    if (write_queue_add_file(s, path, text, 0640, &e))
        bail_out("%s", e.text);
    snprintf(path, sizeof path, "%s/script.sh", folder);
    if (write_queue_add_link(s, path, "run.json", &e))
        bail_out("%s", e.text);
}

static bool holds(const char *path, const char *want)
{
    size_t n;
    char *text = atomicfile_read(path, 1000, &n, &e);
    bool same = text && strcmp(text, want) == 0;

    free(text);
    return same;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool is_alone(const char *folder) /* there is no temporary file beside run.json */
{
    char command[96];

    snprintf(command, sizeof command, "test -z \"$(find %s -name '*.tmp*')\"", folder);
    return system(command) == 0;
}

static void check_taken(void)
{
    struct write_queue s = {0};
    struct stat st;

    add_run(&s, "a", "first");
    add_run(&s, "b", "second");
    ok(!exists("a"), "additions are only kept in memory");
    write_queue_start(&s);
    ok(write_queue_wait(&s, 1, &e) == 0 && holds("b/run.json", "second") && exists("b/attempt-1") &&
           holds("b/script.sh", "second"), "a run that was taken has its folder, file and link");
    ok(stat("b/run.json", &st) == 0 && (st.st_mode & 0777) == 0640, "its file has the mode");
    ok(write_queue_wait(&s, 0, &e) == 0 && write_queue_wait(&s, 0, &e) == 0,
       "runs may be taken in any order, and twice");
    ok(write_queue_sync(&s, &e) == 0, "the files are made durable");
    write_queue_destroy(&s);
    ok(holds("a/run.json", "first") && is_alone("a") && is_alone("b"),
       "the files are kept when the queue is destroyed");
}

static void check_dropped(void)
{
    struct write_queue s = {0};

    add_run(&s, "a", "newer");
    add_run(&s, "c", "third");
    add_run(&s, "d", "fourth");
    write_queue_start(&s);
    ok(write_queue_wait(&s, 2, &e) == 0, "the last of three runs is taken");
    ok(holds("a/run.json", "first"), "an existing file is only replaced when its run is taken");
    write_queue_destroy(&s);
    ok(holds("a/run.json", "first") && exists("a/script.sh") && exists("a/attempt-1") &&
       is_alone("a"), "a run that was not taken is unchanged");
    ok(!exists("c") && holds("d/run.json", "fourth"),
       "a new run that was not taken is deleted");
    ok(s.count == 0 && !s.begun, "a destroyed queue is empty");
    write_queue_destroy(&s);
    add_run(&s, "a", "newer");
    write_queue_start(&s);
    ok(write_queue_wait(&s, 0, &e) == 0 && holds("a/run.json", "newer"),
       "a run that is taken replaces the file");
    ok(write_queue_sync(&s, &e) == 0, "the files are made durable");
    write_queue_destroy(&s);
}

static void check_failure(void)
{
    struct write_queue s = {0};

    if (mkdir("g", 0777) || mkdir("g/run.json", 0777))
        bail_out("g");
    add_run(&s, "f", "one");
    add_run(&s, "g", "two");
    add_run(&s, "h", "three");
    write_queue_start(&s);
    ok(write_queue_wait(&s, 0, &e) == 0 && holds("f/run.json", "one"),
       "a run before a failing one is written");
    ok(write_queue_wait(&s, 1, &e) == -1 && strstr(e.text, "g/run.json"),
       "the failing run is named");
    ok(write_queue_wait(&s, 2, &e) == -1, "a run after it fails, too");
    write_queue_destroy(&s);
    ok(holds("f/run.json", "one") && !exists("h") && is_alone("g"),
       "only the first run is written");
    add_run(&s, "i", "one");
    add_run(&s, "g", "two");
    is_int(write_queue_commit(&s, &e), -1, "a commit of all runs fails likewise");
    write_queue_destroy(&s);
    ok(write_queue_commit(&s, &e) == 0, "an empty queue can be committed");
    write_queue_destroy(&s);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-staging.XXXXXX", command[64];

    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no folder in /tmp");
    umask(022);
    check_taken();
    check_dropped();
    check_failure();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (chdir("/") || system(command))
        bail_out("%s", command);
    return done_testing();
}
