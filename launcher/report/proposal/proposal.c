/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal/proposal.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/report/figures.h"
#include "launcher/report/proposal/proposal_chart.h"
#include "launcher/report/proposal/proposal_text.h"
#include "launcher/report/report_folder.h"
#include "src/atomicfile.h"
#include "src/log.h"
#include "src/mem.h"

#define SCRIPT_MAX (1 << 20)

static const char *const script_names[PROPOSAL_NSCRIPTS] = {"submit_file.sh", "run_file.sh"};

/* Returns the bytes of the files in a folder and below. */
static double measure_folder(const char *dir)
{
    char *paths[] = {(char *)dir, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    double bytes = 0;

    for (const FTSENT *f; fts && (f = fts_read(fts));)
        bytes += f->fts_info == FTS_F ? (double)f->fts_statp->st_size : 0;
    if (fts)
        fts_close(fts);
    return bytes;
}

/* Reads the scripts of a run of the count that the verdict presents, and the size of that run. */
static void read_run(struct proposal_text *text, struct proposal_facts *facts)
{
    const struct report_series *rs = &text->report->series[0];
    const struct series_point *p =
        rs->as->series.npoints > 1 ? rs->as->decision.best : rs->as->series.points;
    char dir[PATH_MAX], path[PATH_MAX];
    struct err ignored;
    size_t n;

    if (!*facts->study_dir)
        return;
    path_format(dir, "%s/runs/%s", facts->study_dir, p->rows[0].run);
    facts->run_bytes = measure_folder(dir);
    text->run = &p->rows[0];
    for (int i = 0; i < PROPOSAL_NSCRIPTS; i++) {
        path_format(path, "%s/%s", dir, script_names[i]);
        text->scripts[i] = atomicfile_read(path, SCRIPT_MAX, &n, &ignored);
        if (!text->scripts[i])
            text->run = NULL;
    }
}

static int write_files(struct proposal_text *text, struct figures *figures, const char *dir,
                       struct err *e)
{
    if (path_make_folder(dir, e) || figures_draw(figures, dir, e))
        return -1;
    if (*figures->why_not)
        log_warn("no PDF of the figure: %s", figures->why_not);
    text->drawn = !*figures->why_not;
    for (int i = 0; text->run && i < PROPOSAL_NSCRIPTS; i++)
        if (path_write(dir, script_names[i], mem_text(text->scripts[i], e), e))
            return -1;
    return path_write(dir, "proposal.tex", proposal_text_encode(text, true), e) ||
                   path_write(dir, "proposal.md", proposal_text_encode(text, false), e) ||
                   report_folder_write_results(text->report, dir, e)
               ? -1
               : 0;
}

int proposal_write(const struct report *r, struct proposal_facts *facts, const char *dir,
                   struct err *e)
{
    struct figures figures = {.count = 1};
    struct proposal_text text = {.report = r, .facts = facts, .figure = figures.list};
    int rc = -1;

    if (rmdir(dir) && errno != ENOENT)
        return err_errno(e, ERR_CONFIG, errno, "report: --proposal %s: name a new folder, since the "
                         "blanks of an earlier proposal may have been filled in", dir);
    read_run(&text, facts);
    proposal_chart_make(figures.list, r);
    if (figures.list->failed)
        mem_fail(e);
    else
        rc = write_files(&text, &figures, dir, e);
    figures_destroy(&figures);
    for (int i = 0; i < PROPOSAL_NSCRIPTS; i++)
        free(text.scripts[i]);
    return rc;
}
