/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/host/child.h"

#include <fcntl.h>
#include <signal.h>

#include "src/clock.h"
#include "t/tap.h"

static struct child_end end;

/* Runs a script in bash, whose streams are read, and returns its code. */
static int run(struct child c, const char *script)
{
    const char *const words[] = {"bash", "-c", script, NULL};
    struct err e;

    child_destroy(&end);
    c.argv = words;
    c.out = c.out ? c.out : CHILD_READ;
    if (child_run(&c, &end, &e))
        bail_out("%s", e.text);
    return end.code;
}

static void enter(void *arg, char *const argv[])
{
    setenv("FROM", arg, 1);
    if (strcmp(arg, "nowhere") == 0)
        _exit(5);
}

static void check_start(void)
{
    const char *const none[] = {"no-such-program", NULL}, *const folder[] = {"/tmp", NULL};
    const char *const words[] = {"sleep", "100", NULL};
    struct child c = {.argv = none};
    struct err e;
    int code = 0;

    ok(child_start(&c, &e) == -1 && errno == ENOENT && e.code == ERR_INTERNAL, "%s", e.text);
    c.argv = folder;
    ok(child_start(&c, &e) == -1 && errno == EACCES, "%s", e.text);
    c = (struct child){.argv = words, .group = true};
    pid_t pid = child_start(&c, &e);
    ok(pid > 0 && getpgid(pid) == pid, "a child may have a group of its own");
    ok(!child_has_ended(pid, &code), "it runs");
    kill(-pid, SIGTERM);
    while (!child_has_ended(pid, &code))
        clock_sleep(0.01);
    is_int(code, 128 + SIGTERM, "until a signal ends it");
}

static void check_until(void)
{
    const struct child c = {.err = CHILD_READ, .group = true, .until = "full", .limit_s = 0.5};
    double begin = clock_now();

    is_int(run(c, "echo 7; echo empty >&2; exit 3"), 3, "without the text a child ends by itself");
    ok(!end.is_killed && strcmp(end.out.data, "7\n") == 0, "it is not killed");
    is_int(run(c, "echo queue full >&2; (sleep 100; echo late) & sleep 100"), 128 + SIGKILL,
           "one that prints the text is killed at once, with all of its group");
    ok(end.is_killed && strstr(end.err.data, "queue full") && !*end.out.data, "what it said is kept");
    ok(end.absent >= begin && clock_now() - end.absent < 50, "the time without the text is known");
    is_int(run(c, "(sleep 100 2>&-) & sleep 100"), 128 + SIGKILL, "or after the limit");
    ok(end.is_killed && clock_now() - begin < 50, "no process of it is left");
    const struct child slow = {.err = CHILD_READ, .group = true, .until = "full", .limit_s = 0.1};
    is_int(run(slow, "(setsid sleep 0.6; echo late) & sleep 100"), 128 + SIGKILL, "the group ends");
    is_int(run(slow, "setsid -f sh -c 'sleep 0.6; echo late'; sleep 100"), 128 + SIGKILL,
           "what has left the group");
    is_str(end.out.data, "late\n", "is awaited");
}

int main(void)
{
    char *const environment[] = {"PATH=/usr/bin:/bin", "ONLY=this", NULL};
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    check_start();
    check_until();
    is_int(run((struct child){.err = CHILD_READ}, "echo out; echo err >&2; exit 3"), 3, "its code");
    is_str(end.out.data, "out\n", "its output");
    is_str(end.err.data, "err\n", "and its errors, apart");
    is_int(run((struct child){.err = STDOUT_FILENO}, "echo one; echo two >&2"), 0, "or together");
    is_str(end.out.data, "one\ntwo\n", "in one text");
    is_int(run((struct child){0}, "kill -9 $$"), 137, "a signal that ends it");
    is_str(end.out.data, "", "without output there is an empty text");
    is_int(run((struct child){.in = CHILD_NULL}, "cat"), 0, "input may be empty");
    is_int(run((struct child){.in = file}, "head -c 5 | wc -c"), 0, "or a file");
    is_str(end.out.data, "5\n", "which is read");
    is_int(run((struct child){0}, "ls -l /proc/self/fd | grep -c zero"), 1, "no other is passed on");
    is_int(run((struct child){.environment = environment}, "echo $ONLY$HOME"), 0, "environment");
    is_str(end.out.data, "this\n", "of its own");
    is_int(run((struct child){.enter = enter, .arg = (char[]){"here"}}, "echo $FROM"), 0,
           "the child is prepared");
    is_str(end.out.data, "here\n", "before it is executed");
    is_int(run((struct child){.enter = enter, .arg = (char[]){"nowhere"}}, ":"), 5,
           "which may end it");
    double began = clock_now();
    is_int(run((struct child){.limit_s = 0.2}, "echo begun; exec sleep 100"), 137, "a limit of time");
    ok(clock_now() - began < 50, "ends it");
    is_str(end.out.data, "begun\n", "after its output");
    is_int(run((struct child){.limit_s = 100, .most = 1000}, "exec yes"), 137, "one of length, too");
    ok(end.out.length >= 1000 && end.out.length < 100000, "after %zu bytes", end.out.length);
    child_destroy(&end);
    close(file);
    return done_testing();
}
