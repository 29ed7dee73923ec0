/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/html.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/path.h"
#include "launcher/report/escape.h"
#include "launcher/report/tables.h"
#include "src/atomicfile.h"

#define MAX_SVG (8 << 20)

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c2126;--soft:#57606a;--paper:#fff;--card:#f4f6f8;"
    "--line:#d0d7de;--accent:#0072b2;--warn:#9a4a00}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa4ae;--paper:#14181c;"
    "--card:#1e242a;--line:#384048;--accent:#6bb7e8;--warn:#f0a050}"
    "figure svg{filter:invert(1) hue-rotate(180deg)}}\n"
    "body{margin:0 auto;padding:1.5rem;max-width:76rem;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif}\n"
    "h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0 .3rem}h2{font-size:1.25rem;margin:2rem 0 .6rem}\n"
    "p{margin:.5rem 0}.soft{color:var(--soft)}\n"
    ".verdict{background:var(--card);border-left:.35rem solid var(--accent);padding:.6rem 1.1rem;"
    "margin:1rem 0}.verdict p:first-child{font-weight:600;font-size:1.1rem}\n"
    ".problems{background:var(--card);border-left:.35rem solid var(--warn);padding:.6rem 1.1rem;"
    "margin:1rem 0}.problems ul{margin:.3rem 0;padding-left:1.2rem}.problems li{overflow-wrap:anywhere}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1.5rem}\n"
    "figure{margin:0}figure svg{width:100%;height:auto;display:block}"
    "figure svg rect[fill=\"#ffffff\"]{fill:none}figure svg text{font-family:inherit}\n"
    "figure h3{font-size:1rem;margin:0 0 .3rem}figcaption{font-size:.85rem;color:var(--soft)}\n"
    ".wide{overflow-x:auto;margin:1rem 0}table{border-collapse:collapse;font-size:.88rem;"
    "font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--soft);padding:.2rem 0 .4rem}\n"
    "th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top}"
    "th{vertical-align:bottom;border-bottom-width:2px}.left{text-align:left}td{white-space:nowrap}"
    "td.left:last-child{white-space:normal;min-width:14rem;overflow-wrap:anywhere}\n"
    "dt{font-weight:600;margin-top:.5rem}dd{margin:0}footer{margin-top:2.5rem;font-size:.85rem;"
    "color:var(--soft);border-top:1px solid var(--line);padding-top:.6rem}\n"
    "@media print{body{max-width:none;padding:0;font-size:10pt}figure,tr{break-inside:avoid}"
    ".figures{grid-template-columns:1fr 1fr}.wide{overflow:visible}table{font-size:7.5pt}"
    "th,td{padding:.15rem .3rem}h2{break-after:avoid}}\n";

/* Each line of text as an element. */
static void add_lines(struct buf *b, const char *text, const char *element)
{
    char *copy = strdup(text), *next = copy;

    b->failed |= !copy;
    for (char *line = strsep(&next, "\n"); line; line = strsep(&next, "\n")) {
        if (!*line)
            continue;
        buf_addf(b, "<%s>", element);
        escape_html(b, line);
        buf_addf(b, "</%s>\n", element);
    }
    free(copy);
}

static void add_head(struct buf *b, const struct report *r)
{
    buf_add(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta http-equiv=\"Content-Security-Policy\" "
               "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>");
    escape_html(b, r->title);
    buf_add(b, ": scaling report</title>\n<style>\n");
    buf_add(b, style);
    buf_add(b, "</style>\n</head>\n<body>\n<header>\n<h1>");
    escape_html(b, r->title);
    buf_addf(b, ": how many GPUs are worth it?</h1>\n<p class=\"soft\">%zu of %zu runs have a result. "
                "Made by unetctl %s on %s.</p>\n</header>\n<main>\n",
             results_count(r->results, RESULT_DONE), r->results->count, PACKAGE_VERSION, r->created);
}

static void add_verdicts(struct buf *b, const struct report *r)
{
    for (size_t i = 0; i < r->nengines; i++) {
        buf_add(b, "<section class=\"verdict\" aria-label=\"Verdict\">\n");
        add_lines(b, r->engines[i].words, "p");
        buf_add(b, "</section>\n");
    }
    if (*r->problems) {
        buf_add(b, "<section class=\"problems\" aria-label=\"Runs without a result\">\n"
                   "<p><strong>Runs without a result</strong> (they are in no number below)</p>\n<ul>\n");
        add_lines(b, r->problems, "li");
        buf_add(b, "</ul>\n</section>\n");
    }
}

/* Does an identifier that gnuplot defines in every drawing start at p? */
static bool is_common_id(const char *p)
{
    return strncmp(p, "gpPt", 4) == 0 || strncmp(p, "gpDot", 5) == 0 ||
           strncmp(p, "textbox", 7) == 0 || strncmp(p, "greybox", 7) == 0;
}

/* gnuplot's drawing without its head; identifiers get the figure's name, so that several drawings
 * can stand in one page. */
static void add_drawing(struct buf *b, const char *svg, const char *name)
{
    for (const char *p = svg; *p; p++) {
        buf_add_bytes(b, p, 1);
        if (*p != '\'')
            continue;
        if (p[1] == '#')
            buf_add_bytes(b, ++p, 1);
        if (is_common_id(p + 1))
            buf_addf(b, "%s-", name);
    }
}

static void add_figure(struct buf *b, const struct figure *f, const char *dir)
{
    char path[PATH_MAX];
    struct err e;
    size_t n;
    char *svg = atomicfile_read(path_format(path, "%s/%s.svg", dir, f->name), MAX_SVG, &n, &e);
    char *body = svg ? strstr(svg, "<defs>") : NULL;

    buf_add(b, "<figure>\n<h3>");
    escape_html(b, f->title);
    buf_add(b, "</h3>\n");
    if (body) {
        buf_add(b, "<svg viewBox=\"0 0 720 480\" role=\"img\" aria-label=\"");
        escape_html(b, f->title);
        buf_add(b, ". ");
        escape_html(b, f->caption);
        buf_add(b, "\"><g>");
        add_drawing(b, body, f->name);
    } else {
        buf_add(b, "<p>The drawing can't be read.</p>\n");
    }
    buf_add(b, "<figcaption>");
    escape_html(b, f->caption);
    buf_add(b, "</figcaption>\n</figure>\n");
    free(svg);
}

static void add_figures(struct buf *b, const struct figures *f, const char *dir)
{
    buf_add(b, "<h2>Figures</h2>\n");
    if (!f->drawn) {
        buf_add(b, "<p>There are no figures: ");
        escape_html(b, f->why_not);
        buf_add(b, ". Scripts and data lie in figures/; install gnuplot and report again.</p>\n");
        return;
    }
    buf_add(b, "<div class=\"figures\">\n");
    for (size_t i = 0; i < f->count; i++)
        add_figure(b, &f->list[i], dir);
    buf_add(b, "</div>\n");
}

static void add_table(struct buf *b, struct table *t)
{
    table_encode_html(t, b);
    b->failed |= t->failed;
    table_destroy(t);
}

static void add_tables(struct buf *b, const struct report *r)
{
    struct table t;

    buf_add(b, "<h2>Numbers</h2>\n");
    for (size_t i = 0; i < r->nengines; i++) {
        const struct scaling *s = &r->engines[i].scaling;
        tables_fill_speed(&t, s);
        add_table(b, &t);
        tables_fill_quality(&t, s);
        add_table(b, &t);
        if (tables_has_parts(s)) {
            tables_fill_parts(&t, s);
            add_table(b, &t);
        }
    }
    buf_add(b, "<h2>Runs</h2>\n");
    tables_fill_runs(&t, r->results);
    add_table(b, &t);
}

static const char words[] =
    "<h2>How these numbers are made</h2>\n<dl>\n"
    "<dt>Worth it</dt><dd>" VERDICT_RULE ".</dd>\n"
    "<dt>Steady epoch</dt><dd>the median of the epochs after the first. The first pays for start-up "
    "and is shown by itself; totals include it.</dd>\n"
    "<dt>Speed-up</dt><dd>time of the base case divided by the time with N GPUs: by total training "
    "time, by steady epoch, and by the epoch of index 1 as the reference notebook does. Times of "
    "several seeds are summed up first, then divided.</dd>\n"
    "<dt>Efficiency</dt><dd>speed-up divided by the ideal, N over the base case's count. Where the "
    "records say how many images were really processed, by images per second.</dd>\n"
    "<dt>IoU</dt><dd>(I + 1) / (U + 1) over all pixels of all validation images, after the last "
    "epoch, as the run's log has it.</dd>\n</dl>\n";

int html_write(const struct report *r, const struct figures *f, const char *figures_dir,
               const char *path, struct err *e)
{
    struct buf b = {0};
    char *text;
    int rc;

    add_head(&b, r);
    add_verdicts(&b, r);
    add_figures(&b, f, figures_dir);
    add_tables(&b, r);
    buf_add(&b, words);
    buf_add(&b, "</main>\n<footer>The same as text: report.md; for programs: report.json; scripts and "
                "data of the figures: figures/.</footer>\n</body>\n</html>\n");
    text = buf_steal(&b);
    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for %s", path);
    rc = atomicfile_write(path, text, strlen(text), 0666, e);
    free(text);
    return rc;
}
