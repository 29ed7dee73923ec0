/* SPDX-License-Identifier: BSD-3-Clause */
/* Events are buffered for a second or almost a page. Each write overwrites the closing bracket of
 * the JSON array and ends with a new one. */
#include "config.h"
#include "trainer/step/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/buf.h"
#include "src/clock.h"
#include "src/files.h"
#include "src/log.h"
#include "src/mem.h"

#define FLUSH_BYTES 3500 /* less than a page */
#define FLUSH_S 1.0
#define TAIL "\n]\n"

static const char *const rows[] = {[TRACE_STEPS] = "steps",
                                   [TRACE_GRADIENTS] = "sums of gradients beside them",
                                   [TRACE_BATCH_NORM] = "sums of batch norm in them"};

struct trace {
    int fd, rank;
    off_t end; /* of the events in the file; the next ones overwrite the closing bracket */
    double to_date; /* seconds since 1970 minus clock_now() */
    double flushed; /* clock_now() of the last write */
    struct buf events; /* not yet written */
};

static void end_trace(struct trace *t)
{
    log_warn("cannot write the trace of rank %d, which ends here: %s", t->rank, strerror(errno));
    close(t->fd);
    t->fd = -1;
}

static void flush_events(struct trace *t)
{
    size_t n = t->events.length;

    t->flushed = clock_now();
    if (t->fd < 0 || n == 0)
        return;
    buf_add(&t->events, TAIL);
    if (t->events.failed)
        errno = ENOMEM;
    if (t->events.failed ||
        pwrite(t->fd, t->events.data, t->events.length, t->end) != (ssize_t)t->events.length)
        end_trace(t);
    t->end += (off_t)n;
    t->events.length = 0;
}

struct trace *trace_open(const char *dir, int rank, const char *host, struct err *e)
{
    struct trace *t = mem_zero(1, sizeof *t, e);
    char path[PATH_MAX], name[300];
    struct timespec now;

    if (!t)
        return NULL;
    snprintf(path, sizeof path, "%s/trace-%d.json", dir, rank);
    t->rank = rank;
    t->fd = files_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (t->fd < 0) {
        files_error(e, ERR_CONFIG, errno, "cannot write", path);
        free(t);
        return NULL;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    t->to_date = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - clock_now();
    buf_addf(&t->events,
             "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":", rank);
    snprintf(name, sizeof name, "rank %d on %.256s", rank, host);
    buf_add_json_string(&t->events, name);
    buf_add(&t->events, "}}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        buf_addf(&t->events, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%zu,"
                 "\"args\":{\"name\":\"%s\"}}", rank, i, rows[i]);
    flush_events(t);
    return t;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    flush_events(t);
    if (t->fd >= 0)
        close(t->fd);
    buf_destroy(&t->events);
    free(t);
}

void trace_span(struct trace *t, enum trace_row row, const char *name, double begin, double end)
{
    if (!t || t->fd < 0)
        return;
    buf_addf(&t->events, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%.1f,\"dur\":%.1f,", name,
             1e6 * (begin + t->to_date), 1e6 * (end - begin));
    buf_addf(&t->events, "\"pid\":%d,\"tid\":%d}", t->rank, (int)row);
    if (t->events.length > FLUSH_BYTES || clock_now() - t->flushed > FLUSH_S)
        flush_events(t);
}
