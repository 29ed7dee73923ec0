/* SPDX-License-Identifier: BSD-3-Clause */
/* A document as a tree, which is built once and written as HTML, as text for a terminal, as
 * Markdown and as LaTeX. A node says what it is: a section, a sentence, a table, a figure. It says
 * in which outputs it is shown, and not how it looks there.
 *
 * The builders (contents.c, proposal.c, live/) know studies and make nodes. The writers (html.c,
 * text.c, markup.c) know the tree and no study. All texts in a tree are plain: the writer alone
 * escapes them, so text of a user's file cannot become markup.
 *
 * Adding nodes reports no error: if memory runs out, doc.failed is set for one check by
 * doc_encode. A node that is added goes into the section that was begun last. */
#pragma once

#include "src/base.h"

/* The outputs in which a node is shown, as a mask. */
enum { TO_HTML = 1, TO_TEXT = 2, TO_MARKDOWN = 4, TO_LATEX = 8, TO_PAGES = TO_HTML | TO_MARKDOWN };

enum node_kind {
    NODE_SECTION,   /* nodes below the heading text, which may be "" */
    NODE_SENTENCE,  /* one fact */
    NODE_PARAGRAPH, /* sentences that belong together, one per line */
    NODE_LIST,      /* sentences; text introduces them, or is "" */
    NODE_TERM,      /* text is explained by more */
    NODE_TILE,      /* one of a few main numbers: text is its name, more its value, beside note */
    NODE_PROGRESS,  /* a percentage (value), which text explains */
    NODE_TABLE,
    NODE_FIGURE,    /* a chart; text is its file without suffix, or "" */
    NODE_PICTURE,   /* a PNG: text is its caption, more its name or "", png its bytes */
};

/* What a section, a list or a sentence is for. */
enum node_role {
    ROLE_PLAIN,
    ROLE_VERDICT,       /* what the reader came for; its heading is the headline */
    ROLE_GROUNDS,       /* what a verdict rests on */
    ROLE_CAVEATS,       /* what weakens it */
    ROLE_LEFT_OUT,
    ROLE_FIGURES,       /* figures side by side */
    ROLE_FIRST_FIGURES, /* small ones, for the first screen */
    ROLE_PICTURES,
    ROLE_TILES,
    ROLE_TERMS,
    ROLE_NOTE,          /* about the document itself, or how to read it */
};

enum node_fold { FOLD_NONE, FOLD_OPEN, FOLD_CLOSED };

struct node {
    enum node_kind kind;
    unsigned outputs;
    enum node_role role;
    unsigned untitled;   /* of a section: the outputs that omit its heading */
    enum node_fold fold; /* of a section, or of how to read a figure, where readers can unfold it */
    char id[32];         /* of a section, to link to; "" if it has none */
    char *text, *more;
    const char *note; /* within more */
    double value;
    struct table *table;
    struct chart *chart;
    struct buf png;
    struct node *parent, *first, *last, *next;
};

struct doc {
    char title[256], topic[64], heading[64]; /* "TITLE: HEADING"; a title "" is not shown */
    char about[512];                         /* one or more sentences below it, or "" */
    char footer[256];
    char comment[128]; /* to the author of the document that this one becomes a part of */
    char generator[32]; /* program that may replace the page */
    double refresh_s;  /* the page loads itself again so often; 0: never */
    char created[32];  /* date and time */
    struct node root, *at; /* at: the section that was begun last */
    bool failed;
    struct node lost; /* what is returned when memory ran out */
};

void doc_init(struct doc *d);
void doc_destroy(struct doc *d);

/* Adds a node with its text. Returns it, for its further members, and never NULL. */
#define doc_add(d, kind, outputs, ...) \
    doc_add_text(d, kind, outputs, mem_textf(NULL, __VA_ARGS__))
struct node *doc_add_text(struct doc *d, enum node_kind kind, unsigned outputs, char *text);

/* Adds a section, to which nodes are added until doc_end. A section but a
 * verdict, in which nothing is shown, is not shown itself. */
#define doc_begin(d, role, outputs, ...) \
    doc_enter(d, role, doc_add(d, NODE_SECTION, outputs, __VA_ARGS__))
struct node *doc_enter(struct doc *d, enum node_role role, struct node *section);
void doc_end(struct doc *d);

/* Add each line as a sentence; all lines as a paragraph or as a list, if there are some; a term; a
 * tile, of which fmt makes its value, a tab and its note. doc_paragraph destroys the lines. */
void doc_lines(struct doc *d, unsigned outputs, const char *lines);
void doc_paragraph(struct doc *d, unsigned outputs, struct buf *lines);
struct node *doc_list(struct doc *d, unsigned outputs, const char *label, const char *lines);
void doc_term(struct doc *d, unsigned outputs, const char *term, const char *meaning);
#define doc_tile(d, outputs, name, ...) \
    doc_set_tile(d, doc_add(d, NODE_TILE, outputs, "%s", name), mem_textf(NULL, __VA_ARGS__))
void doc_set_tile(struct doc *d, struct node *n, char *more);

/* A table of texts and numbers. A column in which nothing is known is not shown. */
#define TABLE_COLUMNS 24

struct table_column {
    char head[64]; /* with the unit of its numbers */
    bool left;     /* of texts; numbers are aligned to the right */
    bool shown;    /* some cell is not "-" */
};

struct table {
    char caption[1024];
    struct table_column columns[TABLE_COLUMNS];
    size_t ncolumns;
    char **cells; /* row by row */
    size_t ncells;
    bool failed; /* memory ran out, or there are too many columns; the table is incomplete */
};

void table_init(struct table *t, const char *caption, ...) __attribute__((format(printf, 2, 3)));

/* Add the next cell of a row: a text, or "-" if it is empty; a word among numbers; a number, or "-"
 * if it is not finite; a share, "-" likewise; a range, with a text behind it. The cells of the first
 * row define the columns. Each row begins with the first head and has the same heads. */
#define table_text(t, head, ...) table_add_text(t, head, true, mem_textf(NULL, __VA_ARGS__))
#define table_word(t, head, ...) table_add_text(t, head, false, mem_textf(NULL, __VA_ARGS__))
void table_add_text(struct table *t, const char *head, bool left, char *text);
void table_number(struct table *t, const char *head, double value, int decimals);
void table_percent(struct table *t, const char *head, double share);
void table_range(struct table *t, const char *head, double low, double high, int decimals,
                 const char *behind);

/* Return the number of rows, and a cell. Row 0 is that of the heads. */
size_t table_rows(const struct table *t);
const char *table_cell(const struct table *t, size_t row, size_t column);

/* Returns value, or 0 without a sign if it would be printed as -0. */
double table_round(double value, int decimals);

void table_destroy(struct table *t);

/* Move *t, if it has rows, and *c, whose file has this name without a suffix, into the document. */
void doc_table(struct doc *d, unsigned outputs, struct table *t);
#define doc_figure(d, outputs, c, ...) \
    doc_draw(d, doc_add(d, NODE_FIGURE, outputs, __VA_ARGS__), c)
struct node *doc_draw(struct doc *d, struct node *figure, struct chart *c);

/* Return the first node of a section, and the next one, that the output shows, or NULL. */
const struct node *node_first(const struct node *parent, unsigned output);
const struct node *node_next(const struct node *n, unsigned output);

/* The properties of a terminal. */
struct text_form {
    int columns;
    bool utf8;   /* block characters may be used */
    bool colour; /* headlines are bold */
};

/* Returns the form for stdout. The width is the first known of COLUMNS, the terminal's width and
 * 80, limited to 40 to 160. UTF-8 follows the first set of LC_ALL, LC_CTYPE and LANG. Colour is
 * used on a terminal whose TERM is set and not dumb, unless NO_COLOR is set and not empty. */
struct text_form text_form_of_stdout(void);

/* Write the document. The page is self-contained, without scripts and requests. LaTeX is to be
 * \input into a document of the user's, who also finds drawings beside it. */
typedef void doc_write_f(const struct doc *d, struct buf *b);
doc_write_f html_write, markdown_write, latex_write;
void text_write(const struct doc *d, const struct text_form *form, struct buf *b);

/* Returns what write writes, which the caller frees, or NULL if memory ran out. */
char *doc_encode(const struct doc *d, doc_write_f *write);

/* Adds text and a newline, broken at blanks so that lines have at most `columns` characters,
 * except for a longer word. All lines but the first are indented by `indent`. Characters of
 * src/text.h become blanks. */
void text_wrap(struct buf *b, const char *text, int indent, int columns);

/* Escape a text for an output: HTML, also between double quotes; Markdown, also in a table; LaTeX
 * with T1 fonts, where characters but ASCII and those from U+00C0 to U+00FF become '?'. In all,
 * the characters of src/text.h become blanks, and bytes that are not UTF-8 '?'. */
typedef void escape_f(struct buf *b, const char *text);
escape_f escape_html, escape_markdown, escape_latex, escape_plain;

/* Adds text as escape_plain does, and replaces ASCII characters, unless replace returns NULL. */
void escape_text(struct buf *b, const char *text, const char *replace(char c, char scratch[8]));

/* Adds each line, escaped, and a newline. */
void escape_lines(struct buf *b, escape_f *escape, const char *lines);
