/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/bandwidth.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/buf.h"
#include "src/mem.h"
#include "src/plural.h"
#include "src/stat.h"

#define MAX_FILE ((size_t)64 << 20)
#define SLOW 0.5 /* of the median */
#define MOST_NAMED 8 /* links */

static const char *const kind_names[] = {"of the same node", "of different nodes"};

static const char *host_of(const json_t *measured, size_t rank)
{
    return json_string_value(json_array_get(json_object_get(measured, "hosts"), rank));
}

static size_t count_ranks(const json_t *measured)
{
    return json_array_size(json_object_get(measured, "hosts"));
}

/* Returns whether this is a list [RANK, RANK, SECONDS] of two of the ranks. */
static bool is_link(const json_t *link, size_t nranks)
{
    const json_t *a = json_array_get(link, 0), *b = json_array_get(link, 1);

    return json_is_integer(a) && json_is_integer(b) && json_integer_value(a) >= 0 &&
           json_integer_value(b) >= 0 && (size_t)json_integer_value(a) < nranks &&
           (size_t)json_integer_value(b) < nranks &&
           json_integer_value(a) != json_integer_value(b) &&
           json_number_value(json_array_get(link, 2)) > 0;
}

static bool is_whole(const json_t *measured)
{
    json_t *sizes = json_object_get(measured, "sizes"), *size, *link;
    size_t n = count_ranks(measured), i, j;

    for (i = 0; i < n; i++)
        if (!host_of(measured, i))
            return false;
    json_array_foreach(sizes, i, size) {
        if (!(json_number_value(json_object_get(size, "bytes")) > 0))
            return false;
        json_array_foreach(json_object_get(size, "links"), j, link) {
            if (!is_link(link, n))
                return false;
        }
    }
    return n >= 2 && json_array_size(sizes) > 0;
}

json_t *bandwidth_read(const char *dir, struct err *e)
{
    char path[PATH_MAX];
    json_t *root = jsonio_read(path_format(path, "%s/" BANDWIDTH_FILE, dir), MAX_FILE, e);

    if (!root || is_whole(root))
        return root;
    err_set(e, ERR_DATA, "%s: it is damaged; 'unetctl doctor --bandwidth --gpus N' measures again",
            path);
    json_decref(root);
    return NULL;
}

/* Returns the entry of the smallest or the largest message size that has a number or a list under
 * this key, or NULL if none has. */
static const json_t *find_size(const json_t *measured, const char *key, bool largest)
{
    const json_t *found = NULL;
    json_t *size, *value;
    size_t i;

    json_array_foreach(json_object_get(measured, "sizes"), i, size) {
        value = json_object_get(size, key);
        if ((json_is_number(value) || json_array_size(value)) && (largest || !found))
            found = size;
    }
    return found;
}

static double bytes_of(const json_t *size)
{
    return json_number_value(json_object_get(size, "bytes"));
}

/* One size's links as numbers. */
struct table {
    const json_t *measured;
    size_t nranks, nlinks;
    double bytes;
    struct link { size_t ranks[2]; enum bandwidth_kind kind; double speed; } *links;
    double *usual; /* by rank, what a quarter of its links of a kind exceed; NaN if it has none */
    double *some;  /* room for a value of each link and rank */
    bool *is_slow; /* by rank, in this or an earlier kind */
};

static void close_table(struct table *t)
{
    free(t->links);
    free(t->usual);
    free(t->some);
    free(t->is_slow);
}

static int open_table(struct table *t, const json_t *measured, const json_t *size)
{
    json_t *links = json_object_get(size, "links"), *link;
    struct err ignored;
    size_t i;

    *t = (struct table){.measured = measured, .nranks = count_ranks(measured),
                        .nlinks = json_array_size(links), .bytes = bytes_of(size)};
    t->links = mem_zero(t->nlinks, sizeof *t->links, &ignored);
    t->usual = mem_zero(t->nranks, sizeof *t->usual, &ignored);
    t->some = mem_zero(t->nlinks + t->nranks, sizeof *t->some, &ignored);
    t->is_slow = mem_zero(t->nranks, sizeof *t->is_slow, &ignored);
    if (!t->links || !t->usual || !t->some || !t->is_slow)
        return -1;
    json_array_foreach(links, i, link) {
        struct link *l = &t->links[i];
        for (size_t k = 0; k < 2; k++)
            l->ranks[k] = (size_t)json_integer_value(json_array_get(link, k));
        l->kind = strcmp(host_of(measured, l->ranks[0]), host_of(measured, l->ranks[1]))
                      ? BANDWIDTH_BETWEEN
                      : BANDWIDTH_WITHIN;
        l->speed = t->bytes / json_number_value(json_array_get(link, 2));
    }
    return 0;
}

/* Returns whether this is a link of the kind, between ranks that are not known to be slow. */
static bool counts(const struct table *t, const struct link *l, enum bandwidth_kind kind)
{
    return l->kind == kind && !t->is_slow[l->ranks[0]] && !t->is_slow[l->ranks[1]];
}

/* Returns the median bandwidth of the links of a kind between ranks that are not slow, or NaN. */
static double median_link(const struct table *t, enum bandwidth_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < t->nlinks; i++)
        if (counts(t, &t->links[i], kind))
            t->some[n++] = t->links[i].speed;
    return n ? stat_median(t->some, n) : NAN;
}

static int compare_down(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

/* Sets the usual links of a kind. Returns their median, or NaN for fewer than three links. */
static double find_usual(struct table *t, enum bandwidth_kind kind)
{
    size_t n, m = 0, ends = 0;

    for (size_t r = 0; r < t->nranks; r++) {
        n = 0;
        for (size_t i = 0; i < t->nlinks; i++)
            if ((t->links[i].ranks[0] == r || t->links[i].ranks[1] == r) &&
                counts(t, &t->links[i], kind))
                t->some[n++] = t->links[i].speed;
        ends += n;
        qsort(t->some, n, sizeof *t->some, compare_down);
        t->usual[r] = n ? t->some[n / 4] : NAN;
    }
    for (size_t r = 0; r < t->nranks; r++)
        if (!isnan(t->usual[r]))
            t->some[m++] = t->usual[r];
    return ends >= 2 * 3 ? stat_median(t->some, m) : NAN;
}

/* Returns whether all ranks of this one's host that have links are slow. Sets *is_first to whether
 * this one is the first of them. */
static bool leads_slow_node(const struct table *t, size_t rank, bool *is_first)
{
    const char *host = host_of(t->measured, rank);
    bool all = true;

    *is_first = true;
    for (size_t r = 0; r < t->nranks; r++)
        if (strcmp(host_of(t->measured, r), host) == 0 && !isnan(t->usual[r])) {
            all &= t->is_slow[r];
            *is_first &= r >= rank;
        }
    return all;
}

static void add_slow(const char *who, double speed, double median, enum bandwidth_kind kind,
                     struct findings *f)
{
    findings_add(f, FINDING_WARNING, "bandwidth",
                 "%s: %.3g GB/s to ranks %s, and the median of its peers is %.3g GB/s", who,
                 speed / 1e9, kind_names[kind], median / 1e9);
}

static void judge_ranks(struct table *t, enum bandwidth_kind kind, struct findings *f,
                        json_t *slow)
{
    double median = find_usual(t, kind);
    char who[320];
    bool is_first;

    for (size_t r = 0; r < t->nranks; r++)
        t->is_slow[r] |= t->usual[r] < SLOW * median;
    for (size_t r = 0; r < t->nranks; r++) {
        if (!t->is_slow[r] || isnan(t->usual[r]))
            continue;
        const char *host = host_of(t->measured, r);
        bool node = leads_slow_node(t, r, &is_first);
        if (node && !is_first)
            continue;
        if (node) {
            snprintf(who, sizeof who, "node %s is slow", host);
            json_array_append_new(slow, json_string(host));
        } else {
            snprintf(who, sizeof who, "rank %zu on %s is slow", r, host);
        }
        add_slow(who, t->usual[r], median, kind, f);
        findings_remedy(f, "look for other load and for the state of its network card there, or "
                           "leave the node out (-- --exclude=%s)", host);
    }
}

static void judge_links(const struct table *t, enum bandwidth_kind kind, struct findings *f)
{
    double median = median_link(t, kind);
    char who[640];
    size_t more = 0;

    for (size_t i = 0; i < t->nlinks; i++) {
        const struct link *l = &t->links[i];
        size_t a = l->ranks[0], b = l->ranks[1];
        if (!counts(t, l, kind) || !(l->speed < SLOW * median) || ++more > MOST_NAMED)
            continue;
        snprintf(who, sizeof who, "the link of rank %zu on %s and rank %zu on %s is slow", a,
                 host_of(t->measured, a), b, host_of(t->measured, b));
        add_slow(who, l->speed, median, kind, f);
        findings_remedy(f, "measure again; if it stays slow, ask for the cable or the switch "
                           "between them");
    }
    if (more > MOST_NAMED)
        findings_add(f, FINDING_WARNING, "bandwidth", "%zu more links of ranks %s are slow",
                     more - MOST_NAMED, kind_names[kind]);
}

/* Returns bytes per second that each rank sends in an all-reduce of the largest size, or 0. */
static double sum_speed(const json_t *measured, double *bytes, double *seconds)
{
    const json_t *size = find_size(measured, "sum_s", true);
    double n = (double)count_ranks(measured);

    *bytes = bytes_of(size);
    *seconds = json_number_value(json_object_get(size, "sum_s"));
    return *seconds > 0 ? 2 * (n - 1) / n * *bytes / *seconds : 0;
}

void bandwidth_links(const json_t *measured, struct bandwidth_link dst[BANDWIDTH_KINDS])
{
    const json_t *sizes[] = {find_size(measured, "links", false),
                             find_size(measured, "links", true)};
    double bytes, seconds, n = (double)count_ranks(measured);
    struct table t;

    memset(dst, 0, BANDWIDTH_KINDS * sizeof *dst);
    for (size_t k = 0; k < 2 && sizes[1]; k++) {
        int rc = open_table(&t, measured, sizes[k]);
        for (enum bandwidth_kind i = 0; rc == 0 && i < BANDWIDTH_KINDS; i++) {
            double speed = median_link(&t, i);
            if (!isnan(speed))
                *(k ? &dst[i].bytes_per_s : &dst[i].latency_s) = k ? speed : t.bytes / speed;
        }
        close_table(&t);
    }
    if (!sizes[1] && (dst[BANDWIDTH_WITHIN].bytes_per_s = sum_speed(measured, &bytes, &seconds)))
        dst[BANDWIDTH_WITHIN].latency_s =
            json_number_value(json_object_get(find_size(measured, "sum_s", false), "sum_s")) /
            (2 * ceil(log2(n)));
}

static void add_measured(const json_t *measured, struct findings *f)
{
    struct bandwidth_link links[BANDWIDTH_KINDS];
    double bytes, seconds, speed = sum_speed(measured, &bytes, &seconds);
    size_t n = count_ranks(measured), i;
    struct buf text = {0};
    json_t *left_out;

    bandwidth_links(measured, links);
    buf_addf(&text, "%zu rank%s by %s", n, plural((long)n),
             json_string_value(json_object_get(measured, "comm")));
    if (speed > 0)
        buf_addf(&text, ": an all-reduce of %.4g MiB takes %.3g ms, %.3g GB/s", bytes / 0x100000,
                 1e3 * seconds, speed / 1e9);
    for (i = 0; i < BANDWIDTH_KINDS && find_size(measured, "links", true); i++)
        if (links[i].bytes_per_s > 0)
            buf_addf(&text, "; ranks %s exchange %.3g GB/s, %.3g us", kind_names[i],
                     links[i].bytes_per_s / 1e9, 1e6 * links[i].latency_s);
    findings_add(f, FINDING_OK, "bandwidth", "%s", text.data ? text.data : "");
    buf_destroy(&text);
    json_array_foreach(json_object_get(measured, "left_out"), i, left_out) {
        findings_add(f, FINDING_OK, "bandwidth", "left out, as it takes more than 4 s: %s",
                     json_string_value(left_out));
    }
}

void bandwidth_judge(const json_t *measured, struct findings *f, json_t *slow)
{
    const json_t *size = find_size(measured, "links", true);
    struct table t;

    add_measured(measured, f);
    if (!size)
        return;
    if (open_table(&t, measured, size))
        f->failed = true;
    for (int i = BANDWIDTH_KINDS - 1; !f->failed && i >= 0; i--) {
        judge_ranks(&t, (enum bandwidth_kind)i, f, slow);
        judge_links(&t, (enum bandwidth_kind)i, f);
    }
    close_table(&t);
}
