/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/scheduler/slurm/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/scheduler/slurm/interface.h"
#include "launcher/scheduler/slurm/message.h"
#include "src/clock.h"

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

static json_t *encode_partition(const struct cluster_partition *p)
{
    return json_pack("{s:o, s:b, s:b, s:i, s:i, s:i, s:i, s:i, s:i}", "name",
                     message_string(p->name), "default", p->is_default, "up", p->is_up, "nodes",
                     p->nodes, "unseen", p->unseen, "away", p->away, "gpus_per_node",
                     p->gpus_per_node, "cpus_per_node", p->cpus_per_node, "max_time_min",
                     p->max_time_min);
}

json_t *cluster_partitions(const struct slurm_interface *slurm)
{
    static struct cluster cluster;
    static double loaded;

    if (!(loaded > 0) || clock_now() - loaded > CLUSTER_AGE_S) {
        clear_cluster(&cluster);
        json_t *refusal = slurm->load_cluster(&cluster);
        loaded = refusal ? 0 : clock_now();
        if (refusal)
            return refusal;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < cluster.count; i++)
        json_array_append_new(list, encode_partition(&cluster.partitions[i]));
    return json_pack("{s:b, s:b, s:o}", "ok", 1, "private", cluster.is_private, "partitions", list);
}
