/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/sandbox/sandbox.h"

static struct {
    const char *dir, *mode, *node;
    long nodes, gpus_per_node, cpus_per_node;
    bool json, accounting;
} opt = {.mode = "auto", .nodes = 7, .gpus_per_node = 2, .cpus_per_node = 4};

/* Replaces this process by a script from the folder of sandbox-up. */
static int become_script(const char *name, char *argv[], struct err *e)
{
    char path[PATH_MAX], relative[64];

    snprintf(relative, sizeof relative, "launcher/sandbox/%s", name);
    if (paths_libexec(relative, path, sizeof path, e) < 0)
        return -1;
    argv[0] = path;
    execv(path, argv);
    return err_errno(e, ERR_INTERNAL, errno, "cannot run %s", path);
}

static int refuse_inside(const struct sandbox *sb, const char *verb, struct err *e)
{
    if (sb->inside)
        return err_set(e, ERR_USAGE, "sandbox %s: this shell runs inside the sandbox %s; exit from "
                       "it first", verb, sb->dir);
    return 0;
}

static int run_up(const char *dir, struct err *e)
{
    char nodes[16], gpus[16], cpus[16], full[PATH_MAX], note[PATH_MAX];
    int n;

    /* The script needs an absolute path to a folder that may not exist yet, so realpath cannot
     * be used. */
    if (dir[0] == '/')
        n = snprintf(full, sizeof full, "%s", dir);
    else if (getcwd(full, sizeof full))
        n = (int)strlen(full) + snprintf(full + strlen(full), sizeof full - strlen(full), "/%s",
                                         dir);
    else
        return err_errno(e, ERR_INTERNAL, errno, "cannot find the current directory");
    if (n >= (int)sizeof full)
        return err_set(e, ERR_USAGE, "--dir %s: the path is too long", dir);
    if (sandbox_note_path(note, e) < 0)
        return -1;
    snprintf(nodes, sizeof nodes, "%ld", opt.nodes);
    snprintf(gpus, sizeof gpus, "%ld", opt.gpus_per_node);
    snprintf(cpus, sizeof cpus, "%ld", opt.cpus_per_node);
    char *argv[] = {NULL, full, (char *)opt.mode, nodes, gpus, cpus,
                    opt.accounting ? "1" : "0", note, NULL};
    return become_script("sandbox-up", argv, e);
}

static int run_down(const char *dir, struct err *e)
{
    char *argv[] = {NULL, (char *)dir, NULL};

    return become_script("sandbox-down", argv, e);
}

static int print_status_json(const struct sandbox *sb, struct err *e)
{
    json_t *o = json_pack("{s:i, s:s, s:b, s:s, s:i, s:i, s:i, s:b}", "schema", 1, "dir", sb->dir,
                          "running", sb->running, "mode", sb->mode, "nodes", sb->nodes,
                          "gpus_per_node", sb->gpus_per_node, "cpus_per_node", sb->cpus_per_node,
                          "accounting", sb->accounting);

    if (jsonio_print(o, 15, sb->dir, e))
        return -1;
    return sb->running ? 0 : ERR_SCHED;
}

static int run_status(const struct sandbox *sb, struct err *e)
{
    static char *const sinfo[] = {"sinfo", "-p", "main", "-N", "-o", "%8N %10T %4c %G", NULL};

    if (opt.json)
        return print_status_json(sb, e);
    if (!sb->running) {
        printf("the sandbox in %s is not running%s\n", sb->dir,
               sb->mode[0] ? " (it ended without 'down')" : "");
        return ERR_SCHED;
    }
    printf("the sandbox in %s is up: %s, %d node%s x %d GPU%s\n", sb->dir, sb->mode, sb->nodes,
           plural(sb->nodes), sb->gpus_per_node, plural(sb->gpus_per_node));
    fflush(stdout);
    return sandbox_exec(sb, NULL, sinfo, e);
}

/* Finds the sandbox in the folder of --dir; without --dir, for verbs other than up, the running
 * one, and otherwise the one in the default folder, which need not exist. */
static int choose_sandbox(bool is_up, struct sandbox *sb, struct err *e)
{
    char dir[PATH_MAX];

    if (opt.dir)
        return sandbox_load(opt.dir, sb, e);
    if (!is_up && sandbox_find(sb, e) == 0)
        return 0;
    if (sandbox_default_dir(dir, e) < 0)
        return -1;
    return sandbox_load(dir, sb, e);
}

static int cmd_sandbox_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    static const char *const verbs[] = {"up", "down", "status", "exec", NULL};
    const char *verb = operands[0];
    struct sandbox sb;

    if (cli_choose(verb, verbs, "sandbox: unknown word", e) < 0)
        return -1;
    if (strcmp(verb, "exec") == 0 && nrest == 0)
        return err_set(e, ERR_USAGE, "sandbox exec: a command is missing; type 'unetctl sandbox "
                       "exec -- COMMAND'");
    if (strcmp(verb, "exec") != 0 && nrest > 0)
        return err_set(e, ERR_USAGE, "sandbox %s: unexpected words after '--'", verb);
    if (choose_sandbox(strcmp(verb, "up") == 0, &sb, e) < 0 ||
        (*sb.host && sandbox_require(&sb, e) < 0))
        return -1;
    if (strcmp(verb, "up") == 0)
        return refuse_inside(&sb, verb, e) < 0 ? -1 : run_up(opt.dir ? opt.dir : sb.dir, e);
    if (strcmp(verb, "down") == 0)
        return refuse_inside(&sb, verb, e) < 0 ? -1 : run_down(sb.dir, e);
    if (strcmp(verb, "status") == 0)
        return run_status(&sb, e);
    return sandbox_require(&sb, e) < 0 ? -1 : sandbox_exec(&sb, opt.node, rest, e);
}

static const struct cli_option options[] = {
    {"dir", 0, CLI_STRING, "DIR",
     "use the sandbox in this folder (default: one below the user's state folder)", &opt.dir, 0, 0},
    {"nodes", 0, CLI_INT, "N", "up: start N nodes (default: 7)", &opt.nodes, 1, 64},
    {"gpus-per-node", 0, CLI_INT, "N", "up: give each node N fake GPUs (default: 2)",
     &opt.gpus_per_node, 1, 16},
    {"cpus-per-node", 0, CLI_INT, "N", "up: let each node claim N CPUs (default: 4)",
     &opt.cpus_per_node, 1, 1024},
    {"mode", 0, CLI_STRING, "MODE",
     "up: isolate nodes by namespaces (netns) or not (flat); default: auto", &opt.mode,
     0, 0},
    {"accounting", 0, CLI_FLAG, NULL,
     "up: add slurmdbd and MariaDB for accounts, QOS, limits, sacct and sacctmgr", &opt.accounting,
     0, 0},
    {"node", 0, CLI_STRING, "N", "exec: run on node N instead of the login node", &opt.node, 0, 0},
    {"json", 0, CLI_FLAG, NULL, "status: print JSON", &opt.json, 0, 0},
    {0}};

const struct cli_command cmd_sandbox = {
    .name = "sandbox",
    .args = "up|down|status|exec [-- COMMAND]",
    .summary = "run a private, real Slurm of several fake nodes on this machine",
    .details =
        "A study with 'site: sandbox' submits to it. The sandbox needs Debian's slurmctld,\n"
        "slurmd, slurm-client and munge, but neither configuration nor privileges. In mode netns\n"
        "each node is a set of namespaces with its own host name and address; in mode flat, for\n"
        "kernels that forbid namespaces, all nodes share those of the host, and $UNETCTL_HOSTS\n"
        "has their addresses. Without --dir, down, status, exec and studies use the sandbox in\n"
        "$UNETCTL_SANDBOX, or else the one that runs. exec passes on standard input, output and\n"
        "the exit code of COMMAND (127: not found). The partitions are main and short (10\n"
        "minutes). --accounting also needs Debian's slurmdbd, mariadb-server-core and\n"
        "mariadb-client-core. You have the account 'sandbox' and can change everything with\n"
        "sacctmgr, such as a limit: 'sacctmgr -i modify user $USER set MaxSubmitJobs=3'.\n"
        "\n"
        "    unetctl sandbox up --nodes 7 --gpus-per-node 2\n"
        "    unetctl sandbox exec -- sbatch submit_file.sh\n"
        "    unetctl sandbox exec --node 3 -- hostname\n"
        "    unetctl sandbox down\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .run = cmd_sandbox_run,
};
