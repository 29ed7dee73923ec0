/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/picture.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"

/* Makes dir/NAME.FORMAT. */
static int make_one(const char *dir, const char *name, const char *format, const char *zoom,
                    struct err *e)
{
    char from[PATH_MAX], to[PATH_MAX];
    const char *const argv[] = {"rsvg-convert", "--format", format, "--zoom", zoom, "--output",
                                path_format(to, "%s/%s.%s", dir, name, format),
                                path_format(from, "%s/%s.svg", dir, name), NULL};
    const struct child program = {.argv = argv, .in = CHILD_NULL, .out = CHILD_NULL,
                                  .err = CHILD_READ, .limit_s = PICTURE_LIMIT_S, .most = 200};
    struct child_end end;
    int rc = child_run(&program, &end, e);

    if (rc && errno == ENOENT)
        err_set(e, ERR_INTERNAL, "rsvg-convert (librsvg2-bin) is not installed");
    else if (rc == 0 && end.code)
        rc = err_set(e, ERR_INTERNAL, "rsvg-convert failed with code %d on %s: %.*s", end.code,
                     from, (int)strcspn(end.err.data ? end.err.data : "", "\n"),
                     end.err.data ? end.err.data : "");
    child_destroy(&end);
    return rc;
}

int picture_make(const char *dir, const char *name, struct err *e)
{
    return make_one(dir, name, "pdf", "1", e) || make_one(dir, name, "png", "4", e) ? -1 : 0;
}
