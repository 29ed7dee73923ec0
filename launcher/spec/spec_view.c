/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/spec/spec_view.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/cluster/listener.h"
#include "src/cluster/resolve.h"

#include "launcher/spec/spec_report.h"

__attribute__((format(printf, 3, 4)))
static void add_finding(struct spec_view *v, const char *remedy, const char *fmt, ...)
{
    char problem[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(problem, sizeof problem, fmt, ap);
    va_end(ap);
    json_array_append_new(v->findings, json_pack("[s,s]", problem, remedy));
}

static void name_host(const struct spec_view *v, const struct cluster_spec_task *t, char *dst)
{
    const char *suffix = v->spec->host_suffix;

    snprintf(dst, SPEC_VIEW_HOST_SIZE, "%s%s", t->host, suffix ? suffix : "");
}

struct addrinfo *spec_view_resolve(const char *host, int port, const char **why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found = NULL;
    char service[16];

    snprintf(service, sizeof service, "%d", port);
    int rc = resolve_host(host, service, &hints, &found);
    *why = rc ? gai_strerror(rc) : NULL;
    return rc ? NULL : found;
}

/* Are a and b the same machine, as node1 and node1.cluster are? */
static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "."), m = strcspn(b, ".");

    return strcasecmp(a, b) == 0 ||
           (n == m && (a[n] == 0 || b[m] == 0) && strncasecmp(a, b, n) == 0);
}

static bool runs_here(const struct spec_view *v)
{
    const char *why;

    if (same_name(v->self.host, v->node))
        return true;
    struct addrinfo *found = spec_view_resolve(v->host, v->self.port, &why);
    bool is_own = found && resolve_is_own(found);
    if (found)
        freeaddrinfo(found);
    return is_own;
}

/* Finds Slurm's name of this node. SLURMD_NODENAME is set for each task. */
static void find_node(struct spec_view *v)
{
    const char *node = getenv("SLURMD_NODENAME");

    if (node && *node)
        snprintf(v->node, sizeof v->node, "%s", node);
    else if (gethostname(v->node, sizeof v->node - 1))
        snprintf(v->node, sizeof v->node, "?");
}

/* Reports a TF_CONFIG that a start-up file or another job has set, because TensorFlow would use
 * it. */
static void check_stale(struct spec_view *v)
{
    const char *text = getenv("TF_CONFIG");
    json_t *theirs, *ours;

    if (!text || strcmp(text, v->text) == 0)
        return;
    theirs = json_loads(text, 0, NULL);
    ours = json_loads(v->text, 0, NULL);
    if (!theirs || !json_equal(theirs, ours))
        add_finding(v, "unset TF_CONFIG before the job, or set it to what unetctl spec prints",
                    "its environment has another TF_CONFIG: %.100s%s", text,
                    strlen(text) > 100 ? "..." : "");
    json_decref(theirs);
    json_decref(ours);
}

static void check_slot(struct spec_view *v)
{
    const char *text = getenv("SLURM_LOCALID");
    size_t local;
    struct err e = {0};

    if (text && (spec_source_number("SLURM_LOCALID", &local, &e) || local != (size_t)v->self.slot))
        add_finding(v, SPEC_VIEW_ONE_STEP, "SLURM_LOCALID=%.20s, but rank %zu is task %d of %s",
                    text, v->spec->rank, v->self.slot, v->self.host);
}

static void check_place(struct spec_view *v)
{
    if (!v->is_here)
        add_finding(v, SPEC_VIEW_ONE_STEP, "it runs on %s, but its address is %s:%d", v->node,
                    v->host, v->self.port);
    else if (!v->source->apart)
        check_slot(v);
}

/* Checks that this rank can listen at its address; if not, adds a finding, and sets v->is_busy if
 * the address is in use. Rank 0 keeps the socket as v->fd, which is otherwise -1. */
static void check_port(struct spec_view *v)
{
    const char *why = NULL;
    struct addrinfo *found = spec_view_resolve(v->host, v->self.port, &why);

    if (found)
        freeaddrinfo(found);
    else
        add_finding(v, "each node's name must resolve on every node (getent hosts NAME)",
                    "its own address %s:%d: %s", v->host, v->self.port, why);
    v->fd = listener_open(v->host, v->self.port);
    if (v->fd < 0) {
        v->is_busy = errno == EADDRINUSE;
        add_finding(v,
                    "another job, an old process or a second rank with this number uses the "
                    "port: look with ss -ltnp, or choose another --port-base",
                    "it cannot listen at %s:%d: %s", v->host, v->self.port, strerror(errno));
    } else if (v->spec->rank > 0) {
        close(v->fd);
        v->fd = -1;
    }
}

static void find_step(struct spec_view *v)
{
    const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");

    snprintf(v->step, sizeof v->step, "%.20s.%.20s", job ? job : "", step ? step : "");
}

int spec_view_open(struct spec_view *v, const struct cluster_spec *spec,
                   const struct spec_source *source, const char *text, struct err *e)
{
    *v = (struct spec_view){.spec = spec, .source = source, .text = text, .fd = -1};
    if (cluster_spec_find(spec, spec->rank, &v->self, e) ||
        cluster_spec_find(spec, 0, &v->first, e))
        return -1;
    v->findings = json_array();
    if (!v->findings)
        return err_set(e, ERR_INTERNAL, "out of memory");
    name_host(v, &v->self, v->host);
    name_host(v, &v->first, v->first_host);
    find_node(v);
    find_step(v);
    spec_report_hash(text, v->hash);
    v->is_here = runs_here(v);
    check_place(v);
    check_stale(v);
    if (v->is_here)
        check_port(v);
    return 0;
}

void spec_view_close(struct spec_view *v)
{
    if (!v)
        return;
    if (v->fd >= 0)
        close(v->fd);
    json_decref(v->findings);
    *v = (struct spec_view){.fd = -1};
}
