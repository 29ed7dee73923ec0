/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes TF_CONFIG with cJSON. */
#include "src/base.h"
#include "trainer/run/ranks/ranks.h"

#include <cjson/cJSON.h>

#define MAX_WORKERS 100000

/* The types of jobs that train, in the order of their ranks. */
static const char *const jobs[] = {"chief", "worker"};
#define NJOBS (sizeof jobs / sizeof *jobs)

static int check_keys(const cJSON *object, const char *where, const char *const *known,
                     struct err *e)
{
    const cJSON *item, *other;

    cJSON_ArrayForEach(item, object) {
        const char *const *k = known;
        while (*k && strcmp(*k, item->string) != 0)
            k++;
        if (!*k)
            return err_set(e, ERR_PEER, "%s%s: unknown key", where, item->string);
        for (other = item->next; other; other = other->next)
            if (strcmp(other->string, item->string) == 0)
                return err_set(e, ERR_PEER, "%s%s: given twice", where, item->string);
    }
    return 0;
}

/* Returns the length of the host in "host:port" or "[v6]:port", without brackets, and sets *begin
 * to its offset and *dst to the port. 0 if the address is invalid. */
static size_t host_length(const char *address, size_t *begin, int *dst)
{
    const char *colon = strrchr(address, ':');

    *begin = address[0] == '[';
    if (!colon || colon == address || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
        return 0;
    long port = strtol(colon + 1, NULL, 10);
    if (port < 1 || port > 65535)
        return 0;
    *dst = (int)port;
    size_t end = (size_t)(colon - address);
    if (*begin && (end < 3 || address[end - 1] != ']'))
        return 0;
    return *begin ? end - 2 : end;
}

static int add_workers(struct spec *spec, const char *job, const cJSON *list, struct err *e)
{
    const cJSON *item;
    size_t begin;
    int port;

    if (!cJSON_IsArray(list))
        return err_set(e, ERR_PEER, "cluster.%s: must be a list of \"host:port\"", job);
    int n = cJSON_GetArraySize(list);
    if (n > MAX_WORKERS - spec->nworkers)
        return err_set(e, ERR_PEER, "cluster.%s: more than %d workers", job, MAX_WORKERS);
    size_t room = 0, same = 0, last = (size_t)(spec->nworkers + n);
    if (mem_grow(&spec->hosts, last, &room, sizeof *spec->hosts, e) ||
        mem_grow(&spec->ports, last, &same, sizeof *spec->ports, e))
        return -1;
    cJSON_ArrayForEach(item, list) {
        size_t length = cJSON_IsString(item) ? host_length(item->valuestring, &begin, &port) : 0;
        if (length == 0)
            return err_set(e, ERR_PEER, "cluster.%s: entry %d is not \"host:port\"", job,
                           spec->nworkers);
        spec->ports[spec->nworkers] = port;
        spec->hosts[spec->nworkers] = mem_textf(e, "%.*s", (int)length, item->valuestring + begin);
        if (!spec->hosts[spec->nworkers])
            return -1;
        spec->nworkers++;
    }
    return 0;
}

static int read_cluster(const cJSON *cluster, const char *task_type, struct spec *spec, int *first,
                        int *count, struct err *e)
{
    static const char *const known[] = {"chief", "worker", NULL};

    if (!cJSON_IsObject(cluster))
        return err_set(e, ERR_PEER, "cluster: must be an object with the list \"worker\"");
    if (check_keys(cluster, "cluster.", known, e))
        return -1;
    for (size_t j = 0; j < NJOBS; j++) {
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(cluster, jobs[j]);
        int before = spec->nworkers;
        if (list && add_workers(spec, jobs[j], list, e))
            return -1;
        if (strcmp(jobs[j], task_type) == 0) {
            *first = before;
            *count = spec->nworkers - before;
        }
    }
    return 0;
}

static int read_spec(const cJSON *root, struct spec *spec, struct err *e)
{
    static const char *const top[] = {"cluster", "task", NULL};
    static const char *const in_task[] = {"type", "index", NULL};
    const cJSON *task = cJSON_GetObjectItemCaseSensitive(root, "task");
    int first = -1, count = 0;

    if (!cJSON_IsObject(root))
        return err_set(e, ERR_PEER, "must be an object");
    if (check_keys(root, "", top, e))
        return -1;
    if (!cJSON_IsObject(task))
        return err_set(e, ERR_PEER, "task: must be an object with \"type\" and \"index\"");
    if (check_keys(task, "task.", in_task, e))
        return -1;
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(task, "type");
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(task, "index");
    if (!cJSON_IsString(type) || !cJSON_IsNumber(index))
        return err_set(e, ERR_PEER, "task: needs a \"type\" and a numeric \"index\"");
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(root, "cluster");
    if (read_cluster(cluster, type->valuestring, spec, &first, &count, e))
        return -1;
    if (first < 0)
        return err_set(e, ERR_PEER, "task.type: '%s' does not train; it must be chief or worker",
                       type->valuestring);
    double i = index->valuedouble;
    if (!(i >= 0 && i < count) || i != (double)(int)i)
        return err_set(e, ERR_PEER, "task.index: %g, but the cluster has %d of type %s", i, count,
                       type->valuestring);
    spec->rank = first + (int)i;
    return 0;
}

int spec_read(const char *text, struct spec *spec, struct err *e)
{
    const char *end = NULL;
    int rc;

    memset(spec, 0, sizeof *spec);
    cJSON *root = cJSON_ParseWithOpts(text, &end, true);
    if (root)
        rc = read_spec(root, spec, e);
    else
        rc = err_set(e, ERR_PEER, "is not JSON from byte %zu on", end ? (size_t)(end - text) : 0);
    cJSON_Delete(root);
    if (rc == 0)
        return 0;
    spec_destroy(spec);
    return err_prefix(e, "TF_CONFIG");
}

void spec_destroy(struct spec *spec)
{
    if (!spec)
        return;
    for (int i = 0; i < spec->nworkers; i++)
        free(spec->hosts[i]);
    free(spec->hosts);
    free(spec->ports);
    *spec = (struct spec){0};
}
