/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/site.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cli.h"
#include "src/paths.h"

#define SUFFIX ".yaml"

static const char *const schedulers[] = {"slurm", "local", NULL};

#define AT(member) offsetof(struct site, member)

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
    return strcmp(name, "/bash") == 0 || strcmp(name, "/zsh") == 0 ? NULL : "must be a bash or zsh";
}

static const char *check_host_suffix(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";

    return strspn(text, allowed) == strlen(text) ? NULL : "must be of letters, digits, . and -";
}

const struct yaml_key site_keys[] = {
    YAML_KEY("scheduler", YAML_WORD, AT(scheduler), "slurm", .words = schedulers),
    YAML_KEY("sandbox", YAML_SWITCH, AT(sandbox), "false"),
    YAML_KEY("gpus_per_node", YAML_INT, AT(gpus_per_node), NULL, .min = 0, .max = 4096),
    YAML_KEY("max_in_flight", YAML_INT, AT(max_in_flight), "1", .min = 1, .max = 4096),
    YAML_KEY("port_base", YAML_INT, AT(port_base), "0", .min = 0, .max = 65000),
    YAML_KEY("launcher", YAML_TEXT, AT(launcher), ""),
    YAML_KEY("spec", YAML_TEXT, AT(spec), ""),
    YAML_KEY("trainer", YAML_PATH, AT(trainer), ""),
    YAML_KEY("templates", YAML_PATH, AT(templates), ""),
    YAML_KEY("shell", YAML_TEXT, AT(shell), "/bin/bash", .check = check_shell),
    YAML_KEY("gpu_request", YAML_WORD, AT(gpu_request), "per-task", .words = gpu_requests),
    YAML_KEY("gpu_type", YAML_TEXT, AT(gpu_type), "", .check = check_gpu_type),
    YAML_KEY("host_suffix", YAML_TEXT, AT(host_suffix), "", .check = check_host_suffix),
    YAML_KEY("setup", YAML_LINES, AT(setup), ""),
    YAML_KEY("env", YAML_PAIRS, AT(env), ""),
    YAML_KEY("partition", YAML_TEXT, AT(slurm.partition), "", .blank = true),
    YAML_KEY("account", YAML_TEXT, AT(slurm.account), "", .blank = true),
    YAML_KEY("qos", YAML_TEXT, AT(slurm.qos), "", .blank = true),
    YAML_KEY("constraint", YAML_TEXT, AT(slurm.constraint), "", .blank = true),
    YAML_KEY("licenses", YAML_TEXT, AT(licenses), ""),
    YAML_KEY("time", YAML_TEXT, AT(slurm.time), "", .blank = true, .check = study_check_time),
    YAML_KEY("cpus_per_gpu", YAML_INT, AT(slurm.cpus_per_gpu), "1", .min = 1, .max = 4096),
    YAML_KEY("mem", YAML_TEXT, AT(slurm.mem), "", .blank = true),
    YAML_KEY("interface", YAML_WORD, AT(slurm.interface), "auto", .words = study_interfaces),
    YAML_KEY("options", YAML_LINES, AT(slurm.options), ""),
    YAML_KEY(NULL, YAML_TEXT, 0, NULL),
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int site_names(char *names[SITE_NAMES_MAX + 1], size_t *count, struct err *e)
{
    char folder[PATH_MAX];
    struct dirent *d;
    DIR *dir;
    size_t n = 0;

    *count = 0;
    if (paths_data("templates/sites", folder, sizeof folder, e))
        return -1;
    dir = opendir(folder);
    while (dir && n < SITE_NAMES_MAX && (d = readdir(dir))) {
        size_t stem = strlen(d->d_name);
        if (stem <= strlen(SUFFIX) || strcmp(d->d_name + stem - strlen(SUFFIX), SUFFIX) != 0)
            continue;
        names[n] = strndup(d->d_name, stem - strlen(SUFFIX));
        if (!names[n])
            break;
        n++;
    }
    names[n] = NULL;
    if (dir)
        closedir(dir);
    if (n)
        qsort(names, n, sizeof *names, compare_names);
    *count = n;
    return 0;
}

static int unknown_site(const char *name, struct err *e)
{
    char *names[SITE_NAMES_MAX + 1], all[512] = "";
    size_t n, length = 0;
    const char *near;

    if (site_names(names, &n, e))
        return -1;
    for (size_t i = 0; i < n && length < sizeof all; i++)
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i ? ", " : "",
                                   names[i]);
    near = cli_nearest(name, (const char *const *)names);
    err_set(e, ERR_CONFIG, "unknown site '%s'%s%s%s (known: %s; or the path of a file, with a /)",
            name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "", all);
    while (n > 0)
        free(names[--n]);
    return -1;
}

static int locate(struct site *s, const char *name, struct err *e)
{
    char folder[PATH_MAX];
    int rc;

    if (strchr(name, '/')) {
        rc = asprintf(&s->file, "%s", name);
    } else {
        if (paths_data("templates/sites", folder, sizeof folder, e))
            return -1;
        rc = asprintf(&s->file, "%s/%s%s", folder, name, SUFFIX);
        if (rc >= 0 && access(s->file, F_OK) != 0)
            return unknown_site(name, e);
    }
    if (rc < 0) {
        s->file = NULL;
        return err_errno(e, ERR_INTERNAL, errno, "site %s", name);
    }
    s->name = strdup(name);
    return s->name ? 0 : err_errno(e, ERR_INTERNAL, errno, "site %s", name);
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
