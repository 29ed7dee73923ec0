/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/site.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "src/cli.h"
#include "src/mem.h"

#define SUFFIX ".yaml"

static const char *const schedulers[] = {"slurm", "local", NULL};

#define AT(member) offsetof(struct site, member)

static const char *const interfaces[] = {"auto", "library", "commands", NULL};
static const char *const runtimes[] = {"auto", "pyxis", "apptainer", "singularity", "podman",
                                       "charliecloud", NULL};
static const char *const gpu_requests[] = {"per-task", "gres", NULL};

static const char *check_gpu_type(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
           strlen(text)
               ? NULL
               : "must be one word, such as v100";
}

static const char *check_shell(const char *text)
{
    const char *name = strrchr(text, '/');

    if (text[0] != '/' || strpbrk(text, " \t"))
        return "must be an absolute path without blanks, such as /bin/bash";
    return strcmp(name, "/bash") == 0 || strcmp(name, "/zsh") == 0 ? NULL : "must be bash or zsh";
}

static const char *check_host_suffix(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

    return strspn(text, allowed) == strlen(text) ? NULL : "must have only letters, digits, . and -";
}

const struct setting site_keys[] = {
    SETTING_ROW("scheduler", WORD, AT(scheduler), "slurm", .words = schedulers,
                .help = "what starts the jobs"),
    SETTING_ROW("sandbox", SWITCH, AT(sandbox), "false",
                .help = "the Slurm of 'unetctl sandbox up', whose GPUs are fake"),
    SETTING_ROW("gpus_per_node", INT, AT(gpus_per_node), NULL, .min = 0, .max = 4096,
                .help = "GPUs of a node; 0: one node, any number"),
    SETTING_ROW("max_in_flight", INT, AT(max_in_flight), "1", .min = 1, .max = 4096,
                .help = "local: jobs of all studies that run at once"),
    SETTING_ROW("port_base", INT, AT(port_base), "0", .min = 0, .max = 65000,
                .help = "first port of the ranks of a node; 0: 12000"),
    SETTING_ROW("port_count", INT, AT(port_count), "1", .min = 1, .max = 65000,
                .help = "ports from there, of which the job's number selects those of its ranks; "
                        "with port_base 0 it is 1000"),
    SETTING_ROW("poll_s", INT, AT(poll_s), "30", .min = 1, .max = 3600, .unit = "s",
                .help = "the most time between two questions of watch to the scheduler: a fifth "
                        "of the time since a state changed, at least a second"),
    SETTING_ROW("launcher", TEXT, AT(launcher), "",
                .help = "shell words that start several ranks; markers such as {{cpus_per_task}} "
                        "and {{task_list}} are the numbers of 'unetctl template list'"),
    SETTING_ROW("spec", TEXT, AT(spec), "",
                .help = "shell words behind 'unetctl spec', where the scheduler says nothing"),
    SETTING_ROW("trainer", PATH, AT(trainer), "",
                .help = "program in place of unet-train, one for each rank in the run's folder "
                        "with TF_CONFIG: PROGRAM train --run run.json --out attempt-K [--resume "
                        "attempt-J]"),
    SETTING_ROW("templates", PATH, AT(templates), "",
                .help = "folder of templates of the site's own"),
    SETTING_ROW("container", PATH, AT(container), "", .help = "as in study.yaml"),
    SETTING_ROW("container_runtime", WORD, AT(container_runtime), "auto", .words = runtimes,
                .help = "as in study.yaml"),
    SETTING_ROW("shell", TEXT, AT(shell), "/bin/bash", .check = check_shell,
                .help = "that runs submit_file.sh: a bash or a zsh"),
    SETTING_ROW("gpu_request", WORD, AT(gpu_request), "per-task", .words = gpu_requests,
                .help = "per-task: --gpus-per-task; gres: --gres=gpu:N and --ntasks-per-node, "
                        "where every node has equally many (3 GPUs as 2+1 stay per-task)"),
    SETTING_ROW("gpu_type", TEXT, AT(gpu_type), "", .check = check_gpu_type,
                .help = "such as v100: --gres=gpu:v100:2"),
    SETTING_ROW("host_suffix", TEXT, AT(host_suffix), "", .check = check_host_suffix,
                .help = "behind each host's name in the cluster spec, where the fast network has "
                        "names of its own: node7 + i"),
    SETTING_ROW("setup", LINES, AT(setup), "",
                .help = "shell lines before everything else, such as module load unetctl"),
    SETTING_ROW("env", PAIRS, AT(env), "", .help = "environment of the launcher and the ranks"),
    SETTING_ROW("partition", TEXT, AT(slurm.partition), "", .blank = true,
                .help = "as slurm.partition; empty, as with the keys below: the scheduler's"),
    SETTING_ROW("account", TEXT, AT(slurm.account), "", .blank = true,
                .help = "as slurm.account"),
    SETTING_ROW("qos", TEXT, AT(slurm.qos), "", .blank = true, .help = "as slurm.qos"),
    SETTING_ROW("constraint", TEXT, AT(slurm.constraint), "", .blank = true,
                .help = "as slurm.constraint"),
    SETTING_ROW("licenses", TEXT, AT(licenses), "",
                .help = "slurm: what each job takes of the cluster's licenses; 'machine' in "
                        "the sandbox, so that runs do not measure each other"),
    SETTING_ROW("time", TEXT, AT(slurm.time), "", .blank = true, .check = settings_check_time,
                .help = "as slurm.time"),
    SETTING_ROW("cpus_per_gpu", INT, AT(slurm.cpus_per_gpu), "1", .min = 1, .max = 4096,
                .help = "as slurm.cpus_per_gpu"),
    SETTING_ROW("mem", TEXT, AT(slurm.mem), "", .blank = true, .help = "as slurm.mem"),
    SETTING_ROW("interface", WORD, AT(slurm.interface), "auto", .words = interfaces,
                .help = "as slurm.interface; auto: the library where it fits the cluster's Slurm"),
    SETTING_ROW("options", LINES, AT(slurm.options), "",
                .help = "further words of sbatch, one an item, such as --hint=nomultithread"),
    {0},
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int is_profile(const struct dirent *d)
{
    const char *dot = strrchr(d->d_name, '.');

    return dot && dot != d->d_name && strcmp(dot, SUFFIX) == 0;
}

int site_names(struct setting_lines *names, struct err *e)
{
    struct dirent **files = NULL;
    char folder[PATH_MAX];
    int rc = 0;

    *names = (struct setting_lines){0};
    if (paths_data("templates/sites", folder, sizeof folder, e))
        return -1;
    int n = scandir(folder, &files, is_profile, NULL);
    for (int i = 0; i < n; i++) {
        *strrchr(files[i]->d_name, '.') = 0;
        rc = rc ? rc : setting_append_line(names, files[i]->d_name, e);
        free(files[i]);
    }
    free(files);
    if (names->count)
        qsort(names->lines, names->count, sizeof *names->lines, compare_names);
    return rc;
}

static int unknown_site(const char *name, struct err *e)
{
    struct setting_lines names;
    char all[512] = "";
    size_t length = 0;
    int rc = site_names(&names, e);

    for (size_t i = 0; i < names.count && length < sizeof all; i++)
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i ? ", " : "",
                                   names.lines[i]);
    if (rc == 0)
        err_set(e, ERR_CONFIG, "unknown site '%s'%s (known: %s; or the path of a file, with a /)",
                name, cli_suggest(name, (const char *const *)names.lines,
                                  (char[CLI_SUGGESTION]){0}), all);
    setting_clear_lines(&names);
    return -1;
}

static int locate(struct site *s, const char *name, struct err *e)
{
    bool is_path = strchr(name, '/');
    char folder[PATH_MAX];

    if (!is_path && paths_data("templates/sites", folder, sizeof folder, e))
        return -1;
    s->file = is_path ? mem_text(name, e) : mem_textf(e, "%s/%s" SUFFIX, folder, name);
    s->name = mem_text(name, e);
    if (!s->file || !s->name)
        return -1;
    return is_path || access(s->file, F_OK) == 0 ? 0 : unknown_site(name, e);
}

int site_open(struct site *s, const char *name, struct err *e)
{
    *s = (struct site){0};
    if (locate(s, name, e) || yaml_table_read(site_keys, s->file, YAML_SITE, s, &s->origins, e)) {
        site_close(s);
        return -1;
    }
    return 0;
}

void site_close(struct site *s)
{
    yaml_table_destroy(site_keys, s, &s->origins);
    free(s->file);
    free(s->name);
    *s = (struct site){0};
}

static bool has_environment(const struct site *s, const char *line)
{
    for (size_t i = 0; i < s->env.count; i++)
        if (strcmp(s->env.lines[i], line) == 0)
            return true;
    return false;
}

bool site_has_fake_gpus(const struct site *s)
{
    return has_environment(s, "UNET_GPUS=fake") || s->sandbox;
}

bool site_has_foreign_gpus(const struct site *s)
{
    return has_environment(s, "UNET_GPUS=foreign");
}
