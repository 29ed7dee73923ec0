/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <math.h>

#include "launcher/host/jsonio.h"
#include "launcher/study/study.h"

#define NOFILE_BASE 256      /* files of a rank besides its connections */
#define NPROC_LOW 1024
#define CLOCK_WARNING_S 1.0
#define CLOCK_ERROR_S 60.0   /* far below 300 s, from which munge refuses credentials */
#define LIST_BLANKS " \t\n,"
#define MOST_NAMED 8 /* routes, names */
#define ONE_STEP                                                                                   \
    "start all ranks as one step (one srun), and let no start-up file set SLURM_ variables"

/* ---- the list ---- */

static const char *const level_names[] = {"ok", "warning", "error"};

void findings_add(struct findings *f, enum finding_level level, const char *check, const char *fmt,
                  ...)
{
    struct finding *grown = realloc(f->list, (f->count + 1) * sizeof *grown);
    char *head = strndup(fmt, strcspn(fmt, "\n")), *text;
    va_list ap;

    if (grown)
        f->list = grown;
    va_start(ap, fmt);
    int length = head ? vsnprintf(NULL, 0, head, ap) : -1; /* what it prints may have newlines */
    va_end(ap);
    va_start(ap, fmt);
    if (!grown || length < 0 || vasprintf(&text, fmt, ap) < 0) {
        f->failed = true;
    } else {
        char *remedy = text + length + (text[length] == '\n');
        text[length] = 0;
        f->list[f->count++] = (struct finding){level, check, control_blank(text),
                                               control_blank(remedy)};
    }
    va_end(ap);
    free(head);
}

size_t findings_count(const struct findings *f, enum finding_level level)
{
    size_t n = 0;

    for (size_t i = 0; i < f->count; i++)
        n += f->list[i].level == level;
    return n;
}

int findings_print(const struct findings *f, bool as_json, struct err *e)
{
    if (f->failed)
        return err_errno(e, ERR_INTERNAL, ENOMEM, "doctor");
    json_t *list = as_json ? json_array() : NULL;
    for (const struct finding *n = f->list; n < f->list + f->count; n++) {
        if (as_json)
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "check", n->check,
                                                  "level", level_names[n->level], "text", n->text,
                                                  "remedy", n->remedy));
        else
            printf("%-8s %-9s %s\n", level_names[n->level], n->check, n->text);
        if (!as_json && *n->remedy)
            printf("%-18s -> %s\n", "", n->remedy);
    }
    if (!as_json)
        return 0;
    return jsonio_print(json_pack("{s:i, s:i, s:i, s:o}", "schema", 1, "errors",
                                  (int)findings_count(f, FINDING_ERROR), "warnings",
                                  (int)findings_count(f, FINDING_WARNING), "findings", list),
                        15, "the findings", e);
}

void findings_destroy(struct findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->list[i].text);
    free(f->list);
    *f = (struct findings){0};
}

/* ---- reports ---- */

/* Visit the reports of the ranks i that left one, and the elements of a member of o; break ends
 * neither. */
#define for_each_report(ranks, i, r)                                                               \
    for (size_t i = 0; i < json_array_size(ranks); i++)                                            \
        for (const json_t *r = json_array_get(ranks, i); json_is_object(r); r = NULL)
#define for_each_element(o, key, i, x)                                                             \
    for (size_t i = 0; i < json_array_size(fact_of(o, key)); i++)                                  \
        for (const json_t *x = json_array_get(fact_of(o, key), i); x; x = NULL)

/* Returns a member, or with "NAME.MEMBER" a member of a member; NULL if there is none. */
static const json_t *fact_of(const json_t *report, const char *name)
{
    const char *dot = strchr(name, '.');
    char head[32];

    snprintf(head, sizeof head, "%.*s", (int)strcspn(name, "."), name);
    report = json_object_get(report, head);
    return dot ? json_object_get(report, dot + 1) : report;
}

static const char *text_of(const json_t *report, const char *name)
{
    const char *text = json_string_value(fact_of(report, name));

    return text ? text : "";
}

static const json_t *first_report(const json_t *ranks)
{
    for_each_report(ranks, i, r)
        return r;
    return NULL;
}

/* Returns whether these are ranks of a rehearsal, also if none left a report, and not this host. */
static bool is_rehearsal(const json_t *ranks)
{
    const json_t *first = first_report(ranks);

    return !first || json_object_get(first, "index");
}

/* The words that a finding names, each once; "..." replaces those that do not fit. */
struct words {
    char text[400];
    size_t count;
};

static void add_word(struct words *w, const char *between, const char *word)
{
    size_t n = strlen(w->text), length = strlen(word);

    for (const char *s = strstr(w->text, word); length && s; s = strstr(s + 1, word))
        if ((s == w->text || s[-1] == ' ') && strchr(", ", s[length]))
            return;
    w->count++;
    if (n == 0 || n + length + 8 < sizeof w->text)
        snprintf(w->text + n, sizeof w->text - n - 4, "%s%s", n ? between : "", word);
    else if (n < 3 || strcmp(w->text + n - 3, "...") != 0)
        strcpy(w->text + n, " ...");
}

/* ---- the table of checks ---- */

/* One row: either what is wrong with a host by itself, which a fact of its report says, or a
 * comparison of reports. */
struct check {
    void (*compare)(const json_t *ranks, struct findings *dst);
    const char *name;
    /* A text, or a list of texts, "NAME=VALUE" or "NAME ..."; "" or `fine`: nothing is wrong. */
    const char *fact, *fine;
    enum finding_level level;
    /* good (NULL: none) is what holds if no report of those with the fact has it. wrong is a format
     * of the hosts, what is wrong there, and the list's names, or for a text the first host. */
    const char *good, *wrong;
};

/* Returns whether a report says that something is wrong. Adds what follows, with each NAME once,
 * unless dst is NULL. */
static bool check_fact(const json_t *ranks, const struct check *c, struct findings *dst)
{
    struct words hosts = {"", 0}, what = {"", 0}, names = {"", 0};
    bool is_known = false, is_list = false;
    char name[256];

    for_each_report(ranks, i, r) {
        const json_t *fact = fact_of(r, c->fact);
        is_known |= fact != NULL;
        is_list |= json_is_array(fact);
        for (size_t k = 0; k < (is_list ? json_array_size(fact) : 1); k++) {
            const char *text = json_string_value(is_list ? json_array_get(fact, k) : fact);
            size_t before = names.count;
            if (!text || strcmp(text, c->fine ? c->fine : "") == 0)
                continue;
            snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "= "), text);
            add_word(&hosts, ", ", text_of(r, "host"));
            add_word(&names, " ", name);
            if (names.count > before)
                add_word(&what, ", ", text);
        }
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(hosts.text, ", "), hosts.text);
    if (dst && hosts.count)
        findings_add(dst, c->level, c->name, c->wrong, hosts.text, what.text,
                     is_list ? names.text : name);
    else if (dst && is_known && c->good)
        findings_add(dst, FINDING_OK, c->name, "%s", c->good);
    return hosts.count;
}

static bool has_fault(const json_t *ranks, const char *fact)
{
    return check_fact(ranks, &(struct check){.fact = fact}, NULL);
}

/* ---- comparisons ---- */

/* Returns the host of a rank that left no report, as another rank knows it from the specification,
 * or "unknown host". */
static const char *host_of(const json_t *ranks, size_t index)
{
    for_each_report(ranks, i, r)
        for_each_element(r, "peers", k, peer)
            if ((size_t)jsonio_integer(peer, "index") == index)
                return text_of(peer, "host");
    return "unknown host";
}

static void compare_presence(const json_t *ranks, struct findings *dst)
{
    struct words silent = {"", 0};
    char number[300];

    for (size_t i = 0; i < json_array_size(ranks); i++)
        if (json_is_null(json_array_get(ranks, i))) {
            snprintf(number, sizeof number, "%zu (%.255s)", i, host_of(ranks, i));
            add_word(&silent, ", ", number);
        }
    if (silent.count)
        findings_add(dst, FINDING_ERROR, "ranks",
                     "%zu of %zu ranks did not report to the study's folder: %s\nlook into the "
                     "job's output (above): either they did not start, or their node does not see "
                     "the study's folder", silent.count, json_array_size(ranks), silent.text);
    else if (is_rehearsal(ranks))
        findings_add(dst, FINDING_OK, "ranks", "all %zu started, and the study's folder is visible "
                     "from each", json_array_size(ranks));
}

/* Compares what a rank sees of the cluster with what the first one sees. Returns the remedy of the
 * difference that explains the others, which problem names, or NULL. */
static const char *compare_specs(const json_t *r, const json_t *first, char problem[2048])
{
    const char *nodes = text_of(r, "spec.nodes"), *tasks = text_of(r, "spec.per_node");
    const char *node = text_of(first, "spec.node"), *hash = text_of(r, "spec.hash");

    if (strcmp(nodes, text_of(first, "spec.nodes")) != 0 ||
        strcmp(tasks, text_of(first, "spec.per_node")) != 0) {
        snprintf(problem, 2048, "it sees another cluster: %s %s; rank 0 on %s has %s %s", nodes,
                 tasks, node, text_of(first, "spec.nodes"), text_of(first, "spec.per_node"));
        return ONE_STEP;
    }
    if (strcmp(hash, text_of(first, "spec.hash")) == 0)
        return NULL;
    snprintf(problem, 2048, "it has another specification of the same nodes: it listens at port "
             "%lld, sha256 %.16s; rank 0 on %s has %.16s",
             (long long)json_integer_value(fact_of(r, "spec.port")), hash, node,
             text_of(first, "spec.hash"));
    return "give every rank the same --port-base, --jobs and --resolver, and the same "
           "SLURM_JOB_ID and SLURM_DISTRIBUTION";
}

static void compare_numbering(const json_t *ranks, struct findings *dst)
{
    const json_t *first = first_report(ranks);
    char number[24], problem[2048];
    size_t found = 0;

    for_each_report(ranks, i, r) {
        const char *procid = text_of(r, "procid"), *remedy = ONE_STEP;
        snprintf(number, sizeof number, "%zu", i);
        snprintf(problem, sizeof problem, "%s", text_of(r, "place"));
        if (*procid && strcmp(procid, number) != 0)
            snprintf(problem, sizeof problem, "its launcher calls it rank %.20s", procid);
        else if (!*problem)
            remedy = compare_specs(r, first, problem);
        if (remedy && found++ < 4)
            findings_add(dst, FINDING_ERROR, "numbering", "rank %zu (%s): %s\n%s ('launcher' and "
                         "'spec' of the site belong together)", i, text_of(r, "host"), problem,
                         remedy);
    }
    if (!found && first && is_rehearsal(ranks))
        findings_add(dst, FINDING_OK, "numbering", "all ranks have the same cluster specification");
}

/* Adds a finding if the host cannot resolve the name, resolves it to the loopback address, or
 * resolves its address to another name. Returns whether it did. */
static bool check_name(const char *host, const json_t *name, struct findings *dst)
{
    const char *text = text_of(name, "name"), *back = text_of(name, "back");
    const char *error = text_of(name, "error");
    const char *address = json_string_value(json_array_get(json_object_get(name, "addresses"), 0));
    /* listed in $UNETCTL_HOSTS, as the nodes of a private Slurm on one machine are */
    bool is_listed = json_is_true(json_object_get(name, "listed"));

    address = address ? address : "?";
    if (*error)
        findings_add(dst, FINDING_ERROR, "names", "%s: the name %s does not resolve: %s\nif the "
                     "nodes' fast network has names of its own, set host_suffix in the site file; "
                     "otherwise /etc/hosts or DNS of that node lacks the name", host, text, error);
    else if (!is_listed && (strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0))
        findings_add(dst, FINDING_ERROR, "names", "%s: the name %s resolves to %s: ranks elsewhere "
                     "would be sent to their own host\non %s: take %s off the line of %s in "
                     "/etc/hosts", host, text, address, host, text, address);
    else if (!is_listed && *back && strncmp(back, text, strcspn(text, ".")) != 0)
        findings_add(dst, FINDING_WARNING, "names", "%s: %s is %s, but that address is called %s\n"
                     "make both ways agree in /etc/hosts or DNS, or set host_suffix in the site "
                     "file", host, text, address, back);
    else
        return false;
    return true;
}

static void compare_names(const json_t *ranks, struct findings *dst)
{
    const char *last = "", *name_of_first = text_of(first_report(ranks), "name");
    bool spans_hosts = false;
    size_t shown = 0;

    for_each_report(ranks, i, r)
        spans_hosts |= strcmp(text_of(r, "name"), name_of_first) != 0;
    if (!spans_hosts)
        return;
    for_each_report(ranks, i, r) {
        bool is_next = strcmp(text_of(r, "host"), last) == 0;
        last = text_of(r, "host");
        for_each_element(r, "names", k, name)
            shown += !is_next && shown < MOST_NAMED && check_name(last, name, dst);
    }
    if (!shown)
        findings_add(dst, FINDING_OK, "names", "every node resolves the others, both ways");
}

/* Returns whether the peer could not listen at its port, or left no report. Then that is reported,
 * and not the route. */
static bool cannot_listen(const json_t *ranks, const json_t *peer)
{
    const json_t *r = json_array_get(ranks, (size_t)jsonio_integer(peer, "index"));

    return !json_is_object(r) || *text_of(r, "port.error");
}

static void add_route(const char *host, size_t rank, const json_t *peer, struct findings *dst)
{
    const char *there = text_of(peer, "host");

    findings_add(dst, FINDING_ERROR, "routes", "rank %zu (%s) does not reach rank %lld (%s): %s\n"
                 "on %s: ip route get $(getent hosts %s | cut -d' ' -f1); a firewall between the "
                 "nodes, or -- --exclude=%s", rank, host, jsonio_integer(peer, "index"), there,
                 text_of(peer, "error"), host, there, there);
}

/* Each way from host to host is reported once. */
static void compare_routes(const json_t *ranks, struct findings *dst)
{
    struct words interfaces = {"", 0};
    json_t *failed = json_object();
    size_t reached = 0;
    char way[520];

    for_each_report(ranks, i, r)
        for_each_element(r, "peers", k, peer) {
            const char *interface = text_of(peer, "interface"), *host = text_of(r, "host");
            bool is_reached = json_is_true(fact_of(peer, "reached"));
            reached += is_reached;
            if (is_reached && *interface && strcmp(interface, "lo") != 0)
                add_word(&interfaces, ", ", interface);
            snprintf(way, sizeof way, "%.255s %.255s", host, text_of(peer, "host"));
            if (is_reached || cannot_listen(ranks, peer) || json_object_get(failed, way))
                continue;
            if (json_object_size(failed) < MOST_NAMED)
                add_route(host, i, peer, dst);
            json_object_set_new(failed, way, json_true());
        }
    if (!json_object_size(failed) && reached)
        findings_add(dst, FINDING_OK, "routes", "every rank reaches the others%s%s",
                     interfaces.count ? " through " : "", interfaces.text);
    if (interfaces.count > 1)
        findings_add(dst, FINDING_WARNING, "routes", "different interfaces are taken: %s\nif one "
                     "of them is slow: host_suffix in the site file names the fast network's hosts",
                     interfaces.text);
    json_decref(failed);
}

/* Compares the clocks of the hosts with that of rank 0, by the measurements of all ranks that
 * reached rank 0. The uncertainty of each is half of the round trip. */
static void compare_clocks(const json_t *ranks, struct findings *dst)
{
    double worst = 0, sure = 0, most = 0; /* most: no clock differs by more */
    const char *host = "";
    size_t n = 0;

    for_each_report(ranks, i, r)
        for_each_element(r, "peers", k, peer) {
            double skew = json_number_value(fact_of(peer, "clock_s"));
            double doubt = json_number_value(fact_of(peer, "rtt_ms")) / 2000;
            if (!json_is_true(fact_of(peer, "reached")) || jsonio_integer(peer, "index"))
                continue;
            n++;
            most = fmax(most, fabs(skew) + doubt);
            if (fabs(skew) - doubt > sure) {
                sure = fabs(skew) - doubt;
                worst = -skew;
                host = text_of(r, "host");
            }
        }
    if (sure > CLOCK_WARNING_S)
        findings_add(dst, sure > CLOCK_ERROR_S ? FINDING_ERROR : FINDING_WARNING, "clocks",
                     "the clock of %s is %.1f s %s that of rank 0's node\nadministrators: chrony "
                     "or ntpd on %s; until then -- --exclude=%s", host, fabs(worst),
                     worst > 0 ? "ahead of" : "behind", host, host);
    else if (n)
        findings_add(dst, FINDING_OK, "clocks", "all within %.3f s of rank 0's", most);
}

/* Checks the programs of this host, or compares those of the ranks' hosts. */
static void compare_versions(const json_t *ranks, struct findings *dst)
{
    const json_t *first = first_report(ranks), *versions = fact_of(first, "versions");
    const char *name, *last = "";
    json_t *version;
    size_t differ = 0;

    for_each_report(ranks, i, r) {
        bool is_next = strcmp(text_of(r, "host"), last) == 0;
        last = text_of(r, "host");
        json_object_foreach(json_object_get(r, "versions"), name, version) {
            const char *there = json_string_value(version), *other = text_of(versions, name);
            if (is_next || !there || strcmp(other, there) == 0 || differ++ >= 4)
                continue;
            findings_add(dst, FINDING_ERROR, "versions", "%s has %s %s, but %s has %s\ninstall "
                         "unetctl on a file system that all nodes share, load the same modules "
                         "everywhere ('setup' of the site), or -- --exclude=%s", last, name, there,
                         text_of(first, "host"), *other ? other : "none", last);
        }
    }
    if (!is_rehearsal(ranks) && json_is_true(fact_of(first, "has_trainer")))
        findings_add(dst, FINDING_OK, "versions", "unetctl %s, unet-train %s",
                     text_of(versions, "unetctl"), text_of(versions, "unet-train"));
    else if (!is_rehearsal(ranks))
        findings_add(dst, FINDING_ERROR, "versions", "unet-train: %s\ninstall it beside unetctl: "
                     "make install", text_of(versions, "unet-train"));
    else if (first && !differ)
        findings_add(dst, FINDING_OK, "versions",
                     "unetctl, unet-train and libraries are the same everywhere");
}

/* Checks that no two ranks have the same GPU, and that all have one if any has. The trainer sees
 * only the GPUs of its rank. nvidia-smi lists all of a node; such a list is not compared with those
 * of other ranks on the same host. */
static void compare_gpus(const json_t *ranks, struct findings *dst)
{
    json_t *owners = json_object(); /* of each GPU, the first rank */
    struct words bare = {"", 0};
    size_t n = 0, shared = 0;

    for_each_report(ranks, i, r) {
        bool whole_node = strcmp(text_of(r, "gpu_source"), "nvidia-smi") == 0;
        const char *host = text_of(r, "host");
        if (json_array_size(fact_of(r, "gpus")) == 0)
            add_word(&bare, ", ", host);
        for_each_element(r, "gpus", g, gpu) {
            const char *uuid = text_of(gpu, "uuid");
            const json_t *owner = json_object_get(owners, uuid);
            size_t other = (size_t)json_integer_value(owner);
            const char *there = text_of(json_array_get(ranks, other), "host");
            n++;
            if (!owner)
                json_object_set_new(owners, uuid, json_integer((json_int_t)i));
            else if (other != i && !(whole_node && strcmp(there, host) == 0) && shared++ == 0)
                findings_add(dst, FINDING_ERROR, "gpus", "rank %zu (%s) and rank %zu (%s) have "
                             "the same GPU %s\nadd --gpus-per-task=1 to 'launcher' of the site; "
                             "NCCL would report \"Duplicate GPU detected\"", other, there, i, host,
                             uuid);
        }
    }
    json_decref(owners);
    if (n == 0)
        findings_add(dst, FINDING_WARNING, "gpus", "no GPU seen by any rank (neither nvidia-smi "
                     "nor unet-train shows one): the runs would train on CPUs\nfine in the "
                     "sandbox; elsewhere check gpus_per_node, partition and modules");
    else if (bare.count)
        findings_add(dst, FINDING_ERROR, "gpus", "%s: no GPU there, though other ranks have some\n"
                     "nvidia-smi there shows why; until then -- --exclude=%.*s", bare.text,
                     (int)strcspn(bare.text, ", "), bare.text);
    else if (!shared)
        findings_add(dst, FINDING_OK, "gpus", "%zu seen, no two ranks have the same one", n);
}

/* Single GPUs need no check where one cannot be used, or the CPU stands in for all. */
static void compare_compute(const json_t *ranks, struct findings *dst)
{
    const json_t *first = first_report(ranks);

    if (!first || !is_rehearsal(ranks) || has_fault(ranks, "compute.error"))
        return;
    if (json_is_true(fact_of(first, "compute.fake")))
        findings_add(dst, FINDING_OK, "gpus", "fake ones: the ranks compute on the CPU, %s "
                     "(backend %s)", text_of(first, "compute.device"),
                     text_of(first, "compute.backend"));
    else
        compare_gpus(ranks, dst);
}

static void compare_variables(const json_t *ranks, struct findings *dst)
{
    if (first_report(ranks) && !has_fault(ranks, "stale") && !has_fault(ranks, "proxies") &&
        !has_fault(ranks, "interface"))
        findings_add(dst, FINDING_OK, "variables", "no stale TF_CONFIG, MASTER_*, RANK; no proxies");
}

/* Finds the hosts whose limit is below least. Returns the lowest limit, or -1 if there are none. */
static long long find_below(const json_t *ranks, const char *name, json_int_t least,
                            struct words *hosts)
{
    json_int_t lowest = -1;

    *hosts = (struct words){"", 0};
    for_each_report(ranks, i, r) {
        json_int_t v = jsonio_integer(fact_of(r, "limits"), name);
        if (v < 0 || v >= least) /* -1: no limit */
            continue;
        add_word(hosts, ", ", text_of(r, "host"));
        lowest = lowest < 0 || v < lowest ? v : lowest;
    }
    return lowest;
}

static void compare_limits(const json_t *ranks, struct findings *dst)
{
    long long need = NOFILE_BASE + 2 * (long long)json_array_size(ranks), lowest;
    bool infiniband = false;
    size_t before = dst->count;
    struct words hosts;

    if (!first_report(ranks))
        return;
    for_each_report(ranks, i, r)
        infiniband |= json_is_true(fact_of(r, "infiniband"));
    if ((lowest = find_below(ranks, "nofile", need, &hosts)) >= 0)
        findings_add(dst, FINDING_ERROR, "limits", "%s: ulimit -n is %lld; %lld open files are "
                     "needed\nulimit -n %lld here, or for jobs as a line of 'setup' in the site "
                     "file", hosts.text, lowest, need, need > 4096 ? need : 4096);
    if ((lowest = find_below(ranks, "nproc", NPROC_LOW, &hosts)) >= 0)
        findings_add(dst, FINDING_WARNING, "limits", "%s: ulimit -u is %lld, which limits threads, "
                     "too\nulimit -u 4096", hosts.text, lowest);
    if ((lowest = find_below(ranks, "memlock", INT64_MAX, &hosts)) >= 0 && infiniband)
        findings_add(dst, FINDING_WARNING, "limits", "%s: ulimit -l is %lld KiB, but InfiniBand "
                     "locks memory\nulimit -l unlimited (administrators: LimitMEMLOCK of slurmd, "
                     "PropagateResourceLimitsExcept=MEMLOCK)", hosts.text, lowest / 1024);
    if (dst->count == before)
        findings_add(dst, FINDING_OK, "limits", "open files, processes, locked memory");
    if (find_below(ranks, "core", INT64_MAX, &hosts) < 0)
        findings_add(dst, FINDING_WARNING, "limits", "ulimit -c is unlimited: a crash writes one "
                     "core file for each rank into the run's folder\nulimit -c 0 unless you want "
                     "them");
}

static void compare_energy(const json_t *ranks, struct findings *dst)
{
    const char *first = text_of(first_report(ranks), "energy");
    struct words others = {"", 0};

    for_each_report(ranks, i, r)
        if (strcmp(text_of(r, "energy"), first) != 0)
            add_word(&others, ", ", text_of(r, "host"));
    if (*first)
        findings_add(dst, FINDING_OK, "energy", "%s%s%s", first,
                     others.count ? "; otherwise on " : "", others.text);
}

static const struct check checks[] = {
    {NULL, "names", "own_name", NULL, FINDING_WARNING, "this host's own name resolves",
     "%s: its own name does not resolve: %s\nadd it to /etc/hosts, or ask the administrators of "
     "DNS"},
    {.compare = compare_presence}, {.compare = compare_numbering}, {.compare = compare_names},
    {NULL, "ports", "port.error", NULL, FINDING_ERROR, "every rank can listen at its port",
     "%s: %s\n'ss -tlnp' on that node shows which process uses it; set other ports by port_base and "
     "port_count in the site file"},
    {.compare = compare_routes}, {.compare = compare_clocks}, {.compare = compare_versions},
    {NULL, "gpus", "compute.error", NULL, FINDING_ERROR, NULL,
     "%s: %s\nnvidia-smi must work there; until then -- --exclude=%s"},
    {.compare = compare_compute},
    {NULL, "data", "data", NULL, FINDING_ERROR, "the images can be read on every node",
     "%s: the images cannot be read: %s\nput them on a file system that the nodes see, and name it "
     "in data.dir"},
    {NULL, "stage", "stage", NULL, FINDING_ERROR,
     "the data can be copied to every node (data.stage)",
     "%s: %s\nname a folder of the nodes with room in data.stage, or remove it"},
    {NULL, "lock", "lock", FACTS_LOCK_HELD, FINDING_WARNING, "locks are seen from node to node",
     "%s: a lock on the study is not seen there (%s)\nrun unetctl of one study on one host only, or "
     "move the study to a file system with locks (NFS without nolock, Lustre with flock)"},
    {NULL, "variables", "stale", NULL, FINDING_WARNING, NULL,
     "%s: already set, by another shell or run: %s; programs would use these values\nunset %s (and "
     "look into your shell's start-up files)"},
    {NULL, "proxies", "proxies", NULL, FINDING_WARNING, NULL,
     "%s: %s: gRPC and NCCL bootstrap may send node-to-node traffic there; run_file.sh unsets it "
     "for unet-train\nunset %s in your own scripts, or add the nodes to no_proxy"},
    {NULL, "interface", "interface", NULL, FINDING_ERROR, NULL,
     "%s: %s does not name a network interface there\nunset NCCL_SOCKET_IFNAME, or name one that "
     "`ip link` shows on every node"},
    {NULL, "interface", "dead_links", NULL, FINDING_WARNING, NULL,
     "%s: the interface %s: NCCL or MPI may choose it and hang\nadministrators: bring %s up (ip "
     "link set NAME up), or its cable; until then name another one in NCCL_SOCKET_IFNAME ('env' of "
     "the site)"},
    {.compare = compare_variables}, {.compare = compare_limits}, {.compare = compare_energy},
};

void findings_judge(const json_t *ranks, struct findings *dst)
{
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (checks[i].compare)
            checks[i].compare(ranks, dst);
        else
            check_fact(ranks, &checks[i], dst);
}

/* ---- the launcher ---- */

void findings_judge_launcher(const char *launcher, const char *list, const char *file,
                             struct findings *dst)
{
    const char *option = strncmp(launcher, "srun ", 5) == 0 ? strstr(launcher, " --mpi") : NULL;
    struct words types = {"", 0};
    char type[64], word[64];
    bool is_known = false;

    if (!option || sscanf(option, " --mpi%*1[= ]%63[^ ]", type) != 1 || !list ||
        !strstr(list, "types are"))
        return;
    /* The list has one type per line, and after "available:" their versions. */
    for (const char *s = list; *s; s += strcspn(s, LIST_BLANKS), s += strspn(s, LIST_BLANKS)) {
        size_t n = strcspn(s, LIST_BLANKS);
        snprintf(word, sizeof word, "%.*s", (int)n, s);
        is_known |= strcmp(word, type) == 0;
        if (s > list && strchr("\t\n", s[-1]) && s[n] == '\n')
            add_word(&types, ", ", word);
    }
    if (is_known)
        findings_add(dst, FINDING_OK, "launcher", "srun knows --mpi=%s", type);
    else
        findings_add(dst, FINDING_ERROR, "launcher",
                     "the site starts ranks by srun --mpi=%s, but this cluster's srun knows only "
                     "%s (srun --mpi=list)\nset in %s: launcher: " SITE_MPIRUN_LAUNCHER " and "
                     "spec: " SITE_MPIRUN_SPEC " (ranks without MPI: leave --mpi out)", type,
                     types.count ? types.text : "others", file);
}
