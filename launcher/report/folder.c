/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report_internal.h"

#include <dirent.h>
#include <fcntl.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/files.h"

#define STAGE ".new-" /* followed by the PID: the folder that a report is first written to */
#define PICTURE_LIMIT_S 60 /* time limit of one picture */
#define HEAD_SIZE 400 /* bytes at the start of a figure that contain CHART_SVG_MARK */

/* Makes dir/NAME.FORMAT of dir/NAME.svg. */
static int make_picture(const char *dir, const char *name, const char *format, const char *zoom,
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

static int write_figure(const struct chart *c, const char *dir, const char *suffix,
                        void encode(const struct chart *, struct buf *), struct err *e)
{
    struct buf b = {0};
    char name[sizeof c->name + 8];

    encode(c, &b);
    snprintf(name, sizeof name, "%s.%s", c->name, suffix);
    return path_write(dir, name, buf_steal(&b), e);
}

int figures_draw(struct figures *f, const char *dir, struct err *e)
{
    struct err why;

    for (size_t i = 0; i < f->count; i++) {
        if (write_figure(&f->list[i], dir, "csv", chart_encode_csv, e) ||
            write_figure(&f->list[i], dir, "svg", chart_svg_encode_file, e))
            return -1;
        if (!*f->why_not && (make_picture(dir, f->list[i].name, "pdf", "1", &why) ||
                             make_picture(dir, f->list[i].name, "png", "4", &why)))
            snprintf(f->why_not, sizeof f->why_not, "%.250s", why.text);
    }
    return 0;
}

/* Writes a table of each source: NAME.csv, of the second one NAME_2.csv. */
static int write_tables(const struct report *r, const char *dir, const char *name,
                        char *(*encode)(const struct results *), struct err *e)
{
    char file[48];

    for (size_t i = 0; i < r->nsources; i++) {
        snprintf(file, sizeof file, i ? "%s_%zu.csv" : "%s.csv", name, i + 1);
        if (path_write(dir, file, encode(&r->sources[i].results), e))
            return -1;
    }
    return 0;
}

int folder_write_results(const struct report *r, const char *dir, struct err *e)
{
    return write_tables(r, dir, "results", results_encode, e);
}

/* Writes everything into stage; figures_dir is stage/figures. */
static int write_all(const struct report *r, const char *stage, const char *figures_dir,
                     struct err *e)
{
    struct figures figures;
    struct doc d;
    int rc = -1;

    if (figures_create(&figures, r, e))
        return -1;
    doc_init(&d);
    if (figures_draw(&figures, figures_dir, e))
        goto out;
    if (*figures.why_not)
        log_warn("no PDF and PNG of the figures: %s", figures.why_not);
    report_document(&d, r, REPORT_VERDICT | REPORT_NUMBERS | REPORT_RULES, &figures);
    if (path_write(stage, "report.html", doc_encode(&d, html_write), e) ||
        path_write(stage, "report.md", doc_encode(&d, markdown_write), e) ||
        path_write(stage, "tables.tex", doc_encode(&d, latex_write), e) ||
        path_write(stage, "report.json", json_encode_report(r), e) ||
        path_write(stage, "extra-p.json", json_encode_extra_p(r), e) ||
        folder_write_results(r, stage, e) ||
        write_tables(r, stage, "epochs", results_encode_epochs, e))
        goto out;
    rc = 0;
out:
    doc_destroy(&d);
    figures_destroy(&figures);
    return rc;
}

static int is_file(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
           strcmp(entry->d_name, "figures");
}

/* Returns whether it is a figure, or the gnuplot script of one in an earlier version's report. */
static int is_figure(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".gp") == 0);
}

/* Removes the figures of an earlier report from dir, with their numbers and pictures. */
static void remove_figures(const char *dir)
{
    static const char *const suffixes[] = {"svg", "csv", "pdf", "png", "gp", "dat"};
    struct dirent **entries;
    int n = files_scan(dir, &entries, is_figure, alphasort);

    for (int i = 0; i < n; i++) {
        char path[PATH_MAX], head[HEAD_SIZE] = "";
        const char *name = entries[i]->d_name;
        int fd = files_open(path_format(path, "%s/%s", dir, name), O_RDONLY, 0);
        ssize_t got = fd < 0 ? 0 : read(fd, head, sizeof head - 1);
        head[got > 0 ? got : 0] = '\0';
        if (fd >= 0)
            close(fd);
        for (size_t k = 0; strstr(head, CHART_SVG_MARK) && k < 6; k++)
            files_unlink(path_format(path, "%s/%.*s.%s", dir, (int)(strrchr(name, '.') - name),
                                     name, suffixes[k]));
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* Calls a function for each file of src, except its folder figures, with its path there and in
 * dst, until one returns other than 0. */
static int for_files(const char *src, const char *dst,
                     int each(const char *from, const char *to, struct err *e), struct err *e)
{
    struct dirent **entries;
    int n = files_scan(src, &entries, is_file, alphasort), rc = 0;

    for (int i = 0; i < n; i++) {
        char from[PATH_MAX], to[PATH_MAX];
        path_format(from, "%s/%s", src, entries[i]->d_name);
        path_format(to, "%s/%s", dst, entries[i]->d_name);
        rc = rc ? rc : each(from, to, e);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return rc;
}

static int move_file(const char *from, const char *to, struct err *e)
{
    return files_rename(from, to, 0) ? files_error(e, ERR_INTERNAL, errno, "cannot write", to) : 0;
}

static int check_free(const char *from, const char *to, struct err *e)
{
    return atomicfile_check_new(to, e);
}

/* Moves the files of src, which is then removed if it is empty. */
static int move_files(const char *src, const char *dst, struct err *e)
{
    int rc = for_files(src, dst, move_file, e);

    files_rmdir(src);
    return rc;
}

/* Checks that only files of an earlier report will be replaced. */
static int check_dir(const char *dir, const char *stage, const char *stage_figures,
                     const char *figures, struct err *e)
{
    char path[PATH_MAX];

    path_format(path, "%s/report.json", dir);
    if (access(path, F_OK) == 0)
        return atomicfile_check_own(path, JSON_REPORT_MARK, e);
    return for_files(stage, dir, check_free, e) || for_files(stage_figures, figures, check_free, e)
               ? -1
               : 0;
}

/* Removes .new-PID folders of killed reports from dir. */
static void remove_leftovers(const char *dir, int lock)
{
    char stage[PATH_MAX];
    const struct dirent *entry;
    DIR *d = files_list(dir);

    while (d && (entry = readdir(d))) {
        const char *pid = entry->d_name + strlen(STAGE);
        if (!text_begins(entry->d_name, STAGE) || !*pid ||
            pid[strspn(pid, "0123456789")])
            continue;
        if (path_is_leftover(path_format(stage, "%s/%s", dir, entry->d_name), lock))
            files_remove_tree(stage);
    }
    if (d)
        closedir(d);
}

/* Writes the report by way of a hidden folder into dir, which is locked. */
static int write_staged(const struct report *r, const char *dir, struct err *e)
{
    char stage[PATH_MAX], stage_figures[PATH_MAX], figures[PATH_MAX];

    path_format(stage, "%s/" STAGE "%ld", dir, (long)getpid());
    path_format(stage_figures, "%s/figures", stage);
    path_format(figures, "%s/figures", dir);
    if (path_make_folder(stage_figures, e) || write_all(r, stage, stage_figures, e) ||
        check_dir(dir, stage, stage_figures, figures, e) || path_make_folder(figures, e)) {
        files_remove_tree(stage);
        return -1;
    }
    remove_figures(figures);
    if (move_files(stage_figures, figures, e))
        return -1;
    return move_files(stage, dir, e);
}

int report_write_folder(const struct report *r, const char *dir, struct err *e)
{
    bool existed = access(dir, F_OK) == 0;

    files_own(dir);
    if (path_make_folder(dir, e))
        return -1;
    int lock;
    if (path_lock_folder(dir, &lock, e))
        return -1;
    remove_leftovers(dir, lock);
    int rc = write_staged(r, dir, e);
    path_unlock_folder(dir, lock);
    if (rc && !existed)
        files_rmdir(dir);
    return rc;
}
