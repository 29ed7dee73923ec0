/* SPDX-License-Identifier: BSD-3-Clause */
/* The values that a specification is made from, for combinations of options and variables. */
#include "src/base.h"
#include "launcher/spec/spec_source.h"

#include "t/tap.h"

static const char *const variables[] = {
    "SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE", "SLURM_STEP_NUM_TASKS",
    "SLURM_JOB_NODELIST",  "SLURM_TASKS_PER_NODE",      "SLURM_PROCID",
    "SLURM_DISTRIBUTION",  "SLURM_DIST_PLANESIZE",      NULL};

static void clear(void)
{
    for (int i = 0; variables[i]; i++)
        unsetenv(variables[i]);
}

/* Sets the variables of the last task of a step with 5 tasks on 3 nodes. */
static void step(void)
{
    clear();
    setenv("SLURM_JOB_NODELIST", "n[1-4]", 1);
    setenv("SLURM_TASKS_PER_NODE", "2(x4)", 1);
    setenv("SLURM_STEP_NODELIST", "n[1-3]", 1);
    setenv("SLURM_STEP_TASKS_PER_NODE", "2(x2),1", 1);
    setenv("SLURM_STEP_NUM_TASKS", "5", 1);
    setenv("SLURM_PROCID", "4", 1);
}

static void reads(const char *what, struct spec_options o, size_t nodes, size_t tasks, size_t rank,
                  int plane)
{
    struct spec_source s;
    struct err e = {0};

    if (!ok(spec_source_read(&o, &s, &e) == 0, "%s: %s", what, e.text))
        return;
    is_int(nodelist_count(s.nodes), nodes, "%s: nodes", what);
    is_int(s.ntasks, tasks, "%s: tasks", what);
    is_int(s.rank, rank, "%s: rank", what);
    is_int(s.plane, plane, "%s: plane", what);
    spec_source_destroy(&s);
}

static void refuses(const char *what, struct spec_options o, int code, const char *part)
{
    struct spec_source s;
    struct err e = {0};
    int rc = spec_source_read(&o, &s, &e);

    ok(rc == -1 && e.code == code && strstr(e.text, part), "%s: %s", what, e.text);
}

static const struct spec_options none = {.rank = -1};

static void test_variables(void)
{
    step();
    reads("a step", none, 3, 5, 4, 0);
    unsetenv("SLURM_STEP_NODELIST");
    reads("outside of any step the job's", none, 4, 8, 4, 0);
    refuses("but not for TensorFlow's resolver", (struct spec_options){.rank = -1, .is_tf = true},
            ERR_PEER, "SLURM_STEP_NODELIST");
    step();
    unsetenv("SLURM_PROCID");
    refuses("no rank", none, ERR_PEER, "SLURM_PROCID");
    setenv("SLURM_PROCID", "x", 1);
    refuses("a rank that is none", none, ERR_PEER, "SLURM_PROCID=x: not a number");
    setenv("SLURM_PROCID", "-1", 1);
    refuses("a negative one", none, ERR_PEER, "not a number");
    step();
    setenv("SLURM_STEP_TASKS_PER_NODE", "2(x2)", 1);
    refuses("lists of two lengths", none, ERR_PEER, "has 3 nodes, but");
    step();
    setenv("SLURM_STEP_NUM_TASKS", "6", 1);
    refuses("variables of two steps", none, ERR_PEER, "mixes variables of two steps");
    step();
    setenv("SLURM_STEP_NODELIST", "n[1-", 1);
    refuses("a torn list is the environment's fault", none, ERR_PEER, "SLURM_STEP_NODELIST");
    clear();
    refuses("nothing at all", none, ERR_PEER, "not a Slurm job");
}

static void test_distribution(void)
{
    step();
    setenv("SLURM_DISTRIBUTION", "block:cyclic", 1);
    reads("block", none, 3, 5, 4, 0);
    setenv("SLURM_DISTRIBUTION", "cyclic,nopack", 1);
    reads("cyclic", none, 3, 5, 4, 1);
    refuses("TensorFlow's resolver knows no cyclic",
            (struct spec_options){.rank = -1, .is_tf = true}, ERR_PEER, "node by node");
    setenv("SLURM_DISTRIBUTION", "plane", 1);
    refuses("plane without its size", none, ERR_PEER, "SLURM_DIST_PLANESIZE");
    setenv("SLURM_DIST_PLANESIZE", "2", 1);
    reads("plane", none, 3, 5, 4, 2);
    setenv("SLURM_DIST_PLANESIZE", "0", 1);
    refuses("plane of none", none, ERR_PEER, "not the size of a plane");
    setenv("SLURM_DIST_PLANESIZE", "4294967296", 1);
    reads("a size beyond all nodes", none, 3, 5, 4, TASKLIST_TASKS_MAX);
    setenv("SLURM_DISTRIBUTION", "arbitrary", 1);
    refuses("arbitrary", none, ERR_PEER, "is unknown");
    setenv("SLURM_STEP_TASKS_PER_NODE", "1(x3)", 1);
    setenv("SLURM_STEP_NUM_TASKS", "3", 1);
    refuses("arbitrary even with one task a node", none, ERR_PEER, "is unknown");
    setenv("SLURM_DISTRIBUTION", "cyclic", 1);
    reads("cyclic with one task a node is block", none, 3, 3, 4, 0);
}

static void test_options(void)
{
    step();
    reads("options win", (struct spec_options){.nodelist = "a,b", .tasks = "3", .rank = 1}, 2, 6, 1,
          0);
    setenv("SLURM_DISTRIBUTION", "arbitrary", 1);
    reads("and the environment does not matter",
          (struct spec_options){.tasks = "a[1-2]:2,b:1", .rank = 0}, 3, 5, 0, 0);
    step();
    reads("a rank of one's own", (struct spec_options){.rank = 2}, 3, 5, 2, 0);
    clear();
    refuses("nodes alone", (struct spec_options){.nodelist = "a", .rank = -1}, ERR_USAGE,
            "--tasks-per-node is missing");
    refuses("no rank", (struct spec_options){.nodelist = "a", .tasks = "1", .rank = -1}, ERR_USAGE,
            "--rank is missing");
    refuses("nodes twice", (struct spec_options){.nodelist = "a", .tasks = "a:1", .rank = 0},
            ERR_USAGE, "leave --nodelist out");
    refuses("a number without", (struct spec_options){.tasks = "a:1,b", .rank = 0}, ERR_USAGE,
            "write NODES:N");
    refuses("too many tasks lists",
            (struct spec_options){.nodelist = "a,b", .tasks = "1,1,1", .rank = 0}, ERR_USAGE,
            "has 3");
    refuses("a list that is none", (struct spec_options){.nodelist = "a[", .tasks = "1", .rank = 0},
            ERR_USAGE, "--nodelist");
    refuses("more nodes than there may be",
            (struct spec_options){.tasks = "n[1-999999999]:1", .rank = 0}, ERR_USAGE,
            "--tasks-per-node");
}

int main(void)
{
    test_variables();
    test_distribution();
    test_options();
    return done_testing();
}
