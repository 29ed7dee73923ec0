/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fcntl.h>
#include <jansson.h>
#include <pcre2.h>

#include "src/files.h"
#include "src/format/pattern.h"
#include "src/format/tfrecord.h"

#define MAX_EVENT ((size_t)16 << 20)

/* Returns the next line without its LF or CR LF. *next becomes NULL after the last line. */
static char *take_line(char **next)
{
    char *line = strsep(next, "\n"), *end = line + strlen(line);

    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    return line;
}

static char find_separator(const char *text)
{
    size_t most = 0;
    char found = 0;

    for (const char *s = ",;\t"; *s; s++) {
        size_t count = 0;
        for (const char *p = text; *p && *p != '\n'; p++)
            count += *p == *s;
        if (count > most) {
            most = count;
            found = *s;
        }
    }
    return found;
}

static const char *skip_mark(const char *text)
{
    return text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0); /* byte order mark */
}

/* Returns whether the line has a cell that is empty, a number, or one word. */
static bool has_value(const char *line, char separator)
{
    const char stops[] = {separator, '\n', 0};

    for (;; line++) {
        const char *end = line + strcspn(line, stops);
        line += strspn(line, " \"");
        line += strcspn(line, " \",;\t\r\n");
        line += strspn(line, " \"\r");
        if (line >= end)
            return true;
        line = end;
        if (*line != separator)
            return false;
    }
}

bool log_container_is_csv(const char *text)
{
    text = skip_mark(text);
    size_t n = strcspn(text, "\n");
    char separator = find_separator(text);

    return separator && n < 65536 && strspn(text, "0123456789+-.eE,;\t \r") < n &&
           (!text[n] || !text[n + 1] || has_value(text + n + 1, separator));
}

static int read_header(char *line, char separator, char **cells, struct log_table *t,
                       struct err *e)
{
    int n = csv_split(line, separator, cells, LOG_COLUMNS_MAX);

    if (n < 0)
        return err_set(e, ERR_DATA, "%s:1: more than %d columns, or quotes that do not match",
                       t->path, LOG_COLUMNS_MAX);
    for (int i = 0; i < n; i++) {
        int column = log_table_column(t, cells[i], e);
        if (column < 0)
            return -1;
        if (column != i)
            return err_set(e, ERR_CONFIG, "%s:1: two columns are called '%.60s': rename one",
                           t->path, cells[i]);
    }
    return n;
}

int log_container_read_csv(char *text, struct log_table *t, struct err *e)
{
    char *next = (char *)skip_mark(text), separator = find_separator(next), *line;
    char **cells = mem_zero(LOG_COLUMNS_MAX, sizeof *cells, e);
    size_t number = 1;
    int n = cells ? read_header(take_line(&next), separator, cells, t, e) : -1, rc = n < 0 ? -1 : 0;

    for (line = next ? take_line(&next) : ""; next && rc == 0; line = take_line(&next)) {
        number++;
        if (!*line)
            continue;
        rc = log_table_add_row(t, number, e);
        if (rc == 0 && csv_split(line, separator, cells, LOG_COLUMNS_MAX) != n)
            rc = log_table_refuse(t, t->nrows - 1, e,
                                  "the row does not have the %d cells of the header", n);
        for (int i = 0; i < n && rc == 0; i++)
            rc = log_table_set(t, i, cells[i], e);
    }
    if (rc == 0 && *line)
        rc = err_set(e, ERR_DATA, "%s:%zu: the last line has no newline; the file was cut", t->path,
                     number + 1);
    if (rc == 0 && t->nrows == 0)
        rc = err_set(e, ERR_DATA, "%s:2: there is a header but no epoch", t->path);
    free(cells);
    return rc;
}

bool log_container_is_json(const char *text)
{
    text = skip_mark(text);
    text += strspn(text, " \t\r\n");
    return *text == '{' || *text == '[';
}

static int add_members(const json_t *o, const char *prefix, struct log_table *t, struct err *e)
{
    const char *key;
    json_t *v;
    int rc = 0;

    json_object_foreach((json_t *)o, key, v)
    {
        char *name = mem_textf(e, "%s%s", prefix, key), *inside = NULL;
        int column;
        if (!name)
            return -1;
        if (json_is_number(v))
            rc = log_table_set_number(t, name, json_number_value(v), e);
        else if (json_is_string(v))
            rc = (column = log_table_column(t, name, e)) < 0 ||
                         log_table_set(t, column, json_string_value(v), e)
                     ? -1
                     : 0;
        else if (json_is_object(v) && strlen(name) < 200)
            rc = (inside = mem_textf(e, "%s.", name)) ? add_members(v, inside, t, e) : -1;
        free(inside);
        free(name);
        if (rc)
            return -1;
    }
    return 0;
}

static int add_object(const json_t *o, size_t line, struct log_table *t, struct err *e)
{
    return log_table_add_row(t, line, e) || add_members(o, "", t, e) ? -1 : 0;
}

/* Returns the longest list of objects in a document or one of its members, or NULL. */
static const json_t *find_list(const json_t *document)
{
    const json_t *found = NULL;
    const char *key;
    json_t *v;

    if (json_is_array(document))
        return json_is_object(json_array_get(document, 0)) ? document : NULL;
    json_object_foreach((json_t *)document, key, v)
    {
        const json_t *list = json_is_array(v) ? find_list(v) : NULL;
        if (list && json_array_size(list) > json_array_size(found))
            found = list;
    }
    return found;
}

static int read_json_lines(const char *text, struct log_table *t, struct err *e)
{
    size_t number = 0;

    for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
        json_error_t why;
        end = line + strcspn(line, "\n");
        number++;
        if (strspn(line, " \t\r") >= (size_t)(end - line))
            continue;
        json_t *o = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &why);
        if (!json_is_object(o)) {
            json_decref(o);
            return err_set(e, ERR_DATA, "%s:%zu: the line is not an object of JSON%s%.100s",
                           t->path, number, o ? "" : ": ", o ? "" : why.text);
        }
        int rc = add_object(o, number, t, e);
        json_decref(o);
        if (rc)
            return -1;
    }
    return 0;
}

/* Python writes numbers that JSON does not have. They become a text, which is not a number. */
static void hide_numbers(char *text)
{
    static const char *const words[] = {"NaN", "Infinity", "-Infinity", NULL};
    bool quoted = false;

    for (char *p = text; *p; p++) {
        if (quoted && *p == '\\' && p[1])
            p++;
        else if (*p == '"')
            quoted = !quoted;
        for (int i = 0; !quoted && words[i]; i++) {
            size_t n = strlen(words[i]);
            if (strncmp(p, words[i], n))
                continue;
            memset(p, ' ', n);
            memcpy(p, "\"?\"", 3);
            p += n - 1;
            break;
        }
    }
}

int log_container_read_json(char *text, size_t n, struct log_table *t, struct err *e)
{
    const char *begin = skip_mark(text);
    json_error_t why;

    hide_numbers(text);
    json_t *document = json_loadb(begin, n - (size_t)(begin - text), JSON_REJECT_DUPLICATES, &why);
    const json_t *list = find_list(document);
    int rc = 0;

    if (!document)
        return read_json_lines(begin, t, e);
    if (list)
        t->row_word = "entry ";
    for (size_t i = 0; i < json_array_size(list) && rc == 0; i++)
        rc = add_object(json_array_get(list, i), i + 1, t, e);
    if (!list && json_is_object(document))
        rc = add_object(document, 1, t, e);
    json_decref(document);
    return rc;
}

/* The messages and fields of TensorFlow's event.proto, summary.proto and tensor.proto. */
enum {
    EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_SUMMARY = 5, SUMMARY_VALUE = 1, VALUE_TAG = 1,
    VALUE_SIMPLE = 2, VALUE_TENSOR = 8, TENSOR_DTYPE = 1, TENSOR_CONTENT = 4, TENSOR_FLOATS = 5,
    TENSOR_FLOAT = 1
};

bool log_container_is_events(const char *bytes, size_t n)
{
    return n >= TFRECORD_HEAD && tfrecord_begins((const unsigned char *)bytes);
}

static double float_of(const void *bytes)
{
    float value;

    memcpy(&value, bytes, sizeof value);
    return (double)value;
}

/* Sets *value to that of a tensor of one float. Returns whether it is one. */
static bool decode_tensor(const uint8_t *bytes, size_t n, double *value)
{
    struct protobuf_reader r = {bytes, bytes + n};
    struct protobuf_field f;
    bool is_float = false, found = false;

    while (protobuf_next(&r, &f) > 0) {
        is_float |= f.number == TENSOR_DTYPE && f.value == TENSOR_FLOAT;
        if (f.number != TENSOR_CONTENT && f.number != TENSOR_FLOATS)
            continue;
        found = f.wire == PROTOBUF_32 || (f.wire == PROTOBUF_BYTES && f.n == sizeof(float));
        if (found)
            *value = float_of(f.wire == PROTOBUF_32 ? (const void *)&f.value : f.bytes);
    }
    return is_float && found;
}

static int add_value(const struct protobuf_field *value, struct log_table *t, struct err *e)
{
    struct protobuf_reader r = {value->bytes, value->bytes + value->n};
    struct protobuf_field f;
    char tag[256] = "";
    bool found = false;
    double number = 0;

    while (protobuf_next(&r, &f) > 0) {
        if (f.number == VALUE_TAG && f.wire == PROTOBUF_BYTES && f.n < sizeof tag) {
            memcpy(tag, f.bytes, f.n);
            tag[f.n] = 0;
        } else if (f.number == VALUE_SIMPLE && f.wire == PROTOBUF_32) {
            number = float_of(&f.value);
            found = true;
        } else if (f.number == VALUE_TENSOR && f.wire == PROTOBUF_BYTES) {
            found |= decode_tensor(f.bytes, f.n, &number);
        }
    }
    return found && *tag ? log_table_set_number(t, tag, number, e) : 0;
}

static int add_summary(const struct protobuf_field *summary, struct log_table *t, struct err *e)
{
    struct protobuf_reader r = {summary->bytes, summary->bytes + summary->n};
    struct protobuf_field f;
    int rc = 0;

    while (rc == 0 && protobuf_next(&r, &f) > 0)
        if (f.number == SUMMARY_VALUE && f.wire == PROTOBUF_BYTES)
            rc = add_value(&f, t, e);
    return rc;
}

static int add_event(const uint8_t *bytes, size_t n, size_t record, struct log_table *t,
                     struct err *e)
{
    struct protobuf_reader r = {bytes, bytes + n};
    struct protobuf_field f;
    double wall_time;
    int more, rc = log_table_add_row(t, record, e);

    while (rc == 0 && (more = protobuf_next(&r, &f)) != 0) {
        if (more < 0)
            return log_table_refuse(t, t->nrows - 1, e, "it is not an event of TensorBoard");
        if (f.number == EVENT_WALL_TIME && f.wire == PROTOBUF_64) {
            memcpy(&wall_time, &f.value, sizeof wall_time);
            rc = log_table_set_number(t, "wall_time", wall_time, e);
        } else if (f.number == EVENT_STEP && f.wire == PROTOBUF_VARINT) {
            rc = log_table_set_number(t, "step", (double)f.value, e);
        } else if (f.number == EVENT_SUMMARY && f.wire == PROTOBUF_BYTES) {
            rc = add_summary(&f, t, e);
        }
    }
    return rc;
}

int log_container_read_events(const char *path, struct log_table *t, struct err *e)
{
    struct tfrecord_index index = {0};
    int fd = files_open(path, O_RDONLY, 0), rc = -1;

    if (fd < 0)
        return files_error(e, ERR_DATA, errno, "cannot read", path);
    t->row_word = "record ";
    rc = tfrecord_scan(fd, path, &index, e);
    for (size_t i = 0; i < index.count && rc == 0; i++) {
        uint8_t *bytes = tfrecord_read(fd, path, &index, i, MAX_EVENT, e);
        rc = bytes ? add_event(bytes, index.places[i].nbytes, i, t, e) : -1;
        free(bytes);
    }
    tfrecord_index_free(&index);
    close(fd);
    return rc;
}

/* ---- lines that a pattern matches ---- */

struct matcher {
    pcre2_code *code;
    pcre2_match_data *found;
    uint32_t ngroups, entry_size; /* named groups; an entry is two bytes of its number, its name */
    const unsigned char *groups;
    int column[LOG_COLUMNS_MAX];
};

static void destroy_matcher(struct matcher *m)
{
    pcre2_match_data_free(m->found);
    pcre2_code_free(m->code);
}

static int create_matcher(struct matcher *m, const char *pattern, struct log_table *t,
                          struct err *e)
{
    *m = (struct matcher){0};
    if (pattern_compile(pattern, &m->code, e))
        return err_prefix(e, "%s: the pattern", t->path);
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMECOUNT, &m->ngroups);
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMEENTRYSIZE, &m->entry_size);
    pcre2_pattern_info(m->code, PCRE2_INFO_NAMETABLE, &m->groups);
    if (m->ngroups > LOG_COLUMNS_MAX)
        return err_set(e, ERR_CONFIG, "%s: the pattern has more than %d groups", t->path,
                       LOG_COLUMNS_MAX);
    m->found = pcre2_match_data_create_from_pattern(m->code, NULL);
    return m->found ? 0 : mem_fail(e);
}

static const unsigned char *group_of(const struct matcher *m, uint32_t i)
{
    return m->groups + (size_t)i * m->entry_size;
}

/* Extends a plain number, line[*from..*to), to all of one such as 8,087 or 20,0 of which a pattern
 * took a part, unless another group took the rest. */
static void take_whole(const char *line, size_t nline, const struct matcher *m, PCRE2_SIZE *from,
                       PCRE2_SIZE *to)
{
    static const char digits[] = "0123456789";
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(m->found);
    size_t n = *to - *from, whole = strspn(line + *from, digits);
    bool before = *from > 1 && line[*from - 1] == ',' && isdigit((unsigned char)line[*from - 2]) &&
                  (whole >= n || whole == 3),
         behind = *to + 1 < nline && line[*to] == ',' && isdigit((unsigned char)line[*to + 1]) &&
                  whole >= n;

    if (strspn(line + *from, "0123456789.") < n)
        return;
    for (uint32_t i = 1; i < pcre2_get_ovector_count(m->found); i++) {
        before &= place[2 * i + 1] != *from - 1;
        behind &= place[2 * i] != *to + 1;
    }
    while (before && *from && strchr("0123456789,", line[*from - 1]))
        (*from)--;
    while (behind && *to < nline && strchr("0123456789,.", line[*to]))
        (*to)++;
}

/* Sets a cell to line[from..to). Progress bars print s/it instead of it/s when a step takes more
 * than a second: the cell then has the inverse. */
static int set_match(const char *line, size_t n, PCRE2_SIZE from, PCRE2_SIZE to, int column,
                     struct log_table *t, struct err *e)
{
    char *text = strndup(line + from, to - from), inverse[32];
    const char *unit = line + to, *cell = text;
    double number = text ? strtod(text, NULL) : 0;

    unit += unit < line + n && *unit == ' ';
    bool rate = log_column_is_rate(t->columns[column].name);
    if (text && number > 0 && line + n - unit >= 4 &&
        strncmp(unit, rate ? "s/it" : "it/s", 4) == 0) {
        snprintf(inverse, sizeof inverse, "%.9g", 1 / number);
        cell = inverse;
    }
    int rc = text ? log_table_set(t, column, cell, e) : mem_fail(e);
    free(text);
    return rc;
}

static int match_line(struct matcher *m, const char *line, size_t n, size_t number, bool cut,
                      struct log_table *t, struct err *e)
{
    int rc = pcre2_match(m->code, (PCRE2_SPTR)line, n, 0, 0, m->found, NULL);

    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return err_set(e, ERR_CONFIG, "%s:%zu: the pattern is too costly for this line: make it "
                       "simpler", t->path, number);
    if (cut) {
        log_warn("%s:%zu: the last line has no newline, so it may be cut: it is left out", t->path,
                 number);
        return 0;
    }
    if (log_table_add_row(t, number, e))
        return -1;
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(m->found);
    for (uint32_t i = 0; i < m->ngroups; i++) {
        int group = group_of(m, i)[0] << 8 | group_of(m, i)[1];
        PCRE2_SIZE from = place[2 * group], to = place[2 * group + 1];
        if (from == PCRE2_UNSET || to <= from)
            continue;
        take_whole(line, n, m, &from, &to);
        if (set_match(line, n, from, to, m->column[i], t, e))
            return -1;
    }
    return 0;
}

void log_container_strip(char *text)
{
    char *dst = text;

    while (*text) {
        if (*text != '\033') {
            *dst++ = *text == LOG_UP ? ' ' : *text;
            text++;
            continue;
        }
        char kind = *++text;
        if (kind == '[') { /* until a letter or one of @ to ~ */
            text += 1 + strspn(text + 1, "0123456789:;<=>? !\"#$%&'()*+,-./");
            if (*text == 'A')
                *dst++ = LOG_UP;
            text += *text && *text != '\n';
        } else if (kind == ']') { /* a title, until BEL or ESC \ */
            text += strcspn(text, "\a\033\n");
            text += *text == '\a' ? 1 : *text == '\033' && text[1] == '\\' ? 2 : 0;
        } else {
            text += kind && kind != '\n';
        }
    }
    *dst = 0;
}

/* Lines end at LF and CR LF. At a CR or a backspace the next row is written over the last one: it
 * has the same number of a line. Behind LOG_UP it has that of the line above. */
int log_pattern_read(char *text, const char *pattern, struct log_table *t, struct err *e)
{
    struct matcher m;
    int rc = create_matcher(&m, pattern, t, e);
    size_t number = 1, all = 0;

    log_container_strip(text);
    for (uint32_t i = 0; i < m.ngroups && rc == 0; i++)
        rc = (m.column[i] = log_table_column(t, (const char *)group_of(&m, i) + 2, e)) < 0 ? -1 : 0;
    for (const char *line = text, *end; rc == 0 && *line; line = end + (*end != 0)) {
        end = line + strcspn(line, LOG_ENDS);
        rc = match_line(&m, line, (size_t)(end - line), number, !*end, t, e);
        all += *end == '\n' || !*end;
        number += (*end == '\n') - (*end == LOG_UP && number > 1);
    }
    if (rc == 0 && t->nrows == 0)
        rc = err_set(e, ERR_CONFIG, "%s: none of its %zu lines matches the pattern '%.200s'; if "
                     "the program writes a file of its own, name it (log.file in study.yaml)",
                     t->path, all, pattern);
    destroy_matcher(&m);
    return rc;
}
