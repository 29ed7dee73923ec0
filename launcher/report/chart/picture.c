/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/chart/picture.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "src/control.h"

static int make_one(const char *dir, const char *name, const char *format, struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    const char *const words[] = {"rsvg-convert", "--format", format, "--zoom",
                                 format[1] == 'n' ? "4" : "1", "--output", to, from, NULL};
    struct child c = {.argv = words, .out = CHILD_READ, .err = STDOUT_FILENO,
                      .limit_s = PICTURE_LIMIT_S};
    struct child_end end;

    snprintf(from, sizeof from, "%s/%s.svg", dir, name);
    snprintf(to, sizeof to, "%s/%s.%s", dir, name, format);
    int rc = child_run(&c, &end, e);
    if (rc && errno == ENOENT)
        err_set(e, ERR_INTERNAL, "rsvg-convert (librsvg2-bin) is not installed");
    else if (rc == 0 && end.code)
        rc = err_set(e, ERR_INTERNAL, "rsvg-convert failed on %s: %.250s", from,
                     control_blank(end.out.data));
    child_destroy(&end);
    return rc;
}

int picture_make(const char *dir, const char *name, struct err *e)
{
    return make_one(dir, name, "pdf", e) || make_one(dir, name, "png", e) ? -1 : 0;
}
