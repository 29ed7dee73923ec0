/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/diagnosis.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "launcher/host/jsonio.h"
#include "launcher/study/site.h"
#include "src/buf.h"

#define NOFILE_BASE 256      /* files of a rank besides its connections */
#define NPROC_LOW 1024
#define CLOCK_WARNING_S 1.0
#define CLOCK_ERROR_S 60.0   /* far below 300 s, from which munge refuses credentials */
#define HOSTS_SIZE 240
#define LIST_BLANKS " \t\n,"
#define ONE_STEP                                                                                   \
    "start all ranks as one step (one srun), and let no start-up file set SLURM_ variables"

/* The hosts that share a finding, each once: "node1, node3", with "..." for those that do not
 * fit. */
struct hosts {
    char text[HOSTS_SIZE];
    size_t count;
};

static void add_host(struct hosts *h, const char *host)
{
    size_t n = strlen(h->text), length = strlen(host);

    for (const char *s = strstr(h->text, host); s; s = strstr(s + 1, host))
        if ((s == h->text || s[-1] == ' ') && (s[length] == 0 || s[length] == ','))
            return;
    h->count++;
    if (n + length + 8 < sizeof h->text)
        snprintf(h->text + n, sizeof h->text - n, "%s%s", n ? ", " : "", host);
    else if (strcmp(h->text + n - 3, "...") != 0)
        strcpy(h->text + n, " ...");
}

/* ---- hosts ---- */

/* Variables that hosts have in common: values is "NAME=VALUE, NAME=VALUE", names is "NAME NAME". */
struct variables {
    struct hosts hosts;
    struct buf values, names;
};

static bool has_name(const char *names, const char *name, size_t n)
{
    for (const char *s = names; s && *s; s += strcspn(s, " "), s += *s == ' ')
        if (strcspn(s, " ") == n && strncmp(s, name, n) == 0)
            return true;
    return false;
}

static void add_variables(struct variables *v, const char *host, const json_t *list)
{
    const json_t *o;
    size_t i;

    json_array_foreach(list, i, o) {
        const char *variable = json_string_value(o);
        size_t n = strcspn(variable, "=");
        add_host(&v->hosts, host);
        if (has_name(v->names.data, variable, n))
            continue;
        buf_addf(&v->values, "%s%s", v->values.length ? ", " : "", variable);
        buf_addf(&v->names, "%s%.*s", v->names.length ? " " : "", (int)n, variable);
    }
}

static void destroy_variables(struct variables *v)
{
    buf_destroy(&v->values);
    buf_destroy(&v->names);
}

static void check_variables(const json_t *list, struct findings *dst)
{
    struct variables stale = {.hosts = {"", 0}}, proxies = {.hosts = {"", 0}};
    struct hosts interfaces = {"", 0}, dead = {"", 0};
    const char *interface_example = "", *link = "";
    const json_t *facts;
    size_t i;

    json_array_foreach(list, i, facts) {
        const char *host = jsonio_text(facts, "host");
        add_variables(&stale, host, json_object_get(facts, "stale"));
        add_variables(&proxies, host, json_object_get(facts, "proxies"));
        const json_t *d = json_array_get(json_object_get(facts, "dead_links"), 0);
        if (d)
            add_host(&dead, host), link = json_string_value(d);
        if (*jsonio_text(facts, "interface"))
            add_host(&interfaces, host), interface_example = jsonio_text(facts, "interface");
    }
    if (stale.hosts.count) {
        findings_add(dst, FINDING_WARNING, "variables", "%s: already set, by another shell or run: "
                     "%s; programs would use these values", stale.hosts.text, stale.values.data);
        findings_remedy(dst, "unset %s (and look into your shell's start-up files)",
                        stale.names.data);
    }
    if (proxies.hosts.count) {
        findings_add(dst, FINDING_WARNING, "proxies", "%s: %s: gRPC and NCCL bootstrap may send "
                     "node-to-node traffic there; run_file.sh unsets it for unet-train",
                     proxies.hosts.text, proxies.values.data);
        findings_remedy(dst, "unset %s in your own scripts, or add the nodes to no_proxy",
                        proxies.names.data);
    }
    if (interfaces.count) {
        findings_add(dst, FINDING_ERROR, "interface",
                     "%s: %s does not name a network interface there", interfaces.text,
                     interface_example);
        findings_remedy(dst, "unset NCCL_SOCKET_IFNAME, or name one that `ip link` shows on every "
                        "node");
    }
    if (dead.count) {
        findings_add(dst, FINDING_WARNING, "interface",
                     "%s: the interface %s: NCCL or MPI may choose it and hang", dead.text, link);
        findings_remedy(dst, "administrators: ip link set %.*s up, or its cable; until then name "
                        "another one in NCCL_SOCKET_IFNAME ('env' of the site)",
                        (int)strcspn(link, " "), link);
    }
    if (!stale.hosts.count && !proxies.hosts.count && !interfaces.count)
        findings_add(dst, FINDING_OK, "variables",
                     "no stale TF_CONFIG, MASTER_*, RANK; no proxies");
    destroy_variables(&stale);
    destroy_variables(&proxies);
}

static json_int_t limit_of(const json_t *facts, const char *name)
{
    json_int_t v = json_integer_value(json_object_get(json_object_get(facts, "limits"), name));

    return v < 0 ? INT64_MAX : v;
}

/* Returns the hosts whose limit is below least; *lowest becomes the lowest limit. */
static struct hosts hosts_below(const json_t *list, const char *name, json_int_t least,
                                json_int_t *lowest)
{
    struct hosts h = {"", 0};
    const json_t *facts;
    size_t i;

    *lowest = INT64_MAX;
    json_array_foreach(list, i, facts) {
        json_int_t v = limit_of(facts, name);
        if (v >= least)
            continue;
        add_host(&h, jsonio_text(facts, "host"));
        if (v < *lowest)
            *lowest = v;
    }
    return h;
}

static bool has_infiniband(const json_t *list)
{
    const json_t *facts;
    size_t i;

    json_array_foreach(list, i, facts) {
        if (json_is_true(json_object_get(facts, "infiniband")))
            return true;
    }
    return false;
}

static void check_limits(const json_t *list, size_t nranks, struct findings *dst)
{
    json_int_t need = NOFILE_BASE + 2 * (json_int_t)nranks, lowest, first;
    struct hosts files = hosts_below(list, "nofile", need, &lowest);
    size_t before = dst->count;

    if (files.count) {
        findings_add(dst, FINDING_ERROR, "limits",
                     "%s: ulimit -n is %lld; %lld open files are needed",
                     files.text, (long long)lowest, (long long)need);
        findings_remedy(dst, "ulimit -n %lld here, or for jobs as a line of 'setup' in the site "
                        "file", (long long)(need > 4096 ? need : 4096));
    }
    struct hosts processes = hosts_below(list, "nproc", NPROC_LOW, &first);
    if (processes.count) {
        findings_add(dst, FINDING_WARNING, "limits",
                     "%s: ulimit -u is %lld, which limits threads, too", processes.text,
                     (long long)first);
        findings_remedy(dst, "ulimit -u 4096");
    }
    struct hosts memory = hosts_below(list, "memlock", INT64_MAX, &first);
    if (memory.count && has_infiniband(list)) {
        findings_add(dst, FINDING_WARNING, "limits",
                     "%s: ulimit -l is %lld KiB, but InfiniBand locks memory", memory.text,
                     (long long)first / 1024);
        findings_remedy(dst, "ulimit -l unlimited (administrators: LimitMEMLOCK of slurmd, "
                        "PropagateResourceLimitsExcept=MEMLOCK)");
    }
    if (dst->count == before)
        findings_add(dst, FINDING_OK, "limits", "open files, processes, locked memory");
    if (hosts_below(list, "core", 1, &first).count < json_array_size(list) &&
        hosts_below(list, "core", INT64_MAX, &first).count == 0) {
        findings_add(dst, FINDING_WARNING, "limits", "ulimit -c is unlimited: a crash writes one "
                     "core file for each rank into the run's folder");
        findings_remedy(dst, "ulimit -c 0 unless you want them");
    }
}

/* Says what of a run's energy can be measured. */
static void check_energy(const json_t *list, struct findings *dst)
{
    const char *first = jsonio_text(json_array_get(list, 0), "energy");
    struct hosts others = {"", 0};
    const json_t *facts;
    size_t i;

    json_array_foreach(list, i, facts) {
        if (json_is_object(facts) && strcmp(jsonio_text(facts, "energy"), first) != 0)
            add_host(&others, jsonio_text(facts, "host"));
    }
    if (*first)
        findings_add(dst, FINDING_OK, "energy", "%s%s%s", first,
                     others.count ? "; otherwise on " : "", others.text);
}

void diagnosis_of_hosts(const json_t *list, size_t nranks, struct findings *dst)
{
    check_variables(list, dst);
    check_limits(list, nranks, dst);
    check_energy(list, dst);
}

/* ---- the launcher ---- */

/* Finds X in the option --mpi=X or --mpi X of a launcher that is srun. Returns its start and
 * stores its length, or returns NULL. */
static const char *find_mpi_type(const char *launcher, size_t *length)
{
    const char *option = strstr(launcher, " --mpi");
    const char *type = option ? option + strlen(" --mpi") : "";

    if (strncmp(launcher, "srun ", 5) != 0 || (*type != '=' && *type != ' '))
        return NULL;
    *length = strcspn(++type, " ");
    return type;
}

/* Returns whether type is in the list that srun prints. The list has one type per line, and after
 * "available:" their versions. */
static bool is_listed(const char *list, const char *type, size_t length)
{
    for (const char *s = list; *s; s += strcspn(s, LIST_BLANKS), s += strspn(s, LIST_BLANKS))
        if (strcspn(s, LIST_BLANKS) == length && strncmp(s, type, length) == 0)
            return true;
    return false;
}

static void add_types(const char *list, struct buf *dst)
{
    for (const char *s = strchr(list, '\n'); s && *s; s = strchr(s, '\n')) {
        s += strspn(s, LIST_BLANKS);
        size_t n = strcspn(s, LIST_BLANKS);
        if (n && s[n] == '\n')
            buf_addf(dst, "%s%.*s", dst->length ? ", " : "", (int)n, s);
    }
}

void diagnosis_of_launcher(const char *launcher, const char *list, const char *file,
                           struct findings *dst)
{
    size_t n;
    const char *type = find_mpi_type(launcher, &n);
    struct buf types = {0};

    if (!type || !list || !strstr(list, "types are"))
        return;
    if (is_listed(list, type, n)) {
        findings_add(dst, FINDING_OK, "launcher", "srun knows --mpi=%.*s", (int)n, type);
        return;
    }
    add_types(list, &types);
    findings_add(dst, FINDING_ERROR, "launcher",
                 "the site starts ranks by srun --mpi=%.*s, but this cluster's srun knows only %s "
                 "(srun --mpi=list)", (int)n, type, types.data ? types.data : "others");
    findings_remedy(dst, "set in %s: launcher: " SITE_MPIRUN_LAUNCHER " and spec: " SITE_MPIRUN_SPEC
                    " (ranks without MPI: leave --mpi out)", file);
    buf_destroy(&types);
}

/* ---- ranks ---- */

/* Returns the host of a rank that left no report, as another rank knows it from the specification,
 * or "unknown host". */
static const char *host_of(const json_t *ranks, size_t index)
{
    const json_t *r, *peer;
    size_t i, k;

    json_array_foreach(ranks, i, r) {
        json_array_foreach(json_object_get(r, "peers"), k, peer)
            if ((size_t)json_integer_value(json_object_get(peer, "index")) == index)
                return jsonio_text(peer, "host");
    }
    return "unknown host";
}

static void check_presence(const json_t *ranks, struct findings *dst)
{
    char number[300];
    struct hosts silent = {"", 0};
    const json_t *r;
    size_t i;

    json_array_foreach(ranks, i, r) {
        if (json_is_null(r)) {
            snprintf(number, sizeof number, "%zu (%.255s)", i, host_of(ranks, i));
            add_host(&silent, number);
        }
    }
    if (silent.count) {
        findings_add(dst, FINDING_ERROR, "ranks",
                     "%zu of %zu ranks did not report to the study's folder: %s",
                     silent.count, json_array_size(ranks), silent.text);
        findings_remedy(dst, "look into the job's output (above): either they did not start, or "
                        "their node does not see the study's folder");
    } else {
        findings_add(dst, FINDING_OK, "ranks", "all %zu started, and the study's folder is visible "
                     "from each", json_array_size(ranks));
    }
}

static const json_t *first_rank(const json_t *ranks)
{
    const json_t *r;
    size_t i;

    json_array_foreach(ranks, i, r) {
        if (json_is_object(r))
            return r;
    }
    return NULL;
}

/* Compares what a rank sees of the cluster with what rank 0 sees. Returns the remedy of the
 * difference that explains the others, which problem names, or NULL. */
static const char *compare_specs(const json_t *own, const json_t *first, char problem[2048])
{
    const char *own_nodes = jsonio_text(own, "nodes"), *nodes = jsonio_text(first, "nodes");
    const char *own_tasks = jsonio_text(own, "per_node"), *tasks = jsonio_text(first, "per_node");
    const char *own_hash = jsonio_text(own, "hash"), *hash = jsonio_text(first, "hash");

    if (strcmp(own_nodes, nodes) != 0 || strcmp(own_tasks, tasks) != 0) {
        snprintf(problem, 2048, "it sees another cluster: %s %s; rank 0 on %s has %s %s", own_nodes,
                 own_tasks, jsonio_text(first, "node"), nodes, tasks);
        return ONE_STEP;
    }
    if (strcmp(own_hash, hash) == 0)
        return NULL;
    snprintf(problem, 2048, "it has another specification of the same nodes: it listens at port "
             "%lld, sha256 %.16s; rank 0 on %s has %.16s", jsonio_integer(own, "port"), own_hash,
             jsonio_text(first, "node"), hash);
    return "give every rank the same --port-base, --jobs and --resolver, and the same "
           "SLURM_JOB_ID and SLURM_DISTRIBUTION";
}

static void check_numbering(const json_t *ranks, struct findings *dst)
{
    const json_t *first = first_rank(ranks), *r;
    char number[24], problem[2048];
    size_t i, found = 0;

    json_array_foreach(ranks, i, r) {
        const char *procid = jsonio_text(r, "procid"), *remedy = ONE_STEP;
        if (!json_is_object(r) || found >= 4)
            continue;
        snprintf(number, sizeof number, "%zu", i);
        snprintf(problem, sizeof problem, "%s", jsonio_text(r, "place"));
        if (*procid && strcmp(procid, number) != 0)
            snprintf(problem, sizeof problem, "its launcher calls it rank %.20s", procid);
        else if (!*problem)
            remedy = compare_specs(json_object_get(r, "spec"), json_object_get(first, "spec"),
                                   problem);
        if (!remedy)
            continue;
        found++;
        findings_add(dst, FINDING_ERROR, "numbering", "rank %zu (%s): %s", i,
                     jsonio_text(r, "host"), problem);
        findings_remedy(dst, "%s ('launcher' and 'spec' of the site belong together)", remedy);
    }
    if (!found && first)
        findings_add(dst, FINDING_OK, "numbering", "all ranks have the same cluster specification");
}

static void check_ports(const json_t *ranks, struct findings *dst)
{
    const json_t *r, *port;
    size_t i, taken = 0;

    json_array_foreach(ranks, i, r) {
        port = json_object_get(r, "port");
        if (!*jsonio_text(port, "error"))
            continue;
        if (taken++ == 0) {
            findings_add(dst, FINDING_ERROR, "ports", "%s: %s", jsonio_text(r, "host"),
                         jsonio_text(port, "error"));
            findings_remedy(dst, "'ss -tlnp' on that node shows which process uses it; set other "
                            "ports by port_base and port_count in the site file");
        }
    }
    if (!taken && first_rank(ranks))
        findings_add(dst, FINDING_OK, "ports", "every rank can listen at its port");
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static bool spans_hosts(const json_t *ranks)
{
    const char *host = jsonio_text(first_rank(ranks), "name");
    const json_t *r;
    size_t i;

    json_array_foreach(ranks, i, r) {
        if (json_is_object(r) && strcmp(jsonio_text(r, "name"), host) != 0)
            return true;
    }
    return false;
}

/* Adds a finding if the host cannot resolve the name, resolves it to the loopback address, or
 * resolves its address to another name. Returns whether it did. */
static bool check_name(const char *host, const json_t *name, struct findings *dst)
{
    const char *text = jsonio_text(name, "name"), *address;
    const char *back = jsonio_text(name, "back");

    address = json_string_value(json_array_get(json_object_get(name, "addresses"), 0));
    if (*jsonio_text(name, "error")) {
        findings_add(dst, FINDING_ERROR, "names", "%s: the name %s does not resolve: %s", host,
                     text, jsonio_text(name, "error"));
        findings_remedy(dst, "if the nodes' fast network has names of its own, set host_suffix in "
                        "the site file; otherwise /etc/hosts or DNS of that node lacks the name");
        return true;
    }
    /* listed in $UNETCTL_HOSTS, as the nodes of a private Slurm on one machine are */
    if (json_is_true(json_object_get(name, "listed")))
        return false;
    if (address && is_loopback(address)) {
        findings_add(dst, FINDING_ERROR, "names", "%s: the name %s resolves to %s: ranks elsewhere "
                     "would be sent to their own host", host, text, address);
        findings_remedy(dst, "on %s: take %s off the line of %s in /etc/hosts", host, text,
                        address);
        return true;
    }
    if (*back && strncmp(back, text, strcspn(text, ".")) != 0) {
        findings_add(dst, FINDING_WARNING, "names", "%s: %s is %s, but that address is called %s",
                     host, text, address ? address : "?", back);
        findings_remedy(dst, "make both ways agree in /etc/hosts or DNS, or set host_suffix in the "
                        "site file");
        return true;
    }
    return false;
}

static void check_names(const json_t *ranks, struct findings *dst)
{
    const char *last = "";
    const json_t *r, *name;
    size_t i, k, shown = 0;

    if (!spans_hosts(ranks))
        return;
    json_array_foreach(ranks, i, r) {
        if (strcmp(jsonio_text(r, "host"), last) == 0)
            continue;
        last = jsonio_text(r, "host");
        json_array_foreach(json_object_get(r, "names"), k, name) {
            if (shown < 8 && check_name(last, name, dst))
                shown++;
        }
    }
    if (!shown)
        findings_add(dst, FINDING_OK, "names", "every node resolves the others, both ways");
}

/* Returns whether the peer could not listen at its port, or left no report. Then that is reported,
 * and not the route. */
static bool cannot_listen(const json_t *ranks, const json_t *peer)
{
    const json_t *r = json_array_get(ranks,
                                     (size_t)json_integer_value(json_object_get(peer, "index")));

    return !json_is_object(r) || *jsonio_text(json_object_get(r, "port"), "error");
}

/* Returns whether a rank before i on the same host, or rank i for a peer before its peer k, already
 * failed to reach the host of peer k. Then that was reported. */
static bool is_reported(const json_t *ranks, size_t i, size_t k)
{
    const json_t *rank = json_array_get(ranks, i), *r, *peer;
    const json_t *way = json_array_get(json_object_get(rank, "peers"), k);
    size_t a, b;

    json_array_foreach(ranks, a, r) {
        if (a > i || strcmp(jsonio_text(r, "host"), jsonio_text(rank, "host")) != 0)
            continue;
        json_array_foreach(json_object_get(r, "peers"), b, peer) {
            if ((a < i || b < k) && !json_is_true(json_object_get(peer, "reached")) &&
                !cannot_listen(ranks, peer) &&
                strcmp(jsonio_text(peer, "host"), jsonio_text(way, "host")) == 0)
                return true;
        }
    }
    return false;
}

static void check_routes(const json_t *ranks, struct findings *dst)
{
    const json_t *r, *peer;
    struct hosts interfaces = {"", 0};
    size_t i, k, reached = 0, failed = 0;

    json_array_foreach(ranks, i, r) {
        json_array_foreach(json_object_get(r, "peers"), k, peer) {
            const char *interface = jsonio_text(peer, "interface");
            if (json_is_true(json_object_get(peer, "reached"))) {
                reached++;
                if (*interface && strcmp(interface, "lo") != 0)
                    add_host(&interfaces, interface);
            } else if (!cannot_listen(ranks, peer) && failed < 8 && !is_reported(ranks, i, k)) {
                failed++;
                findings_add(dst, FINDING_ERROR, "routes",
                             "rank %zu (%s) does not reach rank %lld (%s): %s",
                             i, jsonio_text(r, "host"),
                             (long long)json_integer_value(json_object_get(peer, "index")),
                             jsonio_text(peer, "host"), jsonio_text(peer, "error"));
                findings_remedy(dst, "on %s: ip route get $(getent hosts %s | cut -d' ' -f1); a "
                                "firewall between the nodes, or -- --exclude=%s",
                                jsonio_text(r, "host"), jsonio_text(peer, "host"),
                                jsonio_text(peer, "host"));
            }
        }
    }
    if (!failed && reached)
        findings_add(dst, FINDING_OK, "routes", "every rank reaches the others%s%s",
                     interfaces.count ? " through " : "", interfaces.text);
    if (interfaces.count > 1) {
        findings_add(dst, FINDING_WARNING, "routes", "different interfaces are taken: %s",
                     interfaces.text);
        findings_remedy(dst, "if one of them is slow: host_suffix in the site file names the fast "
                        "network's hosts");
    }
}

/* Checks the clocks of the hosts against that of rank 0, by the measurements of all ranks that
 * reached rank 0. The uncertainty of each is half of the round trip. */
static void check_clocks(const json_t *ranks, struct findings *dst)
{
    double worst = 0, sure = 0, most = 0; /* most: no clock differs by more */
    const char *host = "";
    const json_t *r, *peer;
    size_t i, k, n = 0;

    json_array_foreach(ranks, i, r) {
        json_array_foreach(json_object_get(r, "peers"), k, peer) {
            double skew = json_number_value(json_object_get(peer, "clock_s"));
            double doubt = json_number_value(json_object_get(peer, "rtt_ms")) / 2000;
            if (!json_is_true(json_object_get(peer, "reached")) ||
                json_integer_value(json_object_get(peer, "index")) != 0)
                continue;
            n++;
            most = fmax(most, fabs(skew) + doubt);
            if (fabs(skew) - doubt > sure) {
                sure = fabs(skew) - doubt;
                worst = -skew;
                host = jsonio_text(r, "host");
            }
        }
    }
    if (sure > CLOCK_WARNING_S) {
        findings_add(dst, sure > CLOCK_ERROR_S ? FINDING_ERROR : FINDING_WARNING, "clocks",
                     "the clock of %s is %.1f s %s that of rank 0's node", host, fabs(worst),
                     worst > 0 ? "ahead of" : "behind");
        findings_remedy(dst, "administrators: chrony or ntpd on %s; until then -- --exclude=%s",
                        host, host);
    } else if (n) {
        findings_add(dst, FINDING_OK, "clocks", "all within %.3f s of rank 0's", most);
    }
}

static void check_versions(const json_t *ranks, struct findings *dst)
{
    const json_t *first = first_rank(ranks), *r, *version;
    const char *name, *last = "";
    size_t i, differ = 0;

    json_array_foreach(ranks, i, r) {
        if (strcmp(jsonio_text(r, "host"), last) == 0)
            continue;
        last = jsonio_text(r, "host");
        json_object_foreach((json_t *)json_object_get(r, "versions"), name, version) {
            const char *other = jsonio_text(json_object_get(first, "versions"), name);
            if (strcmp(other, json_string_value(version)) == 0 || differ++ >= 4)
                continue;
            findings_add(dst, FINDING_ERROR, "versions", "%s has %s %s, but %s has %s",
                         jsonio_text(r, "host"),
                         name, json_string_value(version), jsonio_text(first, "host"),
                         *other ? other : "none");
            findings_remedy(dst, "install unetctl on a file system that all nodes share, load the "
                            "same modules everywhere ('setup' of the site), or -- --exclude=%s",
                            jsonio_text(r, "host"));
        }
    }
    if (!differ && first)
        findings_add(dst, FINDING_OK, "versions",
                     "unetctl, unet-train and libraries are the same everywhere");
}

/* Returns the rank before i that has this GPU, or -1. */
static int find_gpu(const json_t *ranks, size_t i, const char *uuid)
{
    const json_t *r, *gpu;
    size_t k, g;

    json_array_foreach(ranks, k, r) {
        if (k >= i)
            break;
        json_array_foreach(json_object_get(r, "gpus"), g, gpu) {
            if (strcmp(jsonio_text(gpu, "uuid"), uuid) == 0)
                return (int)k;
        }
    }
    return -1;
}

/* Reports ranks that cannot use their GPU, or that the CPU stands in for GPUs, and returns false:
 * single GPUs then need no check. Otherwise reports nothing and returns true. */
static bool check_compute(const json_t *ranks, struct findings *dst)
{
    const json_t *first = json_object_get(first_rank(ranks), "compute"), *r;
    struct hosts failing = {"", 0};
    const char *why = "";
    size_t i;

    json_array_foreach(ranks, i, r) {
        const char *error = jsonio_text(json_object_get(r, "compute"), "error");
        if (*error)
            add_host(&failing, jsonio_text(r, "host")), why = error;
    }
    if (failing.count) {
        findings_add(dst, FINDING_ERROR, "gpus", "%s: %s", failing.text, why);
        findings_remedy(dst, "nvidia-smi must work there; until then -- --exclude=%.*s",
                        (int)strcspn(failing.text, ", "), failing.text);
        return false;
    }
    if (!json_is_true(json_object_get(first, "fake")))
        return true;
    findings_add(dst, FINDING_OK, "gpus", "fake ones: the ranks compute on the CPU, %s (backend "
                 "%s)", jsonio_text(first, "device"), jsonio_text(first, "backend"));
    return false;
}

/* Checks that no two ranks have the same GPU, and that all have one if any has. The trainer sees
 * only the GPUs of its rank. nvidia-smi lists all of a node; such a list is not compared with those
 * of other ranks on the same host. */
static void check_gpus(const json_t *ranks, struct findings *dst)
{
    const json_t *r, *gpu;
    size_t i, g, ngpus = 0, shared = 0;
    struct hosts bare = {"", 0};

    if (!check_compute(ranks, dst))
        return;
    json_array_foreach(ranks, i, r) {
        if (json_is_object(r) && json_array_size(json_object_get(r, "gpus")) == 0)
            add_host(&bare, jsonio_text(r, "host"));
    }
    json_array_foreach(ranks, i, r) {
        json_array_foreach(json_object_get(r, "gpus"), g, gpu) {
            int other = find_gpu(ranks, i, jsonio_text(gpu, "uuid"));
            const json_t *o = other < 0 ? NULL : json_array_get(ranks, (size_t)other);
            bool whole_node = strcmp(jsonio_text(r, "gpu_source"), "nvidia-smi") == 0;
            ngpus++;
            if (!o || (whole_node && strcmp(jsonio_text(o, "host"), jsonio_text(r, "host")) == 0) ||
                shared++)
                continue;
            findings_add(dst, FINDING_ERROR, "gpus",
                         "rank %d (%s) and rank %zu (%s) have the same GPU %s",
                         other, jsonio_text(o, "host"), i, jsonio_text(r, "host"),
                         jsonio_text(gpu, "uuid"));
            findings_remedy(dst, "add --gpus-per-task=1 to 'launcher' of the site; NCCL would "
                            "report \"Duplicate GPU detected\"");
        }
    }
    if (ngpus && bare.count) {
        findings_add(dst, FINDING_ERROR, "gpus", "%s: no GPU there, though other ranks have some",
                     bare.text);
        findings_remedy(dst, "nvidia-smi there shows why; until then -- --exclude=%.*s",
                        (int)strcspn(bare.text, ", "), bare.text);
    }
    if (ngpus == 0 && first_rank(ranks)) {
        findings_add(dst, FINDING_WARNING, "gpus", "no GPU seen by any rank (neither nvidia-smi "
                     "nor unet-train shows one): the runs would train on CPUs");
        findings_remedy(dst, "fine in the sandbox; elsewhere check gpus_per_node, partition and "
                        "modules");
    } else if (!shared && ngpus && !bare.count) {
        findings_add(dst, FINDING_OK, "gpus", "%zu seen, no two ranks have the same one", ngpus);
    }
}

static void check_files(const json_t *ranks, struct findings *dst)
{
    struct hosts blind = {"", 0}, unlocked = {"", 0}, unstaged = {"", 0};
    const char *why = "", *lock = "", *stage = "";
    const json_t *r;
    size_t i;

    json_array_foreach(ranks, i, r) {
        if (!json_is_object(r))
            continue;
        if (*jsonio_text(r, "data"))
            add_host(&blind, jsonio_text(r, "host")), why = jsonio_text(r, "data");
        if (*jsonio_text(r, "stage"))
            add_host(&unstaged, jsonio_text(r, "host")), stage = jsonio_text(r, "stage");
        if (strcmp(jsonio_text(r, "lock"), "held") != 0)
            add_host(&unlocked, jsonio_text(r, "host")), lock = jsonio_text(r, "lock");
    }
    if (blind.count) {
        findings_add(dst, FINDING_ERROR, "data", "%s: the images cannot be read: %s", blind.text,
                     why);
        findings_remedy(dst, "put them on a file system that the nodes see, and name it in "
                        "data.dir");
    } else if (json_object_get(first_rank(ranks), "data")) {
        findings_add(dst, FINDING_OK, "data", "the images can be read on every node");
    }
    if (unstaged.count) {
        findings_add(dst, FINDING_ERROR, "stage", "%s: %s", unstaged.text, stage);
        findings_remedy(dst, "name a folder of the nodes with room in data.stage, or remove it");
    } else if (json_object_get(first_rank(ranks), "stage")) {
        findings_add(dst, FINDING_OK, "stage", "the data can be copied to every node (data.stage)");
    }
    if (unlocked.count) {
        findings_add(dst, FINDING_WARNING, "lock", "%s: a lock on the study is not seen there (%s)",
                     unlocked.text, lock);
        findings_remedy(dst, "run unetctl of one study on one host only, or move the study to a "
                        "file system with locks (NFS without nolock, Lustre with flock)");
    } else if (first_rank(ranks)) {
        findings_add(dst, FINDING_OK, "lock", "locks are seen from node to node");
    }
}

void diagnosis_of_ranks(const json_t *ranks, struct findings *dst)
{
    check_presence(ranks, dst);
    check_numbering(ranks, dst);
    check_names(ranks, dst);
    check_ports(ranks, dst);
    check_routes(ranks, dst);
    check_clocks(ranks, dst);
    check_versions(ranks, dst);
    check_gpus(ranks, dst);
    check_files(ranks, dst);
}
