/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/log_file.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launcher/collect/log/log_internal.h"
#include "src/mem.h"
#include "src/text.h"

#define NUMBERS_MAX 24 /* of a line */
#define KINDS_MAX 256  /* of lines */
#define SHOWN 3        /* rows */
#define GROUP_MAX 32   /* bytes of the name of a group of PCRE2; of a longer one the end stays */
#define MANY_LINES ((size_t)1 << 30)

/* ---- names ---- */

/* A number in a line: where it is, where the words before it begin that name it, and its name as a
 * column, or "". */
struct number {
    size_t label, at, end, unit_end, others; /* others: later times of the same name, left out */
    char name[LOG_NAME_SIZE];
};

static bool is_time(const char *name)
{
    static const char *const times[] = {"epoch_time", "step_time", "elapsed", "time", "timestamp"};
    size_t n = strlen(name);

    n -= n > 3 && strcmp(name + n - 3, "_ms") == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strlen(times[i]) == n && strncmp(name, times[i], n) == 0)
            return true;
    return log_column_is_rate(name);
}

/* Returns whether text, whose words are separated by _, has one of `words`, separated by blanks. */
static bool has_word(const char *text, const char *words)
{
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        for (const char *p = text; *p; p += strcspn(p, "_"), p += *p == '_')
            if (strncmp(p, words, n) == 0 && (!p[n] || p[n] == '_'))
                return true;
    }
    return false;
}

#define QUALITIES "acc accuracy iou miou dice f1 bleu score auc map psnr ssim perplexity ppl wer " \
    "cer mae mse rmse top1 fid jaccard"

/* Words before what solvers print of their own iterations, such as Quantum ESPRESSO's "estimated
 * scf accuracy", "Final residual" and LAMMPS's "relative force accuracy": how exact a calculation
 * is. */
#define RESIDUALS "scf residual residuals tolerance convergence threshold solver diis"
#define INEXACT "force energy density estimated relative absolute required desired target"

/* Returns whether a column of this name is a quality, and whether one of validation. */
static bool is_quality(const char *name, bool *validated)
{
    *validated = has_word(name, "val valid validation eval test");
    if (has_word(name, RESIDUALS) || (has_word(name, "accuracy acc") && has_word(name, INEXACT)))
        return false;
    return has_word(name, QUALITIES) || (*validated && has_word(name, "loss error"));
}

/* Returns the rank of a number of this name as the quality of a run: 3 for one of validation, 2 for
 * the loss of validation, 1 for one of training, 0 if it is none. validates: its line is of a
 * validation. */
static int rank_quality(const char *name, bool validates)
{
    bool validated;

    return !is_quality(name, &validated)     ? 0
           : !(validated | validates)        ? 1
           : strcmp(name, "val_loss") == 0   ? 2
                                             : 3;
}

#define SECONDS "s sec secs second seconds ms"
#define DURATIONS "time took elapsed duration dur seconds secs sec"
#define LONGER "min minutes m h hours d days"

/* Names a number by the words before it and the unit behind it, both as copy_plain writes them; ""
 * if they do not show what it is. */
static void name_number(const char *label, const char *unit, char dst[LOG_NAME_SIZE])
{
    const char *slash = strchr(unit, '/');
    bool rate = slash > unit && has_word(slash + 1, "s sec second min minute hour h day") &&
                strncmp(unit, "s/", 2) && strncmp(unit, "ms/", 3);
    bool ms = strncmp(unit, "ms", 2) == 0 || has_word(label, "ms"), validated;
    bool step = has_word(label, "step iter batch it iteration");
    const char *per = strstr(label, "_per_"); /* seconds/ns */
    bool seconds = has_word(unit, SECONDS) ||
                   (has_word(label, DURATIONS " ms") &&
                    !has_word(unit, LONGER " cpus gpus cores threads ranks"));

    *dst = 0;
    if (slash && has_word(slash + 1, "it iter step batch iteration epoch"))
        snprintf(dst, LOG_NAME_SIZE, "%s%s", !strchr("sm", *unit) ? ""
                 : strcmp(slash, "/epoch") ? "step_time" : "epoch_time",
                 ms && strchr("sm", *unit) ? "_ms" : "");
    else if (rate && strncmp(unit, "it", 2) && strncmp(unit, "step", 4) &&
             strncmp(unit, "batch", 5) && strcmp(unit, "ba/s"))
        snprintf(dst, LOG_NAME_SIZE, "%.*s_per_%s", (int)(slash - unit), unit,
                 slash[1] == 's' ? "s" : strcmp(slash + 1, "h") ? slash + 1 : "hour");
    else if (strstr(label, "_per_s") || strstr(label, "_per_day") || strstr(label, "_per_hour"))
        snprintf(dst, LOG_NAME_SIZE, "%.60s", label);
    else if (strstr(label, "data_time") || strcmp(label, "data") == 0) /* torchvision's */
        snprintf(dst, LOG_NAME_SIZE, "data_time");
    else if (seconds && !has_word(label, "eta remaining left cpu") &&
             (!per || has_word(per, "step iter it batch iteration epoch")))
        snprintf(dst, LOG_NAME_SIZE, "%s%s",
                 has_word(label, "elapsed total after since") ? "elapsed"
                 : step                                       ? "step_time"
                 : has_word(label, "epoch")                   ? "epoch_time"
                                                              : "time", ms ? "_ms" : "");
    else if (has_word(label, "epoch ep"))
        snprintf(dst, LOG_NAME_SIZE, "epoch");
    else if (step || has_word(label, "steps"))
        snprintf(dst, LOG_NAME_SIZE, "step");
    else if (is_quality(label, &validated))
        snprintf(dst, LOG_NAME_SIZE, "%s", has_word(label, "loss") ? "val_loss" : label);
    else if (has_word(label, "loss"))
        snprintf(dst, LOG_NAME_SIZE, "loss");
    size_t n = strlen(dst);
    const char *end = n > GROUP_MAX ? strchr(dst + n - GROUP_MAX, '_') : NULL;
    if (end)
        memmove(dst, end + 1, strlen(end));
}

/* ---- lines ---- */

/* Copies text[from..to) in small letters, with _ between words; / becomes _per_ if `per`, otherwise
 * it stays. */
static void copy_plain(const char *text, size_t from, size_t to, bool per, char dst[64])
{
    size_t n = 0;

    for (size_t i = from; i < to && n < 56; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '/' && per)
            n += (size_t)sprintf(dst + n, "_per_");
        else if (isalnum(c) || c == '/')
            dst[n++] = (char)tolower(c);
        else if (n && dst[n - 1] != '_')
            dst[n++] = '_';
    }
    while (n && dst[n - 1] == '_')
        n--;
    dst[n] = 0;
}

/* Returns where the words before the number at `at` begin: at most two, none of them before
 * `from`, the end of the number before. */
static size_t find_label(const char *line, size_t from, size_t at)
{
    size_t p = at, start = at;
    char word[64];

    while (p > from && strchr(" \t=:([<~|'\"", line[p - 1]))
        p--;
    for (int words = 0; words < 2; words++) {
        size_t end = p;
        while (p > from && (isalpha((unsigned char)line[p - 1]) || strchr("_/@%-()", line[p - 1]) ||
                            (p > from + 1 && line[p - 2] == '@'))) /* Acc@1 */
            p--;
        if (p == end)
            break;
        start = p;
        if (p == from || line[p - 1] != ' ')
            break;
        size_t before = --p;
        while (before > from && isalpha((unsigned char)line[before - 1]))
            before--;
        copy_plain(line, before, p, false, word);
        if (!has_word(word, "val valid validation eval test train epoch step iter iteration batch "
                            "total elapsed time global " RESIDUALS " " INEXACT))
            break;
    }
    return start;
}

static int count_colons(const char *line, size_t from, size_t to)
{
    int n = 0;

    for (; from < to; from++)
        n += line[from] == ':';
    return n;
}

static bool is_before_number(const char *text)
{
    text += strspn(text, " =:");
    return isdigit((unsigned char)text[0]) || (text[0] == '.' && isdigit((unsigned char)text[1]));
}

/* Returns whether the number k is the step of an epoch, as in "Epoch [1][ 50/200]": it is followed
 * by a total and stands in brackets behind the number of the epoch. */
static bool is_step_of_epoch(const char *line, const struct number *k, size_t count)
{
    size_t gap = count > 1 ? k->at - k[-1].end : 0;

    return gap && strcmp(k[-1].name, "epoch") == 0 && memchr(line + k[-1].end, '[', gap) &&
           strspn(line + k[-1].end, "] ,[") == gap && line[k->end] == '/';
}

/* Finds the numbers of a line. Returns their number. */
static size_t find_numbers(const char *line, size_t n, struct number dst[NUMBERS_MAX])
{
    char label[64], unit[64], before[64];
    size_t count = 0, last = 0;

    for (size_t i = 0; i < n && count < NUMBERS_MAX;) {
        bool sign = strchr("+-.", line[i]) && i + 1 < n && isdigit((unsigned char)line[i + 1]);
        bool inside = i && (isalnum((unsigned char)line[i - 1]) || strchr("_@", line[i - 1]));
        if (inside || !(isdigit((unsigned char)line[i]) || sign)) {
            i++;
            continue;
        }
        size_t end = i + strspn(line + i, "0123456789.,:+-eE");
        while (end > i && !isdigit((unsigned char)line[end - 1]))
            end--;
        if (end - i == 10 && line[i + 4] == '-' && line[i + 7] == '-' && strchr("T ", line[end]) &&
            isdigit((unsigned char)line[end + 1])) /* a date and the time of day */
            end += 1 + strspn(line + end + 1, "0123456789.,:");
        struct number *k = &dst[count++];
        *k = (struct number){.label = find_label(line, last, i), .at = i, .end = end};
        size_t u = end + (line[end] == ' '), v = u;
        while (v < n && (isalpha((unsigned char)line[v]) || line[v] == '/' || line[v] == '%'))
            v++;
        if (v < n && (isalnum((unsigned char)line[v]) || line[v] == '_') && line[v - 1] != '/')
            v = u;
        copy_plain(line, k->label, i, true, label);
        copy_plain(line, u, v, false, unit);
        char *of_one = strstr(unit, "/gpu");
        if (of_one)
            *of_one = 0;
        bool next = u > end && strchr(unit, '/') && is_before_number(line + v); /* names that one */
        name_number(label, next ? "" : unit, k->name);
        if (next && *k->name)
            *unit = 0;
        else if (next)
            name_number(label, unit, k->name);
        copy_plain(line, k->label - (k->label >= last + 4 ? 4 : 0), i, true, before);
        if (log_column_is_rate(k->name) && !strstr(k->name, "_per_gpu") &&
            ((of_one && !next) || strstr(before, "per_gpu") ||
             strncasecmp(line + v, " per gpu", 8) == 0))
            snprintf(k->name + strlen(k->name), sizeof k->name - strlen(k->name), "_per_gpu");
        bool clock = count_colons(line, i, end) == 2, share = line[end] == '/' && isdigit(
                                                          (unsigned char)line[end + 1]);
        if ((end - i >= 19 && line[i + 4] == '-') ||
            (clock && (i < 2 || !*label || has_word(label, "at on started finished"))))
            snprintf(k->name, sizeof k->name, "timestamp");
        else if (clock && !*k->name && !has_word(label, "eta remaining left"))
            snprintf(k->name, sizeof k->name, "time");
        if (is_step_of_epoch(line, k, count))
            snprintf(k->name, sizeof k->name, "step");
        else if (share && strcmp(k->name, "epoch") && strcmp(k->name, "step")) /* of a total */
            *k->name = 0;
        k->unit_end = strchr(unit, '/') || (is_time(k->name) && has_word(unit, SECONDS)) ? v : end;
        for (size_t j = 0; j + 1 < count && *k->name; j++)
            if (strcmp(dst[j].name, k->name) == 0) {
                dst[j].others += is_time(k->name);
                *k->name = 0;
            }
        last = i = k->unit_end;
    }
    return count;
}

struct kind {
    const char *line; /* the first of them */
    size_t n, count, nnumbers;
    struct number numbers[NUMBERS_MAX];
    bool timed, clock; /* it has a time; a timestamp, which is one where it is there again */
    bool validates;    /* it is of a validation */
};

static bool is_bar(const struct kind *k)
{
    return memmem(k->line, k->n, "%|", 2) != NULL;
}

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
    size_t i = 0;

    if (a->validates != b->validates)
        return false;
    while (i < a->nnumbers && i < b->nnumbers &&
           strcmp(a->numbers[i].name, b->numbers[i].name) == 0)
        i++;
    return i == a->nnumbers && i == b->nnumbers;
}

/* Returns whether a line is of a validation, by the words before its first number that has a name
 * and is not a time of day, or before a progress bar. */
static bool is_validation(const struct kind *k)
{
    const char *bar = memmem(k->line, k->n, "%|", 2);
    size_t i = 0;
    char words[64];

    while (i < k->nnumbers &&
           (!*k->numbers[i].name || strcmp(k->numbers[i].name, "timestamp") == 0))
        i++;
    if (i == k->nnumbers)
        return false;
    size_t at = bar ? (size_t)(bar - k->line) : k->numbers[i].at;
    copy_plain(k->line, at > 56 ? at - 56 : 0, at, false, words);
    return has_word(words, "val valid validation validate eval evaluation test testing");
}

/* Sorts the lines of text into kinds, whose numbers have the same names. Returns the number of
 * kinds. */
static size_t sort_lines(const char *text, struct kind *kinds)
{
    size_t n = 0;

    for (const char *line = text, *end; *line; line = end + (*end != 0)) {
        struct kind k = {.line = line, .count = 1};
        size_t i = 0;
        end = line + strcspn(line, "\n\r\b");
        k.n = (size_t)(end - line);
        k.nnumbers = find_numbers(line, k.n, k.numbers);
        for (size_t j = 0; j < k.nnumbers; j++)
            if (strcmp(k.numbers[j].name, "timestamp") == 0)
                k.clock = true;
            else
                k.timed |= is_time(k.numbers[j].name);
        k.validates = is_validation(&k);
        while (i < n && !is_same_kind(&kinds[i], &k))
            i++;
        if (i == n && n < KINDS_MAX && k.nnumbers)
            kinds[n++] = k;
        else if (i < n)
            kinds[i].count++;
        if (i < n)
            kinds[i].timed |= kinds[i].clock && kinds[i].count > 1;
    }
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

/* Adds a pattern for lines of this kind: a group for each number that has a name, or for the one
 * named `only`. A timestamp gets one only where there is no other time. */
static void add_pattern(const struct kind *k, const char *only, const char *time_name,
                        struct buf *dst)
{
    bool other = false, first = true;

    for (size_t i = 0; i < k->nnumbers; i++)
        other |= is_time(k->numbers[i].name) && strcmp(k->numbers[i].name, "timestamp") != 0;
    for (size_t i = 0; i < k->nnumbers; i++) {
        const struct number *m = &k->numbers[i];
        bool stamp = strcmp(m->name, "timestamp") == 0,
             clock = memchr(k->line + m->at, ':', m->end - m->at);
        if (!*m->name || (only && strcmp(m->name, only) != 0) || (stamp && other))
            continue;
        buf_add(dst, first ? "" : ".*?");
        first = false;
        add_literal(dst, k->line, m->label, m->at);
        buf_addf(dst, "(?<%s>%s)", strcmp(m->name, "time") ? m->name : time_name,
                 stamp && memchr(k->line + m->at, '-', m->end - m->at)
                     ? "[0-9-]+[ T][0-9:.,]+" : clock ? "[0-9]+:[0-9:.]+" : "[-+0-9.eE]+");
        add_literal(dst, k->line, m->end, m->unit_end);
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

/* Tries the columns that may be times, and those that may be the quality, of a table. */
static int try_columns(const char *path, const struct log_table *t, struct log_proposal *dst,
                       struct err *e)
{
    struct log_form form = {0};
    char plain[64], time[sizeof dst->time];
    bool validated;
    int rc = try_form(path, &form, dst, e);

    for (size_t i = 0; rc && i < t->ncolumns; i++) {
        copy_plain(t->columns[i].name, 0, strlen(t->columns[i].name), true, plain);
        if (!has_word(plain, DURATIONS " s runtime"))
            continue;
        for (int each = 0; rc && each < 2; each++) { /* few rows may not show which it is */
            snprintf(time, sizeof time, "%.100s%s", t->columns[i].name, each ? ":each" : "");
            form.time = time;
            rc = try_form(path, &form, dst, e);
        }
    }
    if (rc == 0 && form.time)
        memcpy(dst->time, time, sizeof time);
    for (int pass = 0; rc == 0 && pass < 2; pass++)
        for (size_t i = 0; i < t->ncolumns && !*dst->quality; i++) {
            struct err ignored;
            copy_plain(t->columns[i].name, 0, strlen(t->columns[i].name), true, plain);
            if (!is_quality(plain, &validated) || validated == (pass == 1))
                continue;
            form.quality_name = t->columns[i].name;
            (void)try_form(path, &form, dst, &ignored);
        }
    return rc;
}

static bool has_number(const struct kind *k, const char *name)
{
    for (size_t i = 0; i < k->nnumbers; i++)
        if (strcmp(k->numbers[i].name, name) == 0)
            return true;
    return false;
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
    static const char *const names[] = {"elapsed", "epoch_time"};
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
                    other.last_s == p->last_s;
        buf_destroy(&other.rows);
        if (!fits)
            continue;
        memcpy(p->pattern, other.pattern, sizeof p->pattern);
        return;
    }
}

/* Refuses a line with many times, and leaves out the time of a step, if no line counts steps and
 * there is another. */
static int choose_time(const char *path, struct kind *k, struct err *e)
{
    bool counted = value_kind(k) > 2 * MANY_LINES;

    for (struct number *m = k->numbers; m < k->numbers + k->nnumbers; m++) {
        if (m->others > 1)
            return err_set(e, ERR_CONFIG, "%s: a line has %zu times, such as '%.*s'; which one is "
                           "that of a step or an epoch? write log.pattern yourself", path,
                           m->others + 1, (int)(m->end - m->label), k->line + m->label);
        if (!counted && strncmp(m->name, "step_time", 9) == 0 && has_number(k, "time"))
            *m->name = 0;
    }
    return 0;
}

/* Adds a pattern for the quality of the scored lines: an alternative, or, if these lines are rows
 * themselves (within), an optional end of a row's pattern. */
static void add_quality(const struct kind *scored, const char *quality, bool within,
                        struct buf *dst)
{
    buf_add(dst, within ? "(?:.*?" : "|");
    if (is_bar(scored) && scored->validates) /* training's bars may have a number of this name */
        buf_add(dst, "(?i:val|test).*?");
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
#define FULL_BAR "poch\\D{0,3}(?<epoch>\\d+)(?![^|]*(?i:val|test))[^|]*100%\\|[^|]*\\| *" \
    "(?<step>\\d+)/\\d+ \\[[^]]*?(?<step_time>[0-9.]+)(?:it/s|s/it)"

static bool has_bars(const struct kind *kinds, size_t n)
{
    while (n && !(is_bar(&kinds[n - 1]) && has_number(&kinds[n - 1], "epoch")))
        n--;
    return n > 0;
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
            int own = rank_quality(name, kinds[i].validates);
            if (own > rank) {
                rank = own;
                quality = name;
                *scored = &kinds[i];
            }
        }
    if (quality && *scored != rows && (*scored)->validates && rows && has_number(rows, quality) &&
        strlen(quality) + 4 <= GROUP_MAX) {
        memmove(quality + 4, quality, strlen(quality) + 1);
        memcpy(quality, "val_", 4);
    }
    return quality;
}

/* Proposes a pattern for lines of a text. */
static int try_lines(const char *path, struct kind *kinds, size_t n, struct log_proposal *dst,
                     struct err *e)
{
    static const char *const times[] = {"time", "epoch_time", "elapsed"};
    struct kind *best = NULL;
    const struct kind *scored = NULL;
    struct err later, *why = e;
    int rc = -1;

    for (size_t i = 0; i < n; i++)
        if (kinds[i].timed && (!best || value_kind(&kinds[i]) >= value_kind(best)))
            best = &kinds[i];
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
    if (choose_time(path, best, e))
        return -1;
    for (size_t i = 0; rc && i < 2 * sizeof times / sizeof *times; i++) {
        if (i % (sizeof times / sizeof *times) && has_number(best, "step"))
            continue; /* a time of several steps is asked about, not guessed */
        struct buf b = {0};
        bool with = quality && i < sizeof times / sizeof *times;
        add_pattern(best, NULL, times[i % (sizeof times / sizeof *times)], &b);
        for (size_t k = 0; with && k < best->nnumbers; k++)
            with = strcmp(best->numbers[k].name, quality) != 0;
        if (with)
            add_quality(scored, quality, !scored->validates && is_part(best, scored), &b);
        if (b.failed || b.length >= sizeof dst->pattern) {
            buf_destroy(&b);
            return err_set(e, ERR_CONFIG, "%s: its lines are too long for a pattern", path);
        }
        snprintf(dst->pattern, sizeof dst->pattern, "%s", b.data);
        buf_destroy(&b);
        rc = try_form(path, &(struct log_form){.pattern = dst->pattern, .quality_name =
                      i < sizeof times / sizeof *times ? quality : NULL}, dst, why);
        why = &later; /* the first one is of the name that is most likely */
    }
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
 * one that is the quality, or to "". Returns whether an epoch and a time are among the names: a time
 * beside steps may be simulated. */
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
        copy_plain(names, 0, n, false, label);
        name_number(label, "", name);
        epoch |= strcmp(name, "epoch") == 0;
        time |= strcmp(name, "time") == 0 || strcmp(name, "epoch_time") == 0;
        if (rank_quality(name, false) > rank) {
            snprintf(scored, LOG_NAME_SIZE, "%s", name);
            rank = rank_quality(name, false);
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

int log_propose(const char *path, const struct log_form *said, struct log_proposal *dst,
                struct err *e)
{
    struct log_table t = {.path = path};
    size_t n;
    char *text = log_file_load(path, &n, e);
    bool lines = !said->pattern && !log_file_is_known(path, NULL);
    int rc = -1;

    *dst = (struct log_proposal){.said = said};
    if (!text)
        return -1;
    if (said->pattern) {
        rc = try_form(path, said, dst, e);
    } else if (!lines) {
        bool json = log_container_is_json(text), csv = !json && log_container_is_csv(text);
        if (json)
            (void)log_container_read_json(text, n, &t, e);
        else if (csv) /* or lines that are known, of which the first has a comma */
            (void)log_container_read_csv(text, &t, e);
        rc = try_columns(path, &t, dst, e);
        log_table_destroy(&t);
        lines = rc && (json || csv); /* a line may only begin as JSON does */
        free(text); /* it was changed */
        text = lines ? log_file_load(path, &n, e) : NULL;
        if (rc == 0 && strcmp(filename_base(path), "log.csv") != 0)
            snprintf(dst->file, sizeof dst->file, "%s", filename_base(path));
    }
    if (lines && text) {
        log_container_strip(text);
        struct kind *kinds = mem_zero(KINDS_MAX, sizeof *kinds, e);
        rc = kinds ? try_table(path, text, dst, e) : -1;
        if (rc > 0)
            rc = try_lines(path, kinds, sort_lines(text, kinds), dst, e);
        free(kinds);
    }
    free(text);
    dst->said = NULL;
    if (rc)
        buf_destroy(&dst->rows);
    return rc;
}
