/* SPDX-License-Identifier: BSD-3-Clause */
/* The Slurm scheduler with a real Slurm, a sandbox of two nodes. */
#include "src/base.h"
#include "launcher/scheduler/scheduler.h"

#include "launcher/sandbox/sandbox.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "t/tap.h"

static char folder[] = "/tmp/unetctl-slurm.XXXXXX";
static char sandbox_dir[64], script[64], output[64];

static const char *const interfaces[] = {
    "commands",
#ifdef HAVE_SLURM
    "library",
#endif
};
#define NINTERFACES (sizeof interfaces / sizeof *interfaces)

static struct job new_job(const char *tag)
{
    return (struct job){.tag = tag, .name = "test job", .script = script, .work_dir = folder,
                        .output = output, .nodes = 2, .tasks = 3, .gpus_per_task = 1,
                        .cpus_per_task = 1};
}

static struct scheduler *open_slurm(const char *interface)
{
    struct scheduler_config config = {.sandbox = true, .interface = interface};
    struct err e;
    struct scheduler *s = scheduler_slurm_open(&config, &e);

    if (!s)
        bail_out("no Slurm: %s", e.text);
    return s;
}

static bool sandbox(const char *verb)
{
    char command[512];

    snprintf(command, sizeof command, "env -u UNETCTL_LIBEXECDIR \"$builddir\"/unetctl sandbox %s "
             ">%s/sandbox.out 2>&1", verb, folder);
    return system(command) == 0;
}

static struct job_state wait_ended(struct scheduler *s, const char *tag)
{
    struct job_state *states, found = {.state = STATE_UNKNOWN};
    struct err e;
    size_t n;

    for (double end = clock_now() + 60; found.phase != PHASE_ENDED && clock_now() < end;
         usleep(100000)) {
        if (scheduler_query(s, tag, false, &states, &n, &e) < 0)
            bail_out("query: %s", e.text);
        if (n > 0)
            found = states[0];
        free(states);
    }
    return found;
}

static void test_partition(struct scheduler *s)
{
    struct scheduler_partition p;
    struct err e;

    ok(scheduler_partition(s, NULL, &p, &e) == 0, "the default partition is found");
    ok(strcmp(p.name, "main") == 0 && p.nodes == 2 && p.gpus_per_node == 2 &&
       p.cpus_per_node == 4 &&
       p.max_time_min == 0, "is %s: %d nodes, %d GPUs, %d CPUs", p.name, p.nodes, p.gpus_per_node,
       p.cpus_per_node);
    ok(scheduler_partition(s, "short", &p, &e) == 0 && p.max_time_min == 10,
       "a partition is found by its name");
    ok(scheduler_partition(s, "short,main", &p, &e) == 0 && p.max_time_min == 0 && p.nodes == 2 &&
           strcmp(p.name, "short,main") == 0, "a list of two partitions is found");
    ok(scheduler_partition(s, "main,shor", &p, &e) == -1 && strstr(e.text, "partition 'shor'"),
       "a list with an unknown partition is refused: %s", e.text);
    ok(scheduler_partition(s, "nope", &p, &e) == -1 && e.code == ERR_SCHED &&
       strstr(e.text, "main, short"), "an unknown partition is refused: %s", e.text);
}

static void test_check(struct scheduler *s)
{
    struct job job = new_job("t:check");
    struct err e;

    ok(scheduler_check(s, &job, &e) == 0, "a job that fits is accepted");
    job.nodes = 3, job.tasks = 5;
    ok(scheduler_check(s, &job, &e) == -1 && e.code == ERR_SCHED &&
       strstr(e.text, "3 nodes are asked for, but partition 'main' has 2, which is enough for 4"),
       "a job with too many nodes is refused: %s", e.text);
    job.nodes = 1, job.tasks = 3;
    ok(scheduler_check(s, &job, &e) == -1 && strstr(e.text, "3 GPUs per node"),
       "a job with too many GPUs per node is refused: %s", e.text);
    job.nodes = 3, job.tasks = 5, job.options.partition = "main,short";
    ok(scheduler_check(s, &job, &e) == -1 && strstr(e.text, "partition 'main,short' has 2"),
       "a job that is too large for each of two partitions is refused: %s", e.text);
    job = new_job("t:check");
    job.options.partition = "short", job.options.time_min = 11;
    ok(scheduler_check(s, &job, &e) == -1 && strstr(e.text, "11"),
       "a job with too long a time limit is refused: %s", e.text);
    job.options.time_min = 10;
    ok(scheduler_check(s, &job, &e) == 0, "a job with the longest time limit is accepted");
    job.options.mem = "900G";
    ok(scheduler_check(s, &job, &e) == -1, "a job with too much memory is refused: %s", e.text);
    job.options.mem = NULL, job.options.constraint = "h200";
    ok(scheduler_check(s, &job, &e) == -1, "a job with an unknown feature is refused: %s", e.text);
}

/* Finds a job by its number, and none by a number that no job has. */
static void test_find(struct scheduler *s, const char *id, const char *tag)
{
    const char *const words[] = {id, "4000000"};
    const struct scheduler_ids both = {words, 2}, unknown = {words + 1, 1};
    struct scheduler_found found;
    struct job_state *states;
    struct err e;
    size_t n;

    ok(scheduler_find(s, &both, false, &found, &e) == 0 && found.count == 1 && !found.hides,
       "a job is found by its number");
    const struct job_state *job = found.states;
    ok(found.count == 1 && strcmp(job->id, id) == 0 && strcmp(job->tag, tag) == 0 &&
       job->uid == (long)getuid() && *job->user, "it has its tag and its user, %s",
       found.count ? job->user : "");
    free(found.states);
    ok(scheduler_find(s, &unknown, false, &found, &e) == 0 && found.count == 0 && !found.states,
       "an unknown number has no job");
    ok(scheduler_query(s, tag, true, &states, &n, &e) == 0 && n == 1,
       "a query for everybody's jobs finds it, too");
    free(states);
}

/* The accounting, jobcomp/filetxt, knows an ended job by its number. */
static void test_recall(struct scheduler *s, const struct job_state *job)
{
    const char *const words[] = {job->id};
    const struct scheduler_ids ids = {words, 1};
    struct scheduler_found found;
    struct err e;

    ok(scheduler_find(s, &ids, true, &found, &e) == 0 && found.is_answered && found.count == 1,
       "the accounting knows the job");
    const struct job_state *past = found.states;
    ok(found.count == 1 && strcmp(past->name, job->name) == 0 && past->uid == job->uid &&
       strcmp(past->user, job->user) == 0 && past->submitted == job->submitted &&
       past->state == STATE_FAILED && past->exit_code == 3,
       "with its name, user, time of submission and end");
    free(found.states);
}

static void test_life(struct scheduler *s, const char *interface)
{
    char prefix[32], tag[64], held_tag[64];
    snprintf(prefix, sizeof prefix, "t:%s:", interface);
    snprintf(tag, sizeof tag, "%slife:1", prefix);
    snprintf(held_tag, sizeof held_tag, "%sheld", prefix);
    struct job job = new_job(tag), held = new_job(held_tag);
    char id[SCHEDULER_ID_SIZE], held_id[SCHEDULER_ID_SIZE];
    struct job_state *states, state;
    struct err e;
    size_t n;

    ok(scheduler_submit(s, &job, id, &e) == 0, "a job is submitted");
    state = wait_ended(s, tag);
    is_str(state.id, id, "it is found by its tag");
    is_str(state_name(state.state), "FAILED", "it fails");
    is_int(state.exit_code, 3, "it has the script's exit code");
    is_str(state.tag, tag, "it has its tag");
    is_str(state.name, "test job", "it has its name");
    ok(state.submitted && state.started >= state.submitted && state.ended >= state.started,
       "it has its times");
    is_str(state.nodes, "node[1-2]", "it has its nodes");
    ok(state.uid == (long)getuid() && *state.user && state.signal == 0 && !state.restarts,
       "and its user, %s", state.user);
    test_find(s, id, tag);
    test_recall(s, &state);

    held.options.hold = true;
    ok(scheduler_submit(s, &held, held_id, &e) == 0, "a held job is submitted");
    ok(scheduler_query(s, prefix, false, &states, &n, &e) == 0 && n == 2,
       "both jobs are found by the prefix of their tags");
    ok(n == 2 && strcmp(states[1].id, held_id) == 0 && states[1].phase == PHASE_PENDING &&
       states[1].started == 0 && states[1].held,
       "they are sorted by id, and the held one waits: %s",
       n == 2 ? states[1].reason : "");
    free(states);
    is_int(scheduler_cancel(s, held_id, &e), 0, "the held job can be cancelled");
    is_str(state_name(wait_ended(s, held_tag).state), "CANCELLED", "it ends as CANCELLED");
    is_int(scheduler_cancel(s, held_id, &e), 0, "cancelling it again is not an error");
    is_int(scheduler_cancel(s, "4000000", &e), 0, "cancelling an unknown job is not an error");
    ok(scheduler_cancel(s, "x", &e) == -1 && e.code == ERR_SCHED,
       "a text that is not an id is refused: %s", e.text);
    ok(scheduler_query(s, "nobody:", false, &states, &n, &e) == 0 && n == 0 && !states,
       "an unknown prefix has no jobs");
}

static void refused(struct scheduler *s, const struct job *job, const char *part, const char *text)
{
    char id[SCHEDULER_ID_SIZE];
    struct err e = {0};

    ok(scheduler_submit(s, job, id, &e) == -1 && e.code == ERR_SCHED && strstr(e.text, part),
       "a submission %s is refused: %s", text, e.text);
}

/* sbatch refuses jobs, and some that it takes could never start. */
static void test_refused(struct scheduler *s)
{
    struct job job = new_job("t:refused");
    struct job_state *states;
    char command[256], id[SCHEDULER_ID_SIZE];
    struct err e;
    size_t n;

    job.options.mem = "900G";
    refused(s, &job, "slurm.mem", "with too much memory");
    job.options.mem = NULL, job.options.constraint = "h200";
    refused(s, &job, "slurm.constraint", "with an unknown feature");
    job.options.constraint = NULL, job.options.partition = "nope";
    refused(s, &job, "Batch job submission failed: Invalid partition name", "to no partition");
    job.options.partition = NULL, job.nodes = 1;
    refused(s, &job, "gpu_type", "with too many GPUs per node");
    job.nodes = 2, job.script = "/nonexistent/script";
    refused(s, &job, "/nonexistent/script", "without its script");
    job.script = "/dev/null";
    refused(s, &job, "Batch script is empty", "of an empty script");

    job = new_job("t:never:1");
    job.options.partition = "short", job.options.time_min = 11;
    snprintf(command, sizeof command, "sed -i 's/^EnforcePartLimits=.*/EnforcePartLimits=NO/' "
             "%s/etc/slurm.conf", sandbox_dir);
    if (system(command) || !sandbox("exec -- scontrol reconfigure"))
        bail_out("slurm.conf");
    if (sandbox("exec -- sh -c 'sinfo --version | grep -q \" 22\\.\"'"))
        refused(s, &job, "could never start: Partition", "of a job that waits for ever");
    else /* the controller judges it later */
        ok(scheduler_submit(s, &job, id, &e) == 0 && scheduler_cancel(s, id, &e) == 0,
           "a job that waits for ever is submitted");
    ok(scheduler_query(s, "t:never", false, &states, &n, &e) == 0 && n == 1 &&
           states[0].state == STATE_CANCELLED, "it was cancelled");
    free(states);
}

static void test_unreachable(const char *interface)
{
    struct scheduler_config config = {.sandbox = true, .interface = interface};
    struct scheduler_partition p;
    struct err e;

    ok(!scheduler_slurm_open(&config, &e) && e.code == ERR_SCHED,
       "a sandbox that is down is reported: %s",
       e.text);
    config.sandbox = false;
    setenv("SLURM_CONF", "/nonexistent/slurm.conf", 1);
    struct scheduler *s = scheduler_slurm_open(&config, &e);
    ok(s && scheduler_partition(s, NULL, &p, &e) == -1 && e.code == ERR_SCHED &&
       strstr(e.text, "/nonexistent"), "a missing configuration is reported: %s", e.text);
    scheduler_close(s);
}

/* Prints what the accounting of the sandbox knows of jobs, for t/t2270-accounting.t: whether it
 * answered, and for each ID STATE CODE SIGNAL NODES SECONDS. */
static int print_past(size_t n, char **ids)
{
    const struct scheduler_ids wanted = {(const char *const *)ids, n};
    struct scheduler *s = open_slurm("auto");
    struct scheduler_found found;
    struct err e;

    if (scheduler_find(s, &wanted, true, &found, &e))
        bail_out("%s", e.text);
    printf("%s\n", found.is_answered ? "answered" : "silent");
    for (const struct job_state *j = found.states; j < found.states + found.count; j++)
        printf("%s %s %d %d %s %.0f\n", j->id, state_name(j->state), j->exit_code, j->signal,
               *j->nodes ? j->nodes : "-", difftime(j->ended, j->started));
    free(found.states);
    scheduler_close(s);
    return 0;
}

static void clean_up(void)
{
    char command[128];

    sandbox("down");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        printf("# %s is left\n", folder);
}

int main(int argc, char **argv)
{
    static const char text[] = "#!/bin/bash\nsrun -l hostname\nexit 3\n";
    char command[128];
    struct err e;

    if (argc > 1)
        return print_past((size_t)argc - 1, argv + 1);
    if (system("PATH=$PATH:/usr/sbin; command -v slurmctld slurmd munged srun >/dev/null") != 0)
        skip_all("Slurm is not installed");
    setenv("builddir", ".", 0);
    if (!mkdtemp(folder))
        bail_out("no folder");
    atexit(clean_up);
    setenv("UNETCTL_LIBEXECDIR", getenv("builddir"), 1);
    setenv("XDG_STATE_HOME", folder, 1);
    snprintf(sandbox_dir, sizeof sandbox_dir, "%s/s", folder);
    setenv("UNETCTL_SANDBOX", sandbox_dir, 1);
    snprintf(script, sizeof script, "%s/script", folder);
    snprintf(output, sizeof output, "%s/out-%%j", folder);
    snprintf(command, sizeof command, "up --nodes 2 --dir %s", sandbox_dir);
    if (atomicfile_write(script, text, strlen(text), 0777, &e) < 0 || !sandbox(command))
        bail_out("no sandbox in %s", folder);
    for (size_t i = 0; i < NINTERFACES; i++) {
        printf("# through %s\n", interfaces[i]);
        struct scheduler *s = open_slurm(interfaces[i]);
        test_partition(s);
        test_check(s);
        test_life(s, interfaces[i]);
        if (i == 0)
            test_refused(s);
        scheduler_close(s);
    }
    ok(sandbox("down"), "the sandbox started last is stopped without naming it");
    for (size_t i = 0; i < NINTERFACES; i++)
        test_unreachable(interfaces[i]);
    return done_testing();
}
