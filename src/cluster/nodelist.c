/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/nodelist.h"

#define SEPARATORS ", \t\n"
#define DIGITS "0123456789"
#define DIGITS_MAX 18 /* more digits might not fit int64_t */

struct nodelist {
    struct buf names;     /* all names, each with its NUL */
    size_t *starts;       /* offsets of the names; starts[count] is where the next would begin */
    size_t count, capacity, limit;
};

/* A name of the list before expansion: text, bracket, text, bracket, ..., text. */
struct pattern {
    const char *text[NODELIST_BRACKETS_MAX + 1];
    size_t text_length[NODELIST_BRACKETS_MAX + 1];
    const char *ranges[NODELIST_BRACKETS_MAX]; /* each from after its '[' up to its ']' */
    int nbrackets;
};

struct nodelist_reader {
    const char *text, *at;
    struct nodelist *list;
    struct err *e;
};

static int refuse_nodelist(const struct nodelist_reader *r, const char *at, const char *why)
{
    size_t place = (size_t)(at - r->text);
    bool is_long = strlen(r->text) > 80;

    /* Of a long list, only the part around the error is printed. */
    size_t from = is_long && place > 40 ? place - 40 : 0;
    return err_set(r->e, ERR_USAGE, "node list '%s%.80s%s', position %zu: %s", from ? "..." : "",
                   r->text + from, strlen(r->text + from) > 80 ? "..." : "", place + 1, why);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

/* Reads a number or LOW-HIGH at r->at. LOW's digits are first[0..width); *n is the number of
 * values. */
static int read_range(struct nodelist_reader *r, const char **first, size_t *width, size_t *n)
{
    const char *start = r->at;
    size_t w = strspn(start, DIGITS);

    if (w == 0)
        return refuse_nodelist(r, start, "a number is missing; a bracket holds numbers and ranges "
                               "LOW-HIGH, as in node[1-3,5]");
    *first = start;
    *width = w;
    *n = 1;
    r->at += w;
    if (*r->at != '-')
        return 0;
    const char *last = r->at + 1;
    size_t last_width = strspn(last, DIGITS);
    if (last_width == 0)
        return refuse_nodelist(r, last, "the range has no end");
    if (w > DIGITS_MAX || last_width > DIGITS_MAX)
        return refuse_nodelist(r, start, "the numbers of a range have at most 18 digits");
    int64_t low = strtoll(start, NULL, 10), high = strtoll(last, NULL, 10);
    if (high < low)
        return refuse_nodelist(r, start,
                               "the range ends below its start; write the smaller number first");
    *n = (size_t)(high - low) + 1;
    r->at = last + last_width;
    return 0;
}

/* Checks the bracket that r->at is in and moves r->at behind it. *total becomes the number of its
 * values, which may not exceed the list's limit. */
static int read_bracket(struct nodelist_reader *r, size_t *total)
{
    const char *open = r->at - 1, *first;
    size_t width, n;

    *total = 0;
    for (;; r->at++) {
        if (*r->at == 0)
            return refuse_nodelist(r, open, "the bracket is not closed");
        if (read_range(r, &first, &width, &n))
            return -1;
        if (n > r->list->limit || *total > r->list->limit - n)
            return refuse_nodelist(r, first, "too many nodes");
        *total += n;
        if (*r->at == ']')
            break;
        if (*r->at == 0)
            return refuse_nodelist(r, open, "the bracket is not closed");
        if (*r->at != ',')
            return refuse_nodelist(r, r->at, "unexpected character; a bracket holds numbers and "
                                   "ranges LOW-HIGH");
    }
    r->at++;
    return 0;
}

/* Reads the name at r->at up to a separator. *total becomes the number of names that it stands
 * for. */
static int read_pattern(struct nodelist_reader *r, struct pattern *p, size_t *total)
{
    const char *start = r->at;
    size_t n;

    p->nbrackets = 0;
    p->text[0] = r->at;
    *total = 1;
    for (; *r->at && !strchr(SEPARATORS, *r->at);) {
        if (is_name_char(*r->at)) {
            r->at++;
            continue;
        }
        if (*r->at != '[')
            return refuse_nodelist(r, r->at, *r->at == ']' ? "the bracket was not opened"
                                   : "a node name has letters, digits, '-', '_' and '.'");
        if (p->nbrackets == NODELIST_BRACKETS_MAX)
            return refuse_nodelist(r, r->at, "a name has at most 8 brackets");
        p->text_length[p->nbrackets] = (size_t)(r->at - p->text[p->nbrackets]);
        p->ranges[p->nbrackets++] = ++r->at;
        if (read_bracket(r, &n))
            return -1;
        if (*total > r->list->limit / n)
            return refuse_nodelist(r, start, "too many nodes");
        *total *= n;
        p->text[p->nbrackets] = r->at;
    }
    p->text_length[p->nbrackets] = (size_t)(r->at - p->text[p->nbrackets]);
    if (*total > r->list->limit - r->list->count)
        return refuse_nodelist(r, start, "too many nodes");
    return 0;
}

/* Adds 1 to the decimal number digits[0..n), which grows from 99 to 100, and returns its new
 * width. */
static size_t increment(char *digits, size_t n)
{
    size_t i = n;

    while (i > 0 && digits[i - 1] == '9')
        digits[--i] = '0';
    if (i > 0) {
        digits[i - 1]++;
        return n;
    }
    memmove(digits + 1, digits, n);
    digits[0] = '1';
    return n + 1;
}

/* A name that is being built. */
struct node_name {
    const char *origin; /* the pattern in the list that it comes from */
    char text[NODELIST_NAME_MAX + 1];
    size_t length;
};

static int append(struct nodelist_reader *r, struct node_name *name, const char *text, size_t n)
{
    if (n > NODELIST_NAME_MAX - name->length)
        return refuse_nodelist(r, name->origin, "a name here is longer than 255 bytes");
    memcpy(name->text + name->length, text, n);
    name->length += n;
    return 0;
}

static int push_name(struct nodelist_reader *r, const struct node_name *name)
{
    struct nodelist *l = r->list;
    char *dst = buf_reserve(&l->names, name->length + 1);

    if (!dst)
        return err_set(r->e, ERR_INTERNAL, "node list: out of memory");
    memcpy(dst, name->text, name->length);
    dst[name->length] = 0;
    l->names.length += name->length + 1;
    l->starts[++l->count] = l->names.length;
    return 0;
}

/* The current value of a bracket. */
struct bracket_value {
    const char *at; /* in the list, after the current range */
    char digits[NODELIST_NAME_MAX + 1];
    size_t width, left; /* left: values left in the range, including this one */
};

static int begin_range(struct nodelist_reader *r, struct bracket_value *v)
{
    struct nodelist_reader at = *r;
    const char *first;

    at.at = v->at;
    if (read_range(&at, &first, &v->width, &v->left))
        return -1;
    if (v->width > NODELIST_NAME_MAX)
        return refuse_nodelist(r, first, "a name here is longer than 255 bytes");
    memcpy(v->digits, first, v->width);
    v->at = at.at;
    return 0;
}

/* Moves bracket b to its next value and returns 1, or resets it to its first and returns 0 if
 * there is none. Returns -1 on errors. */
static int step_value(struct nodelist_reader *r, const struct pattern *p, int b,
                      struct bracket_value *v)
{
    int more = --v->left > 0 || *v->at != ']';

    if (v->left > 0) {
        v->width = increment(v->digits, v->width);
        return 1;
    }
    v->at = more ? v->at + 1 : p->ranges[b];
    return begin_range(r, v) ? -1 : more;
}

/* Adds one name per value of the last bracket; name holds the text before it. */
static int expand_last(struct nodelist_reader *r, const struct pattern *p, struct bracket_value *v,
                       struct node_name *name)
{
    int b = p->nbrackets - 1, more;
    size_t base = name->length;

    do {
        name->length = base;
        if (append(r, name, v->digits, v->width) ||
            append(r, name, p->text[b + 1], p->text_length[b + 1]) || push_name(r, name))
            return -1;
        more = step_value(r, p, b, v);
    } while (more > 0);
    return more;
}

/* Adds all names of a pattern. The last bracket varies fastest, then the first, the second, and
 * so on, as in Slurm. */
static int expand_pattern(struct nodelist_reader *r, const struct pattern *p)
{
    struct bracket_value values[NODELIST_BRACKETS_MAX];
    struct node_name name = {.origin = p->text[0]};
    int last = p->nbrackets - 1, more;

    for (int b = 0; b <= last; b++) {
        values[b].at = p->ranges[b];
        if (begin_range(r, &values[b]))
            return -1;
    }
    do {
        name.length = 0;
        for (int b = 0; b < last; b++)
            if (append(r, &name, p->text[b], p->text_length[b]) ||
                append(r, &name, values[b].digits, values[b].width))
                return -1;
        int b = last < 0 ? 0 : last;
        if (append(r, &name, p->text[b], p->text_length[b]) ||
            (last < 0 ? push_name(r, &name) : expand_last(r, p, &values[last], &name)))
            return -1;
        more = 0;
        for (b = 0; b < last && (more = step_value(r, p, b, &values[b])) == 0;)
            b++;
    } while (more > 0);
    return more;
}

static int reserve_starts(struct nodelist *l, size_t more)
{
    size_t need = l->count + more + 1;

    if (need <= l->capacity)
        return 0;
    size_t capacity = need > 2 * l->capacity ? need : 2 * l->capacity;
    size_t *starts = realloc(l->starts, capacity * sizeof *starts);
    if (!starts)
        return -1;
    if (!l->starts)
        starts[0] = 0;
    l->starts = starts;
    l->capacity = capacity;
    return 0;
}

static int decode_nodelist(struct nodelist_reader *r)
{
    struct pattern p;
    size_t total;

    for (;;) {
        r->at += strspn(r->at, SEPARATORS);
        if (*r->at == 0)
            break;
        if (read_pattern(r, &p, &total))
            return -1;
        if (reserve_starts(r->list, total))
            return err_set(r->e, ERR_INTERNAL, "node list: out of memory");
        if (expand_pattern(r, &p))
            return -1;
    }
    if (r->list->count == 0)
        return err_set(r->e, ERR_USAGE, "the node list is empty");
    return 0;
}

struct nodelist *nodelist_decode(const char *text, size_t limit, struct err *e)
{
    struct nodelist *l = mem_zero(1, sizeof *l, e);
    struct nodelist_reader r = {text, text, l, e};

    if (!l)
        return NULL;
    l->limit = limit;
    if (decode_nodelist(&r)) {
        nodelist_destroy(l);
        return NULL;
    }
    return l;
}

size_t nodelist_count(const struct nodelist *l)
{
    return l->count;
}

const char *nodelist_get(const struct nodelist *l, size_t i, size_t *length)
{
    if (length)
        *length = l->starts[i + 1] - l->starts[i] - 1;
    return l->names.data + l->starts[i];
}

void nodelist_destroy(struct nodelist *l)
{
    if (!l)
        return;
    buf_destroy(&l->names);
    free(l->starts);
    free(l);
}

/* A name split into a prefix and ndigits digits at its end. */
struct split {
    const char *name;
    size_t prefix, ndigits;
};

static struct split split_name(const struct nodelist *l, size_t i)
{
    size_t length;
    const char *name = nodelist_get(l, i, &length);
    size_t prefix = length;

    while (prefix > 0 && name[prefix - 1] >= '0' && name[prefix - 1] <= '9')
        prefix--;
    return (struct split){name, prefix, length - prefix};
}

static bool same_prefix(const struct split *a, const struct split *b)
{
    return a->ndigits && b->ndigits && a->prefix == b->prefix &&
           memcmp(a->name, b->name, a->prefix) == 0;
}

/* Returns whether b is the value after a in a range. Compares digits, so that zero padding must
 * agree too. */
static bool follows(const struct split *a, const struct split *b)
{
    char next[NODELIST_NAME_MAX + 2];

    if (a->ndigits > DIGITS_MAX || b->ndigits > DIGITS_MAX)
        return false;
    memcpy(next, a->name + a->prefix, a->ndigits);
    size_t n = increment(next, a->ndigits);
    return n == b->ndigits && memcmp(next, b->name + b->prefix, n) == 0;
}

/* Adds names first..end-1, which share a prefix and end in numbers, as one bracket. */
static void encode_bracket(const struct nodelist *l, size_t first, size_t end, struct buf *dst)
{
    struct split low = split_name(l, first), high, next;
    size_t i = first;

    buf_add_bytes(dst, low.name, low.prefix);
    while (i < end) {
        buf_add(dst, i == first ? "[" : ",");
        low = high = split_name(l, i);
        while (++i < end && (next = split_name(l, i), follows(&high, &next)))
            high = next;
        buf_add(dst, low.name + low.prefix);
        if (high.name != low.name)
            buf_addf(dst, "-%s", high.name + high.prefix);
    }
    buf_add(dst, "]");
}

char *nodelist_encode(const struct nodelist *l, struct err *e)
{
    struct buf b = {0};
    size_t end;

    for (size_t i = 0; i < l->count; i = end) {
        struct split first = split_name(l, i), next;
        for (end = i + 1; end < l->count; end++) {
            next = split_name(l, end);
            if (!same_prefix(&first, &next))
                break;
        }
        if (i > 0)
            buf_add(&b, ",");
        if (end == i + 1)
            buf_add(&b, first.name);
        else
            encode_bracket(l, i, end, &b);
    }
    char *text = buf_steal(&b);
    if (!text)
        err_set(e, ERR_INTERNAL, "node list: out of memory");
    return text;
}

/* ---- tasks per node ---- */

#define GRAMMAR "write N or N(xNODES), joined by commas, as in 2(x3),1"

struct tasklist_reader {
    const char *text, *at;
    size_t limit;
    struct err *e;
};

static int refuse_tasklist(const struct tasklist_reader *r, const char *at, const char *why)
{
    return err_set(r->e, ERR_USAGE, "tasks per node '%.80s', position %zu: %s", r->text,
                   (size_t)(at - r->text) + 1, why);
}

/* Reads a number from 1 to max. The value stops growing once it exceeds max, so that any number
 * of digits is safe. */
static int read_tasks(struct tasklist_reader *r, size_t max, const char *too_large, size_t *dst)
{
    const char *start = r->at;
    size_t v = 0;

    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        v = v > max ? v : 10 * v + (size_t)(*r->at - '0');
    if (r->at == start)
        return refuse_tasklist(r, start, "a number is missing; " GRAMMAR);
    if (v == 0)
        return refuse_tasklist(r, start, "must be at least 1");
    if (v > max)
        return refuse_tasklist(r, start, too_large);
    *dst = v;
    return 0;
}

static int read_item(struct tasklist_reader *r, size_t *tasks, size_t *nodes)
{
    *nodes = 1;
    if (read_tasks(r, TASKLIST_TASKS_MAX, "more than 65536 tasks on a node", tasks))
        return -1;
    if (*r->at == '(') {
        if (r->at[1] != 'x')
            return refuse_tasklist(r, r->at, GRAMMAR);
        r->at += 2;
        if (read_tasks(r, r->limit, "too many nodes", nodes))
            return -1;
        if (*r->at != ')')
            return refuse_tasklist(r, r->at, "')' is missing; " GRAMMAR);
        r->at++;
    }
    if (*r->at && *r->at != ',')
        return refuse_tasklist(r, r->at, "unexpected character; " GRAMMAR);
    return 0;
}

/* Reads the next item and adds its nodes. */
static int add_item(struct tasklist_reader *r, struct tasklist *dst, size_t *capacity)
{
    const char *start = r->at;
    size_t tasks, nodes;

    if (read_item(r, &tasks, &nodes))
        return -1;
    if (nodes > r->limit - dst->count)
        return refuse_tasklist(r, start, "too many nodes");
    for (; nodes > 0; nodes--) {
        if (mem_grow(&dst->tasks, dst->count, capacity, sizeof *dst->tasks, r->e))
            return -1;
        dst->tasks[dst->count++] = (int)tasks;
    }
    return 0;
}

int tasklist_decode(const char *text, size_t limit, struct tasklist *dst, struct err *e)
{
    struct tasklist_reader r = {text, text, limit, e};
    size_t capacity = 0;

    *dst = (struct tasklist){NULL, 0};
    do {
        if (add_item(&r, dst, &capacity)) {
            tasklist_destroy(dst);
            return -1;
        }
    } while (*r.at++);
    return 0;
}

void tasklist_destroy(struct tasklist *t)
{
    if (!t)
        return;
    free(t->tasks);
    *t = (struct tasklist){NULL, 0};
}
