/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/document.h"

#include <math.h>

#include "launcher/report/chart.h"

void doc_init(struct doc *d)
{
    *d = (struct doc){.root = {.outputs = ~0u}};
    d->at = &d->root;
}

static void destroy_node(struct node *n)
{
    for (struct node *child = n->first, *next; child; child = next) {
        next = child->next;
        destroy_node(child);
        free(child);
    }
    if (n->table)
        table_destroy(n->table);
    if (n->chart)
        chart_destroy(n->chart);
    free(n->table);
    free(n->chart);
    free(n->text);
    free(n->more);
    buf_destroy(&n->png);
}

void doc_destroy(struct doc *d)
{
    destroy_node(&d->root);
    destroy_node(&d->lost);
    doc_init(d);
}

struct node *doc_add_text(struct doc *d, enum node_kind kind, unsigned outputs, char *text)
{
    struct node *parent = d->at, *n = text && !d->failed ? malloc(sizeof *n) : NULL;

    if (!n) {
        free(text);
        d->failed = true;
        return &d->lost;
    }
    *n = (struct node){.kind = kind, .outputs = outputs, .text = text, .parent = parent};
    *(parent->last ? &parent->last->next : &parent->first) = n;
    return parent->last = n;
}

struct node *doc_enter(struct doc *d, enum node_role role, struct node *section)
{
    section->role = role;
    d->at = d->failed ? d->at : section;
    return section;
}

void doc_end(struct doc *d)
{
    d->at = d->failed ? d->at : d->at->parent;
}

void doc_lines(struct doc *d, unsigned outputs, const char *lines)
{
    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
        doc_add(d, NODE_SENTENCE, outputs, "%.*s", (int)strcspn(lines, "\n"), lines);
}

void doc_paragraph(struct doc *d, unsigned outputs, struct buf *lines)
{
    if (lines->length)
        doc_add(d, NODE_PARAGRAPH, outputs, "%s", lines->data);
    d->failed |= lines->failed;
    buf_destroy(lines);
}

struct node *doc_list(struct doc *d, unsigned outputs, const char *label, const char *lines)
{
    if (!*lines)
        return &d->lost;
    struct node *list = doc_begin(d, ROLE_PLAIN, outputs, "%s", label);
    list->kind = NODE_LIST;
    doc_lines(d, outputs, lines);
    doc_end(d);
    return list;
}

void doc_term(struct doc *d, unsigned outputs, const char *term, const char *meaning)
{
    struct node *n = doc_add(d, NODE_TERM, outputs, "%s", term);

    d->failed |= n != &d->lost && !(n->more = strdup(meaning));
}

void doc_set_tile(struct doc *d, struct node *n, char *more)
{
    char *note = more ? strchr(more, '\t') : NULL;
    if (n == &d->lost || !note) {
        d->failed = true;
        free(more);
        return;
    }
    *note = '\0';
    n->more = more;
    n->note = note + 1;
}

void doc_table(struct doc *d, unsigned outputs, struct table *t)
{
    d->failed |= t->failed;
    struct node *n = t->ncells ? doc_add(d, NODE_TABLE, outputs, "%s", "") : &d->lost;
    struct table *own = n == &d->lost ? NULL : malloc(sizeof *own);
    if (!own) {
        d->failed |= t->ncells != 0;
        table_destroy(t);
        return;
    }
    *own = *t;
    n->table = own;
}

struct node *doc_draw(struct doc *d, struct node *n, struct chart *c)
{
    struct chart *own = n == &d->lost ? NULL : malloc(sizeof *own);
    d->failed |= !own || c->failed;
    if (!own) {
        chart_destroy(c);
        return n;
    }
    *own = *c;
    n->chart = own;
    *c = (struct chart){0};
    return n;
}

static const struct node *find_shown(const struct node *n, unsigned output)
{
    for (; n; n = n->next)
        if (n->outputs & output && (n->kind != NODE_SECTION || n->role == ROLE_VERDICT ||
                                    find_shown(n->first, output)))
            return n;
    return NULL;
}

const struct node *node_first(const struct node *parent, unsigned output)
{
    return find_shown(parent->first, output);
}

const struct node *node_next(const struct node *n, unsigned output)
{
    return find_shown(n->next, output);
}

char *doc_encode(const struct doc *d, doc_write_f *write)
{
    struct buf b = {.failed = d->failed};

    if (!d->failed)
        write(d, &b);
    return buf_steal(&b);
}

void table_init(struct table *t, const char *caption, ...)
{
    va_list ap;

    *t = (struct table){.ncolumns = 0};
    va_start(ap, caption);
    vsnprintf(t->caption, sizeof t->caption, caption, ap);
    va_end(ap);
}

/* Returns the column of the next cell: in the first row, which ends when its first head comes
 * again, a new one with this head, or NULL if the table has TABLE_COLUMNS already. */
static struct table_column *next_column(struct table *t, const char *head, bool left)
{
    if (t->ncells > t->ncolumns || (t->ncells && strcmp(head, t->columns[0].head) == 0))
        return &t->columns[t->ncells % t->ncolumns];
    if (t->ncolumns == TABLE_COLUMNS)
        return NULL;
    struct table_column *c = &t->columns[t->ncolumns++];
    *c = (struct table_column){.left = left};
    snprintf(c->head, sizeof c->head, "%s", head);
    return c;
}

void table_add_text(struct table *t, const char *head, bool left, char *text)
{
    struct table_column *column = next_column(t, head, left);
    char **cells = reallocarray(t->cells, t->ncells + 1, sizeof *cells);

    if (left && text && !*text) {
        free(text);
        text = strdup("-");
    }
    if (cells)
        t->cells = cells;
    if (!column || !cells || !text) {
        t->failed = true;
        free(text);
        return;
    }
    column->shown |= strcmp(text, "-") != 0;
    t->cells[t->ncells++] = text;
}

double table_round(double value, int decimals)
{
    return fabs(value) < 0.5 * pow(10, -decimals) ? 0 : value;
}

void table_number(struct table *t, const char *head, double value, int decimals)
{
    if (isfinite(value))
        table_word(t, head, "%.*f", decimals, table_round(value, decimals));
    else
        table_word(t, head, "-");
}

void table_percent(struct table *t, const char *head, double share)
{
    if (isfinite(share))
        table_word(t, head, "%.0f %%", 100 * share);
    else
        table_word(t, head, "-");
}

void table_range(struct table *t, const char *head, double low, double high, int decimals,
                 const char *behind)
{
    table_word(t, head, "%.*f..%.*f%s", decimals, table_round(low, decimals), decimals,
               table_round(high, decimals), behind);
}

size_t table_rows(const struct table *t)
{
    return 1 + t->ncells / t->ncolumns;
}

const char *table_cell(const struct table *t, size_t row, size_t column)
{
    return row ? t->cells[(row - 1) * t->ncolumns + column] : t->columns[column].head;
}

void table_destroy(struct table *t)
{
    for (size_t i = 0; i < t->ncells; i++)
        free(t->cells[i]);
    free(t->cells);
    t->cells = NULL;
    t->ncells = 0;
}

void escape_text(struct buf *b, const char *text, const char *replace(char c, char scratch[8]))
{
    char scratch[8];

    while (*text) {
        size_t n = utf8_size(text);
        const char *other = NULL;
        if (n == 0)
            other = "?";
        else if (control_size(text))
            other = " ";
        else if (n == 1 && replace)
            other = replace(*text, scratch);
        if (other)
            buf_add(b, other);
        else
            buf_add_bytes(b, text, n);
        text += n ? n : 1;
    }
}

void escape_plain(struct buf *b, const char *text)
{
    escape_text(b, text, NULL);
}

void escape_lines(struct buf *b, escape_f *escape, const char *lines)
{
    for (; *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n') {
        struct buf line = {0};
        buf_add_bytes(&line, lines, strcspn(lines, "\n"));
        escape(b, line.data ? line.data : "");
        buf_add(b, "\n");
        b->failed |= line.failed;
        buf_destroy(&line);
    }
}
