/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/document.h"

#include <math.h>
#include <sys/ioctl.h>

#include "launcher/report/chart.h"

#define MIN_COLUMNS 40
#define MAX_COLUMNS 160
#define BAR_MARGIN 34 /* columns for the count before a bar and the numbers after it */

static int columns_of_stdout(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int n = columns ? atoi(columns) : 0;

    if (n <= 0)
        n = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    return n < MIN_COLUMNS ? MIN_COLUMNS : n > MAX_COLUMNS ? MAX_COLUMNS : n;
}

/* Returns whether the locale is UTF-8. The first of the three variables that is set and not empty
 * decides. */
static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

struct text_form text_form_of_stdout(void)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");

    return (struct text_form){
        .columns = columns_of_stdout(),
        .utf8 = locale_is_utf8(),
        .colour =
            isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && term && strcmp(term, "dumb"),
    };
}

static size_t count_characters(const char *text, size_t nbytes)
{
    size_t count = 0;

    for (size_t i = 0; i < nbytes; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

void text_wrap(struct buf *b, const char *text, int indent, int columns)
{
    struct buf plain = {0};
    size_t column = 0;

    escape_plain(&plain, text);
    text = plain.data ? plain.data : "";
    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " "), width = count_characters(text, n);
        if (column && column + 1 + width > (size_t)columns) {
            buf_addf(b, "\n%*s", indent, "");
            column = (size_t)indent;
        } else if (column) {
            buf_add(b, " ");
            column++;
        }
        buf_add_bytes(b, text, n);
        column += width;
        text += n;
    }
    buf_add(b, "\n");
    b->failed |= plain.failed;
    buf_destroy(&plain);
}

static void wrap(struct buf *b, const struct text_form *form, int indent, char *text)
{
    b->failed |= !text;
    text_wrap(b, text ? text : "", indent, form->columns);
    free(text);
}

static void write_table(struct buf *b, const struct table *t, const struct text_form *form)
{
    size_t widths[TABLE_COLUMNS] = {0};

    text_wrap(b, t->caption, 2, form->columns);
    for (size_t row = 0; row < table_rows(t); row++)
        for (size_t i = 0; i < t->ncolumns; i++) {
            size_t n = strlen(table_cell(t, row, i));
            widths[i] = n > widths[i] ? n : widths[i];
        }
    for (size_t row = 0; row < table_rows(t); row++) {
        const char *gap = "";
        for (size_t i = 0; i < t->ncolumns; i++) {
            const struct table_column *c = &t->columns[i];
            int fill = (int)(widths[i] - strlen(table_cell(t, row, i)));
            if (!c->shown)
                continue;
            buf_addf(b, "%s%*s", gap, c->left ? 0 : fill, "");
            escape_plain(b, table_cell(t, row, i));
            buf_addf(b, "%*s", c->left && i + 1 < t->ncolumns ? fill : 0, "");
            gap = "  ";
        }
        buf_add(b, "\n");
    }
}

/* Writes a bar of `length` characters, rounded to whole ones or, with utf8, down to eighths.
 * Returns how many characters it has. */
static int write_bar(struct buf *b, double length, bool utf8)
{
    static const char *const eighths[] = {"",       "\u258f", "\u258e", "\u258d",
                                          "\u258c", "\u258b", "\u258a", "\u2589"};
    int whole = utf8 ? (int)floor(length) : (int)lround(length),
        part = utf8 ? (int)floor((length - whole) * 8) : 0;

    for (int i = 0; i < whole; i++)
        buf_add(b, utf8 ? "\u2588" : "#");
    buf_add(b, eighths[part]);
    return whole + (part > 0);
}

/* Writes a bar for each point of the first series of a chart, then dots up to the value of the
 * second series there, and a mark. */
static void write_bars(struct buf *b, const struct chart *c, const struct text_form *form)
{
    const struct chart_series *values = &c->series[0], *marks = &c->series[1];
    int width = form->columns - BAR_MARGIN;
    double most = 0;

    for (size_t i = 0; i < values->count; i++)
        most = fmax(most, fmax(values->points[i].y, marks->points[i].y));
    buf_addf(b, "%s (%s)\n", c->title, form->utf8 ? "\u2502" : "|");
    for (size_t i = 0; i < values->count; i++) {
        const struct chart_point *p = &values->points[i];
        int mark = (int)lround(marks->points[i].y / most * (width - 1));
        buf_addf(b, "%6.0f  ", p->x);
        for (int k = write_bar(b, isfinite(p->y) ? p->y / most * (width - 1) : 0, form->utf8);
             k < width; k++)
            buf_add(b, k == mark  ? (form->utf8 ? "\u2502" : "|")
                       : k < mark ? (form->utf8 ? "\u00b7" : ".")
                                  : " ");
        if (isnan(p->y))
            buf_add(b, "      -");
        else
            buf_addf(b, "  %5.*f", c->y.decimals, p->y);
        if (isfinite(p->low))
            buf_addf(b, "  %.*f..%.*f%s", c->y.decimals, p->low, c->y.decimals, p->high,
                     p->range ? " (range)" : "");
        buf_add(b, "\n");
    }
    buf_addf(b, "%6s\n", c->x.label);
}

static void write_children(struct buf *b, const struct node *parent, const struct text_form *form);

static void write_section(struct buf *b, const struct node *n, const struct text_form *form)
{
    bool bold = form->colour && n->role == ROLE_VERDICT;

    if (*n->text && !(n->untitled & TO_TEXT)) {
        buf_add(b, bold ? "\033[1m" : "");
        wrap(b, form, 2, mem_textf(NULL, n->role == ROLE_VERDICT ? "%s" : "%s:", n->text));
        buf_add(b, bold ? "\033[0m" : "");
    }
    write_children(b, n, form);
}

static void write_node(struct buf *b, const struct node *n, const struct text_form *form)
{
    switch (n->kind) {
    case NODE_SECTION: write_section(b, n, form); break;
    case NODE_SENTENCE:
    case NODE_PROGRESS: text_wrap(b, n->text, 2, form->columns); break;
    case NODE_PARAGRAPH: text_wrap(b, n->text, 0, form->columns); break;
    case NODE_LIST:
        for (const struct node *i = node_first(n, TO_TEXT); i; i = node_next(i, TO_TEXT))
            wrap(b, form, 2, mem_textf(NULL, "%s%s%s", n->text, *n->text ? ": " : "- ", i->text));
        break;
    case NODE_TERM:
    case NODE_TILE: wrap(b, form, 4, mem_textf(NULL, "%s %s", n->text, n->more)); break;
    case NODE_TABLE: write_table(b, n->table, form); break;
    case NODE_FIGURE: write_bars(b, n->chart, form); break;
    case NODE_PICTURE: text_wrap(b, n->text, 2, form->columns); break;
    }
}

/* Returns whether a node follows others of its kind without a blank line between them. */
static bool flows(const struct node *n)
{
    return n->kind == NODE_SENTENCE || n->kind == NODE_LIST || n->kind == NODE_TERM ||
           n->kind == NODE_TILE;
}

static void write_children(struct buf *b, const struct node *parent, const struct text_form *form)
{
    for (const struct node *n = node_first(parent, TO_TEXT), *next; n; n = next) {
        write_node(b, n, form);
        next = node_next(n, TO_TEXT);
        buf_add(b, next && !(flows(n) && flows(next)) ? "\n" : "");
    }
}

void text_write(const struct doc *d, const struct text_form *form, struct buf *b)
{
    write_children(b, &d->root, form);
    b->failed |= d->failed;
}
