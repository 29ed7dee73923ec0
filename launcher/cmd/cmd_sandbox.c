/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/cmd/cmd.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/sandbox/sandbox.h"
#include "src/paths.h"
#include "src/plural.h"

static struct {
    const char *dir, *mode, *node;
    long nodes, gpus_per_node, cpus_per_node;
    bool json, accounting;
} opt = {.mode = "auto", .nodes = 7, .gpus_per_node = 2, .cpus_per_node = 4};

/* Become a script that lies beside sandbox-up: its messages, its exit code, and signals are its. */
static int become_script(const char *name, char *argv[], struct err *e)
{
    char path[PATH_MAX], relative[64];

    snprintf(relative, sizeof relative, "launcher/sandbox/%s", name);
    if (paths_libexec(relative, path, sizeof path, e) < 0)
        return -1;
    argv[0] = path;
    execv(path, argv);
    return err_errno(e, ERR_INTERNAL, errno, "can't run %s", path);
}

static int refuse_inside(const struct sandbox *sb, const char *verb, struct err *e)
{
    if (sb->inside)
        return err_set(e, ERR_USAGE, "sandbox %s: this shell runs inside the sandbox %s; leave it "
                       "first", verb, sb->dir);
    return 0;
}

static int run_up(const char *dir, struct err *e)
{
    char nodes[16], gpus[16], cpus[16], full[PATH_MAX], note[PATH_MAX];
    int n;

    /* The script wants an absolute path; the folder need not exist yet. */
    if (dir[0] == '/')
        n = snprintf(full, sizeof full, "%s", dir);
    else if (getcwd(full, sizeof full))
        n = (int)strlen(full) + snprintf(full + strlen(full), sizeof full - strlen(full), "/%s",
                                         dir);
    else
        return err_errno(e, ERR_INTERNAL, errno, "can't tell the current directory");
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

    if (!o)
        return err_set(e, ERR_INTERNAL, "can't print %s as JSON", sb->dir);
    json_dumpf(o, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(o);
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

/* --dir, or for all verbs but up whatever sandbox there is. */
static int choose_sandbox(bool is_up, struct sandbox *sb, struct err *e)
{
    char dir[PATH_MAX];

    if (opt.dir)
        return sandbox_load(opt.dir, sb, e);
    if (!is_up && sandbox_find(NULL, sb, e) == 0)
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

    (void)noperands;
    if (strcmp(verb, "exec") == 0 && nrest == 0)
        return err_set(e, ERR_USAGE, "sandbox exec: a command is missing; type 'unetctl sandbox "
                       "exec -- CMD'");
    if (strcmp(verb, "exec") != 0 && nrest > 0)
        return err_set(e, ERR_USAGE, "sandbox %s takes no words behind '--'", verb);
    if (choose_sandbox(strcmp(verb, "up") == 0, &sb, e) < 0)
        return -1;
    if (strcmp(verb, "up") == 0)
        return refuse_inside(&sb, verb, e) < 0 ? -1 : run_up(opt.dir ? opt.dir : sb.dir, e);
    if (strcmp(verb, "down") == 0)
        return refuse_inside(&sb, verb, e) < 0 ? -1 : run_down(sb.dir, e);
    if (strcmp(verb, "status") == 0)
        return run_status(&sb, e);
    if (strcmp(verb, "exec") == 0)
        return sandbox_require(&sb, e) < 0 ? -1 : sandbox_exec(&sb, opt.node, rest, e);
    const char *near = cli_nearest(verb, verbs);
    return err_set(e, ERR_USAGE, "sandbox: unknown word '%s'%s%s; one of up, down, status, exec",
                   verb, near ? ", did you mean " : "", near ? near : "");
}

static const struct cli_option options[] = {
    {"dir", 0, CLI_STRING, "DIR", "folder of the sandbox (default: below the user's state folder)",
     &opt.dir, 0, 0},
    {"nodes", 0, CLI_INT, "N", "up: nodes (default 7)", &opt.nodes, 1, 64},
    {"gpus-per-node", 0, CLI_INT, "N", "up: fake GPUs of each node (default 2)", &opt.gpus_per_node,
     1, 16},
    {"cpus-per-node", 0, CLI_INT, "N", "up: CPUs that each node claims (default 4)",
     &opt.cpus_per_node, 1, 1024},
    {"mode", 0, CLI_STRING, "MODE", "up: netns, flat or auto (default auto)", &opt.mode, 0, 0},
    {"accounting", 0, CLI_FLAG, NULL,
     "up: with slurmdbd and MariaDB: accounts, QOS and limits, sacct and sacctmgr", &opt.accounting,
     0, 0},
    {"node", 0, CLI_STRING, "N", "exec: on this node instead of the login node", &opt.node, 0, 0},
    {"json", 0, CLI_FLAG, NULL, "status: print JSON", &opt.json, 0, 0},
    {0}};

const struct cli_command cmd_sandbox = {
    .name = "sandbox",
    .args = "up|down|status|exec [-- CMD]",
    .summary = "a private, real Slurm of several fake nodes on this machine",
    .details =
        "To rehearse a study: a study with 'site: sandbox' submits to it. Needs Debian's "
        "slurmctld,\n"
        "slurmd, slurm-client and munge, no configuration and no privilege: in mode netns each "
        "node\n"
        "is a set of namespaces with its own host name and address, in mode flat (where the "
        "kernel\n"
        "forbids namespaces) all nodes share the host's, and $UNETCTL_HOSTS tells unetctl and "
        "unet-train\n"
        "where their names lead. Without --dir, down, status, exec and the studies mean the "
        "sandbox in\n"
        "$UNETCTL_SANDBOX, or else the one that runs. exec passes standard input and output and "
        "CMD's\n"
        "exit code (127: there is no CMD).\n"
        "The partitions are main and short (10 minutes).\n"
        "--accounting needs Debian's slurmdbd, mariadb-server-core and mariadb-client-core as "
        "well. You\n"
        "have the account 'sandbox' there and may change all with sacctmgr:\n"
        "'sacctmgr -i modify user $USER set MaxSubmitJobs=3' sets a limit.\n"
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
