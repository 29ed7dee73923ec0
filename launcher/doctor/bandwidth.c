/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <math.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/stat.h"

#define MAX_FILE ((size_t)64 << 20)
#define SLOW 0.5 /* of the median */
#define MOST_NAMED 8 /* links */

static const char *const kind_names[] = {"of the same node", "of different nodes"};

/* One size's links as numbers. */
struct table {
    const json_t *hosts;
    size_t nranks, nlinks;
    double bytes;
    struct link { size_t ranks[2]; enum bandwidth_kind kind; double speed; } *links;
    /* usual: what a quarter of a rank's links of a kind exceed; NaN if it has none. is_slow: in
     * this or an earlier kind. */
    struct { double usual; bool is_slow; } *ranks;
    double *some; /* room for a value of each link and rank */
};

static const char *host_of(const struct table *t, size_t rank)
{
    return json_string_value(json_array_get(t->hosts, rank));
}

static void close_table(struct table *t)
{
    free(t->links);
    free(t->ranks);
    free(t->some);
}

/* Opens the table of an element of "sizes". Returns 0, or -1 if it is damaged or memory ran out;
 * close_table in either case. */
static int open_table(struct table *t, const json_t *measured, const json_t *size, struct err *e)
{
    json_t *hosts = json_object_get(measured, "hosts"), *links = json_object_get(size, "links");
    size_t n = json_array_size(hosts), nlinks = json_array_size(links);
    double bytes = json_number_value(json_object_get(size, "bytes")), seconds = 0;
    bool is_whole = n >= 2 && bytes > 0;
    int a = -1, b = -1;

    *t = (struct table){.hosts = hosts, .nranks = n, .nlinks = nlinks, .bytes = bytes};
    t->links = mem_zero(nlinks, sizeof *t->links, e);
    t->ranks = mem_zero(n, sizeof *t->ranks, e);
    t->some = mem_zero(nlinks + n, sizeof *t->some, e);
    if (!t->links || !t->ranks || !t->some)
        return -1;
    for (size_t i = 0; i < n; i++)
        is_whole = is_whole && host_of(t, i);
    for (size_t i = 0; is_whole && i < nlinks; i++) {
        is_whole = json_unpack(json_array_get(links, i), "[i,i,F]", &a, &b, &seconds) == 0 &&
                   a >= 0 && b >= 0 && a != b && (size_t)a < n && (size_t)b < n && seconds > 0;
        if (is_whole)
            t->links[i] = (struct link){{(size_t)a, (size_t)b},
                                        strcmp(host_of(t, (size_t)a), host_of(t, (size_t)b)) != 0,
                                        bytes / seconds};
    }
    return is_whole ? 0 : err_set(e, ERR_DATA, "it is damaged; 'unetctl doctor --bandwidth --gpus "
                                  "N' measures again");
}

json_t *bandwidth_read(const char *dir, struct err *e)
{
    char path[PATH_MAX];
    json_t *root = jsonio_read(path_format(path, "%s/" BANDWIDTH_FILE, dir), MAX_FILE, e);
    json_t *sizes = json_object_get(root, "sizes");
    struct table t;
    size_t i = 0;

    while (root && (i == 0 || i < json_array_size(sizes))) {
        int rc = open_table(&t, root, json_array_get(sizes, i++), e);
        close_table(&t);
        if (rc == 0)
            continue;
        err_prefix(e, "%s", path);
        json_decref(root);
        root = NULL;
    }
    return root;
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

/* Returns whether this is a link of the kind, between ranks that are not known to be slow. */
static bool counts(const struct table *t, const struct link *l, enum bandwidth_kind kind)
{
    return l->kind == kind && !t->ranks[l->ranks[0]].is_slow && !t->ranks[l->ranks[1]].is_slow;
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

/* Sets the usual links of a kind. Returns their median, or NaN for fewer than three links. */
static double find_usual(struct table *t, enum bandwidth_kind kind)
{
    size_t m = 0, ends = 0;

    for (size_t r = 0; r < t->nranks; r++) {
        size_t n = 0;
        for (const struct link *l = t->links; l < t->links + t->nlinks; l++)
            if ((l->ranks[0] == r || l->ranks[1] == r) && counts(t, l, kind))
                t->some[n++] = l->speed;
        ends += n;
        stat_sort(t->some, n);
        t->ranks[r].usual = n ? t->some[n - 1 - n / 4] : NAN;
    }
    for (size_t r = 0; r < t->nranks; r++)
        if (!isnan(t->ranks[r].usual))
            t->some[m++] = t->ranks[r].usual;
    return ends >= 2 * 3 ? stat_median(t->some, m) : NAN;
}

static void add_slow(const char *who, double speed, double median, enum bandwidth_kind kind,
                     const char *remedy, struct findings *f)
{
    findings_add(f, FINDING_WARNING, "bandwidth",
                 "%s: %.3g GB/s to ranks %s, and the median of its peers is %.3g GB/s\n%s", who,
                 speed / 1e9, kind_names[kind], median / 1e9, remedy);
}

static void judge_ranks(struct table *t, enum bandwidth_kind kind, struct findings *f, json_t *slow)
{
    double median = find_usual(t, kind);
    char who[320], remedy[512];

    for (size_t r = 0; r < t->nranks; r++)
        t->ranks[r].is_slow |= t->ranks[r].usual < SLOW * median;
    for (size_t r = 0; r < t->nranks; r++) {
        const char *host = host_of(t, r);
        bool is_node = true, is_first = true; /* all ranks of the host that have links are slow */
        if (!t->ranks[r].is_slow || isnan(t->ranks[r].usual))
            continue;
        for (size_t k = 0; k < t->nranks; k++)
            if (strcmp(host_of(t, k), host) == 0 && !isnan(t->ranks[k].usual)) {
                is_node &= t->ranks[k].is_slow;
                is_first &= k >= r;
            }
        if (is_node && !is_first)
            continue;
        snprintf(who, sizeof who, "rank %zu on %s is slow", r, host);
        if (is_node) {
            snprintf(who, sizeof who, "node %s is slow", host);
            json_array_append_new(slow, json_string(host));
        }
        snprintf(remedy, sizeof remedy, "look for other load and for the state of its network card "
                 "there, or leave the node out (-- --exclude=%s)", host);
        add_slow(who, t->ranks[r].usual, median, kind, remedy, f);
    }
}

static void judge_links(const struct table *t, enum bandwidth_kind kind, struct findings *f)
{
    double median = median_link(t, kind);
    size_t nslow = 0;
    char who[640];

    for (const struct link *l = t->links; l < t->links + t->nlinks; l++) {
        if (!counts(t, l, kind) || !(l->speed < SLOW * median) || ++nslow > MOST_NAMED)
            continue;
        snprintf(who, sizeof who, "the link of rank %zu on %s and rank %zu on %s is slow",
                 l->ranks[0], host_of(t, l->ranks[0]), l->ranks[1], host_of(t, l->ranks[1]));
        add_slow(who, l->speed, median, kind, "measure again; if it stays slow, ask for the cable "
                 "or the switch between them", f);
    }
    if (nslow > MOST_NAMED)
        findings_add(f, FINDING_WARNING, "bandwidth", "%zu more links of ranks %s are slow",
                     nslow - MOST_NAMED, kind_names[kind]);
}

/* An all-reduce of the smallest or the largest size that was measured; zeros if none was. */
struct sum {
    double bytes, seconds, speed; /* speed: bytes per second that each of n ranks sends */
};

static struct sum find_sum(const json_t *measured, double n, bool largest)
{
    const json_t *size = find_size(measured, "sum_s", largest);
    double bytes = json_number_value(json_object_get(size, "bytes"));
    double seconds = json_number_value(json_object_get(size, "sum_s"));

    return (struct sum){bytes, seconds, seconds > 0 ? 2 * (n - 1) / n * bytes / seconds : 0};
}

void bandwidth_links(const json_t *measured, struct bandwidth_link dst[BANDWIDTH_KINDS])
{
    double n = (double)json_array_size(json_object_get(measured, "hosts"));
    bool has_links = find_size(measured, "links", true);
    struct table t;
    struct err ignored;

    memset(dst, 0, BANDWIDTH_KINDS * sizeof *dst);
    for (int largest = 0; largest < 2 && has_links; largest++) {
        int rc = open_table(&t, measured, find_size(measured, "links", largest), &ignored);
        for (enum bandwidth_kind i = 0; rc == 0 && i < BANDWIDTH_KINDS; i++) {
            double speed = median_link(&t, i);
            if (!isnan(speed))
                *(largest ? &dst[i].bytes_per_s : &dst[i].latency_s) =
                    largest ? speed : t.bytes / speed;
        }
        close_table(&t);
    }
    if (!has_links)
        dst[BANDWIDTH_WITHIN] = (struct bandwidth_link){
            find_sum(measured, n, true).speed,
            find_sum(measured, n, false).seconds / (2 * ceil(log2(n)))};
}

static void add_measured(const json_t *measured, struct findings *f)
{
    size_t n = json_array_size(json_object_get(measured, "hosts")), i;
    bool has_links = find_size(measured, "links", true);
    struct sum sum = find_sum(measured, (double)n, true);
    struct bandwidth_link links[BANDWIDTH_KINDS];
    struct buf text = {0};
    json_t *left_out;

    bandwidth_links(measured, links);
    buf_addf(&text, "%zu rank%s by %s", n, plural((long)n), jsonio_text(measured, "comm"));
    if (sum.speed > 0)
        buf_addf(&text, ": an all-reduce of %.4g MiB takes %.3g ms, %.3g GB/s",
                 sum.bytes / 0x100000, 1e3 * sum.seconds, sum.speed / 1e9);
    for (i = 0; i < BANDWIDTH_KINDS && has_links; i++)
        if (links[i].bytes_per_s > 0)
            buf_addf(&text, "; ranks %s exchange %.3g GB/s, %.3g us", kind_names[i],
                     links[i].bytes_per_s / 1e9, 1e6 * links[i].latency_s);
    findings_add(f, FINDING_OK, "bandwidth", "%s", text.data ? text.data : "");
    buf_destroy(&text);
    json_array_foreach(json_object_get(measured, "left_out"), i, left_out)
        findings_add(f, FINDING_OK, "bandwidth", "left out, as it takes more than 4 s: %s",
                     json_string_value(left_out));
}

void bandwidth_judge(const json_t *measured, struct findings *f, json_t *slow)
{
    const json_t *size = find_size(measured, "links", true);
    struct err ignored;
    struct table t;

    add_measured(measured, f);
    if (!size)
        return;
    if (open_table(&t, measured, size, &ignored))
        f->failed = true;
    for (int i = BANDWIDTH_KINDS - 1; !f->failed && i >= 0; i--) {
        judge_ranks(&t, (enum bandwidth_kind)i, f, slow);
        judge_links(&t, (enum bandwidth_kind)i, f);
    }
    close_table(&t);
}
