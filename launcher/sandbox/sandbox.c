/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/sandbox/sandbox.h"

#include <sys/stat.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"

#define INSIDE_VARIABLE "UNETCTL_IN_SANDBOX"
#define CHOICE_VARIABLE "UNETCTL_SANDBOX"
#define CONF_LIMIT 4096

int sandbox_default_dir(char dst[PATH_MAX], struct err *e)
{
    const char *choice = getenv(CHOICE_VARIABLE);

    if (choice && *choice)
        return snprintf(dst, PATH_MAX, "%s", choice) < PATH_MAX
                   ? 0
                   : err_set(e, ERR_USAGE, "the path in " CHOICE_VARIABLE " is too long");
    return statedir_path("sandbox", dst, e);
}

/* Sets the field of a "name=value" line of sandbox.conf. Names of later versions are ignored. */
static void set_field(struct sandbox *sb, struct procid *holder, const char *name,
                      const char *value)
{
    const struct {
        const char *name;
        int *dst;
    } numbers[] = {{"userns", &sb->userns}, {"nodes", &sb->nodes},
                   {"gpus_per_node", &sb->gpus_per_node}, {"cpus_per_node", &sb->cpus_per_node},
                   {"pmix", &sb->pmix}, {"accounting", &sb->accounting}, {"holder", &holder->pid}};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0)
            *numbers[i].dst = atoi(value);
    if (strcmp(name, "host") == 0)
        snprintf(sb->host, sizeof sb->host, "%s", value);
    else if (strcmp(name, "mode") == 0)
        snprintf(sb->mode, sizeof sb->mode, "%s", value);
    else if (strcmp(name, "holder_start") == 0)
        holder->start = strtoull(value, NULL, 10);
    else if (strcmp(name, "boot") == 0)
        snprintf(holder->boot, sizeof holder->boot, "%s", value);
}

static int is_complete(const struct sandbox *sb)
{
    return (strcmp(sb->mode, "netns") == 0 || strcmp(sb->mode, "flat") == 0) && sb->nodes > 0;
}

/* Returns 0, or -1 if another user could have written the files of an existing sandbox, which are
 * executed. */
static int check_private(const char *dir, const char *conf, struct err *e)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return 0;
    if (st.st_uid != geteuid())
        return err_set(e, ERR_USAGE, "%s belongs to another user (%ju), and a sandbox serves its "
                       "owner alone; choose another --dir", dir, (uintmax_t)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH) && access(conf, F_OK) == 0)
        return err_set(e, ERR_USAGE, "other users may write in %s, whose files are executed; "
                       "remove it, or choose another --dir", dir);
    return 0;
}

int sandbox_load(const char *dir, struct sandbox *dst, struct err *e)
{
    char path[PATH_MAX + 16], host[sizeof dst->host] = "", *text, *save = NULL;
    const char *inside = getenv(INSIDE_VARIABLE);
    struct procid holder = {0};
    size_t n;

    *dst = (struct sandbox){0};
    if (!realpath(dir, dst->dir))
        snprintf(dst->dir, sizeof dst->dir, "%s", dir);
    snprintf(path, sizeof path, "%s/sandbox.conf", dst->dir);
    dst->inside = inside && strcmp(inside, dst->dir) == 0;
    /* A process inside was started there by the owner, perhaps as another user. */
    if (!dst->inside && check_private(dst->dir, path, e) < 0)
        return -1;
    if (access(path, F_OK) < 0)
        return 0;
    text = atomicfile_read(path, CONF_LIMIT, &n, e);
    if (!text)
        return -1;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line, '=');
        if (!value)
            continue;
        *value++ = 0;
        set_field(dst, &holder, line, value);
    }
    free(text);
    if (!is_complete(dst))
        return err_set(e, ERR_DATA, "%s is damaged; type 'unetctl sandbox down --dir %s'", path,
                       dst->dir);
    dst->holder = holder.pid;
    dst->running = dst->inside || procid_is_alive(&holder);
    gethostname(host, sizeof host - 1);
    if (dst->inside || procid_is_boot(&holder) || strcmp(dst->host, host) == 0)
        *dst->host = 0;
    return 0;
}

int sandbox_note_path(char dst[PATH_MAX], struct err *e)
{
    char folder[PATH_MAX];

    return statedir_path("", folder, e) < 0 || path_make_folder(folder, e) < 0 ||
                   statedir_path("sandbox.last", dst, e) < 0
               ? -1
               : 0;
}

static int find_noted(struct sandbox *dst, struct err *e)
{
    char path[PATH_MAX], *dir;
    size_t n;

    if (statedir_path("sandbox.last", path, e) < 0 || access(path, F_OK) < 0)
        return 0;
    dir = atomicfile_read(path, PATH_MAX, &n, e);
    if (!dir)
        return -1;
    dir[strcspn(dir, "\n")] = 0;
    int rc = sandbox_load(dir, dst, e);
    free(dir);
    return rc;
}

int sandbox_find(struct sandbox *dst, struct err *e)
{
    const char *choice = getenv(CHOICE_VARIABLE), *dir = getenv(INSIDE_VARIABLE);
    char path[PATH_MAX];

    if (!dir) {
        if (sandbox_default_dir(path, e) < 0 || sandbox_load(path, dst, e) < 0)
            return -1;
        if (dst->running || (choice && *choice))
            return sandbox_require(dst, e);
        if (find_noted(dst, e) < 0)
            return -1;
        if (dst->running)
            return 0;
        dir = path;
    }
    return sandbox_load(dir, dst, e) < 0 ? -1 : sandbox_require(dst, e);
}

int sandbox_require(const struct sandbox *sb, struct err *e)
{
    if (*sb->host)
        return err_set(e, ERR_SCHED, "the sandbox in %s was started on host %s; use it there, "
                       "choose another --dir (UNETCTL_SANDBOX) or, if that host has ended it, "
                       "remove %s/sandbox.conf", sb->dir, sb->host, sb->dir);
    if (sb->running)
        return 0;
    return err_set(e, ERR_SCHED, "no sandbox is running in %s; type 'unetctl sandbox up --dir %s'",
                   sb->dir, sb->dir);
}

/* Decodes "3" or "node3" to the node's number. Returns 0 or -1. */
static int decode_node(const struct sandbox *sb, const char *node, int *number, struct err *e)
{
    const char *digits = strncmp(node, "node", 4) == 0 ? node + 4 : node;
    char *end;
    long i = strtol(digits, &end, 10);

    if (end == digits || *end || i < 1 || i > sb->nodes)
        return err_set(e, ERR_USAGE, "--node %s: the nodes of this sandbox are node1 to node%d",
                       node, sb->nodes);
    if (sb->inside)
        return err_set(e, ERR_USAGE, "--node %s: inside the sandbox type 'srun -w node%ld CMD'",
                       node, i);
    *number = (int)i;
    return 0;
}

/* Finds the process whose namespaces a command enters, as a folder of /proc: that of the login
 * node (0) or of a node. A node's pid is valid in the sandbox's own /proc, which the root of the
 * holder leads to. */
static int find_namespaces(const struct sandbox *sb, int node, char dst[128], struct err *e)
{
    char path[PATH_MAX + 32], *text;
    size_t n;

    if (node == 0) {
        snprintf(dst, 128, "/proc/%d", (int)sb->holder);
        return 0;
    }
    snprintf(path, sizeof path, "%s/run/node%d.pid", sb->dir, node);
    text = atomicfile_read(path, 15, &n, e);
    if (!text)
        return -1;
    snprintf(dst, 128, "/proc/%d/root/proc/%d", (int)sb->holder, atoi(text));
    free(text);
    return 0;
}

static int set_environment(const struct sandbox *sb)
{
    char conf[PATH_MAX + 32], path[4096];
    const char *old = getenv("PATH");

    jobenv_clean();
    snprintf(conf, sizeof conf, "%s/etc/slurm.conf", sb->dir);
    snprintf(path, sizeof path, "%s:/usr/sbin:/sbin", old ? old : "/usr/bin:/bin");
    if (setenv("SLURM_CONF", conf, 1) < 0 || setenv(INSIDE_VARIABLE, sb->dir, 1) < 0 ||
        (!sb->inside && setenv("PATH", path, 1) < 0))
        return -1;
    /* A sandbox runs more ranks than there are cores, possibly as root. */
    if (setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0) < 0 ||
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0) < 0 ||
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0) < 0)
        return -1;
    /* In Debian testing, Open MPI's configuration restricts it to the loopback interface; this
     * names the network of the nodes. */
    if (strcmp(sb->mode, "flat"))
        return setenv("OMPI_MCA_btl_tcp_if_include", "10.77.0.0/24", 0);
    /* In flat mode all nodes are this machine. Their names are in a file. They share host name
     * and /dev/shm, which the shared-memory transport cannot handle. They also share addresses:
     * Open MPI 5 looks up the route to an own address, which does not lead to the interface that
     * has it, and Open MPI 6 refuses a peer's address that is its own. UCX, where it is built
     * in, works. */
    snprintf(conf, sizeof conf, "%s/etc/hosts", sb->dir);
    return setenv("UNETCTL_HOSTS", conf, 1) || setenv("OMPI_MCA_btl", "self,tcp", 0) ||
                   setenv("OMPI_MCA_reachable", "weighted", 0) ||
                   setenv("OMPI_MCA_pml_ucx_tls", "any", 0) ||
                   setenv("OMPI_MCA_pml_ucx_devices", "any", 0) ||
                   setenv("UCX_TLS", "self,tcp", 0)
               ? -1
               : 0;
}

/* The words before a command that make it enter the namespaces. */
struct entrance {
    char mount[160], root[160], net[160], uts[160], ipc[160], pid[160], user[160];
    char cwd[PATH_MAX + 8];
    const char *words[16];
    size_t n;
};

static int prepare_entrance(struct entrance *in, const struct sandbox *sb, int node, struct err *e)
{
    char folder[128];

    if (find_namespaces(sb, node, folder, e) < 0)
        return -1;
    strcpy(in->cwd, "--wdns=");
    if (!getcwd(in->cwd + 7, PATH_MAX))
        return err_errno(e, ERR_INTERNAL, errno, "cannot find the current directory");
    snprintf(in->mount, sizeof in->mount, "--mount=%s/ns/mnt", folder);
    /* Joining a mount namespace changes the root to that of the namespace, which differs in a
     * chroot. */
    snprintf(in->root, sizeof in->root, "--root=%s/root", folder);
    snprintf(in->net, sizeof in->net, "--net=%s/ns/net", folder);
    snprintf(in->uts, sizeof in->uts, "--uts=%s/ns/uts", folder);
    snprintf(in->ipc, sizeof in->ipc, "--ipc=%s/ns/ipc", folder);
    snprintf(in->pid, sizeof in->pid, "--pid=/proc/%d/ns/pid_for_children", (int)sb->holder);
    snprintf(in->user, sizeof in->user, "--user=/proc/%d/ns/user", (int)sb->holder);
    const char *words[] = {"nsenter", in->mount, in->root, in->net, in->uts,
                           in->ipc,   in->pid,   in->cwd};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        in->words[in->n++] = words[i];
    if (sb->userns) {
        in->words[in->n++] = in->user;
        in->words[in->n++] = "--preserve-credentials";
    }
    /* nsenter runs the command in a child process, which must end when nsenter does. */
    const char *end[] = {"--", "setpriv", "--pdeathsig", "TERM", "--"};
    for (size_t i = 0; i < sizeof end / sizeof *end; i++)
        in->words[in->n++] = end[i];
    return 0;
}

int sandbox_exec(const struct sandbox *sb, const char *node, char *const argv[], struct err *e)
{
    struct entrance in = {.n = 0};
    size_t argc = 0;
    int number = 0;

    if (node && decode_node(sb, node, &number, e) < 0)
        return -1;
    /* flat nodes need no namespaces */
    if (strcmp(sb->mode, "netns") == 0 && !sb->inside && prepare_entrance(&in, sb, number, e) < 0)
        return -1;
    while (argv[argc])
        argc++;
    const char **command = calloc(in.n + argc + 1, sizeof *command);
    if (!command)
        return err_set(e, ERR_INTERNAL, "out of memory");
    memcpy(command, in.words, in.n * sizeof *in.words);
    memcpy(command + in.n, argv, argc * sizeof *argv);
    if (set_environment(sb) == 0)
        execvp(command[0], (char *const *)command);
    /* These are the exit codes of shells and nsenter. */
    err_errno(e, errno == ENOENT ? 127 : 126, errno, "cannot run %s", command[0]);
    free(command);
    return -1;
}
