/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/run/session.h"

#include "src/clock.h"
#include "src/stat.h"
#include "trainer/json/cjson.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define BUDGET_S 4.0 /* for the sums of a size, and for its exchanges */
#define MOST_REPEATS 7

static const size_t sizes[] = {KIB, 16 * KIB, 256 * KIB, 4 * MIB, 32 * MIB, 128 * MIB};
#define NSIZES (sizeof sizes / sizeof *sizes)

enum kind { SUMS, EXCHANGES, KINDS };

struct trial {
    struct comm *comm;
    const struct device_comm *gpu;
    char *data; /* twice the largest size */
    bool owns;  /* data is not of the communicator */
    double each_s[KINDS][NSIZES]; /* mean seconds of one, the same on all ranks */
    size_t ndone[KINDS];          /* sizes that were measured; larger ones are left out */
    double *seconds; /* by pair: the median of a sum or an exchange; then of all together */
    cJSON *root, *list, *left_out; /* on rank 0 */
};

/* Large messages vary less, and cost more. */
static int count_repeats(size_t nbytes)
{
    return nbytes > MIB ? 3 : MOST_REPEATS;
}

static int check_device_wait(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;

    return c->ops->check(c, waited_s, e);
}

static int sum(struct trial *t, size_t nbytes, struct err *e)
{
    float *values = (float *)(void *)t->data;
    const struct device_comm *gpu = t->gpu;
    struct comm *c = t->comm;
    size_t n = nbytes / sizeof *values;

    if (c->ops->queue_sum)
        return c->ops->queue_sum(c, gpu->ops->stream(gpu->device), false, values, n,
                                 REDUCE_SUM_FLOAT, e) || gpu->ops->drain(gpu->device, e) ? -1 : 0;
    return comm_start_sum_float(c, values, n, e) || comm_wait(c, e) ? -1 : 0;
}

/* Sets *median to the median time of an exchange with peer, or, where that is this rank, of a sum.
 * The first one, which may have to connect, does not count. */
static int repeat(struct trial *t, int peer, size_t nbytes, double *median, struct err *e)
{
    struct comm *c = t->comm;
    double times[MOST_REPEATS + 1];
    int n = count_repeats(nbytes);

    for (int i = 0; i <= n; i++) {
        double began = clock_now();
        if (peer == c->rank ? sum(t, nbytes, e) : c->ops->exchange(c, peer, t->data, nbytes, e))
            return -1;
        times[i] = clock_now() - began;
    }
    *median = stat_median(times + 1, (size_t)n);
    return 0;
}

/* Returns the seconds that one of a kind is expected to take for sizes[i]: on the line through the
 * two sizes before. */
static double expect(const double *each_s, size_t i)
{
    if (i < 2)
        return i ? each_s[0] : 0;
    double slope = (each_s[i - 1] - each_s[i - 2]) / (double)(sizes[i - 1] - sizes[i - 2]);
    return each_s[i - 1] + (slope > 0 ? slope * (double)(sizes[i] - sizes[i - 1]) : 0);
}

static void leave_out(struct trial *t, enum kind kind, size_t i, int distance)
{
    char text[160], beyond[64] = "";

    if (distance > 1)
        snprintf(beyond, sizeof beyond, " of ranks that differ by %d or more", distance);
    snprintf(text, sizeof text, "%s%s with %zu bytes", kind == SUMS ? "all-reduce" : "exchanges",
             beyond, sizes[i]);
    if (t->left_out)
        cjson_add(t->left_out, NULL, cJSON_CreateString(text));
}

/* Returns how many pairs of ranks differ by this distance, around a ring of all. A sum, which has
 * distance 0, is one of all ranks. */
static int count_pairs(int nranks, int distance)
{
    return distance == 0 ? 1 : 2 * distance == nranks ? distance : nranks;
}

/* Ranks that differ by distance exchange, pair by pair. Sets t->seconds by pair and *took_s, the
 * same on all ranks. */
static int measure_distance(struct trial *t, size_t i, int distance, double *took_s, struct err *e)
{
    struct comm *c = t->comm;
    double began = clock_now();
    int n = c->size;

    memset(t->seconds, 0, ((size_t)n + 1) * sizeof *t->seconds);
    for (int r = 0; r < count_pairs(n, distance); r++) {
        int peer = (r + distance) % n, own = c->rank;
        if (c->ops->barrier(c, e))
            return -1;
        if ((distance == 0 || own == r || own == peer) &&
            repeat(t, distance == 0 ? own : own == r ? peer : r, sizes[i], &t->seconds[r], e))
            return -1;
    }
    t->seconds[n] = clock_now() - began;
    if (comm_max_double(c, t->seconds, (size_t)n + 1, e))
        return -1;
    *took_s = t->seconds[n];
    return 0;
}

/* Measures a kind of this size as far as it stays within the budget, and adds the times to `to`,
 * which is NULL on other ranks than 0. */
static int measure(struct trial *t, enum kind kind, size_t i, cJSON *to, struct err *e)
{
    int n = t->comm->size, distance = kind == SUMS ? 0 : 1, farthest = kind == SUMS ? 0 : n / 2;
    double took_s = 0, left_s = BUDGET_S, most = count_pairs(n, distance) *
                                                 (count_repeats(sizes[i]) + 1);
    cJSON *links = to && kind == EXCHANGES ? cjson_array(to, "links") : NULL;

    if (kind == EXCHANGES && !t->comm->ops->exchange)
        return 0;
    if (t->ndone[kind] != i || expect(t->each_s[kind], i) * most > BUDGET_S) {
        leave_out(t, kind, i, 0);
        return 0;
    }
    for (; distance <= farthest && took_s <= left_s; distance++) {
        if (measure_distance(t, i, distance, &took_s, e))
            return -1;
        left_s -= took_s;
        if (distance <= 1)
            t->each_s[kind][i] = took_s / most;
        if (to && kind == SUMS)
            cjson_addf(to, "sum_s=%g", t->seconds[0]);
        for (int r = 0; links && r < count_pairs(n, distance); r++) {
            cJSON *link = cjson_array(links, NULL);
            cjson_add(link, NULL, cJSON_CreateNumber(r));
            cjson_add(link, NULL, cJSON_CreateNumber((r + distance) % n));
            cjson_add(link, NULL, cJSON_CreateNumber(t->seconds[r]));
        }
    }
    t->ndone[kind]++;
    if (distance <= farthest)
        leave_out(t, kind, i, distance);
    return 0;
}

/* Sets t->data to memory in which training sums, or as good. */
static int open_data(struct trial *t, struct err *e)
{
    size_t nbytes = 2 * sizes[NSIZES - 1];
    struct comm *c = t->comm;
    float *values = NULL;

    if (c->ops->queue_sum) {
        t->gpu->ops->watch(t->gpu->device, check_device_wait, c);
        t->owns = true;
        t->data = t->gpu->ops->alloc(t->gpu->device, DEVICE_LOCAL, nbytes, e);
        return t->data ? t->gpu->ops->clear(t->gpu->device, t->data, nbytes, e) : -1;
    }
    if (comm_reduce_buffer(c, nbytes / sizeof *values, &values, e))
        return -1;
    t->owns = !values;
    t->data = values ? (char *)values : mem_zero(nbytes, 1, e);
    return t->data ? 0 : -1;
}

static int describe(struct trial *t, struct err *e)
{
    struct comm *c = t->comm;
    size_t room = sizeof c->host;
    char *hosts = mem_zero((size_t)c->size, room, e);
    char date[32];

    if (!hosts || c->ops->gather(c, c->host, hosts, room, e)) {
        free(hosts);
        return -1;
    }
    if (c->rank == 0) {
        clock_date(date);
        t->root = cJSON_CreateObject();
        cjson_addf(t->root, "schema=%d date=%s comm=%s", 1, date, c->ops->name);
        cJSON *names = cjson_array(t->root, "hosts");
        for (int r = 0; r < c->size; r++)
            cjson_add(names, NULL, cJSON_CreateString(hosts + (size_t)r * room));
        t->list = cjson_array(t->root, "sizes");
        t->left_out = cjson_array(t->root, "left_out");
    }
    free(hosts);
    return 0;
}

static int measure_all(struct trial *t, struct err *e)
{
    for (size_t i = 0; i < NSIZES; i++) {
        cJSON *to = t->list ? cjson_object(t->list, NULL) : NULL;
        if (to)
            cjson_addf(to, "bytes=%zu", sizes[i]);
        if (measure(t, SUMS, i, to, e) || measure(t, EXCHANGES, i, to, e))
            return -1;
    }
    return t->comm->ops->barrier(t->comm, e);
}

int bandwidth_measure(struct comm *c, const struct device_comm *gpu, const char *dir, struct err *e)
{
    struct trial t = {.comm = c, .gpu = gpu};
    char path[PATH_MAX];
    int rc = -1;

    if (c->size == 1)
        return err_set(e, ERR_USAGE, "train: --bandwidth: one rank has no other to exchange with");
    snprintf(path, sizeof path, "%.4000s/bandwidth.json", dir);
    t.seconds = mem_zero((size_t)c->size + 1, sizeof *t.seconds, e);
    if (t.seconds && open_data(&t, e) == 0 && describe(&t, e) == 0 && measure_all(&t, e) == 0)
        rc = 0;
    /* after an error a message may still be in flight, and the process ends */
    if (rc == 0 && t.owns && c->ops->queue_sum)
        gpu->ops->free(gpu->device, DEVICE_LOCAL, t.data);
    else if (rc == 0 && t.owns)
        free(t.data);
    if (rc == 0 && c->rank == 0)
        rc = cjson_write(t.root, path, e);
    else
        cJSON_Delete(t.root);
    free(t.seconds);
    return rc;
}
