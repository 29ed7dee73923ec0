/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/log.h"

static const char *log_name = "unetctl";
static enum log_level log_level = LOG_INFO;

void log_open(const char *name)
{
    log_name = name;
}

enum log_level log_set_level(enum log_level level)
{
    enum log_level before = log_level;

    log_level = level;
    return before;
}

bool log_shows(enum log_level level)
{
    return log_level >= level;
}

/* Escapes the characters of src/text.h: a newline or an escape sequence in a file's name must
 * not forge a log line or move the cursor. */
static void escape_controls(const char *text, char *dst, size_t size)
{
    size_t n = 0, hidden = 0; /* bytes left of such a character */

    for (; *text && n + 5 < size; text++) {
        if (hidden == 0)
            hidden = control_size(text);
        if (*text == '\n' || *text == '\t')
            n += (size_t)sprintf(dst + n, "\\%c", *text == '\n' ? 'n' : 't');
        else if (hidden)
            n += (size_t)sprintf(dst + n, "\\x%02x", (unsigned char)*text);
        else
            dst[n++] = *text;
        hidden -= hidden > 0;
    }
    dst[n] = 0;
}

/* Writes each line by one system call, so that lines of several ranks do not mix. */
void log_write(enum log_level least, const char *kind, const char *fmt, ...)
{
    char text[2048], plain[2 * sizeof text];
    va_list ap;

    if (log_level < least)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    escape_controls(text, plain, sizeof plain);
    fprintf(stderr, "%s: %s%s\n", log_name, kind, plain);
}
