/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/spec/spec_check.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "launcher/spec/spec_report.h"
#include "src/clock.h"
#include "src/log.h"
#include "src/plural.h"

#define LINE_SIZE 65536  /* the longest report */
/* A new connection must send its whole report within so many seconds. An accepted one then waits
 * for the verdict. A send may block for as long. */
#define REPORT_S 5
/* how many seconds longer than timeout_s other ranks wait for the verdict, since rank 0 may start
 * late */
#define GRACE_S 10
#define RETRY_S 0.1
#define GUESTS 256 /* connections whose report is awaited at the same time */

struct guest {
    int fd;
    double until_s;
    char *line; /* LINE_SIZE bytes, of which n have arrived */
    size_t n;
};

struct spec_check {
    struct spec_view *v;
    json_t **reports; /* by rank; NULL: none received */
    int *fds;         /* connections to ranks that wait for the verdict */
    size_t nfds, ntasks;
    json_t *findings; /* [{"rank":R,"node":N,"problem":P,"remedy":W}, ...] */
    double deadline_s;
    struct guest guests[GUESTS]; /* the one connected longest first */
    size_t nguests;
};

static json_t *make_report(const struct spec_view *v)
{
    const struct spec_source *s = v->source;
    struct spec_report r = {.node = v->node, .port = v->self.port, .text = v->text,
                            .nodes_name = s->nodes_name, .nodes_text = s->nodes_text,
                            .tasks_name = s->tasks_name, .tasks_text = s->tasks_text};
    json_t *report = spec_report_encode(&r);

    json_object_set_new(report, "step", json_string(v->step));
    json_object_set_new(report, "rank", json_integer((json_int_t)v->spec->rank));
    json_object_set_new(report, "tasks", json_integer((json_int_t)s->ntasks));
    json_object_set_new(report, "version", json_string(PACKAGE_VERSION));
    json_object_set(report, "findings", v->findings);
    return report;
}

static void add_finding(struct spec_check *c, json_int_t rank, const char *node, const char *remedy,
                        const char *fmt, ...) __attribute__((format(printf, 5, 6)));

static void add_finding(struct spec_check *c, json_int_t rank, const char *node, const char *remedy,
                        const char *fmt, ...)
{
    char problem[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(problem, sizeof problem, fmt, ap);
    va_end(ap);
    json_array_append_new(c->findings, json_pack("{s:I,s:s,s:s,s:s}", "rank", rank, "node", node,
                                                 "problem", problem, "remedy", remedy));
}

static void take_findings(struct spec_check *c, json_int_t rank, const json_t *report)
{
    size_t i;
    json_t *finding;

    json_array_foreach(json_object_get(report, "findings"), i, finding) {
        const char *problem = json_string_value(json_array_get(finding, 0));
        const char *remedy = json_string_value(json_array_get(finding, 1));
        if (problem && remedy)
            add_finding(c, rank, spec_report_text(report, "node"), remedy, "%s", problem);
    }
}

/* The rank whose report is compared with rank 0's. */
struct compared_rank {
    struct spec_check *check;
    json_int_t rank;
    const char *node;
};

static void add_difference(void *arg, const char *problem, const char *remedy)
{
    const struct compared_rank *w = arg;

    add_finding(w->check, w->rank, w->node, remedy, "%s", problem);
}

static void compare_report(struct spec_check *c, json_int_t rank, const json_t *report)
{
    struct compared_rank w = {c, rank, spec_report_text(report, "node")};

    spec_report_compare(report, c->reports[0], add_difference, &w);
    if (strcmp(spec_report_text(report, "version"), PACKAGE_VERSION) != 0)
        add_finding(c, rank, w.node, "install one version on all nodes",
                    "it runs unetctl %s; rank 0 on %s runs %s", spec_report_text(report, "version"),
                    c->v->node, PACKAGE_VERSION);
}

/* Adds the findings of a rank's report, and of its comparison with rank 0's. Stores the report, or
 * releases it if its rank is out of range or has reported already. */
static void take_report(struct spec_check *c, json_t *report)
{
    json_int_t rank = json_integer_value(json_object_get(report, "rank"));

    take_findings(c, rank, report);
    if (rank < 0 || (size_t)rank >= c->ntasks) {
        add_finding(c, rank, spec_report_text(report, "node"), SPEC_VIEW_ONE_STEP,
                    "it has rank %lld, but rank 0 sees %zu tasks", (long long)rank,
                    c->ntasks);
    } else if (c->reports[rank]) {
        add_finding(c, rank, spec_report_text(report, "node"),
                    "let no start-up file set SLURM_PROCID, and only one process of a task run the "
                    "check",
                    "a second process has rank %lld; the first runs on %s",
                    (long long)rank, spec_report_text(c->reports[rank], "node"));
    } else {
        c->reports[rank] = report;
        if (rank > 0)
            compare_report(c, rank, report);
        return;
    }
    json_decref(report);
}

static void set_timeout(int fd, int which, double seconds)
{
    double s = seconds > 0.01 ? seconds : 0.01;
    struct timeval t = {.tv_sec = (time_t)s};

    t.tv_usec = (suseconds_t)((s - (double)t.tv_sec) * 1e6);

    setsockopt(fd, SOL_SOCKET, which, &t, sizeof t);
}

/* Returns the JSON object that n bytes are, or NULL. */
static json_t *decode_line(const char *line, size_t n)
{
    json_t *value = json_loadb(line, n, 0, NULL);

    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

/* Returns rank 0's verdict, received before the deadline, or NULL. */
static json_t *receive_verdict(int fd, double deadline_s)
{
    static char line[LINE_SIZE];
    size_t n = 0;

    while (n < sizeof line && !memchr(line, '\n', n)) {
        double left = deadline_s - clock_now();
        if (left <= 0)
            return NULL;
        set_timeout(fd, SO_RCVTIMEO, left);
        ssize_t got = recv(fd, line + n, sizeof line - n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return NULL;
        n += (size_t)got;
    }
    return decode_line(line, n);
}

/* Sends value as a line and releases it. Returns 0 or -1. */
static int send_line(int fd, json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    size_t n = text ? strlen(text) : 0, done = 0;
    int rc = text ? 0 : -1;

    if (text)
        text[n++] = '\n'; /* replaces the NUL */
    set_timeout(fd, SO_SNDTIMEO, REPORT_S);
    while (rc == 0 && done < n) {
        ssize_t sent = send(fd, text + done, n - done, MSG_NOSIGNAL);
        if (sent > 0)
            done += (size_t)sent;
        else if (sent == 0 || errno != EINTR)
            rc = -1;
    }
    free(text);
    json_decref(value);
    return rc;
}

static void drop_guest(struct spec_check *c, size_t i)
{
    struct guest *g = &c->guests[i];

    if (g->fd >= 0)
        close(g->fd);
    free(g->line);
    memmove(g, g + 1, (--c->nguests - i) * sizeof *g);
}

/* Accepts a connection, which replaces the oldest one if there are too many. */
static void accept_guest(struct spec_check *c)
{
    int fd = accept4(c->v->fd, NULL, NULL, SOCK_CLOEXEC);
    bool full = fd < 0 ? errno == EMFILE || errno == ENFILE : c->nguests == GUESTS;

    if (c->nguests && full)
        drop_guest(c, 0);
    char *line = fd >= 0 ? malloc(LINE_SIZE) : NULL;
    if (line)
        c->guests[c->nguests++] = (struct guest){fd, clock_now() + REPORT_S, line, 0};
    else if (fd >= 0)
        close(fd);
}

/* Handles a complete report: accepts a rank of this step, refuses a rank of another step, and
 * ignores anything else. */
static void take_guest(struct spec_check *c, struct guest *g)
{
    json_t *report = decode_line(g->line, g->n);

    if (report && strcmp(spec_report_text(report, "step"), c->v->step) == 0) {
        c->fds[c->nfds++] = g->fd;
        g->fd = -1;
        take_report(c, report);
        return;
    }
    if (report)
        send_line(g->fd, json_pack("{s:s}", "other", c->v->step));
    json_decref(report);
}

/* Returns whether the guest's report is still incomplete. */
static bool read_guest(struct spec_check *c, struct guest *g)
{
    char *end = g->line + g->n;
    ssize_t got = recv(g->fd, end, LINE_SIZE - g->n, MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0)
        return false;
    g->n += (size_t)got;
    if (!memchr(end, '\n', (size_t)got))
        return g->n < LINE_SIZE;
    take_guest(c, g);
    return false;
}

/* Waits until something arrives, and handles it. */
static void serve_guests(struct spec_check *c, double left_s)
{
    struct pollfd p[GUESTS + 1];
    size_t n = c->nguests;
    double now;

    for (size_t i = 0; i < n; i++)
        p[i] = (struct pollfd){c->guests[i].fd, POLLIN, 0};
    p[n] = (struct pollfd){c->v->fd, POLLIN, 0};
    if (poll(p, n + 1, left_s < 0.5 ? (int)(left_s * 1000) + 1 : 500) < 0)
        return;
    now = clock_now();
    for (size_t i = n; i-- > 0 && c->nfds + 1 < c->ntasks;)
        if (p[i].revents ? !read_guest(c, &c->guests[i]) : now > c->guests[i].until_s)
            drop_guest(c, i);
    if (p[n].revents)
        accept_guest(c);
}

/* Receives reports until there is one for each other rank, two of the same rank counting as two,
 * or the time is up. Connections that send nothing delay no rank. */
static void gather_reports(struct spec_check *c)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    while (c->nfds + 1 < c->ntasks) {
        double left = c->deadline_s - clock_now();
        if (left <= 0)
            break;
        serve_guests(c, left);
    }
    while (c->nguests)
        drop_guest(c, 0);
}

/* Adds a finding for each of the first 20 missing ranks, and one for all others. */
static void find_missing(struct spec_check *c, double timeout_s)
{
    struct cluster_spec_task t;
    struct err e = {0};
    size_t nmissing = 0;

    for (size_t rank = 1; rank < c->ntasks; rank++) {
        if (c->reports[rank] || ++nmissing > 20)
            continue;
        if (cluster_spec_find(c->v->spec, rank, &t, &e) == 0)
            add_finding(c, (json_int_t)rank, t.host,
                        "look for its own message; it must start in the same step and be able to "
                        "connect to rank 0",
                        "it did not report to %s:%d within %g s", c->v->host, c->v->self.port,
                        timeout_s);
    }
    if (nmissing > 20)
        add_finding(c, 0, c->v->node, "see the others", "%zu more ranks did not report",
                    nmissing - 20);
}

static void publish(const struct spec_check *c, bool json)
{
    size_t i;
    json_t *f;

    if (json) {
        json_t *all = json_pack("{s:i,s:b,s:I,s:I,s:s,s:O}", "schema", 1, "ok",
                                json_array_size(c->findings) == 0, "ranks", (json_int_t)c->ntasks,
                                "nodes", (json_int_t)nodelist_count(c->v->source->nodes), "sha256",
                                c->v->hash, "findings", c->findings);
        json_dumpf(all, stdout, JSON_COMPACT);
        printf("\n");
        json_decref(all);
        return;
    }
    json_array_foreach(c->findings, i, f)
        log_error("rank %lld on %s: %s; %s",
                  (long long)json_integer_value(json_object_get(f, "rank")),
                  spec_report_text(f, "node"),
                  spec_report_text(f, "problem"), spec_report_text(f, "remedy"));
    size_t nodes = nodelist_count(c->v->source->nodes);
    if (json_array_size(c->findings) == 0)
        printf("%zu rank%s on %zu node%s see%s the same cluster, rank 0 at %s:%d, sha256 %.16s\n",
               c->ntasks, plural((long)c->ntasks), nodes, plural((long)nodes),
               c->ntasks == 1 ? "s" : "", c->v->host, c->v->self.port, c->v->hash);
}

static int check_ranks(struct spec_check *c, double timeout_s, bool json, struct err *e)
{
    take_report(c, make_report(c->v));
    if (c->v->fd >= 0)
        gather_reports(c);
    find_missing(c, timeout_s);
    publish(c, json);
    size_t n = json_array_size(c->findings);
    for (size_t i = 0; i < c->nfds; i++)
        send_line(c->fds[i], json_pack("{s:b}", "ok", n == 0));
    if (fflush(stdout) || ferror(stdout))
        return err_errno(e, ERR_INTERNAL, errno, "cannot write to standard output");
    return n == 0 ? 0 : err_set(e, ERR_PEER, "%zu finding%s: this job cannot train", n,
                                plural(n));
}

static int check_spec(struct spec_view *v, double timeout_s, bool json, struct err *e)
{
    struct spec_check c = {.v = v, .ntasks = v->source->ntasks, .deadline_s = clock_now() +
                           timeout_s};
    int rc = -1;

    c.reports = calloc(c.ntasks, sizeof *c.reports);
    c.fds = calloc(c.ntasks, sizeof *c.fds);
    c.findings = json_array();
    if (!c.reports || !c.fds || !c.findings)
        err_set(e, ERR_INTERNAL, "out of memory");
    else
        rc = check_ranks(&c, timeout_s, json, e);
    for (size_t i = 0; i < c.nfds; i++)
        close(c.fds[i]);
    for (size_t i = 0; c.reports && i < c.ntasks; i++)
        json_decref(c.reports[i]);
    json_decref(c.findings);
    free(c.fds);
    free(c.reports);
    return rc;
}

static int try_connect(const struct spec_view *v, double left_s, const char **why)
{
    struct addrinfo *found = spec_view_resolve(v->first_host, v->first.port, why);
    int fd = -1;

    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0)
            set_timeout(fd, SO_SNDTIMEO, left_s);
        if (fd < 0 || connect(fd, a->ai_addr, a->ai_addrlen)) {
            *why = strerror(errno);
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
    }
    if (found)
        freeaddrinfo(found);
    return fd;
}

/* Connects to rank 0, with retries because rank 0 may start later. */
static int connect_first(const struct spec_view *v, double timeout_s, const char **why)
{
    const struct timespec pause = {.tv_nsec = (long)(RETRY_S * 1e9)};
    double deadline_s = clock_now() + timeout_s, left_s = timeout_s;
    int fd;

    while ((fd = try_connect(v, left_s, why)) < 0) {
        nanosleep(&pause, NULL);
        left_s = deadline_s - clock_now();
        if (left_s <= 0)
            break;
    }
    return fd;
}

/* Logs this rank's own findings, since rank 0 gave no verdict, and returns -1 with an error that
 * includes `why`. */
static int report_alone(const struct spec_view *v, const char *why, struct err *e)
{
    size_t i;
    json_t *f;

    json_array_foreach(v->findings, i, f)
        log_error("rank %zu on %s: %s; %s", v->spec->rank, v->node,
                  json_string_value(json_array_get(f, 0)), json_string_value(json_array_get(f, 1)));
    return err_set(e, ERR_PEER,
                   "rank %zu on %s: no answer from rank 0 at %s:%d: %s; look for the message of "
                   "rank 0, and check that %s resolves and is reachable from %s",
                   v->spec->rank, v->node, v->first_host, v->first.port, why, v->first_host,
                   v->node);
}

static int report_to_first(struct spec_view *v, double timeout_s, struct err *e)
{
    const char *why = "timed out";
    int fd = connect_first(v, timeout_s, &why);

    if (fd < 0)
        return report_alone(v, why, e);
    json_t *verdict = send_line(fd, make_report(v)) ? NULL
                      : receive_verdict(fd, clock_now() + timeout_s + GRACE_S);
    close(fd);
    if (!verdict)
        return report_alone(v, "the process there is not unetctl spec --check, or it ended", e);
    int rc = 0;
    if (json_object_get(verdict, "other"))
        rc = err_set(e, ERR_PEER,
                     "rank %zu on %s: %s:%d is taken by the check of another step, %s; choose "
                     "another --port-base", v->spec->rank, v->node, v->first_host,
                     v->first.port, spec_report_text(verdict, "other"));
    else if (!json_is_true(json_object_get(verdict, "ok")))
        rc = err_set(e, ERR_PEER, "rank %zu on %s: the ranks disagree; rank 0 on %s says where",
                     v->spec->rank, v->node, v->first_host);
    json_decref(verdict);
    return rc;
}

int spec_check_run(struct spec_view *v, double timeout_s, bool json, struct err *e)
{
    bool is_first = v->spec->rank == 0 && v->is_here && !v->is_busy;

    return is_first ? check_spec(v, timeout_s, json, e) : report_to_first(v, timeout_s, e);
}
