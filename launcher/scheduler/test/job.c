/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/job.h"

#include "src/cluster/range.h"
#include "t/tap.h"

static int decode(struct job_options *o, char **words, struct err *e)
{
    int n = 0;

    while (words[n])
        n++;
    *o = (struct job_options){0};
    return job_options_decode(o, n, words, e);
}

static void test_words(void)
{
    struct job_options o;
    struct err e;

    ok(decode(&o, (char *[]){"-p", "gpu", "--account=lab", "-t2:00:00", "--mem", "4G",
                             "--exclusive",
                             "-H", "--nice", "-w", "n[1-2]", "-L", "machine:1", NULL}, &e) == 0,
       "long, short and joined words are decoded");
    is_str(o.partition, "gpu", "-p VALUE");
    is_str(o.account, "lab", "--account=VALUE");
    is_str(o.mem, "4G", "--mem VALUE");
    is_str(o.nodelist, "n[1-2]", "-w VALUE");
    is_str(o.licenses, "machine:1", "-L VALUE");
    is_int(o.time_min, 120, "-tVALUE in minutes");
    ok(o.exclusive && o.hold && o.nice == 100, "flags and a --nice without a number are decoded");
    ok(decode(&o, (char *[]){"--nice=-5", NULL}, &e) == 0 && o.nice == -5, "--nice=N");
    ok(decode(&o, (char *[]){NULL}, &e) == 0, "no words are accepted");

    o = (struct job_options){.partition = "site", .qos = "low"};
    ok(job_options_decode(&o, 2, (char *[]){"-p", "mine"}, &e) == 0,
       "words are decoded over a site's values");
    is_str(o.partition, "mine", "a word overrides the site's value");
    is_str(o.qos, "low", "a value without a word stays");
}

static void test_refusals(void)
{
    static char *const bad[][3] = {
        {"--array=1-3", NULL}, {"--job-name=x", NULL}, {"script.sh", NULL},  {"-p", NULL},
        {"--time=soon", NULL}, {"--time=0", NULL},     {"--mem=much", NULL}, {"--nice=x", NULL},
        {"--nodes=3", NULL}, {"-o", "x"}, {"--gres=gpu:4", NULL}, {"--gres", "gpu"},
        {"--signal", NULL},
        {"--frobnicate it", NULL}, {"-Z", NULL}, {"--partition=", NULL}, {"-", NULL}, {"--", NULL},
        {"--uid=1", NULL}, {"--quiet", NULL}, {"-vQ", NULL}, {"-Hn3", NULL},
        {"-vvo", "x"}, {"--comm=x", NULL}, {"--ch=/x", NULL},
        {"-p", "a\n#SBATCH -x", NULL}, {"--mail-user=a\n#SBATCH -x", NULL}};
    struct job_options o;
    struct err e;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(decode(&o, (char **)bad[i], &e) == -1 && e.code == ERR_USAGE, "refused: %s", e.text);
    decode(&o, (char *[]){"--partitoin=x", NULL}, &e);
    ok(strstr(e.text, "--partition") != NULL, "the nearest option is named: %s", e.text);
    decode(&o, (char *[]){"--singal=B:USR1@60", NULL}, &e);
    ok(strstr(e.text, "--signal") != NULL, "options that are passed on are named, too: %s", e.text);
    decode(&o, (char *[]){"--array=1", NULL}, &e);
    ok(strstr(e.text, "--seeds") != NULL, "an option that unetctl sets is explained: %s", e.text);
}

static void test_further(void)
{
    struct job_options o;
    struct err e = {0};
    int i = 0;

    ok(decode(&o, (char *[]){"--signal", "B:USR1@60", "-p", "gpu", "--mail-user=a b",
                             "--exclusive=user",
                             "-e", "my #1 \"log\"", "-vv", "--younger-option=x", NULL}, &e) == 0,
       "options that unetctl does not know are passed on: %s", e.text);
    is_str(o.partition, "gpu", "known options are decoded beside them");
    is_int(o.nextra, 8, "eight words are passed on");
    is_str(o.extra[i++], "--signal", "an option is passed on unchanged");
    is_str(o.extra[i++], "B:USR1@60", "its value is passed on unchanged");
    is_str(o.extra[i++], "--mail-user=a b", "blanks in a value are kept");
    is_str(o.extra[i++], "--exclusive=user", "a flag that has a value is passed on");
    is_str(o.extra[7], "--younger-option=x", "an option of a newer Slurm is passed on");

    struct job job = {.tag = "t", .name = "n", .work_dir = "/w", .output = "/o", .nodes = 1,
                      .tasks = 1,
                      .gpus_per_task = 1, .cpus_per_task = 1, .options = o};
    char *text = job_directives(&job);
    ok(text && strstr(text, "#SBATCH --partition=gpu\n#SBATCH --signal B:USR1@60\n"
                            "#SBATCH --mail-user=\"a b\"\n#SBATCH --exclusive=user\n"
                            "#SBATCH -e \"my #1 \\\"log\\\"\"\n#SBATCH -vv\n"
                            "#SBATCH --younger-option=x\n"), "each option becomes a line: %s",
                            text);
    free(text);
    job.own_directives = true;
    job.options.given = (char *[]){"-p", "mine", "--comment=a b"};
    job.options.ngiven = 3;
    job.options.comment = "a b";
    text = job_directives(&job);
    is_str(text, "#SBATCH --job-name=n\n#SBATCH --comment=\"t a b\"\n#SBATCH --chdir=/w\n"
                 "#SBATCH --output=/o\n"
                 "#SBATCH -p mine\n#SBATCH --comment=\"a b\"\n"
                 "#SBATCH --comment=\"t a b\"\n",
           "the script's own lines hold, except for the command line");
    free(text);
}

static void test_gres(void)
{
    struct job job = {.tag = "t", .name = "n", .work_dir = "/w", .output = "/o", .nodes = 2,
                      .tasks = 8,
                      .gpus_per_task = 1, .cpus_per_task = 10, .gpu_request = JOB_GPUS_GRES,
                      .gpu_type = "v100"};
    char *text = job_directives(&job);

    ok(text && strstr(text, "--nodes=2\n#SBATCH --ntasks=8\n#SBATCH --ntasks-per-node=4\n"
                            "#SBATCH --cpus-per-task=10\n#SBATCH --gres=gpu:v100:4\n"),
       "GPUs are requested per node: %s", text);
    free(text);
    job.tasks = 7;
    text = job_directives(&job);
    ok(text && strstr(text, "--gpus-per-task=v100:1\n") && !strstr(text, "--gres"),
       "4+3 GPUs are not requested per node");
    free(text);
    job.nodes = job.tasks = 1;
    job.gpus_per_task = 4;
    text = job_directives(&job);
    ok(text &&
       strstr(text, "--ntasks-per-node=1\n#SBATCH --cpus-per-task=10\n#SBATCH --gres=gpu:v100:4\n"),
       "one process has all GPUs of a node");
    free(text);
    job.nodes = 2;
    job.tasks = 8;
    job.gpus_per_task = 1;
    job.gpu_request = JOB_GPUS_PER_NODE;
    text = job_directives(&job);
    ok(text && strstr(text, "--ntasks-per-node=4\n#SBATCH --cpus-per-task=10\n"
                            "#SBATCH --gpus-per-node=v100:4\n"), "by --gpus-per-node: %s", text);
    free(text);
    job.gpu_request = JOB_GPUS_ALL;
    job.gpu_type = NULL;
    text = job_directives(&job);
    ok(text && strstr(text, "--ntasks-per-node=4\n#SBATCH --cpus-per-task=10\n#SBATCH --gpus=8\n"),
       "by --gpus: %s", text);
    free(text);
    job.options.unlimited = true;
    text = job_directives(&job);
    ok(text && strstr(text, "--time=UNLIMITED\n"), "without a time limit: %s", text);
    free(text);
}

static void test_times(void)
{
    static const struct { const char *text; int minutes; } cases[] = {
        {"90", 90}, {"1:30", 2}, {"0:30", 1}, {"2:00:00", 120}, {"0:00:01", 1}, {"1-0", 1440},
        {"1-2", 1560}, {"1-2:30", 1590}, {"1-0:0:1", 1441}, {"7-12:00:00", 10800}, {"0", -1},
        {"", -1}, {"x", -1}, {"-1", -1}, {"1:", -1}, {"1-", -1}, {"1:2:3:4", -1}, {"1-2-3", -1},
        {"1-1:1:1:1", -1}, {"99999999999", -1}, {"10m", -1}, {"UNLIMITED", 0},
        {"infinite", 0}, {"UNLIMITED1", -1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_int(time_limit_decode(cases[i].text), cases[i].minutes, "time '%s'", cases[i].text);
}

static void test_memory(void)
{
    static const struct { const char *text; long mib; } cases[] = {
        {"500", 500}, {"500M", 500}, {"4G", 4096}, {"4g", 4096}, {"1T", 1048576}, {"2048K", 2},
        {"1K", 1}, {"", -1}, {"G", -1}, {"4GB", -1}, {"-1", -1}, {"4P", -1},
        {"99999999999999999999", -1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_int(job_mem_decode(cases[i].text), cases[i].mib, "memory '%s'", cases[i].text);
}

static void test_directives(void)
{
    struct job job = {.tag = "unetctl:ab:unet-g03-s1:1", .name = "demo-unet-g03-s1",
                      .work_dir = "/home/me/my \"study\"", .output = "/out/slurm-%j.out",
                      .nodes = 2, .tasks = 3, .gpus_per_task = 1, .cpus_per_task = 4,
                      .signal_s = 120, .requeues = 1, .options = {.partition = "gpu",
                                                                  .time_min = 90}};
    char *text = job_directives(&job);

    is_str(text,
           "#SBATCH --job-name=demo-unet-g03-s1\n"
           "#SBATCH --comment=unetctl:ab:unet-g03-s1:1\n"
           "#SBATCH --chdir=\"/home/me/my \\\"study\\\"\"\n"
           "#SBATCH --output=/out/slurm-%j.out\n"
           "#SBATCH --nodes=2\n"
           "#SBATCH --ntasks=3\n"
           "#SBATCH --cpus-per-task=4\n"
           "#SBATCH --gpus-per-task=1\n"
           "#SBATCH --signal=B:USR1@120\n"
           "#SBATCH --requeue\n"
           "#SBATCH --open-mode=append\n"
           "#SBATCH --partition=gpu\n"
           "#SBATCH --time=90\n"
           "#SBATCH --exclusive\n", "the lines of a job; 2+1 tasks have their nodes for "
           "themselves");
    free(text);
    job.tasks = 4;
    job.options = (struct job_options){0};
    job.signal_s = job.requeues = 0;
    text = job_directives(&job);
    ok(text && !strstr(text, "exclusive"), "2+2 tasks need no exclusive nodes");
    ok(text && strstr(text, "--no-requeue\n") && !strstr(text, "signal"),
       "without signal and requeue neither is requested");
    free(text);
}

static void check_help(void)
{
    static const char text[] = "Usage: sbatch [OPTIONS...] script [args...]\n"
                               "  -A, --account=name          charge job to specified account\n"
                               "      --exclusive[=user]      see --hold-on\n"
                               "  -H, --hold                  submit job in held state\n"
                               "Options provided by plugins:\n"
                               "      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH\n"
                               "      --container-writable\n";

    is_int(sbatch_help_parse(text, "container-image"), SBATCH_HELP_VALUE,
           "a plugin's option with a value is found");
    is_int(sbatch_help_parse(text, "container-writable"), SBATCH_HELP_FLAG,
           "a plugin's option without a value is found");
    is_int(sbatch_help_parse(text, "exclusive"), SBATCH_HELP_OPTIONAL,
           "an option with an optional value is found");
    is_int(sbatch_help_parse(text, "hold"), SBATCH_HELP_FLAG, "an option with a letter is found");
    is_int(sbatch_help_parse(text, "container"), SBATCH_HELP_NONE,
           "the beginning of an option's name is not an option");
    is_int(sbatch_help_parse(text, ""), SBATCH_HELP_NONE, "an empty name is not an option");
}

int main(void)
{
    test_words();
    test_refusals();
    test_further();
    test_gres();
    test_times();
    test_memory();
    test_directives();
    check_help();
    return done_testing();
}
