/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_file.h"

#include <math.h>

#include "launcher/collect/log/log_internal.h"

#define KINDS_MAX 256  /* of lines */
#define SHOWN 3        /* rows */
#define RISES "' rises"
#define RISE_MAX 0.2   /* of the time of a row, from each to the next */
#define FEW 4          /* rows, of which times of rows may all rise by chance */
#define MANY_LINES ((size_t)1 << 30)

struct kind {
    const char *line; /* the first of them */
    size_t n, count, nnumbers;
    struct log_number numbers[LOG_NUMBERS_MAX];
    bool timed, clock; /* it has a time; a timestamp, which is one where it is there again */
    long rank;         /* that its line names, or -1; -2: of several */
    bool named;        /* a number other than a time has a name */
    bool validates;    /* it is of a validation */
    bool moves;        /* its step is not the same in all lines, as the size of a batch is */
};

static bool is_bar(const struct kind *k)
{
    return memmem(k->line, k->n, "%|", 2) != NULL;
}

/* Returns the rank that a line says to be of, as in "[rank 1]" and torchrun's "[default1]", or
 * -1. */
static long find_rank(const char *line, size_t n)
{
    static const char *const words[] = {"rank", "default", "gpu", "1,"}; /* mpirun's is [1,0] */
    const char *at = memchr(line, '[', n < 64 ? n : 64), *end = line + n;

    for (const char *p = line; p; p = p == line && at != line ? at : NULL)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const char *word = p + (*p == '['), *number = word + strlen(words[i]);
            if (end - word < 8 || strncasecmp(word, words[i], strlen(words[i])))
                continue;
            number += strspn(number, " =:");
            if (isdigit((unsigned char)*number) && (i < 3 || *p == '['))
                return strtol(number, NULL, 10);
        }
    return -1;
}

static bool has_duration(const struct kind *k)
{
    size_t i = 0;

    while (i < k->nnumbers && !(log_words_is_time(k->numbers[i].name) &&
                                memchr(k->line + k->numbers[i].at, 'm',
                                       k->numbers[i].end - k->numbers[i].at)))
        i++;
    return i < k->nnumbers;
}

/* Returns the next letter of line[at..end) that is not behind a digit, or the end. */
static size_t next_letter(const char *line, size_t at, size_t end)
{
    while (at < end && (!isalpha((unsigned char)line[at]) ||
                        (at && isdigit((unsigned char)line[at - 1]))))
        at++;
    return at;
}

/* Returns whether the same words stand before both numbers. */
static bool has_same_words(const struct kind *a, const struct log_number *of_a,
                           const struct kind *b, const struct log_number *of_b)
{
    size_t p = 0, q = 0, p_end = of_a->at, q_end = of_b->at;

    for (;; p++, q++) {
        p = next_letter(a->line, p, p_end);
        q = next_letter(b->line, q, q_end);
        if (p == p_end || q == q_end || a->line[p] != b->line[q])
            return p == p_end && q == q_end;
    }
}

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
    size_t i = 0;

    if (a->validates != b->validates)
        return false;
    while (i < a->nnumbers && i < b->nnumbers &&
           strcmp(a->numbers[i].name, b->numbers[i].name) == 0 &&
           (!log_words_is_time(a->numbers[i].name) ||
            has_same_words(a, &a->numbers[i], b, &b->numbers[i])))
        i++;
    return i == a->nnumbers && i == b->nnumbers;
}

/* Returns whether a line is of a validation, by the words before its first number that is not a
 * time of day, or before a progress bar. */
static bool is_validation(const struct kind *k)
{
    const char *bar = memmem(k->line, k->n, "%|", 2);
    size_t i = 0;
    char words[64];

    while (i < k->nnumbers && strcmp(k->numbers[i].name, "timestamp") == 0)
        i++;
    if (i == k->nnumbers)
        return false;
    size_t at = bar ? (size_t)(bar - k->line) : k->numbers[i].at;
    log_words_copy(k->line, at > 56 ? at - 56 : 0, at, false, words);
    return log_words_has(words, "val valid validation validate eval evaluation test testing");
}

static struct log_number *find_number(struct kind *k, const char *name)
{
    size_t i = 0;

    while (i < k->nnumbers && strcmp(k->numbers[i].name, name))
        i++;
    return i < k->nnumbers ? &k->numbers[i] : NULL;
}

static bool has_number(const struct kind *k, const char *name)
{
    return find_number((struct kind *)k, name) != NULL;
}

/* Returns whether lines of a kind have different steps. */
static bool has_moved(struct kind *a, struct kind *b)
{
    const struct log_number *m = find_number(a, "step"), *k = find_number(b, "step");

    return m && strtod(a->line + m->at, NULL) != strtod(b->line + k->at, NULL);
}

/* Takes the name from a step that is the same in all lines and has no total, since it may be the
 * size of a batch. */
static void drop_size(struct kind *k)
{
    struct log_number *m = k->moves ? NULL : find_number(k, "step");

    if (m && k->line[m->end] != '/' &&
        (k->count > 1 || memmem(k->line + m->label, m->at - m->label, "atch", 4)))
        *m->name = 0;
}

/* Sorts the lines of text into kinds, whose numbers have the same names. Returns the number of
 * kinds. */
static size_t sort_lines(const char *text, struct kind *kinds)
{
    size_t n = 0;

    for (const char *line = text, *end; *line; line = end + (*end != 0)) {
        struct kind k = {.line = line, .count = 1};
        size_t i = 0;
        end = line + strcspn(line, LOG_ENDS);
        k.n = (size_t)(end - line);
        k.nnumbers = log_words_numbers(line, k.n, k.numbers);
        for (size_t j = 0; j < k.nnumbers; j++)
            if (strcmp(k.numbers[j].name, "timestamp") == 0)
                k.clock = true;
            else if (log_words_is_time(k.numbers[j].name))
                k.timed = true;
            else
                k.named |= *k.numbers[j].name != 0;
        k.validates = is_validation(&k);
        if (is_bar(&k) && !has_number(&k, "epoch") && !has_number(&k, "loss"))
            k.timed = k.clock = false; /* of a preparation or an evaluation */
        k.rank = find_rank(line, k.n);
        while (i < n && !is_same_kind(&kinds[i], &k))
            i++;
        if (i == n && n < KINDS_MAX && k.nnumbers)
            kinds[n++] = k;
        else if (i < n) {
            kinds[i].count++;
            kinds[i].rank = kinds[i].rank == k.rank ? k.rank : -2;
            kinds[i].moves |= has_moved(&kinds[i], &k);
        }
        if (i < n && kinds[i].count > 1 && has_duration(&k) && !has_duration(&kinds[i])) {
            kinds[i].line = line; /* its pattern is that of the other, too */
            kinds[i].n = k.n;
            memcpy(kinds[i].numbers, k.numbers, sizeof k.numbers);
        }
        if (i < n)
            kinds[i].timed |= kinds[i].clock && kinds[i].count > 1 && k.named;
    }
    for (size_t i = 0; i < n; i++)
        drop_size(&kinds[i]);
    return n;
}

/* ---- a pattern ---- */

/* Blanks behind a bracket or a sign may be none, where a longer number leaves no room for them. */
static void add_literal(struct buf *dst, const char *line, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (line[i] != ' ' && line[i] != '\t')
            buf_addf(dst, strchr("\\^$.|?*+()[]{}", line[i]) ? "\\%c" : "%c", line[i]);
        else if (i == from || (line[i - 1] != ' ' && line[i - 1] != '\t'))
            buf_add(dst, i > from && strchr("[(=:|", line[i - 1]) ? "\\s*" : "\\s+");
}

/* What the groups of a pattern match. */
#define CLOCK "(?:[0-9]+ days?, )?[0-9]+:[0-9:.]+"
#define DURATION "[0-9][0-9dhm. ]*"
#define NUMBER "\\.?\\d[\\d.,]*(?:[eE][-+]?\\d+)?"
#define VALUE "[-+0-9.][-+0-9.,eE]*|(?i:nan|inf)" /* of a loss or a quality */

/* Returns whether behind the score m of a last batch, such as "Acc@1 71.1 (72.3)", stands the mean
 * of all. */
static bool is_mean_behind(const struct kind *k, const struct log_number *m)
{
    const char *p = k->line + m->end;

    p += strspn(p, " ");
    return memchr(k->line + m->label, '@', m->at - m->label) && *p == '(' &&
           isdigit((unsigned char)p[1 + strspn(p + 1, " ")]);
}

/* Adds a pattern for lines of this kind: a group for each number that has a name, or for the one
 * named `only`. A timestamp gets one only where there is no other time. */
static void add_pattern(const struct kind *k, const char *only, const char *time_name,
                        struct buf *dst)
{
    bool other = false, first = true, validated;

    for (size_t i = 0; i < k->nnumbers; i++)
        other |= log_words_is_time(k->numbers[i].name) &&
                 strcmp(k->numbers[i].name, "timestamp") != 0;
    for (size_t i = 0; i < k->nnumbers; i++) {
        const struct log_number *m = &k->numbers[i];
        bool mean = is_mean_behind(k, m), stamp = strcmp(m->name, "timestamp") == 0,
             clock = memchr(k->line + m->at, ':', m->end - m->at);
        if (!*m->name || (only && strcmp(m->name, only) != 0) || (stamp && other))
            continue;
        buf_add(dst, first ? "" : ".*?");
        first = false;
        add_literal(dst, k->line, m->label, m->at);
        buf_add(dst, mean ? "\\S+\\s*\\(\\s*" : "");
        buf_addf(dst, "(?<%s>%s)", strcmp(m->name, "time") ? m->name : time_name,
                 stamp && memchr(k->line + m->at, '-', m->end - m->at) ? "[0-9-]+[ T,][0-9:.,]+"
                 : stamp                                              ? "[0-9]+:[0-9:.]+"
                 : log_words_is_before_step(k->line, m->end)                    ? "[0-9:]+"
                 : clock                                              ? CLOCK
                 : memchr(k->line + m->at, 'm', m->end - m->at)       ? DURATION
                 : log_words_is_quality(m->name, &validated) || strcmp(m->name, "loss") == 0 ? VALUE
                                                                                   : NUMBER);
        add_literal(dst, k->line, m->end, m->unit_end);
        if (log_words_is_before_step(k->line, m->end))
            buf_addf(dst, "%s?(?= +[0-9.]+[mu]?s/step)", m->unit_end > m->end ? "" : "s");
    }
}

/* ---- what is proposed ---- */

/* Adds the intervals that are shown, one a line. */
static void show_rows(const struct result *r, struct buf *dst)
{
    const struct curve *c = r->curve;
    bool rates = result_is_rate(r);
    char unit[48];

    for (size_t i = 0; c && i < c->n && i < SHOWN; i++) {
        bool timed = isfinite(c->seconds[i]), lost = isfinite(c->loss[i]);
        buf_addf(dst, "%s %zu: ", r->stepped ? "interval" : "epoch", i + 1);
        if (!rates)
            buf_addf(dst, timed ? "%.6g s" : "no time of its own", c->seconds[i]);
        if (lost)
            buf_addf(dst, "%sloss %.6g", rates ? "" : ", ", c->loss[i]);
        if (timed && c->units && isfinite(c->units[i])) {
            double rate = rate_show(c->units[i] / c->seconds[i], rates ? r->units_per_s : 1,
                                    *r->unit ? r->unit : "images", unit, sizeof unit);
            buf_addf(dst, "%s%.6g %s", rates && !lost ? "" : ", ", rate, unit);
        }
        buf_add(dst, "\n");
    }
    if (c && c->n && !isfinite(c->seconds[0]) && r->training_time > 0)
        buf_addf(dst, "the whole training: %.6g s\n", r->training_time);
    if (isfinite(result_quality(r)))
        buf_addf(dst, "quality: %s %.6g\n", result_quality_word(r), result_quality(r));
}

static int try_form(const char *path, const struct log_form *form, struct log_proposal *dst,
                    struct err *e)
{
    struct log_form said = *dst->said;
    struct result r;

    said.pattern = said.pattern ? said.pattern : form->pattern;
    said.time = said.time ? said.time : form->time;
    said.quality_name = said.quality ? NULL : form->quality_name;

    result_init(&r);
    r.gpus = 1;
    int rc = log_file_read(path, &said, &r, e);
    if (rc == 0) {
        dst->intervals = r.curve ? r.curve->n : 0;
        dst->stepped = r.stepped;
        dst->first_s = r.curve && r.curve->n ? r.curve->seconds[0] : NAN;
        dst->last_s = r.curve && r.curve->n ? r.curve->seconds[r.curve->n - 1] : NAN;
        snprintf(dst->unit, sizeof dst->unit, "%s", strcmp(r.unit, "steps") ? r.unit : "");
        snprintf(dst->quality, sizeof dst->quality, "%s",
                 isfinite(result_quality(&r)) ? result_quality_word(&r) : "");
        buf_destroy(&dst->rows);
        show_rows(&r, &dst->rows);
    }
    result_destroy(&r);
    return rc;
}

/* Returns whether times that rise may count from the start, and not for each row as was tried. */
static bool may_be_clock(const struct log_proposal *p)
{
    double rise = p->intervals > 1 ? p->last_s - p->first_s : 0;

    return p->intervals > FEW || rise > RISE_MAX * (double)(p->intervals - 1) * p->first_s;
}

/* Tries the columns that may be times, and those that may be the quality, of a table. */
static int try_columns(const char *path, const struct log_table *t, struct log_proposal *dst,
                       struct err *e)
{
    struct log_form form = {0};
    char plain[64], time[sizeof dst->time];
    bool validated;
    int rc = try_form(path, &form, dst, e);
    bool simulated = false;

    for (size_t i = 0; i < t->ncolumns; i++)
        simulated |= strcasecmp(t->columns[i].name, "dt") == 0;
    for (size_t i = 0; rc && i < t->ncolumns; i++) {
        log_words_copy(t->columns[i].name, 0, strlen(t->columns[i].name), true, plain);
        if (!log_words_is_duration(plain) || (simulated && strcmp(plain, "time") == 0))
            continue;
        for (int each = 0; rc && each < 2; each++) { /* few rows may not show which it is */
            snprintf(time, sizeof time, "%.100s%s", t->columns[i].name, each ? ":each" : "");
            form.time = time;
            struct err ignored;
            rc = try_form(path, &form, dst, each ? &ignored : e) ||
                 (each && may_be_clock(dst)) ? -1 : 0;
        }
    }
    if (rc == 0 && form.time)
        memcpy(dst->time, time, sizeof time);
    for (int pass = 0; rc == 0 && pass < 2; pass++)
        for (size_t i = 0; i < t->ncolumns && !*dst->quality; i++) {
            struct err ignored;
            log_words_copy(t->columns[i].name, 0, strlen(t->columns[i].name), true, plain);
            if (!log_words_is_quality(plain, &validated) || validated == (pass == 1))
                continue;
            form.quality_name = t->columns[i].name;
            (void)try_form(path, &form, dst, &ignored);
        }
    return rc;
}

/* Ranks kinds with a time by how well they describe a run: first several lines with a counter, then
 * rates, then the most lines, and last those of validations. Of equals the caller takes the last,
 * as a log ends with its totals. */
static size_t value_kind(const struct kind *k)
{
    bool counted = has_number(k, "step") || has_number(k, "epoch"), rate = false;

    if (k->validates)
        return 0;
    for (size_t i = 0; i < k->nnumbers; i++)
        rate |= log_column_is_rate(k->numbers[i].name);
    return k->count + (k->count > 1 && counted ? 2 * MANY_LINES : rate ? MANY_LINES : 0);
}

/* Names the group `time` of the pattern by what its numbers count in this log, as other logs may
 * not show it. */
static void name_time(const char *path, struct log_proposal *p)
{
    static const char *const names[] = {"elapsed", "epoch_time", "step_time"};
    static const char group[] = "(?<time>";
    const char *at = strstr(p->pattern, group);
    struct log_proposal other;
    struct err ignored;

    for (size_t i = 0; at && p->intervals > 1 && i < sizeof names / sizeof *names; i++) {
        other = (struct log_proposal){.said = p->said};
        int n = snprintf(other.pattern, sizeof other.pattern, "%.*s(?<%s>%s",
                         (int)(at - p->pattern), p->pattern, names[i], at + strlen(group));
        bool fits = n < (int)sizeof other.pattern &&
                    try_form(path, &(struct log_form){.pattern = other.pattern}, &other,
                             &ignored) == 0 && other.intervals == p->intervals &&
                    other.stepped == p->stepped && other.last_s == p->last_s;
        buf_destroy(&other.rows);
        if (!fits)
            continue;
        memcpy(p->pattern, other.pattern, sizeof p->pattern);
        return;
    }
}

static bool is_between(const struct kind *k, const struct log_number *j, const struct kind *of,
                       const struct log_number *i)
{
    size_t before = i->at - i->label, behind = i->unit_end - i->end;

    return j->at >= before && k->n >= j->end + behind &&
           memcmp(k->line + j->at - before, of->line + i->label, before) == 0 &&
           memcmp(k->line + j->end, of->line + i->end, behind) == 0;
}

/* Returns the number that the pattern for number `m` of `of` finds in the first line of k, or NULL:
 * the first between its words, and behind those of the named numbers before it. */
static const struct log_number *find_match(const struct kind *of, const struct log_number *m,
                                       const struct kind *k)
{
    const struct log_number *j = k->numbers, *end = j + k->nnumbers;

    for (const struct log_number *i = of->numbers; i <= m; i++) {
        if (!*i->name || strcmp(i->name, "timestamp") == 0)
            continue;
        while (j < end && !is_between(k, j, of, i))
            j++;
        if (j == end)
            return NULL;
        if (i == m)
            return j;
        j++;
    }
    return NULL;
}

/* Returns whether a has a time of one kind, and no counter or rate beside it. */
static bool is_bare(const struct kind *k)
{
    return k->timed && value_kind(k) == k->count;
}

/* Returns another kind in whose lines the pattern for m, the time of `of`, finds another number. */
static const struct kind *find_confused(const struct kind *kinds, size_t n, const struct kind *of,
                                        const struct log_number *m)
{
    for (const struct kind *k = kinds; k < kinds + n; k++) {
        const struct log_number *j = k == of ? NULL : find_match(of, m, k);
        if (j && (strcmp(j->name, m->name) != 0 || k->validates ||
                  (is_bare(of) && !has_same_words(k, j, of, m))))
            return k;
    }
    return NULL;
}

/* Adds the word or the blank before them to the words of a number. Returns whether there is one. */
static bool add_word(const struct kind *k, struct log_number *m)
{
    if (m->label == m->after)
        return false;
    do
        m->label--;
    while (m->label > m->after && ((unsigned char)k->line[m->label] & 0xc0) == 0x80);
    while (m->label > m->after && isalpha((unsigned char)k->line[m->label - 1]) &&
           isalpha((unsigned char)k->line[m->label]))
        m->label--;
    return true;
}

/* Where the words before a named number also stand before an earlier one, so that a pattern would
 * find that, adds the words before them. A number that no words distinguish loses its name. */
static void tell_apart(struct kind *k)
{
    for (struct log_number *m = k->numbers; m < k->numbers + k->nnumbers; m++)
        while (*m->name && strcmp(m->name, "timestamp") && find_match(k, m, k) != m)
            if (!add_word(k, m))
                *m->name = 0;
}

static int ask_time(const char *path, const struct kind *a, const struct log_number *m,
                    const struct kind *b, struct err *e)
{
    size_t from = m->at > m->after + 32 ? m->at - 32 : m->after;

    return err_set(e, ERR_CONFIG, "%s: it has several times, such as that behind '%.*s'%s%.*s; "
                   "which one is that of a step or an epoch? write log.pattern yourself", path,
                   (int)(m->end - from), a->line + from, b ? " and that in " : "",
                   b ? (int)(b->n < 80 ? b->n : 80) : 0, b ? b->line : "");
}

/* Refuses several times that may be meant. Leaves out the time of a step, if no line counts steps
 * and there is another. Adds words to those of a time that also stand in lines of another kind. */
static int choose_time(const char *path, const struct kind *kinds, size_t n, struct kind *k,
                       struct err *e)
{
    bool counted = value_kind(k) > 2 * MANY_LINES;
    const struct kind *other;

    if (k->rank == -2)
        return err_set(e, ERR_CONFIG, "%s: several ranks have written lines such as '%.*s'; let "
                       "one of them print, or begin log.pattern with the words of one", path,
                       (int)(k->n < 80 ? k->n : 80), k->line);
    for (struct log_number *m = k->numbers; m < k->numbers + k->nnumbers; m++) {
        if (!log_words_is_time(m->name) || strcmp(m->name, "timestamp") == 0)
            continue;
        if (m->others)
            return ask_time(path, k, m, NULL, e);
        if (!counted && strncmp(m->name, "step_time", 9) == 0 && has_number(k, "time"))
            *m->name = 0;
        while (*m->name && (other = find_confused(kinds, n, k, m)) != NULL)
            if (!add_word(k, m))
                return ask_time(path, k, m, other, e);
        for (other = kinds; is_bare(k) && other < kinds + n; other++)
            if (other != k && is_bare(other) && other->count == k->count &&
                (strcmp(m->name, "elapsed") || has_number(other, "elapsed")))
                return ask_time(path, k, m, other, e);
    }
    return 0;
}

/* Adds a pattern for the quality of the scored lines: an alternative, or, if these lines are rows
 * themselves (within), an optional end of a row's pattern. */
static void add_quality(const struct kind *scored, const char *quality, bool within,
                        struct buf *dst)
{
    bool validated = false;
    char label[64];

    for (const struct log_number *m = scored->numbers; m < scored->numbers + scored->nnumbers; m++)
        if (strcmp(m->name, quality) == 0) {
            log_words_copy(scored->line, m->label, m->at, false, label);
            (void)log_words_is_quality(label, &validated);
        }
    buf_add(dst, within ? "(?:.*?" : "|");
    if (!within && !validated && (scored->validates || strncmp(quality, "val_", 4) == 0))
        buf_add(dst, "(?i:val|test).*?"); /* training's lines may have a number of this name */
    add_pattern(scored, quality, "time", dst);
    buf_add(dst, within ? ")?" : "");
}

/* Returns whether lines of kind `of` have all named numbers of kind k, in this order. */
static bool is_part(const struct kind *k, const struct kind *of)
{
    size_t i = 0, j = 0;

    for (; i < k->nnumbers; i++) {
        while (*k->numbers[i].name && j < of->nnumbers &&
               strcmp(of->numbers[j].name, k->numbers[i].name))
            j++;
        if (j == of->nnumbers)
            return false;
    }
    return true;
}

/* A progress bar of an epoch that is full, as tqdm, Lightning and Keras on tqdm draw it. */
#define FULL_BAR "poch\\D{0,12}(?<epoch>\\d+)(?![^|]*(?i:val|test))[^|]*100%\\|[^|]*\\| *" \
    "(?<step>\\d+)/\\d+ \\[[^]]*?(?<step_time>[0-9.]+)(?:it/s|s/it)"

static bool has_bars(const struct kind *kinds, size_t n)
{
    for (const struct kind *k = kinds; k < kinds + n; k++)
        if (is_bar(k) && has_number(k, "epoch") &&
            (memmem(k->line, k->n, "it/s", 4) || memmem(k->line, k->n, "s/it", 4)))
            return true;
    return false;
}

/* Proposes a pattern whose rows are the full bars of epochs. The quality is read from these bars
 * or, if they have none, from other lines. */
static int try_bars(const char *path, const struct kind *scored, const char *quality,
                    struct log_proposal *dst, struct err *e)
{
    bool within = scored && is_bar(scored) && !scored->validates;
    struct buf b = {0};
    int rc = -1;

    buf_add(&b, FULL_BAR);
    if (scored)
        add_quality(scored, quality, within, &b);
    if (b.failed || b.length >= sizeof dst->pattern) {
        err_set(e, ERR_CONFIG, "%s: its lines are too long for a pattern", path);
    } else {
        snprintf(dst->pattern, sizeof dst->pattern, "%s", b.data);
        rc = try_form(path, &(struct log_form){.pattern = dst->pattern, .quality_name = quality},
                      dst, e);
    }
    buf_destroy(&b);
    return rc;
}

/* Finds the quality that the lines have: one of validation is preferred to others, and to the loss
 * of validation. If the rows have a number of its name, which is that of training, its own name
 * gets val_ in front. */
static const char *find_quality(struct kind *kinds, size_t n, const struct kind *rows,
                                const struct kind **scored)
{
    char *quality = NULL;
    int rank = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < kinds[i].nnumbers; k++) {
            char *name = kinds[i].numbers[k].name;
            int own = log_words_rank_quality(name, kinds[i].validates);
            if (own > rank) {
                rank = own;
                quality = name;
                *scored = &kinds[i];
            }
        }
    if (quality && *scored != rows && (*scored)->validates && rows && has_number(rows, quality) &&
        strlen(quality) + 4 <= LOG_GROUP_MAX) {
        memmove(quality + 4, quality, strlen(quality) + 1);
        memcpy(quality, "val_", 4);
    }
    return quality;
}

/* Returns the lines above rows of epochs that have their numbers, such as "Epoch 1/3" above Keras's
 * "100/100 [====] - 11s 110ms/step", or NULL. Names the time of such rows. */
static const struct kind *find_heads(struct kind *kinds, size_t n, const struct kind *rows)
{
    const struct log_number *first = rows->numbers;
    bool named = has_number(rows, "epoch_time"), time = has_number(rows, "time"),
         counted = first->at == strspn(rows->line, " ") && rows->line[first->end] == '/';

    if (has_number(rows, "epoch") || has_number(rows, "step") || !(named || (time && counted)))
        return NULL;
    for (const struct kind *k = kinds; k < kinds + n; k++) {
        bool alone = k->nnumbers == 1 || (k->nnumbers == 2 && !*k->numbers[1].name);
        if (strcmp(k->numbers->name, "epoch") || !alone || k->timed || k->validates)
            continue;
        for (size_t i = 0; i < n; i++) {
            struct log_number *m = find_number(&kinds[i], "time");
            if (m)
                snprintf(m->name, sizeof m->name, "%s", named ? "" : "epoch_time");
        }
        return k;
    }
    return NULL;
}

/* Tries a pattern for the rows, whose time is called time_name. quality: NULL, or one to read. */
static int try_rows(const char *path, const struct kind *rows, const struct kind *heads,
                    const char *time_name, const struct kind *scored, const char *quality,
                    struct log_proposal *dst, struct err *e)
{
    struct buf b = {0};
    int rc = 0;

    add_pattern(rows, NULL, time_name, &b);
    if (quality && !(rows == scored && has_number(rows, quality)))
        add_quality(scored, quality, !scored->validates && is_part(rows, scored), &b);
    buf_add(&b, heads ? "|" : "");
    if (heads)
        add_pattern(heads, "epoch", "time", &b);
    if (b.failed || b.length >= sizeof dst->pattern)
        rc = err_set(e, ERR_CONFIG, "%s: its lines are too long for a pattern", path);
    else
        memcpy(dst->pattern, b.data, b.length + 1);
    buf_destroy(&b);
    const struct log_form form = {.pattern = dst->pattern, .quality_name = quality};
    return rc ? -1 : try_form(path, &form, dst, e);
}

/* Proposes a pattern for lines of a text. */
static int try_lines(const char *path, struct kind *kinds, size_t n, struct log_proposal *dst,
                     struct err *e)
{
    struct kind *best = NULL;
    const struct kind *scored = NULL;
    struct err later, *why = e; /* the first one says most */
    int rc = -1;

    for (size_t i = 0; i < n; i++)
        if (kinds[i].timed && (!best || value_kind(&kinds[i]) >= value_kind(best)))
            best = &kinds[i];
    for (size_t i = 0; i < n; i++)
        tell_apart(&kinds[i]);
    const char *quality = find_quality(kinds, n, best, &scored);
    bool timed = best && !best->validates, bars = has_bars(kinds, n);
    if (bars && (!timed || is_bar(best))) {
        rc = try_bars(path, scored, quality, dst, e);
        if (rc == 0 || !timed)
            return rc;
    }
    if (!timed)
        return err_set(e, ERR_CONFIG, "%s: no line has a time that is known, such as 'epoch 3 took "
                       "12.3 s' or '410 samples/s'; let the program print one, or write "
                       "log.pattern yourself", path);
    if (choose_time(path, kinds, n, best, e))
        return -1;
    const struct kind *heads = find_heads(kinds, n, best);
    for (int with = quality != NULL; rc && with >= 0; with--, why = &later) {
        rc = try_rows(path, best, heads, "time", scored, with ? quality : NULL, dst, why);
        if (rc && strstr(why->text, RISES) && !has_number(best, "step"))
            rc = try_rows(path, best, heads, "epoch_time", scored, with ? quality : NULL, dst,
                          &later) || may_be_clock(dst) ? -1 : 0;
    }
    double others = dst->intervals > 1 ? dst->last_s : INFINITY;
    if (rc == 0 && strstr(dst->pattern, "(?<elapsed") && others < RISE_MAX * dst->first_s)
        rc = err_set(e, ERR_CONFIG, "%s: the elapsed time is %.6g s in the first row, and rises "
                     "by %.6g s in the last: does it count from the start of the run? write "
                     "log.pattern yourself, with a group elapsed or epoch_time", path,
                     dst->first_s, dst->last_s);
    if (rc == 0)
        name_time(path, dst);
    return rc;
}

#define CELL "[-+]?[0-9.]+[-+0-9.:eE]*"

/* Returns the number of words in a line if each of them is a number, or without `numbers` a name;
 * otherwise 0. */
static size_t count_cells(const char *line, size_t n, bool numbers)
{
    size_t count = 0;

    for (size_t i = strspn(line, " \t"), w; i < n; i += w + strspn(line + i + w, " \t"), count++) {
        w = strcspn(line + i, " \t\r\n");
        bool number = isdigit((unsigned char)line[i + (strchr("+-.", line[i]) != NULL)]) &&
                      strspn(line + i, "0123456789.:+-eE") == w;
        if (w == 0 || !(numbers ? number : isalpha((unsigned char)line[i])))
            return 0;
    }
    return count;
}

/* Adds a pattern for the rows of a table whose first line has so many names, and sets scored to the
 * one that is the quality, or to "". Returns whether an epoch and a time are among the names: a
 * time beside steps may be simulated. */
static bool add_columns(const char *names, size_t count, struct buf *dst,
                        char scored[LOG_NAME_SIZE])
{
    bool epoch = false, time = false;
    int rank = 0;
    char label[64], name[LOG_NAME_SIZE], group[LOG_NAME_SIZE + 2];

    buf_add(dst, "^\\s*");
    for (size_t n; count; count--, names += n) {
        names += strspn(names, " \t");
        n = strcspn(names, " \t\r\n");
        log_words_copy(names, 0, n, false, label);
        log_words_name(label, label, "", name);
        epoch |= strcmp(name, "epoch") == 0;
        time |= strcmp(name, "time") == 0 || strcmp(name, "epoch_time") == 0;
        if (log_words_rank_quality(name, false) > rank) {
            snprintf(scored, LOG_NAME_SIZE, "%s", name);
            rank = log_words_rank_quality(name, false);
        }
        snprintf(group, sizeof group, "<%s>", name);
        bool named = *name && !strstr(dst->data ? dst->data : "", group);
        buf_addf(dst, named ? "(?%s" CELL ")%s" : "%.0s" CELL "%s", group,
                 count > 1 ? "\\s+" : "\\s*$");
    }
    return epoch && time;
}

/* Proposes a pattern for the rows of the first table of epochs that has a line of names above its
 * rows. Returns 0; 1 if there is no such table; or -1 if its rows cannot be read so. */
static int try_table(const char *path, const char *text, struct log_proposal *dst, struct err *e)
{
    const char *names = NULL;
    char scored[LOG_NAME_SIZE] = "";
    bool found = false;
    size_t count = 0;
    struct buf b = {0};
    int rc = 1;

    for (size_t n; *text && !found; text += n + (text[n] != 0)) {
        n = strcspn(text, "\n");
        size_t named = count_cells(text, n, false);
        if (named > 2) {
            names = text;
            count = named;
        } else if (names && count_cells(text, n, true) == count) {
            b.length = 0;
            *scored = 0;
            found = add_columns(names, count, &b, scored);
            names = NULL;
        }
    }
    if (found && !b.failed && b.length < sizeof dst->pattern) {
        snprintf(dst->pattern, sizeof dst->pattern, "%s", b.data);
        rc = try_form(path, &(struct log_form){.pattern = dst->pattern,
                                               .quality_name = *scored ? scored : NULL}, dst, e);
    }
    if (rc == 0)
        name_time(path, dst);
    buf_destroy(&b);
    return rc;
}

/* Proposes a log whose form is known; text is changed. Returns 0, -1, or 1 if it may be lines that
 * only begin as JSON or a table does. Sets *table if its columns are known all the same. */
static int try_known(const char *path, char *text, size_t n, struct log_proposal *dst, bool *table,
                     struct err *e)
{
    struct log_table t = {.path = path};
    struct log_number numbers[LOG_NUMBERS_MAX];
    struct err ignored;
    const char *printed = log_file_printed(text);
    bool events = log_container_is_events(text, n), json = log_container_is_json(text),
         csv = !json && log_container_is_csv(text),
         names = log_words_numbers(text, strcspn(text, "\n"), numbers) == 0;

    if (events)
        (void)log_container_read_events(path, &t, &ignored);
    else if (json)
        *table = log_container_read_json(text, n, &t, &ignored) == 0;
    else if (csv)
        *table = log_container_read_csv(text, &t, &ignored) == 0 && names;
    int rc = try_columns(path, &t, dst, e);
    log_table_destroy(&t);
    if (printed)
        snprintf(dst->pattern, sizeof dst->pattern, "%s", printed);
    else if (rc == 0 && !events)
        snprintf(dst->file, sizeof dst->file, "%s", filename_base(path)); /* events have others */
    return rc && (json || csv) ? 1 : rc;
}

int log_propose(const char *path, const struct log_form *said, struct log_proposal *dst,
                struct err *e)
{
    size_t n;
    char *text = log_file_load(path, &n, e);
    bool lines = !said->pattern && !log_file_is_known(path, NULL), table = false;
    struct err why;
    int rc = -1;

    *dst = (struct log_proposal){.said = said};
    if (!text)
        return -1;
    if (said->pattern) {
        rc = try_form(path, said, dst, e);
    } else if (!lines) {
        rc = try_known(path, text, n, dst, &table, e);
        why = *e;
        lines = rc > 0;
        free(text);
        text = lines ? log_file_load(path, &n, e) : NULL;
    }
    if (lines && text) {
        log_container_strip(text);
        struct kind *kinds = mem_zero(KINDS_MAX, sizeof *kinds, e);
        rc = kinds ? try_table(path, text, dst, e) : -1;
        if (rc > 0)
            rc = try_lines(path, kinds, sort_lines(text, kinds), dst, e);
        if (rc && table)
            *e = why;
        free(kinds);
    }
    free(text);
    dst->said = NULL;
    if (rc)
        buf_destroy(&dst->rows);
    return rc;
}
