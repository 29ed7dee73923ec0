/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/err.h"

/* Sets the text. One that is too long loses its middle, often a path's, not the reason behind. */
static void set_text(struct err *e, const char *text)
{
    size_t n = strlen(text), head = ERR_TEXT_SIZE / 2, tail = ERR_TEXT_SIZE - 4 - head;

    if (n < ERR_TEXT_SIZE)
        memcpy(e->text, text, n + 1);
    else
        snprintf(e->text, sizeof e->text, "%.*s...%s", (int)head, text, text + n - tail);
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    char text[3 * PATH_MAX];
    va_list ap;

    e->code = code;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    set_text(e, text);
    return -1;
}

int err_errno(struct err *e, int code, int errnum, const char *fmt, ...)
{
    char what[ERR_TEXT_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(e, code, "%s: %s", what, strerror(errnum));
}

int err_prefix(struct err *e, const char *fmt, ...)
{
    char context[ERR_TEXT_SIZE], old[ERR_TEXT_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(context, sizeof context, fmt, ap);
    va_end(ap);
    memcpy(old, e->text, sizeof old);
    return err_set(e, e->code, "%s: %s", context, old);
}

int err_signal(struct err *e, int signal)
{
    return err_set(e, 128 + signal,
                   "stopped by signal %d (%s): cancelled, out of time, or another rank was lost",
                   signal, strsignal(signal));
}

int err_interrupt(struct err *e, const atomic_int *interrupt)
{
    return interrupt && *interrupt ? err_signal(e, *interrupt) : 0;
}

int err_rank(struct err *e, int rank, const char *host)
{
    if (e->code > 128 || strncmp(e->text, "rank ", 5) == 0 || strncmp(e->text, "ranks ", 6) == 0)
        return -1;
    return host ? err_prefix(e, "rank %d on %s", rank, host) : err_prefix(e, "rank %d", rank);
}
