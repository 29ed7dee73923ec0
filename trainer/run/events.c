/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages are encoded by hand (src/format/tfrecord.h), one frame for each scalar. */
#include "config.h"
#include "trainer/run/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "src/files.h"
#include "src/format/tfrecord.h"
#include "src/mem.h"

/* Field numbers of Event, Summary and Summary.Value in TensorFlow's event.proto and
 * summary.proto. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

struct events {
    int fd;
    char path[PATH_MAX];
};

static double unix_time(void)
{
    struct timeval t;

    gettimeofday(&t, NULL);
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Writes a TFRecord frame in one call, so that other processes see it completely or not at all. */
static int write_event(struct events *v, struct buf *event, struct err *e)
{
    struct buf frame = {0};
    int rc = 0;

    tfrecord_encode(event->data, event->length, &frame);
    if (event->failed || frame.failed)
        rc = mem_fail(e);
    errno = ENOSPC; /* for a short write */
    if (rc == 0 && write(v->fd, frame.data, frame.length) != (ssize_t)frame.length)
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot write %s", v->path);
    buf_destroy(&frame);
    buf_destroy(event);
    return rc;
}

struct events *events_open(const char *dir, const char *host, struct err *e)
{
    struct events *v = mem_zero(1, sizeof *v, e);
    struct buf event = {0};
    double at = unix_time();

    if (!v)
        return NULL;
    snprintf(v->path, sizeof v->path, "%s/events.out.tfevents.%.0f.%s.%ld", dir, at, host,
             (long)getpid());
    v->fd = files_open(v->path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (v->fd < 0) {
        files_error(e, ERR_INTERNAL, errno, "cannot write", v->path);
        free(v);
        return NULL;
    }
    protobuf_add_double(&event, EVENT_WALL_TIME, at);
    protobuf_add_text(&event, EVENT_FILE_VERSION, "brain.Event:2");
    if (write_event(v, &event, e) == 0)
        return v;
    events_close(v);
    return NULL;
}

void events_close(struct events *v)
{
    if (!v)
        return;
    close(v->fd);
    free(v);
}

int events_add(struct events *v, int64_t step, const char *tag, double value, struct err *e)
{
    struct buf event = {0}, summary = {0}, inner = {0};

    protobuf_add_text(&inner, VALUE_TAG, tag);
    protobuf_add_float(&inner, VALUE_SIMPLE, (float)value);
    protobuf_add_message(&summary, SUMMARY_VALUE, &inner);
    protobuf_add_double(&event, EVENT_WALL_TIME, unix_time());
    protobuf_add_varint(&event, EVENT_STEP, step);
    protobuf_add_message(&event, EVENT_SUMMARY, &summary);
    return write_event(v, &event, e);
}
