/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/cluster.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/scheduler/slurm/message.h"
#include "launcher/scheduler/slurm/way.h"
#include "src/buf.h"

#define CLUSTER_AGE_S 2

/* Counts the GPUs in a node's gres, such as "gpu:h200:4(S:0-1),gpu:2,mps:100". */
static int count_gpus(const char *gres)
{
    int n = 0;

    for (const char *item = gres; item && *item; item += strcspn(item, ","), item += *item == ',') {
        size_t length = strcspn(item, ",(");
        if (strncmp(item, "gpu", 3) != 0 || (item[3] != ':' && length != 3))
            continue;
        const char *last = item;
        for (const char *s = item; s < item + length; s++)
            if (*s == ':')
                last = s + 1;
        n += last > item && *last >= '0' && *last <= '9' ? atoi(last) : 1;
        item += length;
    }
    return n;
}

struct cluster_partition *cluster_add(struct cluster *c, const char *name)
{
    struct cluster_partition *p =
        realloc(c->partitions, (c->count + 1) * sizeof *c->partitions);

    if (!p)
        return NULL;
    c->partitions = p;
    p += c->count;
    *p = (struct cluster_partition){.name = strdup(name)};
    if (!p->name)
        return NULL;
    c->count++;
    return p;
}

void cluster_add_node(struct cluster_partition *p, int cpus, const char *gres, bool is_away)
{
    int gpus = count_gpus(gres);

    p->nodes++;
    if (gpus > p->gpus_per_node)
        p->gpus_per_node = gpus;
    if (p->cpus_per_node == 0 || cpus < p->cpus_per_node)
        p->cpus_per_node = cpus;
    p->away += is_away;
}

void cluster_set_total(struct cluster_partition *p, int nodes)
{
    p->unseen = nodes > p->nodes ? nodes - p->nodes : 0;
    p->nodes = nodes;
}

static void clear_cluster(struct cluster *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->partitions[i].name);
    free(c->partitions);
    *c = (struct cluster){0};
}

/* Sets *dst to the state of the cluster at most CLUSTER_AGE_S ago, since many jobs are checked
 * in a row. Returns NULL, or a refusal. */
static json_t *load_recent(const struct way *way, const struct cluster **dst)
{
    static struct cluster cluster;
    static time_t loaded;
    json_t *refusal = NULL;

    if (!loaded || time(NULL) - loaded > CLUSTER_AGE_S) {
        clear_cluster(&cluster);
        refusal = way->load_cluster(&cluster);
        loaded = refusal ? 0 : time(NULL);
    }
    *dst = &cluster;
    return refusal;
}

json_t *cluster_partitions(const struct way *way)
{
    const struct cluster *cluster;
    json_t *list, *refusal = load_recent(way, &cluster);

    if (refusal)
        return refusal;
    list = json_array();
    for (size_t i = 0; i < cluster->count; i++) {
        const struct cluster_partition *p = &cluster->partitions[i];
        json_array_append_new(
            list, json_pack("{s:o, s:b, s:b, s:i, s:i, s:i, s:i, s:i}", "name",
                            message_string(p->name), "default", p->is_default, "up", p->is_up,
                            "nodes", p->nodes, "unseen", p->unseen, "gpus_per_node",
                            p->gpus_per_node, "cpus_per_node", p->cpus_per_node, "max_time_min",
                            p->max_time_min));
    }
    return json_pack("{s:b, s:b, s:o}", "ok", 1, "private", cluster->is_private, "partitions",
                     list);
}

static json_t *refuse_partition(const char *name, const struct cluster *cluster)
{
    struct buf names = {0};
    json_t *answer;

    for (size_t i = 0; i < cluster->count; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", cluster->partitions[i].name);
    char *list = buf_steal(&names);
    if (name)
        answer = message_refuse("unknown partition '%s' (known: %s)", name,
                                list ? list : "");
    else
        answer = message_refuse("this cluster has no default partition; choose one of %s",
                                list ? list : "");
    free(list);
    return answer;
}

static const struct cluster_partition *find_partition(const struct cluster *cluster,
                                                      const char *name)
{
    for (size_t i = 0; i < cluster->count; i++) {
        const struct cluster_partition *p = &cluster->partitions[i];
        if (name ? strcmp(p->name, name) == 0 : p->is_default)
            return p;
    }
    return NULL;
}

/* Refuses a job that is larger than the partition, whatever runs there now. Slurm's own text for
 * this, "Requested node configuration is not available", does not say what is too large. The sizes
 * of nodes are compared only if all of them are known. */
static json_t *check_size(const json_t *job, const struct cluster_partition *p)
{
    long nodes = message_number(job, "nodes"), tasks = message_number(job, "tasks");
    long per_node = (tasks + nodes - 1) / nodes;
    long gpus = per_node * message_number(job, "gpus_per_task");
    long cpus = per_node * message_number(job, "cpus_per_task"),
        minutes = message_number(job, "time_min");

    if (nodes > p->nodes)
        return message_refuse("%ld nodes are asked for, but partition '%s' has %d", nodes, p->name,
                              p->nodes);
    if (gpus > p->gpus_per_node && !p->unseen)
        return message_refuse("%ld GPUs per node are asked for, but nodes of partition '%s' have "
                              "at most %d",
                           gpus, p->name, p->gpus_per_node);
    if (cpus > p->cpus_per_node && p->cpus_per_node > 0 && !p->unseen &&
        message_number(job, "cpus_per_task") > 1)
        return message_refuse("%ld CPUs per node are asked for (%ld for each of %ld tasks), but "
                              "nodes of "
                           "partition '%s' have %d", cpus, message_number(job, "cpus_per_task"),
                           per_node, p->name, p->cpus_per_node);
    if (p->max_time_min && minutes > p->max_time_min)
        return message_refuse("a time limit of %ld minutes is asked for, but partition '%s' allows "
                              "%d",
                           minutes, p->name, p->max_time_min);
    return NULL;
}

json_t *cluster_check(const struct way *way, const json_t *job, int *away)
{
    const char *name = message_text(job, "partition");
    const struct cluster *cluster;

    *away = 0;
    if (name && strchr(name, ','))
        return NULL; /* for a list of partitions, Slurm decides */
    json_t *refusal = load_recent(way, &cluster);
    if (refusal)
        return refusal;
    if (cluster->is_private) {
        *away = 1;
        return NULL;
    }
    const struct cluster_partition *p = find_partition(cluster, name);
    if (!p)
        return refuse_partition(name, cluster);
    *away = p->away + p->unseen;
    return check_size(job, p);
}
