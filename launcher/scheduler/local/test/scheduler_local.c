/* SPDX-License-Identifier: BSD-3-Clause */
/* The local queue runs real scripts, in a folder of its own. */
#include "src/base.h"
#include "launcher/scheduler/local/local.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "src/atomicfile.h"
#include "src/clock.h"
#include "t/tap.h"

static char folder[] = "/tmp/unetctl-local.XXXXXX";
static char state_dir[PATH_MAX], work_dir[PATH_MAX];

static struct scheduler *open_queue(int max_in_flight)
{
    struct err e;
    struct scheduler_config config = {
        .state_dir = state_dir, .max_in_flight = max_in_flight};
    struct scheduler *s = scheduler_local_open(&config, &e);

    if (!s)
        bail_out("no queue: %s", e.text);
    return s;
}

/* Submits a script and returns the job's id, which stays valid for three more calls. */
static const char *submit(struct scheduler *s, const char *tag, const char *text, int time_min)
{
    static char ids[4][SCHEDULER_ID_SIZE];
    static int n;
    char script[PATH_MAX + 32], output[PATH_MAX + 32];
    struct err e;

    snprintf(script, sizeof script, "%s/%s.sh", work_dir, tag);
    snprintf(output, sizeof output, "%s/100%%%%-%%j.out", work_dir);
    if (atomicfile_write(script, text, strlen(text), 0777, &e) < 0)
        bail_out("%s", e.text);
    struct job job = {.tag = tag, .name = tag, .script = script, .work_dir = work_dir,
                      .output = output, .nodes = 1, .tasks = 1, .gpus_per_task = 1,
                      .cpus_per_task = 1, .options = {.time_min = time_min}};
    char *id = ids[n++ % 4];
    if (scheduler_submit(s, &job, id, &e) < 0)
        bail_out("submit: %s", e.text);
    return id;
}

static struct job_state get(struct scheduler *s, const char *tag)
{
    struct job_state *states, found = {.phase = PHASE_ENDED, .state = STATE_UNKNOWN};
    struct err e;
    size_t n;

    if (scheduler_query(s, tag, false, &states, &n, &e) < 0)
        bail_out("query: %s", e.text);
    if (n > 0)
        found = states[0];
    free(states);
    return found;
}

/* Waits up to a minute for this or a later phase, and returns the job's state. */
static struct job_state wait_phase(struct scheduler *s, const char *tag, enum job_phase phase)
{
    struct job_state state = get(s, tag);

    for (double end = clock_now() + 60; state.phase < phase && clock_now() < end;
         state = get(s, tag))
        usleep(20000);
    return state;
}

static void is_output(const char *id, const char *want, const char *what)
{
    char path[PATH_MAX + 64];
    struct err e = {0};
    size_t n;

    snprintf(path, sizeof path, "%s/100%%-%s.out", work_dir, id);
    char *text = atomicfile_read(path, 4096, &n, &e);
    is_str(text ? text : e.text, want, "%s", what);
    free(text);
}

static void test_results(void)
{
    struct scheduler *s = open_queue(1);
    const char *id = submit(s, "t:ok", "#!/bin/bash\npwd\necho err >&2\necho \"$SLURM_JOB_ID\"\n",
                            0);
    char want[PATH_MAX + 16];
    struct job_state state = wait_phase(s, "t:ok", PHASE_ENDED);

    is_str(state_name(state.state), "COMPLETED", "a script that succeeds is COMPLETED");
    is_str(state.id, id, "the job has the id that submit returned");
    ok(state.submitted > 0 && state.started >= state.submitted && state.ended >= state.started,
       "the job has its times");
    snprintf(want, sizeof want, "%s\nerr\n\n", work_dir);
    is_output(id, want, "ran in its folder, with both outputs in one file, outside of any job");

    submit(s, "t:fail", "#!/bin/bash\nexit 7\n", 0);
    state = wait_phase(s, "t:fail", PHASE_ENDED);
    is_str(state_name(state.state), "FAILED", "a script that fails is FAILED");
    is_int(state.exit_code, 7, "the job has the script's exit code");
    submit(s, "t:signal", "#!/bin/bash\nkill -SEGV $$\n", 0);
    state = wait_phase(s, "t:signal", PHASE_ENDED);
    ok(state.state == STATE_FAILED && state.signal == SIGSEGV,
       "a script that is killed is FAILED, with its signal");
    is_str(state_name(get(s, "u:").state), "UNKNOWN", "other tags are not found");
    scheduler_close(s);
}

/* The disk is full when a job ends. A folder at the path of the record stands in for that, since it
 * makes writing the record fail, too. */
static void test_full(void)
{
    struct scheduler *s = open_queue(1);
    const char *id = submit(s, "f:1", "#!/bin/bash\nuntil [ -e full ]; do sleep 0.05; done\n", 0);
    char record[PATH_MAX + 32], away[PATH_MAX + 32], full[PATH_MAX + 32];
    struct local_record r;
    struct err e;

    wait_phase(s, "f:1", PHASE_RUNNING);
    snprintf(record, sizeof record, "%s/%s.json", state_dir, id);
    snprintf(away, sizeof away, "%s/away", state_dir);
    snprintf(full, sizeof full, "%s/full", work_dir);
    ok(local_record_read(state_dir, id, &r, &e) == 0 && mkdir(away, 0700) == 0 &&
           renameat2(AT_FDCWD, away, AT_FDCWD, record, RENAME_EXCHANGE) == 0 &&
           atomicfile_write(full, "", 0, 0666, &e) == 0,
       "a job ends whose record cannot be written");
    while (procid_is_alive(&r.script))
        usleep(20000);
    ok(renameat2(AT_FDCWD, away, AT_FDCWD, record, RENAME_EXCHANGE) == 0, "now it can be");
    is_str(state_name(wait_phase(s, "f:1", PHASE_ENDED).state), "COMPLETED", "it has the end soon");
    scheduler_close(s);
}

static void test_order(void)
{
    struct scheduler *s = open_queue(1);
    char text[PATH_MAX + 16];
    struct stat unused;

    submit(s, "o:1", "#!/bin/bash\nuntil [ -e go ]; do sleep 0.05; done\necho 1 >>order\n", 0);
    submit(s, "o:2", "#!/bin/bash\necho 2 >>order\n", 0);
    submit(s, "o:3", "#!/bin/bash\necho 3 >>order\n", 0);
    is_str(state_name(wait_phase(s, "o:1", PHASE_RUNNING).state), "RUNNING", "the first job runs");
    is_str(state_name(get(s, "o:2").state), "PENDING", "the second job waits");
    scheduler_close(s);

    s = open_queue(2);
    submit(s, "o:4", "#!/bin/bash\ntrue\n", 0);
    is_str(state_name(get(s, "o:4").state), "PENDING",
           "a job waits if more than may run are before it");
    struct err e;
    is_int(scheduler_cancel(s, get(s, "o:3").id, &e), 0, "a waiting job can be cancelled");
    is_str(state_name(wait_phase(s, "o:3", PHASE_ENDED).state), "CANCELLED",
           "it ends as CANCELLED");
    snprintf(text, sizeof text, "%s/go", work_dir);
    ok(atomicfile_write(text, "", 0, 0666, &e) == 0 && stat(text, &unused) == 0,
       "the first job is allowed to end");
    is_str(state_name(wait_phase(s, "o:2", PHASE_ENDED).state), "COMPLETED",
           "the second job runs then");
    is_str(state_name(wait_phase(s, "o:4", PHASE_ENDED).state), "COMPLETED",
           "the last job runs then");
    snprintf(text, sizeof text, "%s/order", work_dir);
    size_t n;
    char *order = atomicfile_read(text, 100, &n, &e);
    is_str(order, "1\n2\n", "jobs run in order, without the cancelled one");
    free(order);
    scheduler_close(s);
}

static void test_cancel(void)
{
    struct scheduler *s = open_queue(1);
    struct err e;
    struct job_state state;

    submit(s, "c:1", "#!/bin/bash\ntrap 'echo ending; exit 0' TERM\nsleep 1000 & echo up\nwait\n",
           0);
    state = wait_phase(s, "c:1", PHASE_RUNNING);
    is_int(scheduler_cancel(s, state.id, &e), 0, "a running job can be cancelled");
    is_str(state_name(wait_phase(s, "c:1", PHASE_ENDED).state), "CANCELLED",
           "it ends as CANCELLED");
    is_int(scheduler_cancel(s, state.id, &e), 0, "cancelling it again is not an error");
    is_int(scheduler_cancel(s, "999999", &e), 0, "cancelling an unknown job is not an error");
    ok(scheduler_cancel(s, "x/../1", &e) == -1 && e.code == ERR_SCHED,
       "a text that is not an id is refused: %s", e.text);
    scheduler_close(s);
}

/* Waits for the file in work_dir. */
static void wait_file(const char *name)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof path, "%s/%s", work_dir, name);
    for (double end = clock_now() + 60; access(path, F_OK) < 0 && clock_now() < end;)
        usleep(20000);
}

static int runner_of(const char *id)
{
    char path[PATH_MAX + 64];
    struct err e;
    size_t n;
    int runner;

    snprintf(path, sizeof path, "%s/%s.json", state_dir, id);
    char *text = atomicfile_read(path, 4096, &n, &e);
    const char *member = text ? strstr(text, "\"keeper\": ") : NULL;
    if (!member || sscanf(member, "\"keeper\": %d", &runner) != 1)
        bail_out("no runner in %s", path);
    free(text);
    return runner;
}

/* One process runs the jobs of a submission. After it is killed, a script is still found and can be
 * cancelled, and jobs that waited have ended. */
static void test_runner(void)
{
    static const char text[] = "#!/bin/bash\necho >up-$UNETCTL_JOB_ID\nsleep 1000\n";
    struct scheduler *s = open_queue(2);
    char script[PATH_MAX + 32], output[PATH_MAX + 32], up[64];
    struct scheduler_result r[4];
    struct job jobs[4];
    struct procid id;
    struct err e;

    snprintf(script, sizeof script, "%s/k.sh", work_dir);
    snprintf(output, sizeof output, "%s/k-%%j.out", work_dir);
    if (atomicfile_write(script, text, strlen(text), 0777, &e) < 0)
        bail_out("%s", e.text);
    for (int i = 0; i < 4; i++)
        jobs[i] = (struct job){.tag = (const char *[]){"k:1", "k:2", "k:3", "k:4"}[i],
                               .name = "k", .script = i < 3 ? script : "/nonexistent",
                               .work_dir = work_dir, .output = output};
    scheduler_submit_all(s, jobs, 4, r);
    ok(r[2].outcome == SCHEDULER_SUBMITTED && r[3].outcome == SCHEDULER_REFUSED,
       "jobs are submitted up to the first that is refused: %s", r[3].reason.text);
    int runner = runner_of(r[0].id);
    ok(runner_of(r[1].id) == runner && runner_of(r[2].id) == runner, "they have one runner");
    for (int i = 0; i < 2; i++) {
        snprintf(up, sizeof up, "up-%s", r[i].id);
        wait_file(up);
    }
    is_str(state_name(get(s, "k:3").state), "PENDING", "two of them run");
    is_int(scheduler_cancel(s, r[1].id, &e), 0, "one of them is cancelled");
    is_str(state_name(wait_phase(s, "k:2", PHASE_ENDED).state), "CANCELLED", "it ends");
    is_str(state_name(wait_phase(s, "k:3", PHASE_RUNNING).state), "RUNNING", "the third runs");
    snprintf(up, sizeof up, "up-%s", r[2].id);
    wait_file(up);
    submit(s, "k:5", "#!/bin/bash\ntrue\n", 0);
    kill(runner, SIGKILL);
    for (double end = clock_now() + 10; procid_get(runner, &id) == 0 && clock_now() < end;)
        usleep(20000);
    is_str(state_name(get(s, "k:1").state), "RUNNING", "the script of a killed runner still runs");
    is_str(state_name(get(s, "k:5").state), "PENDING", "jobs of other runners wait for it");
    is_int(scheduler_cancel(s, r[0].id, &e), 0, "it can be cancelled");
    is_str(state_name(get(s, "k:1").state), "CANCELLED", "it ends as CANCELLED");
    is_int(scheduler_cancel(s, r[2].id, &e), 0, "so can the other");
    is_str(state_name(wait_phase(s, "k:5", PHASE_ENDED).state), "COMPLETED", "the next one runs");

    submit(s, "k:6", text, 0);
    snprintf(up, sizeof up, "up-%s", wait_phase(s, "k:6", PHASE_RUNNING).id);
    wait_file(up);
    jobs[0].tag = "k:7";
    scheduler_close(s);
    s = open_queue(1);
    scheduler_submit_all(s, jobs, 1, r);
    kill(runner_of(r[0].id), SIGKILL);
    struct job_state state = wait_phase(s, "k:7", PHASE_ENDED);
    is_str(state_name(state.state), "NODE_FAIL", "a job whose runner was killed before is lost");
    ok(strstr(state.reason, "'unetctl resume' continues"), "and says so: %s", state.reason);
    kill(runner_of(get(s, "k:6").id), SIGTERM);
    is_str(state_name(wait_phase(s, "k:6", PHASE_ENDED).state), "CANCELLED",
           "a runner that is terminated cancels its jobs");
    scheduler_close(s);
}

static void test_open(void)
{
    struct scheduler_config config = {.state_dir = "/dev/null/x"};
    struct err e;

    ok(!scheduler_local_open(&config, &e),
       "a folder that cannot be created is reported: %s", e.text);
    struct scheduler *s = open_queue(1);
    struct job job = {.tag = "x", .name = "x", .script = "/nonexistent", .work_dir = "/tmp",
                      .output = "/tmp/x"};
    char id[SCHEDULER_ID_SIZE];
    ok(scheduler_submit(s, &job, id, &e) == -1 && e.code == ERR_SCHED,
       "a job without a script is refused: %s", e.text);
    is_str(state_name(get(s, "x").state), "UNKNOWN", "there is no job then");
    scheduler_close(s);
}

int main(void)
{
    char command[128];

    if (!mkdtemp(folder))
        bail_out("no folder");
    setenv("SLURM_JOB_ID", "77", 1);
    snprintf(state_dir, sizeof state_dir, "%s/state/queue", folder);
    snprintf(work_dir, sizeof work_dir, "%s/work", folder);
    mkdir(work_dir, 0777);
    test_results();
    test_full();
    test_order();
    test_cancel();
    test_runner();
    test_open();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 || done_testing();
}
