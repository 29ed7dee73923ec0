/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/slurm/cluster.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "launcher/slurm/message.h"
#include "launcher/slurm/version.h"
#include "src/buf.h"

#define CLUSTER_AGE_S 2

json_t *cluster_ping(void)
{
    slurm_conf_t *conf;
    int up = -1;
    char version[32];

    snprintf(version, sizeof version, "%d.%02d.%d", SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS)
        return message_refuse_slurm(errno);
    for (int i = 0; i < (int)conf->control_cnt && up < 0; i++)
        if (slurm_ping(i) == SLURM_SUCCESS)
            up = i;
    json_t *o = json_pack("{s:b, s:s, s:o, s:o}", "ok", 1, "slurm",
                          version, "cluster",
                          message_string(conf->cluster_name), "controller",
                          message_string(up < 0 ? NULL : conf->control_machine[up]));
    slurm_free_conf(conf);
    return o;
}

/* GPUs in a node's gres, e.g. "gpu:h200:4(S:0-1),gpu:2,mps:100". */
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

/* What the nodes of a partition have. */
struct capacity {
    int nodes, gpus_per_node, cpus_per_node; /* most GPUs, fewest CPUs of any node */
    int away;                                /* nodes that are down or drained now */
};

/* After a restart the controller has not heard of its nodes yet. */
static bool is_away(uint32_t state)
{
    uint32_t base = state & NODE_STATE_BASE;

    return base == NODE_STATE_DOWN || base == NODE_STATE_UNKNOWN ||
           (state & (NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND)) != 0;
}

static struct capacity measure(const partition_info_t *p, const node_info_msg_t *nodes)
{
    struct capacity c = {.nodes = (int)p->total_nodes};
    const int32_t *pair = p->node_inx;

    for (; pair && pair[0] >= 0; pair += 2)
        for (int32_t i = pair[0]; i <= pair[1] && i < (int32_t)nodes->record_count; i++) {
            const node_info_t *node = &nodes->node_array[i];
            int gpus = count_gpus(node->gres);

            if (!node->name)
                continue;
            if (gpus > c.gpus_per_node)
                c.gpus_per_node = gpus;
            if (c.cpus_per_node == 0 || node->cpus < c.cpus_per_node)
                c.cpus_per_node = node->cpus;
            c.away += is_away(node->node_state);
        }
    return c;
}

static int minutes_of(uint32_t limit)
{
    return limit == INFINITE || limit == NO_VAL || limit > INT_MAX ? 0 : (int)limit;
}

struct cluster {
    partition_info_msg_t *partitions;
    node_info_msg_t *nodes;
};

struct load {
    partition_info_msg_t *partitions;
    int code; /* Slurm's errno, 0 if they are there */
};

static void *load_partitions(void *arg)
{
    struct load *l = arg;

    l->code = slurm_load_partitions(0, &l->partitions, SHOW_ALL) == SLURM_SUCCESS ? 0
                                                                                  : errno;
    return NULL;
}

/* Two questions at the same time. */
static int cluster_load(struct cluster *c)
{
    struct load load = {0};
    pthread_t thread;
    bool threaded = pthread_create(&thread, NULL, load_partitions, &load) == 0;
    int code;

    *c = (struct cluster){0};
    code = slurm_load_node(0, &c->nodes, SHOW_ALL) == SLURM_SUCCESS ? 0 : errno;
    if (threaded)
        pthread_join(thread, NULL);
    else
        load_partitions(&load);
    c->partitions = load.partitions;
    if (code == 0 && load.code == 0)
        return 0;
    if (code == 0)
        slurm_free_node_info_msg(c->nodes);
    if (load.code == 0)
        slurm_free_partition_info_msg(c->partitions);
    errno = code ? code : load.code;
    return -1;
}

static void cluster_free(struct cluster *c)
{
    slurm_free_partition_info_msg(c->partitions);
    slurm_free_node_info_msg(c->nodes);
}

/* The cluster as it was at most CLUSTER_AGE_S ago: many jobs are submitted at once. */
static const struct cluster *cluster_recent(void)
{
    static struct cluster cluster;
    static time_t loaded;

    if (loaded && time(NULL) - loaded <= CLUSTER_AGE_S)
        return &cluster;
    if (loaded)
        cluster_free(&cluster);
    loaded = 0;
    if (cluster_load(&cluster) < 0)
        return NULL;
    loaded = time(NULL);
    return &cluster;
}

json_t *cluster_partitions(void)
{
    const struct cluster *cluster = cluster_recent();
    json_t *list;

    if (!cluster)
        return message_refuse_slurm(errno);
    list = json_array();
    for (uint32_t i = 0; i < cluster->partitions->record_count; i++) {
        const partition_info_t *p = &cluster->partitions->partition_array[i];
        struct capacity c = measure(p, cluster->nodes);

        json_array_append_new(
            list, json_pack("{s:o, s:b, s:b, s:i, s:i, s:i, s:i}", "name", message_string(p->name),
                            "default", (p->flags & PART_FLAG_DEFAULT) != 0, "up",
                            p->state_up == PARTITION_UP, "nodes", c.nodes, "gpus_per_node",
                            c.gpus_per_node, "cpus_per_node", c.cpus_per_node, "max_time_min",
                            minutes_of(p->max_time)));
    }
    return json_pack("{s:b, s:o}", "ok", 1, "partitions", list);
}

static json_t *refuse_partition(const char *name, const partition_info_msg_t *partitions)
{
    struct buf names = {0};
    json_t *answer;

    for (uint32_t i = 0; i < partitions->record_count; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", partitions->partition_array[i].name);
    char *list = buf_steal(&names);
    if (name)
        answer = message_refuse("there is no partition '%s'; this cluster has %s", name, list ? list : "");
    else
        answer = message_refuse("this cluster has no default partition; choose one of %s", list ? list : "");
    free(list);
    return answer;
}

static const partition_info_t *find_partition(const partition_info_msg_t *partitions, const char *name)
{
    for (uint32_t i = 0; i < partitions->record_count; i++) {
        const partition_info_t *p = &partitions->partition_array[i];
        if (name ? p->name && strcmp(p->name, name) == 0 : (p->flags & PART_FLAG_DEFAULT) != 0)
            return p;
    }
    return NULL;
}

/* Is the job larger than the partition, whatever runs there now? Slurm's own text for this
 * ("Requested node configuration is not available") does not say what is too much. */
static json_t *check_size(const json_t *job, const partition_info_t *p, const struct capacity *c)
{
    long nodes = message_number(job, "nodes"), tasks = message_number(job, "tasks");
    long per_node = (tasks + nodes - 1) / nodes;
    long gpus = per_node * message_number(job, "gpus_per_task");
    long cpus = per_node * message_number(job, "cpus_per_task"), minutes = message_number(job, "time_min");

    if (nodes > c->nodes)
        return message_refuse("%ld nodes are asked for, but partition '%s' has %d", nodes, p->name, c->nodes);
    if (gpus > c->gpus_per_node)
        return message_refuse("%ld GPUs per node are asked for, but nodes of partition '%s' have at most %d",
                           gpus, p->name, c->gpus_per_node);
    if (cpus > c->cpus_per_node && c->cpus_per_node > 0 && message_number(job, "cpus_per_task") > 1)
        return message_refuse("%ld CPUs per node are asked for (%ld for each of %ld tasks), but nodes of "
                           "partition '%s' have %d", cpus, message_number(job, "cpus_per_task"), per_node,
                           p->name, c->cpus_per_node);
    if (minutes_of(p->max_time) && minutes > minutes_of(p->max_time))
        return message_refuse("a time limit of %ld minutes is asked for, but partition '%s' allows %d",
                           minutes, p->name, minutes_of(p->max_time));
    return NULL;
}

json_t *cluster_check(const json_t *job, int *away)
{
    const char *name = message_text(job, "partition");
    const struct cluster *cluster;
    json_t *refusal = NULL;

    *away = 0;
    if (name && strchr(name, ','))
        return NULL; /* any of several: Slurm tells */
    cluster = cluster_recent();
    if (!cluster)
        return message_refuse_slurm(errno);
    const partition_info_t *p = find_partition(cluster->partitions, name);
    if (p) {
        struct capacity c = measure(p, cluster->nodes);
        refusal = check_size(job, p, &c);
        *away = c.away;
    } else {
        refusal = refuse_partition(name, cluster->partitions);
    }
    return refusal;
}
