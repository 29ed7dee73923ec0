/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "launcher/energy/energy.h"
#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/plan/look.h"
#include "launcher/stage/stage.h"
#include "src/atomicfile.h"
#include "src/cluster/connection.h"
#include "src/files.h"
#include "src/format/sha256.h"

#define HASH_DIGITS 12
#define MAX_HOST 256
#define PATIENCE_S 10 /* how long ranks that do not answer are waited for, in seconds */

/* ---- this host ---- */

/* Variables that give a process its rank. If an earlier shell left them behind, they are wrong. */
static const char *const rank_variables[] = {
    "TF_CONFIG", "MASTER_ADDR",      "MASTER_PORT", "RANK",       "WORLD_SIZE", "LOCAL_RANK",
    "NODE_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",  "HOROVOD_RANK", NULL};

static const char *const proxy_variables[] = {"http_proxy", "https_proxy", "all_proxy", "ftp_proxy",
                                              "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY",
                                              NULL};

static json_t *list_variables(const char *const *names)
{
    json_t *list = json_array();

    for (; *names; names++) {
        const char *value = getenv(*names);
        if (value && *value)
            json_array_append_new(list, json_sprintf("%s=%.120s", *names, value));
    }
    return list;
}

static json_t *collect_limits(void)
{
    static const struct { const char *name; int which; } limits[] = {
        {"nofile", RLIMIT_NOFILE}, {"memlock", RLIMIT_MEMLOCK}, {"nproc", RLIMIT_NPROC},
        {"core", RLIMIT_CORE}, {"stack", RLIMIT_STACK}};
    json_t *o = json_object();

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit r = {0};
        getrlimit(limits[i].which, &r);
        json_object_set_new(o, limits[i].name, json_integer(r.rlim_cur == RLIM_INFINITY
                                                                ? -1 : (json_int_t)r.rlim_cur));
    }
    return o;
}

/* Adds a program's version with the start of its SHA-256: different builds may have the same
 * version. Returns whether the program is there. */
static bool add_program(json_t *versions, const char *name, const char *version)
{
    char path[PATH_MAX], hex[65];
    struct err e;
    const char *bindir = paths_bindir(&e);

    if (!bindir)
        return false;
    bool found = sha256_file(path_format(path, "%s/%s", bindir, name), hex, &e) == 0;
    json_object_set_new(versions, name,
                        found ? json_sprintf("%s %.*s", version, HASH_DIGITS, hex)
                              : json_sprintf("missing (%s)", path));
    return found;
}

static bool add_trainer(json_t *versions)
{
    static const char *const ask_version[] = {"--version", NULL};
    char *text = NULL, *word;
    struct err e;

    if (trainer_program_read(ask_version, &text, &e)) {
        json_object_set_new(versions, "unet-train", json_string("cannot be started"));
        return false;
    }
    text[strcspn(text, "\n")] = 0;
    word = strrchr(text, ' ');
    bool found = add_program(versions, "unet-train", word ? word + 1 : "no version");
    free(text);
    return found;
}

/* Returns the GPUs that nvidia-smi lists, lines of "UUID, driver, name", and adds the driver's
 * version to versions. */
static json_t *ask_nvidia_gpus(json_t *versions)
{
    static const char *const ask[] = {"nvidia-smi", "--query-gpu=uuid,driver_version,name",
                                      "--format=csv,noheader", NULL};
    struct child c = {.argv = ask, .out = CHILD_READ, .err = CHILD_NULL};
    char uuid[96], driver[64], name[128], *save = NULL;
    json_t *gpus = json_array();
    struct child_end end;
    struct err ignored;

    char *text = child_run(&c, &end, &ignored) == 0 && end.code == 0 ? end.out.data : NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save))
        if (sscanf(line, "%95[^,], %63[^,], %127[^\n]", uuid, driver, name) == 3) {
            json_array_append_new(gpus, json_pack("{s:s, s:s}", "uuid", uuid, "name", name));
            json_object_set_new(versions, "gpu driver", json_string(driver));
        }
    child_destroy(&end);
    return gpus;
}

/* Adds the GPUs that the trainer sees, which respects CUDA_VISIBLE_DEVICES, or else those that
 * nvidia-smi lists; the versions of driver and MPI; and, unless backend is NULL, what the trainer
 * computes on. */
static void add_gpus(json_t *facts, json_t *versions, const char *backend)
{
    const char *const devices[] = {"devices", "--json", backend ? "--backend" : NULL, backend,
                                   NULL};
    json_t *nvidia = ask_nvidia_gpus(versions), *own = json_array(), *root = NULL, *device;
    const char *source = json_array_size(nvidia) ? "nvidia-smi" : "";
    char *text = NULL;
    struct err e;
    size_t i;

    if (trainer_program_read(devices, &text, &e) == 0)
        root = jsonio_decode(text, strlen(text), "unet-train devices --json", &e);
    free(text);
    json_array_foreach(json_object_get(root, "devices"), i, device) {
        json_t *uuid = json_object_get(device, "uuid");
        if (json_is_string(uuid))
            json_array_append_new(own, json_pack("{s:O, s:O}", "uuid", uuid, "name",
                                                 json_object_get(device, "name")));
    }
    if (json_is_string(json_object_get(root, "mpi")))
        json_object_set(versions, "mpi", json_object_get(root, "mpi"));
    if (backend)
        json_object_set(facts, "compute", json_object_get(root, "compute"));
    json_object_set(facts, "gpus", json_array_size(own) ? own : nvidia);
    json_object_set_new(facts, "gpu_source", json_string(json_array_size(own) ? "unet-train"
                                                                              : source));
    json_decref(root);
    json_decref(own);
    json_decref(nvidia);
}

/* Returns whether NCCL_SOCKET_IFNAME=NAME[,NAME] means this interface: each name is a prefix,
 * "=NAME" an exact name. */
static bool is_chosen(const char *choice, const char *name)
{
    for (const char *word = choice; *word; word += strcspn(word, ","), word += *word == ',') {
        bool exact = *word == '=';
        size_t n = strcspn(word + exact, ",");
        if (strncmp(name, word + exact, n) == 0 && (!exact || !name[n]))
            return true;
    }
    return false;
}

/* Adds an NCCL_SOCKET_IFNAME that no interface matches (one with "^" first, a list of exclusions,
 * is not checked), and the interfaces that have an IPv4 address but are down or have no link, as
 * "ib0 (10.1.0.3) is down". A bridge without guests, such as docker0, normally has no link. */
static void add_interfaces(json_t *facts)
{
    const char *choice = getenv("NCCL_SOCKET_IFNAME");
    bool found = !choice || !*choice || *choice == '^';
    char address[NI_MAXHOST], bridge[64 + IF_NAMESIZE];
    json_t *dead = json_array();
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all))
        all = NULL;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        bool up = i->ifa_flags & IFF_UP, linked = i->ifa_flags & IFF_RUNNING;
        found = found || is_chosen(choice, i->ifa_name);
        snprintf(bridge, sizeof bridge, "/sys/class/net/%s/bridge", i->ifa_name);
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && !(up && linked) &&
            access(bridge, F_OK) != 0 &&
            getnameinfo(i->ifa_addr, sizeof(struct sockaddr_in), address, sizeof address, NULL, 0,
                        NI_NUMERICHOST) == 0)
            json_array_append_new(dead, json_sprintf("%s (%s) %s", i->ifa_name, address,
                                                     up ? "has no link" : "is down"));
    }
    if (all)
        freeifaddrs(all);
    json_object_set_new(facts, "interface",
                        found ? json_string("") : json_sprintf("NCCL_SOCKET_IFNAME=%.60s", choice));
    json_object_set_new(facts, "dead_links", dead);
}

json_t *facts_collect(const char *backend)
{
    json_t *versions = json_object();
    struct buf energy = {0};
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    sampler_describe(&energy);
    add_program(versions, "unetctl", PACKAGE_VERSION);
    bool has_trainer = add_trainer(versions);
    json_object_set_new(versions, "glibc", json_string(gnu_get_libc_version()));
    json_t *facts = json_pack(
        "{s:s, s:b, s:o, s:o, s:b, s:o, s:o, s:s}", "host", host, "has_trainer", has_trainer,
        "versions", versions, "limits", collect_limits(), "infiniband",
        access("/sys/class/infiniband", F_OK) == 0, "stale", list_variables(rank_variables),
        "proxies", list_variables(proxy_variables), "energy", energy.data ? energy.data : "");
    add_gpus(facts, versions, backend);
    add_interfaces(facts);
    buf_destroy(&energy);
    return facts;
}

/* ---- a rank ---- */

/* This rank, from TF_CONFIG. */
struct rank {
    json_t *spec;
    size_t world, index;
    char (*hosts)[MAX_HOST]; /* of each rank's address */
    int *ports;
    const char *host; /* its own */
    int port;
};

/* Returns 0 or -1; *r must be released in either case. */
static int open_rank(struct rank *r, struct err *e)
{
    const char *text = getenv("TF_CONFIG");
    json_t *spec = json_loads(text ? text : "", 0, NULL), *worker;
    json_t *workers = json_object_get(json_object_get(spec, "cluster"), "worker");
    json_t *index = json_object_get(json_object_get(spec, "task"), "index");
    size_t n = json_array_size(workers), own = (size_t)json_integer_value(index), i;

    *r = (struct rank){.spec = spec, .world = n, .index = own};
    if (!json_is_integer(index) || own >= n)
        return err_set(e, ERR_PEER, "TF_CONFIG is not a cluster specification: %.200s",
                       text ? text : "(not set)");
    r->hosts = mem_zero(n, sizeof *r->hosts, e);
    r->ports = mem_zero(n, sizeof *r->ports, e);
    if (!r->hosts || !r->ports)
        return -1;
    json_array_foreach(workers, i, worker) {
        const char *address = json_string_value(worker);
        const char *colon = address ? strrchr(address, ':') : NULL;
        snprintf(r->hosts[i], MAX_HOST, "%.*s", colon ? (int)(colon - address) : 0,
                 colon ? address : "");
        r->ports[i] = colon ? atoi(colon + 1) : 0;
    }
    r->host = r->hosts[own];
    r->port = r->ports[own];
    return 0;
}

/* Returns the name of the variable that holds the rank. Under mpirun the variables of Slurm
 * belong to mpirun's daemons and not to the ranks. */
static const char *launched_rank_name(void)
{
    return getenv("OMPI_COMM_WORLD_RANK") ? "OMPI_COMM_WORLD_RANK"
           : getenv("PMI_RANK")           ? "PMI_RANK"
                                          : "SLURM_PROCID";
}

/* Returns a variable of Slurm, or "" if it is not set or Slurm did not start the ranks. */
static const char *slurm_variable(const char *name)
{
    const char *text = strcmp(launched_rank_name(), "SLURM_PROCID") == 0 ? getenv(name) : NULL;

    return text ? text : "";
}

/* Returns what the rank sees of the cluster. The hash leaves out the task, which differs between
 * ranks. */
static json_t *describe_spec(const struct rank *r)
{
    bool in_step = *slurm_variable("SLURM_STEP_NODELIST");
    const char *nodes = in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
    const char *tasks = in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE";
    char *cluster = json_dumps(json_object_get(r->spec, "cluster"), JSON_COMPACT), hex[65];

    sha256_bytes(cluster ? cluster : "", cluster ? strlen(cluster) : 0, hex);
    free(cluster);
    return json_pack("{s:s, s:i, s:s, s:o, s:o}", "node", r->host, "port", r->port, "hash", hex,
                     "nodes", json_sprintf("%s=%.300s", nodes, slurm_variable(nodes)), "per_node",
                     json_sprintf("%s=%.300s", tasks, slurm_variable(tasks)));
}

/* Returns whether a and b are the same machine, as node1 and node1.cluster are. */
static bool same_name(const char *a, const char *b)
{
    size_t n = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

    return strncasecmp(a, b, n) == 0 && strchr(".", a[n]) && strchr(".", b[n]);
}

/* Returns whether this process runs on the host. node becomes Slurm's name of this one, or its
 * own. */
static bool runs_on(const char *host, char node[MAX_HOST])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    const char *name = getenv("SLURMD_NODENAME");

    if (name && *name)
        snprintf(node, MAX_HOST, "%s", name);
    else if (gethostname(node, MAX_HOST - 1))
        snprintf(node, MAX_HOST, "?");
    bool here = same_name(host, node) ||
                (resolve_host(host, NULL, &hints, &found) == 0 && resolve_is_own(found));
    if (found)
        freeaddrinfo(found);
    return here;
}

/* Says why this rank's place is not that of its address, or "". */
static json_t *check_place(const struct rank *r)
{
    const char *local = slurm_variable("SLURM_LOCALID");
    char node[MAX_HOST] = "", slot[16];
    int n = 0;

    for (size_t i = 0; i < r->index; i++)
        n += strcmp(r->hosts[i], r->host) == 0;
    snprintf(slot, sizeof slot, "%d", n);
    if (!runs_on(r->host, node))
        return json_sprintf("it runs on %s, but its address is %s:%d", node, r->host, r->port);
    if (*local && strcmp(local, slot) != 0)
        return json_sprintf("SLURM_LOCALID=%.20s, but it is task %d of %s", local, n, r->host);
    return json_string("");
}

/* Resolves a name to its addresses, and the first of these back to a name. */
static json_t *resolve_name(const char *name)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    char text[NI_MAXHOST], back[NI_MAXHOST] = "";
    json_t *addresses = json_array();
    int rc = resolve_host(name, NULL, &hints, &found);

    for (const struct addrinfo *a = found; a; a = a->ai_next)
        if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
            json_array_append_new(addresses, json_string(text));
    if (found) {
        getnameinfo(found->ai_addr, found->ai_addrlen, back, sizeof back, NULL, 0, NI_NAMEREQD);
        freeaddrinfo(found);
    }
    return json_pack("{s:s, s:b, s:o, s:s, s:s}", "name", name, "listed", resolve_is_listed(name),
                     "addresses", addresses, "back", back, "error", rc ? gai_strerror(rc) : "");
}

/* Resolves the hosts of this rank and of its peers, each once if the ranks of a node are
 * adjacent. */
static json_t *resolve_all(const struct rank *r)
{
    json_t *names = json_array();
    const char *last = "";

    for (size_t i = 0; i < r->world; i++)
        if (i == r->index || mesh_is_peer(r->index, i, r->world)) {
            if (strcmp(r->hosts[i], last) != 0)
                json_array_append_new(names, resolve_name(r->hosts[i]));
            last = r->hosts[i];
        }
    return names;
}

/* Returns what became of this rank's greetings, or NULL. */
static json_t *greet_peers(const struct rank *r, const char *folder, int listener, struct err *e)
{
    struct mesh_peer *peers = mem_zero(r->world, sizeof *peers, e);
    unsigned char token[TOKEN_SIZE];
    json_t *list = peers && token_share(folder, token, e) == 0 ? json_array() : NULL;
    size_t n = 0;

    for (size_t j = 0; list && j < r->world; j++)
        if (mesh_is_peer(r->index, j, r->world))
            peers[n++] = (struct mesh_peer){.index = (int)j, .host = r->hosts[j],
                                            .port = r->ports[j]};
    if (list)
        mesh_greet(listener, (int)r->index, r->world, token, peers, n, PATIENCE_S);
    for (const struct mesh_peer *p = peers; list && p < peers + n; p++)
        json_array_append_new(list, json_pack("{s:i, s:s, s:b, s:s, s:f, s:f, s:s}", "index",
                                              p->index, "host", p->host, "reached", p->reached,
                                              "interface", p->interface, "rtt_ms", p->rtt_s * 1000,
                                              "clock_s", p->clock_s, "error", p->error));
    free(peers);
    return list;
}

/* Says why the images cannot be read, or "". */
static json_t *look_at_data(const char *dir)
{
    char path[PATH_MAX];
    int rc = access(path_format(path, "%s/images", dir), R_OK | X_OK);

    return rc ? json_sprintf("%s: %s", path, strerror(errno)) : json_string("");
}

/* Says why the data cannot be copied to this node, or "". */
static json_t *look_at_stage(const char *folder, const char *data, const char *stage)
{
    char split[PATH_MAX]; /* of the study */
    struct stage_request request = {.folder = stage, .data = data,
                                    .split = path_format(split, "%s/../../../split.json", folder)};
    struct err e;

    return json_string(stage_check(&request, &e) ? e.text : "");
}

/* Tries the lock that the waiting doctor holds. If it is free here, hosts do not see each
 * other's locks. */
static json_t *try_lock(const char *folder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PATH_MAX];
    int fd = files_open(path_format(path, "%s/" FACTS_LOCK, folder), O_RDWR, 0);
    int rc = fd < 0 ? -1 : fcntl(fd, F_OFD_SETLK, &lock), reason = errno;

    if (fd >= 0)
        close(fd);
    return json_string(rc == 0                                                 ? "free"
                       : fd >= 0 && (reason == EAGAIN || reason == EACCES) ? FACTS_LOCK_HELD
                                                                           : strerror(reason));
}

/* Examines this rank. data: the folder with images, or NULL; it and backend are of run.json.
 * Returns its report, or NULL. */
static json_t *examine(struct rank *r, const char *folder, const char *data, const char *stage,
                       const char *backend, struct err *e)
{
    const char *procid = getenv(launched_rank_name()), *visible = getenv("CUDA_VISIBLE_DEVICES");
    int listener = listener_open(r->host, r->port); /* first: the others may already connect */
    json_t *taken = listener >= 0 ? json_string("")
                                  : json_sprintf("port %d: %s", r->port, strerror(errno));
    json_t *peers = greet_peers(r, folder, listener, e), *spec = describe_spec(r);

    unsetenv("TF_CONFIG"); /* it is this rank's own, not a stale one */
    json_t *facts = facts_collect(backend), *own = json_pack(
        "{s:i, s:I, s:I, s:o*, s:s, s:o*, s:o, s:{s:i, s:o}, s:o, s:o, s:o*, s:o*, s:o*, s:o}",
        "schema", 1, "index", (json_int_t)r->index, "world", (json_int_t)r->world, "procid",
        json_string(procid ? procid : ""), "name", r->host, "place", check_place(r), "spec", spec, "port",
        "number", r->port, "error", taken, "names", resolve_all(r), "peers", peers, "visible",
        json_string(visible ? visible : ""), "data", data ? look_at_data(data) : NULL, "stage",
        data && stage ? look_at_stage(folder, data, stage) : NULL, "lock", try_lock(folder));
    json_object_update(own, facts);
    json_decref(facts);
    if (listener >= 0)
        close(listener);
    if (peers && !own)
        err_set(e, ERR_INTERNAL, "no memory");
    return own;
}

int facts_probe(const char *folder, const char *stage, struct err *e)
{
    json_t *run = jsonio_read("run.json", FILES_TEXT_MAX, e), *facts = NULL;
    const char *data = jsonio_text(json_object_get(run, "data"), "dir");
    const json_t *backend = json_object_get(json_object_get(run, "train"), "backend");
    bool has_images = *data && strcmp(data, folder) != 0; /* a study without: see rehearsal.c */
    char name[32];
    struct rank r = {0};
    int rc = -1;

    if (!run)
        err_set(e, ERR_CONFIG, "--probe: the current folder has no run.json of a rehearsal");
    else if (open_rank(&r, e) == 0)
        facts = examine(&r, folder, has_images ? data : NULL, stage, json_string_value(backend), e);
    if (facts) {
        snprintf(name, sizeof name, "rank-%zu.json", r.index);
        rc = path_write(folder, name, json_dumps(facts, JSON_COMPACT | JSON_REAL_PRECISION(9)), e);
    }
    free(r.hosts);
    free(r.ports);
    json_decref(r.spec);
    json_decref(facts);
    json_decref(run);
    if (rc == 0 && path_has_file(folder, "rank-0.json")) /* without it submit_file.sh: FAILED */
        rc = atomicfile_write("attempt-1/DONE", "{\"schema\":1}\n", 13, 0666, e);
    return rc;
}
