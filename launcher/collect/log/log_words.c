/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_internal.h"

/* ---- names ---- */

bool log_words_is_time(const char *name)
{
    static const char *const times[] = {"epoch_time", "step_time", "elapsed", "time", "timestamp"};
    size_t n = strlen(name);

    n -= n > 3 && strcmp(name + n - 3, "_ms") == 0 ? 3 : 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strlen(times[i]) == n && strncmp(name, times[i], n) == 0)
            return true;
    return log_column_is_rate(name);
}

bool log_words_has(const char *text, const char *words)
{
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        for (const char *p = text; *p; p += strcspn(p, "_"), p += *p == '_')
            if (strncmp(p, words, n) == 0 && (!p[n] || p[n] == '_'))
                return true;
    }
    return false;
}

/* Returns whether all words of text are among `words`. */
static bool has_only(const char *text, const char *words)
{
    char word[64];

    for (size_t n; *text; text += n + (text[n] == '_')) {
        n = strcspn(text, "_");
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        if (!log_words_has(word, words))
            return false;
    }
    return true;
}

#define LOSSES "loss logloss mlogloss"
#define QUALITIES "acc accuracy iou miou dice f1 bleu score auc map psnr ssim perplexity ppl wer " \
    "cer mae mse rmse top1 map50 fid jaccard"

/* Words before what solvers print of their own iterations, such as Quantum ESPRESSO's "estimated
 * scf accuracy", "Final residual" and LAMMPS's "relative force accuracy": how exact a calculation
 * is. */
#define VALIDATIONS "val valid validation eval evaluation test"
#define RESIDUALS "scf residual residuals tolerance convergence threshold solver diis"
#define INEXACT "force energy density estimated relative absolute required desired target"

bool log_words_is_quality(const char *name, bool *validated)
{
    *validated = log_words_has(name, VALIDATIONS);
    if (log_words_has(name, RESIDUALS " best") || (!*validated && log_words_has(name, LOSSES)) ||
        (log_words_has(name, "accuracy acc") && log_words_has(name, INEXACT)))
        return false;
    return log_words_has(name, QUALITIES) || (*validated && log_words_has(name, LOSSES " error"));
}

int log_words_rank_quality(const char *name, bool validates)
{
    bool validated;

    return !log_words_is_quality(name, &validated)     ? 0
           : !(validated | validates)        ? 1
           : strcmp(name, "val_loss") == 0   ? 2
                                             : 3;
}

#define SECONDS "s sec secs second seconds ms"
#define DURATIONS "time took elapsed duration dur seconds secs sec"
#define NO_SECONDS "k us usec usecs ns nsec microseconds min mins minute minutes m h hr hrs hour " \
    "hours d day days"
#define THOUSANDS "k m g t b"

/* Words before a time that is not that of a step or an epoch, but of a part of it, of processors
 * or of something else. */
#define OTHER_TIMES "data dataloader val valid validation eval evaluation test testing inference " \
    "load loaded loading save saved saving checkpoint init initialization setup startup compile " \
    "compiled compilation timeout limit wait waited waiting forward backward fwd bwd cpu user " \
    "sys system eta remaining left simulated simulation sleep reader last " \
    "comm communication allreduce idle shuffle preprocess"

bool log_words_is_duration(const char *name)
{
    return log_words_has(name, DURATIONS " s runtime") &&
           !log_words_has(name, NO_SECONDS " " OTHER_TIMES);
}

/* Leaves of a name its last words, of at most n bytes. Returns it. */
static char *cut_name(char *name, size_t n)
{
    size_t length = strlen(name);
    const char *end = length > n ? strchr(name + length - n - 1, '_') : name - 1;

    end = end ? end : name + length - n - 1;
    return memmove(name, end + 1, strlen(end + 1) + 1);
}

void log_words_name(const char *label, const char *context, const char *unit,
                        char dst[LOG_NAME_SIZE])
{
    const char *slash = strchr(unit, '/');
    bool rate = slash > unit && log_words_has(slash + 1, "s sec second min minute hour h day") &&
                strncmp(unit, "s/", 2) && strncmp(unit, "ms/", 3);
    bool ms = strncmp(unit, "ms", 2) == 0 || log_words_has(label, "ms"), validated;
    bool step = log_words_has(label, "step timestep iter batch it iteration") &&
                !log_words_has(label, "micro size") &&
                !(log_words_has(label, "batch") && log_words_has(label, "global"));
    const char *per = strstr(label, "_per_"); /* seconds/ns */
    bool seconds = log_words_has(unit, SECONDS) ||
                   (filename_ends(label, "_s") && !*unit) ||
                   (log_words_has(label, DURATIONS " ms") &&
                    !(strstr(label, "time_step") && !*unit) && /* its number */
                    !log_words_has(unit, NO_SECONDS " cpus gpus cores threads ranks"));
    bool timed = slash && (strncmp(unit, "s/", 2) == 0 || strncmp(unit, "ms/", 3) == 0 ||
                           strncmp(unit, "sec", 3) == 0);

    *dst = 0;
    if (slash && log_words_has(slash + 1, "it iter step batch iteration epoch"))
        snprintf(dst, LOG_NAME_SIZE, "%s%s", !timed ? ""
                 : strcmp(slash, "/epoch") ? "step_time" : "epoch_time", timed && ms ? "_ms" : "");
    else if (rate && strncmp(unit, "it", 2) && strncmp(unit, "step", 4) &&
             strncmp(unit, "batch", 5) && strcmp(unit, "ba/s"))
        snprintf(dst, LOG_NAME_SIZE, "%.*s_per_%s", (int)(slash - unit), unit,
                 slash[1] == 's' ? "s" : strcmp(slash + 1, "h") ? slash + 1 : "hour");
    else if (strcmp(label, "train_runtime") == 0)
        snprintf(dst, LOG_NAME_SIZE, "%s", label);
    else if (per && log_words_has(per, "s sec second day hour"))
        snprintf(dst, LOG_NAME_SIZE, "%.60s", log_words_has(unit, THOUSANDS) ? "" : label);
    else if (strstr(label, "data_time") || strcmp(label, "data") == 0) /* torchvision's */
        snprintf(dst, LOG_NAME_SIZE, "data_time");
    else if (seconds && !log_words_has(context, OTHER_TIMES) &&
             !(*context && has_only(context, NO_SECONDS)) && /* 1 min 21 sec */
             (!per || log_words_has(per, "step iter it batch iteration epoch")))
        snprintf(dst, LOG_NAME_SIZE, "%s%s",
                 step                               ? "step_time"
                 : log_words_has(label, "elapsed") ? "elapsed"
                 : log_words_has(label, "epoch")                   ? "epoch_time"
                                                              : "time", ms ? "_ms" : "");
    else if (log_words_has(label, LOSSES) && !log_words_is_quality(label, &validated))
        snprintf(dst, LOG_NAME_SIZE, "loss");
    else if (log_words_has(label, "epoch ep"))
        snprintf(dst, LOG_NAME_SIZE, "epoch");
    else if (step || log_words_has(label, "steps"))
        snprintf(dst, LOG_NAME_SIZE, "step");
    else if (log_words_is_quality(label, &validated)) {
        snprintf(dst, LOG_NAME_SIZE, "%s", log_words_has(label, LOSSES) ? "val_loss" : label);
        for (char *p; (p = strstr(dst, "_per_")) != NULL;) /* accuracy/top1 */
            memmove(p, p + 4, strlen(p + 4) + 1);
    }
    cut_name(dst, LOG_GROUP_MAX);
}

/* ---- lines ---- */

void log_words_copy(const char *text, size_t from, size_t to, bool per, char dst[64])
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

/* Returns whether the digit at p is part of the name of a quality, such as top1 or Acc@1. */
static bool is_of_quality(const char *line, size_t from, size_t p)
{
    size_t end = p;
    char word[64];

    while (p > from && isalnum((unsigned char)line[p - 1]))
        p--;
    while (isalnum((unsigned char)line[end]))
        end++;
    log_words_copy(line, p, end, false, word);
    return (p > from && line[p - 1] == '@') || log_words_has(word, QUALITIES);
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
        while (p > from &&
               (isalpha((unsigned char)line[p - 1]) || strchr("_/@%-()", line[p - 1]) ||
                (isdigit((unsigned char)line[p - 1]) && is_of_quality(line, from, p - 1))))
            p--;
        if (p == end)
            break;
        start = p;
        if (p == from || line[p - 1] != ' ')
            break;
        size_t before = --p;
        while (before > from && isalpha((unsigned char)line[before - 1]))
            before--;
        log_words_copy(line, before, p, false, word);
        if (!log_words_has(word, "val valid validation eval test train epoch step iter iteration "
                                 "batch total elapsed time global " RESIDUALS " " INEXACT))
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

/* Returns whether a number follows, perhaps behind "per device" or "(avg)". */
static bool is_before_number(const char *text)
{
    text += strspn(text, " ");
    if (strncmp(text, "per ", 4) == 0)
        text += 4 + strspn(text + 4, "abcdefghijklmnopqrstuvwxyzGPU");
    if (*text == '(')
        text += strcspn(text, ")\n");
    text += *text == ')';
    text += strspn(text, " =:");
    return isdigit((unsigned char)text[0]) || (text[0] == '.' && isdigit((unsigned char)text[1]));
}

/* Returns whether the number k is the step of an epoch, as in "Epoch [1][ 50/200]",
 * "[1/90][50/200]" or "Train: 1 [50/200": it is followed by a total and stands in brackets behind
 * the number of the epoch, which then has its name. */
static bool is_step_of_epoch(const char *line, struct log_number *k, size_t count)
{
    struct log_number *epoch = k - 1;
    size_t gap = count > 1 ? k->at - epoch->end : 0;

    if (!gap || line[k->end] != '/' || !memchr(line + epoch->end, '[', gap) ||
        strspn(line + epoch->end, "] ,[") != gap)
        return false;
    if (count > 2 && line[epoch->at - 1] == '/' && epoch[-1].at && line[epoch[-1].at - 1] == '[')
        snprintf((--epoch)->name, sizeof epoch->name, "epoch");
    else if (strncasecmp(line + epoch->label, "train: ", 7) == 0)
        snprintf(epoch->name, sizeof epoch->name, "epoch");
    return strcmp(epoch->name, "epoch") == 0;
}

/* Returns the end of a duration such as 1h 2m 3.5s, or 0. */
static size_t end_duration(const char *line, size_t at)
{
    const char *left = "dhms", *end = NULL, *unit;
    size_t parts = 0;

    for (const char *p = line + at;; p = end + (*end == ' ')) {
        size_t n = strspn(p, "0123456789.");
        unit = n && p[n] ? strchr(left, p[n]) : NULL;
        if (!unit || isalpha((unsigned char)p[n + 1]))
            break;
        parts++;
        end = p + n + 1;
        left = unit + 1;
    }
    return parts > 1 && end[-1] == 's' ? (size_t)(end - line) : 0;
}

/* Returns the end of the number at `at`; of a date with a time of day, and of a clock with days,
 * that of all. */
static size_t end_number(const char *line, size_t at)
{
    size_t end = at + strspn(line + at, "0123456789.,:+-eE"), days = 0;

    while (end > at && !isdigit((unsigned char)line[end - 1]))
        end--;
    bool date = end - at == 10 && line[at + 4] == '-' && line[at + 7] == '-' &&
                strchr("T ", line[end]);
    if (strncmp(line + end, " day, ", 6) == 0 || strncmp(line + end, " days, ", 7) == 0)
        days = 6 + (line[end + 4] == 's');
    if ((date || days) && isdigit((unsigned char)line[end + (date ? 1 : days)]))
        end += (date ? 1 : days) + strspn(line + end + (date ? 1 : days), "0123456789.,:");
    return end;
}

/* Returns where text has one of several, each behind `before`: "per_" or "/". NULL: nowhere. */
static char *find_each(char *text, const char *before)
{
    static const char *const each[] = {"gpu", "device", "chip", "accelerator", "worker", "rank"};
    char word[24], *found = NULL;

    for (size_t i = 0; i < sizeof each / sizeof *each && !found; i++) {
        snprintf(word, sizeof word, "%s%s", before, each[i]);
        found = strstr(text, word);
    }
    return found;
}

/* Returns whether a line has a time step or a bitrate, so that its time is that of a simulation or
 * of a film. */
static bool is_simulated(const char *line, size_t n)
{
    for (size_t i = 1; i + 8 < n; i++) {
        size_t word = strncasecmp(line + i, "dt", 2) == 0 ? 2
                      : strncasecmp(line + i, "bitrate", 7) == 0 ? 7 : 0;
        if (!word || !strchr(" ,;|", line[i - 1]) || !strchr(" =:", line[i + word]))
            continue;
        size_t at = i + word + strspn(line + i + word, " =:");
        at += strspn(line + at, "0123456789.+-eE");
        if (word == 7 || !strchr("sm", line[at])) /* dt may be a time itself */
            return true;
    }
    return false;
}

bool log_words_is_before_step(const char *line, size_t end)
{
    end += line[end] == 's';
    if (line[end] != ' ')
        return false;
    size_t digits = strspn(line + ++end, "0123456789.");
    if (!digits)
        return false;
    end += digits;
    end += line[end] == 'm' || line[end] == 'u';
    return strncmp(line + end, "s/step", 6) == 0;
}

/* Copies the last three words of line[from..to), but none before a separator: those that say what a
 * time is of, as in "checkpoint saved in 2.3 s". */
static void copy_context(const char *line, size_t from, size_t to, char dst[64])
{
    size_t at = to, words = 0;

    for (; at > from && words < 3; at--) {
        bool word = isalnum((unsigned char)line[at - 1]) != 0;
        if (strchr(",;|]", line[at - 1]) || (line[at - 1] == ')' && line[at] == ' '))
            break;
        words += !word && at < to && isalnum((unsigned char)line[at]);
    }
    log_words_copy(line, at, to, true, dst);
}

/* Returns whether k is a time of processors or a simulated one, and not one of the wall clock. Its
 * unit ends at v, and near holds the words next to it. */
static bool is_no_wall_time(const char *line, size_t n, const struct log_number *k, size_t v,
                            const char *near)
{
    bool processors = strncasecmp(line + v, " cpu", 4) == 0 && line[v + 4] != ':' &&
                      line[v + 4] != '=';

    return processors || (!log_words_has(near, "wall elapsed") && is_simulated(line, n)) ||
           line[k->end] == '%';
}

/* Names number k by its words and its unit, which is line[u..v). later: an earlier number of the
 * line has a name. *phase becomes whether the words of a validation began before k or an earlier
 * number, and none of a training followed. */
static void name_by_words(const char *line, size_t n, struct log_number *k, size_t u, size_t v,
                          bool later, bool *phase)
{
    char label[64], unit[64], context[64], behind[64], near[64];
    bool validated;

    log_words_copy(line, k->label, k->at, true, label);
    log_words_copy(line, u, v, false, unit);
    log_words_copy(line, k->at > k->after + 56 ? k->at - 56 : k->after, k->at, true, context);
    copy_context(line, k->after, k->at, near);
    log_words_copy(line, v, v + 18 < n ? v + 18 : n, true, behind);
    if (strncmp(line + u, "\xc2\xb5s", 3) == 0 || strncmp(line + u, "\xce\xbcs", 3) == 0)
        strcpy(unit, "us");
    char *of_one = find_each(unit, "/");
    if (of_one)
        *of_one = 0;
    bool next = u > k->end && strchr(unit, '/') && is_before_number(line + v); /* names that one */
    log_words_name(label, near, next ? "" : unit, k->name);
    if (next && *k->name)
        v = k->end;
    else if (next)
        log_words_name(label, near, unit, k->name);
    if (log_column_is_rate(k->name) && !filename_ends(k->name, "_per_gpu") &&
        !filename_ends(k->name, "_per_device") &&
        ((of_one && !next) || find_each(near, "per_") ||
         (strncmp(behind, "per_", 4) == 0 && find_each(behind, "per_") == behind)))
        strcat(cut_name(k->name, LOG_GROUP_MAX - 8), "_per_gpu");
    bool timed = log_words_is_time(k->name) && !log_column_is_rate(k->name);
    bool filled = line[k->end] == '%' && line[k->end + 1] == '|'; /* the part of a bar */
    if (filled || (timed && is_no_wall_time(line, n, k, v, near)))
        *k->name = 0;
    bool quality = log_words_is_quality(label, &validated);
    if (quality && log_words_has(context, "best"))
        *k->name = 0;
    *phase = later && !validated && log_words_has(context, VALIDATIONS)
                 ? true : *phase && !log_words_has(context, "train training");
    if (*phase && (quality || strcmp(k->name, "loss") == 0) && *k->name && !validated &&
        strlen(k->name) + 4 <= LOG_GROUP_MAX) {
        memmove(k->name + 4, k->name, strlen(k->name) + 1);
        memcpy(k->name, "val_", 4);
    }
    k->plain = has_only(label, LOSSES " total train training lm avg mean epoch running");
    bool known = strchr(unit, '/') ||
                 (log_words_is_time(k->name) && log_words_has(unit, SECONDS));
    k->unit_end = v > k->end && known ? v : k->end;
}

/* Of numbers with the same name one keeps it: the first time, but for a mean in brackets behind it
 * the others are counted; the whole loss, not a part; the first quality. */
static void keep_one(const char *line, struct log_number *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct log_number *kept = &numbers[i];
        bool loss = strcmp(kept->name, "loss") == 0, alone = true;
        for (size_t j = i + 1; j < count && *kept->name; j++) {
            struct log_number *k = &numbers[j];
            if (strcmp(k->name, kept->name))
                continue;
            if (loss && k->plain && !kept->plain) {
                *kept->name = 0;
                kept = k;
                continue;
            }
            kept->others += log_words_is_time(k->name) && k->label && line[k->label - 1] != '(';
            *k->name = 0;
            alone = false;
        }
        if (loss && !alone && !kept->plain) /* each is a part */
            *kept->name = 0;
    }
}

/* Names a number with colons or a date. */
static void name_clock(const char *line, size_t n, struct log_number *k)
{
    char label[64], context[64];
    int colons = count_colons(line, k->at, k->end);

    log_words_copy(line, k->label, k->at, true, label);
    log_words_copy(line, k->after, k->at, true, context);
    bool clock = colons == 2, elapsed = log_words_has(context, "elapsed");
    bool days = memchr(line + k->at, 'd', k->end - k->at);
    if ((k->end - k->at >= 19 && line[k->at + 4] == '-') ||
        (clock && !days && !log_words_is_before_step(line, k->end) &&
         (k->at < 2 || !*label || log_words_has(label, "at on started finished"))))
        snprintf(k->name, sizeof k->name, "timestamp");
    else if (colons && strncmp(line + k->end, " h", 2) == 0)
        *k->name = 0; /* hours and minutes */
    else if (colons && !*k->name && !log_words_has(context, OTHER_TIMES) &&
             !is_simulated(line, n) &&
             (clock || elapsed || log_words_is_before_step(line, k->end)))
        snprintf(k->name, sizeof k->name, "%s", elapsed ? "elapsed" : "time");
}

size_t log_words_numbers(const char *line, size_t n, struct log_number dst[LOG_NUMBERS_MAX])
{
    size_t count = 0, last = 0;
    bool named = false, phase = false;

    for (size_t i = 0; i < n && count < LOG_NUMBERS_MAX;) {
        bool sign = strchr("+-.", line[i]) && i + 1 < n && isdigit((unsigned char)line[i + 1]);
        bool inside = i && (isalnum((unsigned char)line[i - 1]) || strchr("_@", line[i - 1]));
        if (inside || !(isdigit((unsigned char)line[i]) || sign)) {
            i++;
            continue;
        }
        size_t duration = end_duration(line, i);
        size_t end = duration ? duration - 1 : end_number(line, i);
        struct log_number *k = &dst[count++];
        *k = (struct log_number){.after = last, .label = find_label(line, last, i), .at = i,
                                 .end = end};
        size_t u = end + (line[end] == ' '), v = u;
        while (v < n && (isalpha((unsigned char)line[v]) || line[v] == '/' || line[v] == '%'))
            v++;
        if (v < n && (isalnum((unsigned char)line[v]) || line[v] == '_') && line[v - 1] != '/')
            v = u;
        name_by_words(line, n, k, u, v, named, &phase);
        name_clock(line, n, k);
        if (line[end] == 's' && isdigit((unsigned char)line[end + 1])) { /* 5s500ms */
            snprintf(k->name, sizeof k->name, "time");
            k->others = 1;
        }
        size_t total = line[end] == '/' ? end + 1 + strspn(line + end + 1, " ") : n;
        bool share = total < n && isdigit((unsigned char)line[total]);
        if (share && strncmp(line + total + strspn(line + total, "0123456789"), " batches", 8) == 0)
            snprintf(k->name, sizeof k->name, "step");
        if (strcmp(k->name, "step") == 0 && memchr(line + i, '.', end - i))
            *k->name = 0; /* ms of a step */
        if (is_step_of_epoch(line, k, count))
            snprintf(k->name, sizeof k->name, "step");
        else if (share && strcmp(k->name, "epoch") && strcmp(k->name, "step")) /* of a total */
            *k->name = 0;
        named |= *k->name && strcmp(k->name, "timestamp");
        last = i = k->unit_end;
    }
    keep_one(line, dst, count);
    return count;
}
