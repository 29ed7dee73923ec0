/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/facts.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "launcher/energy/sampler.h"
#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/plan/trainer_program.h"
#include "src/format/sha256.h"
#include "src/host/paths.h"

#define HASH_DIGITS 12

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

static json_t *limit_of(int which)
{
    struct rlimit r = {0};

    getrlimit(which, &r);
    return json_integer(r.rlim_cur == RLIM_INFINITY ? -1 : (json_int_t)r.rlim_cur);
}

static json_t *collect_limits(void)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "nofile", limit_of(RLIMIT_NOFILE), "memlock",
                     limit_of(RLIMIT_MEMLOCK), "nproc", limit_of(RLIMIT_NPROC), "core",
                     limit_of(RLIMIT_CORE), "stack", limit_of(RLIMIT_STACK));
}

/* Adds a program's version with the start of its SHA-256: different builds may have the same
 * version. Returns whether the program is there. */
static bool add_program(json_t *versions, const char *name, const char *version)
{
    char bindir[PATH_MAX - 16], path[PATH_MAX], hex[65];
    struct err e;

    if (paths_bindir(bindir, sizeof bindir))
        return false;
    snprintf(path, sizeof path, "%s/%s", bindir, name);
    bool found = sha256_file(path, hex, &e) == 0;
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

/* Returns the GPUs that the trainer sees, and adds the version of its MPI to versions and, unless
 * backend is NULL, what it computes on to facts. */
static json_t *ask_trainer_gpus(json_t *facts, json_t *versions, const char *backend)
{
    const char *const devices[] = {"devices", "--json", backend ? "--backend" : NULL, backend,
                                   NULL};
    json_t *gpus = json_array(), *root, *device;
    char *text = NULL;
    struct err e;
    size_t i;

    if (trainer_program_read(devices, &text, &e))
        return gpus;
    root = jsonio_decode(text, strlen(text), "unet-train devices --json", &e);
    json_array_foreach(json_object_get(root, "devices"), i, device) {
        const char *uuid = json_string_value(json_object_get(device, "uuid"));
        if (uuid)
            json_array_append_new(gpus, json_pack("{s:s, s:O}", "uuid", uuid, "name",
                                                  json_object_get(device, "name")));
    }
    if (json_is_string(json_object_get(root, "mpi")))
        json_object_set(versions, "mpi", json_object_get(root, "mpi"));
    if (backend)
        json_object_set(facts, "compute", json_object_get(root, "compute"));
    json_decref(root);
    free(text);
    return gpus;
}

static void add_gpus(json_t *facts, json_t *versions, const char *backend)
{
    json_t *nvidia = ask_nvidia_gpus(versions);
    json_t *trainer = ask_trainer_gpus(facts, versions, backend);
    bool smi = json_array_size(nvidia) > 0, own = json_array_size(trainer) > 0;

    /* The trainer respects CUDA_VISIBLE_DEVICES; nvidia-smi does not. */
    json_object_set(facts, "gpus", own ? trainer : nvidia);
    json_object_set_new(facts, "gpu_source",
                        json_string(own ? "unet-train" : smi ? "nvidia-smi" : ""));
    json_decref(nvidia);
    json_decref(trainer);
}

/* Reports an NCCL_SOCKET_IFNAME that no interface matches. The variable is NAME[,NAME]: each a
 * prefix, "=NAME" an exact name; with "^" first, a list of exclusions, which is not checked. */
static void add_interface(json_t *facts)
{
    const char *choice = getenv("NCCL_SOCKET_IFNAME");
    struct if_nameindex *all = if_nameindex();
    bool found = !choice || !*choice || *choice == '^';

    for (const char *word = choice; !found && *word; word += strcspn(word, ","),
         word += *word == ',') {
        bool exact = *word == '=';
        size_t n = strcspn(word + exact, ",");
        for (struct if_nameindex *i = all; i && i->if_index; i++)
            found = found || (strncmp(i->if_name, word + exact, n) == 0 &&
                              (!exact || !i->if_name[n]));
    }
    if_freenameindex(all);
    json_object_set_new(facts, "interface",
                        found ? json_string("") : json_sprintf("NCCL_SOCKET_IFNAME=%.60s", choice));
}

/* Returns whether this is a bridge. One without guests, such as docker0, has no link, which is
 * normal. */
static bool is_bridge(const char *name)
{
    char path[64 + IF_NAMESIZE];

    snprintf(path, sizeof path, "/sys/class/net/%s/bridge", name);
    return access(path, F_OK) == 0;
}

/* Lists interfaces that have an IPv4 address but are down or have no link, as "ib0 (10.1.0.3) is
 * down", except bridges. */
static json_t *list_dead_links(void)
{
    json_t *list = json_array();
    struct ifaddrs *all = NULL;
    char address[NI_MAXHOST];

    if (getifaddrs(&all))
        return list;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        bool up = i->ifa_flags & IFF_UP, linked = i->ifa_flags & IFF_RUNNING;
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || (up && linked) ||
            is_bridge(i->ifa_name))
            continue;
        if (getnameinfo(i->ifa_addr, sizeof(struct sockaddr_in), address, sizeof address, NULL, 0,
                        NI_NUMERICHOST) == 0)
            json_array_append_new(list, json_sprintf("%s (%s) %s", i->ifa_name, address,
                                                     up ? "has no link" : "is down"));
    }
    freeifaddrs(all);
    return list;
}

json_t *facts_collect(const char *backend)
{
    json_t *facts = json_object(), *versions = json_object();
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    json_object_set_new(facts, "host", json_string(host));
    add_program(versions, "unetctl", PACKAGE_VERSION);
    json_object_set_new(facts, "has_trainer", json_boolean(add_trainer(versions)));
    json_object_set_new(versions, "glibc", json_string(gnu_get_libc_version()));
    add_gpus(facts, versions, backend);
    json_object_set_new(facts, "versions", versions);
    json_object_set_new(facts, "limits", collect_limits());
    json_object_set_new(facts, "infiniband",
                        json_boolean(access("/sys/class/infiniband", F_OK) == 0));
    json_object_set_new(facts, "stale", list_variables(rank_variables));
    json_object_set_new(facts, "proxies", list_variables(proxy_variables));
    add_interface(facts);
    struct buf energy = {0};
    sampler_describe(&energy);
    json_object_set_new(facts, "energy", json_string(energy.data ? energy.data : ""));
    buf_destroy(&energy);
    json_object_set_new(facts, "dead_links", list_dead_links());
    return facts;
}
