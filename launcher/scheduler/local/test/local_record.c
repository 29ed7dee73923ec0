/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the local queue are read as they were written, damaged ones are refused, records are
 * listed, and the phase of a job is derived from its record and its runner. */
#include "src/base.h"
#include "launcher/scheduler/local/local.h"

#include <sys/wait.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static char dir[] = "/tmp/unetctl-record.XXXXXX";
static struct err e;

static struct local_record make(const char *id, time_t started, time_t ended)
{
    struct local_record r = {.state = {.state = STATE_RUNNING, .reason = "none of \"yours\"",
                                       .exit_code = 3,
                                       .signal = 9, .restarts = 2, .submitted = 100,
                                       .started = started, .ended = ended}};

    snprintf(r.state.id, sizeof r.state.id, "%s", id);
    snprintf(r.state.tag, sizeof r.state.tag, "unetctl:x:run-%s:1", id);
    snprintf(r.state.name, sizeof r.state.name, "ö %s", id);
    if (procid_get(getpid(), &r.runner))
        bail_out("no process id");
    return r;
}

static void put(const struct local_record *r)
{
    if (local_record_write(dir, r, &e))
        bail_out("%s", e.text);
}

static void check_round(void)
{
    struct local_record r = make("12", 110, 0), back;

    put(&r);
    ok(local_record_read(dir, "12", &back, &e) == 0, "a written record can be read");
    is_str(back.state.tag, r.state.tag, "the tag is kept");
    is_str(back.state.name, r.state.name, "the name is kept");
    is_str(back.state.reason, r.state.reason, "the reason is kept");
    ok(back.state.exit_code == 3 && back.state.signal == 9 && back.state.restarts == 2,
       "the numbers are kept");
    ok(back.state.submitted == 100 && back.state.started == 110 && back.state.ended == 0,
       "the times are kept");
    ok(procid_is_alive(&back.runner), "the runner is alive");
    ok(back.script.pid == 0, "no script was started");
    strcpy(r.state.name, "\xff");
    ok(local_record_write(dir, &r, &e) == -1 && e.code == ERR_CONFIG,
       "text that is not UTF-8 is refused: %s", e.text);
    ok(local_record_read(dir, "13", &back, &e) == -1, "a missing record is reported: %s", e.text);
}

static void check_damaged(void)
{
    struct local_record back;
    char path[PATH_MAX], deep[PATH_MAX];

    if (local_record_path(dir, "14", path, &e) || atomicfile_write(path, "{\"sch", 5, 0666, &e))
        bail_out("%s", e.text);
    ok(local_record_read(dir, "14", &back, &e) == -1 && strstr(e.text, "14.json:1") &&
           strstr(e.text, "remove it"),
       "a damaged record is reported");
    if (atomicfile_write(path, "{\"schema\": 2}", 13, 0666, &e))
        bail_out("%s", e.text);
    ok(local_record_read(dir, "14", &back, &e) == -1 && strstr(e.text, "14.json: schema 2"),
       "a record of a later version is reported");
    unlink(path);
    memset(deep, 'x', sizeof deep - 1);
    deep[sizeof deep - 1] = 0;
    ok(local_record_path(deep, "1", path, &e) == -1, "a path that is too long is refused");
}

static void check_list(void)
{
    struct local_record a = make("9", 0, 0), b = make("100", 0, 0);
    char path[PATH_MAX];
    unsigned long *ids;
    size_t n;

    put(&b);
    put(&a);
    if (local_record_path(dir, "last", path, &e) || atomicfile_write(path, "", 0, 0666, &e))
        bail_out("%s", e.text);
    ok(local_record_list(dir, &ids, &n, &e) == 0 && n == 3 && ids[0] == 9 && ids[1] == 12 &&
       ids[2] == 100, "only the numbers of records are listed, in their order");
    free(ids);
    ok(local_record_list("/nonexistent", &ids, &n, &e) == -1,
       "a folder that does not exist is reported: %s", e.text);
}

static void check_judge(void)
{
    struct local_record r = make("1", 0, 0);
    pid_t gone = fork();

    if (gone == 0)
        _exit(0);
    local_record_judge(dir, &r);
    is_int(r.state.phase, PHASE_PENDING, "a job whose runner waits is pending");
    r.state.started = 110;
    local_record_judge(dir, &r);
    is_int(r.state.phase, PHASE_RUNNING, "a job whose script runs is running");
    waitpid(gone, NULL, 0);
    r.runner.pid = gone;
    ok(!local_record_has_orphans(&r), "a session without processes has no orphans");
    local_record_judge(dir, &r);
    is_int(r.state.phase, PHASE_ENDED, "a job without runner and processes has ended");
    is_str(state_name(r.state.state), "NODE_FAIL", "its state is NODE_FAIL");
    r = make("1", 110, 120);
    r.runner.pid = gone;
    local_record_judge(dir, &r);
    ok(r.state.phase == PHASE_ENDED && r.state.state == STATE_RUNNING,
       "a job that has ended keeps its state");
    r.state.ended = 0;
    strcpy(r.host, "elsewhere");
    local_record_judge(dir, &r);
    is_str(state_name(r.state.state), "NODE_FAIL", "a host that was renamed is this one");
    strcpy(r.runner.boot, "another");
    local_record_judge(dir, &r);
    ok(r.state.state == STATE_UNKNOWN && strstr(r.state.reason, "of host elsewhere;") &&
           strstr(r.state.reason, "/1.json"),
       "the state of a job of another host is unknown: %s", r.state.reason);
}

int main(void)
{
    char command[96];

    if (!mkdtemp(dir))
        bail_out("no folder in /tmp");
    check_round();
    check_damaged();
    check_list();
    check_judge();
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) != 0 || done_testing();
}
