/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/doctor/facts.h"
#include "launcher/doctor/mesh.h"
#include "launcher/host/path.h"
#include "launcher/stage/stage.h"
#include "src/cluster/listener.h"
#include "src/cluster/resolve.h"
#include "src/files.h"
#include "src/format/sha256.h"
#include "src/run/token.h"

#define MAX_HOST 256

/* The decoded TF_CONFIG. */
struct spec {
    json_t *root;
    const json_t *workers;
    size_t world;
    int index;
};

static int read_spec(struct spec *s, struct err *e)
{
    const char *text = getenv("TF_CONFIG");
    json_error_t error;

    *s = (struct spec){.root = json_loads(text ? text : "", 0, &error)};
    s->workers = json_object_get(json_object_get(s->root, "cluster"), "worker");
    s->world = json_array_size(s->workers);
    json_t *index = json_object_get(json_object_get(s->root, "task"), "index");
    s->index = (int)json_integer_value(index);
    if (s->world && json_is_integer(index) && s->index >= 0 && (size_t)s->index < s->world)
        return 0;
    json_decref(s->root);
    s->root = NULL;
    return err_set(e, ERR_PEER, "TF_CONFIG is not a cluster specification: %.200s",
                   text ? text : "(not set)");
}

/* Splits the address "host:port" of a worker. Returns the port. */
static int split_address(const struct spec *s, size_t i, char host[MAX_HOST])
{
    const char *text = json_string_value(json_array_get(s->workers, i));
    const char *colon = text ? strrchr(text, ':') : NULL;

    snprintf(host, MAX_HOST, "%.*s", colon ? (int)(colon - text) : 0, colon ? text : "");
    return colon ? atoi(colon + 1) : 0;
}

/* Returns the name of the variable that holds the rank. Under mpirun the variables of Slurm
 * belong to mpirun's daemons and not to the ranks. */
static const char *launched_rank_name(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            return names[i];
    return "SLURM_PROCID";
}

/* Returns "NAME=TEXT" of a variable of Slurm; its text is "" unless Slurm started the ranks. */
static json_t *describe_variable(const char *name, bool by_slurm)
{
    const char *text = by_slurm ? getenv(name) : NULL;

    return json_sprintf("%s=%.300s", name, text ? text : "");
}

/* Returns what the rank sees of the cluster. The hash leaves out the task, which differs between
 * ranks. */
static json_t *describe_spec(const struct spec *s, const char *host, int port)
{
    bool by_slurm = strcmp(launched_rank_name(), "SLURM_PROCID") == 0;
    bool in_step = by_slurm && getenv("SLURM_STEP_NODELIST");
    char *cluster = json_dumps(json_object_get(s->root, "cluster"), JSON_COMPACT);
    struct sha256_ctx sha256;
    char hex[65];

    sha256_init(&sha256);
    sha256_add(&sha256, cluster ? cluster : "", cluster ? strlen(cluster) : 0);
    sha256_finish(&sha256, hex);
    free(cluster);
    return json_pack(
        "{s:s, s:i, s:s, s:o, s:o}", "node", host, "port", port, "hash", hex, "nodes",
        describe_variable(in_step ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST", by_slurm),
        "per_node",
        describe_variable(in_step ? "SLURM_STEP_TASKS_PER_NODE" : "SLURM_TASKS_PER_NODE",
                          by_slurm));
}

/* Returns whether a and b are the same machine, as node1 and node1.cluster are. */
static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");

    return strcasecmp(a, b) == 0 ||
           (n == m && (a[n] == 0 || b[m] == 0) && strncasecmp(a, b, n) == 0);
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
static json_t *check_place(const struct spec *s, const char *host, int port)
{
    const char *local = getenv("SLURM_LOCALID");
    char other[MAX_HOST], node[MAX_HOST] = "", slot[16];
    int n = 0;

    for (size_t i = 0; i < (size_t)s->index; i++) {
        split_address(s, i, other);
        n += strcmp(other, host) == 0;
    }
    snprintf(slot, sizeof slot, "%d", n);
    if (!runs_on(host, node))
        return json_sprintf("it runs on %s, but its address is %s:%d", node, host, port);
    if (local && strcmp(launched_rank_name(), "SLURM_PROCID") == 0 && strcmp(local, slot) != 0)
        return json_sprintf("SLURM_LOCALID=%.20s, but it is task %d of %s", local, n, host);
    return json_string("");
}

/* Resolves a name to its addresses, and the first of these back to a name. */
static json_t *resolve_name(const char *name)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    json_t *addresses = json_array(), *o;
    char text[NI_MAXHOST], back[NI_MAXHOST] = "";
    int rc = resolve_host(name, NULL, &hints, &found);

    for (const struct addrinfo *a = found; a; a = a->ai_next)
        if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
            json_array_append_new(addresses, json_string(text));
    if (found)
        getnameinfo(found->ai_addr, found->ai_addrlen, back, sizeof back, NULL, 0, NI_NAMEREQD);
    if (found)
        freeaddrinfo(found);
    o = json_pack("{s:s, s:b, s:o, s:s, s:s}", "name", name, "listed", resolve_is_listed(name),
                  "addresses", addresses, "back", back, "error", rc ? gai_strerror(rc) : "");
    return o;
}

/* Resolves the hosts of this rank and of its peers, each once if the ranks of a node are
 * adjacent. */
static json_t *resolve_all(const struct spec *s)
{
    char host[MAX_HOST], last[MAX_HOST] = "";
    json_t *names = json_array();

    for (size_t i = 0; i < s->world; i++) {
        if (i != (size_t)s->index && !mesh_is_peer((size_t)s->index, i, s->world))
            continue;
        split_address(s, i, host);
        if (strcmp(host, last) != 0)
            json_array_append_new(names, resolve_name(host));
        strcpy(last, host);
    }
    return names;
}

static json_t *encode_peer(const struct mesh_peer *p)
{
    return json_pack("{s:i, s:s, s:b, s:s, s:f, s:f, s:s}", "index", p->index, "host", p->host,
                     "reached",
                     p->reached, "interface", p->interface, "rtt_ms", p->rtt_s * 1000, "clock_s",
                     p->clock_s, "error", p->error);
}

static int greet_peers(const struct spec *s, const char *folder, int listener, json_t **dst,
                       struct err *e)
{
    struct mesh_peer *peers = calloc(s->world, sizeof *peers);
    char (*hosts)[MAX_HOST] = calloc(s->world, sizeof *hosts);
    size_t npeers = 0, own = (size_t)s->index;
    unsigned char token[TOKEN_SIZE];
    int rc = token_share(folder, token, e);

    *dst = json_array();
    for (size_t j = 0; rc == 0 && peers && hosts && j < s->world; j++) {
        if (!mesh_is_peer(own, j, s->world))
            continue;
        int port = split_address(s, j, hosts[npeers]);
        peers[npeers] = (struct mesh_peer){.index = (int)j, .host = hosts[npeers], .port = port};
        npeers++;
    }
    if (rc == 0)
        mesh_greet(listener, s->index, s->world, token, peers, npeers, PROBE_PATIENCE_S);
    for (size_t i = 0; i < npeers; i++)
        json_array_append_new(*dst, encode_peer(&peers[i]));
    free(hosts);
    free(peers);
    return rc;
}

static json_t *look_at_data(const char *dir)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/images", dir);
    return access(path, R_OK | X_OK) == 0 ? json_string("") : json_sprintf("%s: %s", path,
                                                                           strerror(errno));
}

/* Says why the data cannot be copied to this node, or "". */
static json_t *look_at_stage(const char *folder, const char *data_dir, const char *stage)
{
    char split[PATH_MAX];
    struct stage_request request = {.folder = stage, .split = split, .data = data_dir};
    struct err e;

    snprintf(split, sizeof split, "%s/../../../split.json", folder); /* of the study */
    return json_string(stage_check(&request, &e) ? e.text : "");
}

/* Tries the lock that the waiting doctor holds. If it is free here, hosts do not see each
 * other's locks. */
static json_t *try_lock(const char *folder)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[PATH_MAX];
    json_t *state;
    int fd;

    snprintf(path, sizeof path, "%s/" PROBE_LOCK, folder);
    fd = files_open(path, O_RDWR, 0);
    if (fd < 0)
        return json_string(strerror(errno));
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        state = json_string(PROBE_LOCK_FREE);
    else
        state = json_string(errno == EAGAIN || errno == EACCES ? PROBE_LOCK_HELD : strerror(errno));
    close(fd);
    return state;
}

static int write_facts(const char *folder, int index, const json_t *facts, struct err *e)
{
    char name[32];

    snprintf(name, sizeof name, "rank-%d.json", index);
    return path_write(folder, name, json_dumps(facts, JSON_COMPACT | JSON_REAL_PRECISION(9)), e);
}

int probe_run(const char *folder, const char *data_dir, const char *stage, const char *backend,
              struct err *e)
{
    const char *procid = getenv(launched_rank_name()), *visible = getenv("CUDA_VISIBLE_DEVICES");
    char taken[100] = "";
    char host[MAX_HOST];
    struct spec s;
    json_t *facts, *peers, *spec;
    int listener, port, greeted, rc;

    if (read_spec(&s, e))
        return -1;
    port = split_address(&s, (size_t)s.index, host);
    listener = listener_open(host, port); /* first, because the others may already be connecting */
    if (listener < 0)
        snprintf(taken, sizeof taken, "port %d: %s", port, strerror(errno));
    greeted = greet_peers(&s, folder, listener, &peers, e);
    spec = describe_spec(&s, host, port);
    unsetenv("TF_CONFIG"); /* it is this rank's own, not a stale one */
    facts = facts_collect(backend);
    json_object_set_new(facts, "schema", json_integer(1));
    json_object_set_new(facts, "index", json_integer(s.index));
    json_object_set_new(facts, "world", json_integer((json_int_t)s.world));
    json_object_set_new(facts, "procid", json_string(procid ? procid : ""));
    json_object_set_new(facts, "name", json_string(host));
    json_object_set_new(facts, "place", check_place(&s, host, port));
    json_object_set_new(facts, "spec", spec);
    json_object_set_new(facts, "port", json_pack("{s:i, s:s}", "number", port, "error", taken));
    json_object_set_new(facts, "names", resolve_all(&s));
    json_object_set_new(facts, "peers", peers);
    json_object_set_new(facts, "visible", json_string(visible ? visible : ""));
    if (data_dir)
        json_object_set_new(facts, "data", look_at_data(data_dir));
    if (data_dir && stage)
        json_object_set_new(facts, "stage", look_at_stage(folder, data_dir, stage));
    json_object_set_new(facts, "lock", try_lock(folder));
    if (listener >= 0)
        close(listener);
    rc = greeted ? -1 : write_facts(folder, s.index, facts, e);
    json_decref(facts);
    json_decref(s.root);
    return rc;
}
