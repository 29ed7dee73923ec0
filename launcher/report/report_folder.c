/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/report_folder.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/collect/path.h"
#include "launcher/report/figures.h"
#include "launcher/report/html.h"
#include "launcher/report/json.h"
#include "launcher/report/markdown.h"
#include "src/atomicfile.h"
#include "src/log.h"

static int write_json(const struct report *r, const char *path, struct err *e)
{
    char *json = json_encode_report(r);
    int rc = json ? atomicfile_write(path, json, strlen(json), 0666, e)
                  : err_set(e, ERR_INTERNAL, "out of memory for %s", path);

    free(json);
    return rc;
}

int report_folder_write(const struct report *r, const char *dir, struct err *e)
{
    char figures_dir[PATH_MAX], path[PATH_MAX];
    struct figures figures;

    path_format(figures_dir, "%s/figures", dir);
    if (path_make_folder(figures_dir, e) || figures_write(&figures, r, figures_dir, e))
        return -1;
    if (!figures.drawn)
        log_warn("the report has no figures: %s", figures.why_not);
    if (html_write(r, &figures, figures_dir, path_format(path, "%s/report.html", dir), e) ||
        markdown_write(r, &figures, path_format(path, "%s/report.md", dir), e))
        return -1;
    return write_json(r, path_format(path, "%s/report.json", dir), e);
}
