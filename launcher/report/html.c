/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/document.h"

#include <math.h>

#include "launcher/report/chart.h"

#define add(b, ...) buf_add_escaped(b, escape_html, __VA_ARGS__)

/* The style sheet, light and dark, for screen and paper. Charts bring their light colours
 * (chart.h): c0..c5 distinguish series, c6..c13 are for small to large numbers, and c14 is
 * neutral. Printed pages are always light. */
static const char page_style[] =
    ":root{color-scheme:light;--ink:#1a2027;--soft:#55606b;--paper:#fff;--card:#f5f7f9;"
    "--line:#d6dce2;--accent:#0072b2;--warn:#96480a;--tip:#1a2027;--tipink:#fff}\n"
    "@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--ink:#e6eaee;"
    "--soft:#a0abb6;--paper:#12161b;--card:#1b2127;--line:#38414a;--accent:#58b2ec;--warn:#f2a65a;"
    "--tip:#e6eaee;--tipink:#12161b}.c0{color:#58b2ec}.c1{color:#ff9050}.c2{color:#35c79f}"
    ".c3{color:#e590c4}.c4{color:#c3ccd4}.c5{color:#e0b040}.c6{color:#b58ad6}.c7{color:#9a93e0}"
    ".c8{color:#7ba4e0}.c9{color:#5bb8cf}.c10{color:#4cc9a6}.c11{color:#7ad67a}.c12{color:#b5de5a}"
    ".c13{color:#f0e05a}.c14{color:#c3ccd4}.chart .soft{color:var(--soft)}"
    ".chart .ink{color:var(--ink)}.chart .grid{color:#2a3138}.hollow{fill:var(--paper)}"
    ".col{stroke:var(--paper)}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1.1rem 1.5rem 3rem;max-width:78rem;background:var(--paper);"
    "color:var(--ink);font:16px/1.55 system-ui,'Segoe UI','DejaVu Sans',Helvetica,Arial,"
    "sans-serif;overflow-wrap:break-word}\n"
    "h1{font-size:1.05rem;font-weight:600;letter-spacing:.01em;margin:0;color:var(--soft)}"
    "h2{font-size:1.3rem;line-height:1.25;margin:2.6rem 0 .9rem}h3{font-size:1rem;"
    "margin:0 0 .5rem}p{margin:.5rem 0}a{color:var(--accent)}.soft{color:var(--soft);"
    "font-size:.9rem;margin:.1rem 0}\n"
    ".verdict{border-left:.4rem solid var(--accent);background:var(--card);"
    "border-radius:0 .6rem .6rem 0;padding:.7rem 1.2rem;margin:.8rem 0}"
    ".verdict h2{margin:0 0 .3rem;font-size:1.25rem;line-height:1.3;font-weight:650}"
    ".verdict p{max-width:62rem}progress{width:min(100%,20rem);accent-color:var(--accent);"
    "vertical-align:middle}.tiles{display:grid;grid-template-columns:repeat(auto-fit,"
    "minmax(9.5rem,1fr));gap:.6rem;margin:.5rem 0 .2rem}.tiles div{background:var(--paper);"
    "border:1px solid var(--line);border-radius:.5rem;padding:.3rem .8rem}"
    ".tiles dt{color:var(--soft);font-size:.8rem}.tiles dd{margin:0;font-size:1.2rem;"
    "font-weight:650;font-variant-numeric:tabular-nums;line-height:1.3}"
    ".tiles dd small{display:block;font-size:.78rem;font-weight:400;color:var(--soft)}\n"
    ".caveats,.problems{border-left:.4rem solid var(--warn);background:var(--card);"
    "border-radius:0 .6rem .6rem 0;padding:.5rem 1.2rem;margin:.9rem 0}.caveats h2,"
    ".problems h2{font-size:1.05rem;margin:0 0 .3rem}.caveats p{margin:0}"
    ".caveats ul{font-size:.9rem;line-height:1.4}.caveats ul,.problems ul{margin:.3rem 0;"
    "padding-left:1.2rem}li{overflow-wrap:anywhere}\n"
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,32rem),1fr));"
    "gap:1.2rem}.figures+.soft{margin-top:.9rem}.first{gap:.9rem}"
    ".first figure{padding:.5rem .9rem}.first h3{margin:0}.first .chart{max-width:24rem;"
    "margin:0 auto}.grounds h3{margin:1.1rem 0 .2rem}.grounds p{max-width:62rem}"
    ".figures+h3{margin-top:1.2rem}.examples{display:grid;grid-template-columns:repeat(auto-fit,"
    "minmax(min(100%,16rem),1fr));gap:.9rem}.examples figure{padding:.6rem}"
    ".examples img{width:100%;display:block;image-rendering:pixelated}"
    ".examples figcaption{margin-top:.3rem}figure{margin:0;border:1px solid var(--line);"
    "border-radius:.6rem;padding:1rem 1.1rem;min-width:0}figcaption{font-size:.86rem;"
    "color:var(--soft);line-height:1.45}.chart{width:100%;height:auto;display:block;"
    "overflow:visible}.hot>circle,.hot>rect{fill:transparent}.tip{visibility:hidden;"
    "pointer-events:none}.hot:hover>circle{stroke:currentColor;stroke-width:2}"
    ".hot:hover .tip{visibility:visible}.tip rect{fill:var(--tip)}"
    ".chart .tip text{fill:var(--tipink)}.chart .tip .who{font-weight:650}\n"
    ".wide{overflow-x:auto;margin:.9rem 0 1.6rem}.wide:focus-visible,"
    "summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;color:var(--soft);padding:.2rem 0 .5rem;max-width:min(62rem,"
    "calc(100vw - 2rem));position:sticky;left:0}th,td{padding:.32rem .42rem;text-align:right;"
    "border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}"
    "thead th{vertical-align:bottom;border-bottom:2px solid var(--soft);white-space:normal}"
    "tbody th{font-weight:600}.left{text-align:left}td.left{white-space:normal;min-width:6.2rem}"
    "td.left:last-child{min-width:16rem;overflow-wrap:anywhere}"
    "tbody tr:hover{background:var(--card)}tr.best{background:var(--card);"
    "box-shadow:inset .25rem 0 var(--accent)}\n"
    "details{margin:.5rem 0}summary{cursor:pointer;color:var(--accent);font-size:.88rem}"
    "summary h2,summary h3{display:inline}"
    "dl.words dt{font-weight:650;margin-top:.6rem}dl.words dd{margin:0;max-width:62rem}\n"
    "footer{margin-top:3rem;font-size:.86rem;color:var(--soft);border-top:1px solid var(--line);"
    "padding-top:.7rem}\n"
    "@media screen and (max-width:36rem){body{padding:1.2rem .8rem 2rem}.verdict,.caveats,"
    ".problems{padding:.8rem .9rem}.verdict h2{font-size:1.25rem}"
    ".tiles{grid-template-columns:1fr 1fr;gap:.5rem}.caveats ul{padding-left:1rem}"
    "figure{padding:.8rem .7rem}}\n"
    "@media print{@page{size:A4;margin:14mm}body{max-width:none;padding:0;font-size:9.5pt}figure,"
    "tr,.wide,.verdict,.caveats,.tiles div{break-inside:avoid}h2,h3,caption,thead,"
    "summary{break-after:avoid}.examples{grid-template-columns:repeat(4,1fr)}"
    ".figures{grid-template-columns:1fr 1fr;gap:.5rem}figure{padding:.4rem}"
    "figure details{display:none}.wide{overflow:visible}table{font-size:6.8pt}th,"
    "td{padding:.12rem .24rem}td.left,thead th{white-space:normal}td.left,"
    "td.left:last-child{min-width:0}.tiles{grid-template-columns:repeat(5,1fr)}"
    ".verdict h2{font-size:14pt}figcaption{font-size:7.5pt}.soft,footer,dl.words{font-size:8.5pt}"
    "details:not(figure *)::details-content{display:block;content-visibility:visible}"
    "*{print-color-adjust:exact}}\n";

static const char *replace(char c, char scratch[8])
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void escape_html(struct buf *b, const char *text)
{
    escape_text(b, text, replace);
}

static void write_table(struct buf *b, const struct table *t)
{
    add(b, "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>%s</caption>\n", t->caption);
    for (size_t row = 0; row < table_rows(t); row++) {
        buf_add(b, row ? "<tr>" : "<thead><tr>");
        for (size_t i = 0; i < t->ncolumns; i++) {
            const char *tag = row && i ? "td" : "th";
            if (!t->columns[i].shown)
                continue;
            buf_addf(b, "<%s%s%s>", tag,
                     row == 0 ? " scope=\"col\"" : i == 0 ? " scope=\"row\"" : "",
                     t->columns[i].left ? " class=\"left\"" : "");
            escape_html(b, table_cell(t, row, i));
            buf_addf(b, "</%s>", tag);
        }
        buf_add(b, row ? "</tr>\n" : "</tr></thead>\n<tbody>\n");
    }
    buf_add(b, "</tbody></table></div>\n");
}

/* Writes the values that the figure shows where the mouse points, for readers who use a keyboard
 * or a screen reader. */
static void write_values(struct buf *b, const struct chart *c)
{
    struct table t;

    table_init(&t, "Values of: %s", c->title);
    for (size_t i = 0; i < c->nseries; i++) {
        const struct chart_series *s = &c->series[i];
        int decimals = s->right ? c->right.decimals : c->y.decimals;
        bool column = s->style == CHART_COLUMN;
        for (size_t k = 0; k < s->count; k++) {
            const struct chart_point *p = &s->points[k];
            if (!chart_series_lists(s, k))
                continue;
            table_text(&t, "series", "%s", s->label);
            table_number(&t, c->x.label, p->x, c->x.decimals);
            table_number(&t, "value", column ? p->high - p->low : p->y, decimals);
            table_number(&t, "low", column ? NAN : p->low, decimals);
            table_number(&t, "high", column ? NAN : p->high, decimals);
        }
    }
    if (t.ncells)
        write_table(b, &t);
    b->failed |= t.failed;
    table_destroy(&t);
}

static void write_figure(struct buf *b, const struct node *n)
{
    const struct chart *c = n->chart;
    bool folded = n->fold == FOLD_CLOSED;

    add(b, "<figure>\n<h3>%s</h3>\n", c->title);
    chart_svg_encode(c, b);
    if (!folded)
        add(b, "<figcaption>%s</figcaption>\n", c->caption);
    add(b, "<details><summary>%s</summary>\n",
        folded ? "How to read it, and its values" : "Values");
    if (folded)
        add(b, "<p class=\"soft\">%s</p>\n", c->caption);
    write_values(b, c);
    buf_add(b, "</details>\n</figure>\n");
}

static void write_picture(struct buf *b, const struct node *n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)n->png.data;
    size_t end = n->png.length;

    b->failed |= n->png.failed;
    add(b, "<figure><img alt=\"%s\" src=\"data:image/png;base64,", n->text);
    for (size_t i = 0; i < end; i += 3) {
        unsigned long v = (unsigned long)bytes[i] << 16;
        v |= i + 1 < end ? (unsigned long)bytes[i + 1] << 8 : 0;
        v |= i + 2 < end ? bytes[i + 2] : 0;
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
                        i + 1 < end ? digits[v >> 6 & 63] : '=',
                        i + 2 < end ? digits[v & 63] : '='};
        buf_add_bytes(b, four, 4);
    }
    add(b, "\"><figcaption>%s</figcaption></figure>\n", n->text);
}

static void write_list(struct buf *b, const struct node *list)
{
    if (list->role == ROLE_CAVEATS)
        buf_add(b, "<div class=\"caveats\">\n");
    if (*list->text)
        add(b, "<p><strong>%s</strong></p>\n", list->text);
    buf_add(b, "<ul>\n");
    for (const struct node *n = node_first(list, TO_HTML); n; n = node_next(n, TO_HTML))
        add(b, "<li>%s</li>\n", n->text);
    buf_add(b, list->role == ROLE_CAVEATS ? "</ul>\n</div>\n" : "</ul>\n");
}

static void write_section(struct buf *b, const struct node *section, int level);

static void write_node(struct buf *b, const struct node *n, int level)
{
    switch (n->kind) {
    case NODE_SECTION: write_section(b, n, level); break;
    case NODE_SENTENCE:
    case NODE_PARAGRAPH:
        add(b, n->role == ROLE_NOTE ? "<p class=\"soft\">%s</p>\n" : "<p>%s</p>\n", n->text);
        break;
    case NODE_LIST: write_list(b, n); break;
    case NODE_TERM: add(b, "<dt>%s</dt><dd>%s</dd>\n", n->text, n->more); break;
    case NODE_TILE:
        add(b, "<div><dt>%s</dt><dd>%s<small>%s</small></dd></div>\n", n->text, n->more, n->note);
        break;
    case NODE_PROGRESS:
        buf_addf(b, "<p><progress max=\"100\" value=\"%.1f\" aria-label=\"share that is done\">"
                 "</progress> ", n->value);
        add(b, "%s</p>\n", n->text);
        break;
    case NODE_TABLE: write_table(b, n->table); break;
    case NODE_FIGURE: write_figure(b, n); break;
    case NODE_PICTURE: write_picture(b, n); break;
    }
}

/* Writes a section as the element of its role, with its heading, whose level grows with the
 * depth. */
static void write_section(struct buf *b, const struct node *section, int level)
{
    static const struct {
        const char *tag, *class;
    } elements[] = {
        [ROLE_PLAIN] = {"", ""},
        [ROLE_VERDICT] = {"section", "verdict"},
        [ROLE_GROUNDS] = {"section", "grounds"},
        [ROLE_CAVEATS] = {"div", "caveats"},
        [ROLE_LEFT_OUT] = {"section", "problems"},
        [ROLE_FIGURES] = {"div", "figures"},
        [ROLE_FIRST_FIGURES] = {"div", "figures first"},
        [ROLE_PICTURES] = {"div", "examples"},
        [ROLE_TILES] = {"dl", "tiles"},
        [ROLE_TERMS] = {"dl", "words"},
        [ROLE_NOTE] = {"div", "soft"}};
    const char *tag = elements[section->role].tag;
    bool titled = *section->text && !(section->untitled & TO_HTML);
    char heading[4] = {'h', (char)('0' + level), '\0'};

    if (*tag)
        buf_addf(b, "<%s class=\"%s\"", tag, elements[section->role].class);
    if (*tag && *section->id)
        add(b, " aria-labelledby=\"%s\"", section->id);
    buf_add(b, *tag ? ">\n" : "");
    bool folded = titled && section->fold != FOLD_NONE;
    if (folded)
        buf_add(b, section->fold == FOLD_OPEN ? "<details open><summary>" : "<details><summary>");
    if (titled && *section->id)
        add(b, "<%s id=\"%s\">%s</%s>", heading, section->id, section->text, heading);
    else if (titled)
        add(b, "<%s>%s</%s>", heading, section->text, heading);
    buf_add(b, folded ? "</summary>\n" : titled ? "\n" : "");
    for (const struct node *n = node_first(section, TO_HTML); n; n = node_next(n, TO_HTML))
        write_node(b, n, level + titled);
    buf_add(b, folded ? "</details>\n" : "");
    if (*tag)
        buf_addf(b, "</%s>\n", tag);
}

void html_write(const struct doc *d, struct buf *b)
{
    buf_add(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "img-src data:; style-src 'unsafe-inline'\">\n");
    if (*d->generator)
        add(b, "<meta name=\"generator\" content=\"%s\">\n", d->generator);
    if (d->refresh_s > 0)
        buf_addf(b, "<meta http-equiv=\"refresh\" content=\"%.0f\">\n", d->refresh_s);
    add(b, "<title>%s: %s</title>\n<style>\n", d->title, d->topic);
    buf_add(b, chart_svg_style);
    buf_add(b, page_style);
    add(b, "</style>\n</head>\n<body>\n<header>\n<h1>%s: %s</h1>\n<p class=\"soft\">%s</p>\n"
        "</header>\n<main>\n", d->title, d->heading, d->about);
    for (const struct node *n = node_first(&d->root, TO_HTML); n; n = node_next(n, TO_HTML))
        write_node(b, n, 2);
    add(b, "</main>\n<footer>%s</footer>\n</body>\n</html>\n", d->footer);
}
