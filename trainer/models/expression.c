/* SPDX-License-Identifier: BSD-3-Clause */
/* A recursive-descent parser that evaluates as it parses. */
#include "src/base.h"
#include "trainer/models/models_internal.h"

#include "src/cli.h"

#define EXPRESSION_LIMIT (INT64_C(1) << 40) /* largest magnitude of every intermediate value */

#define MAX_NESTED 64
#define MAX_LISTED 64

struct parser {
    const char *text, *at;
    const struct scope *scope;
    int nested;
    struct err *e;
};

static const struct variable *find_variable(const struct scope *s, const char *name)
{
    for (; s; s = s->outer)
        for (size_t i = s->count; i-- > 0;)
            if (strcmp(s->variables[i].name, name) == 0)
                return &s->variables[i];
    return NULL;
}

static int set_unknown(const struct scope *scope, const char *name, struct err *e)
{
    const char *names[MAX_LISTED + 1];
    char near[CLI_SUGGESTION];
    size_t n = 0;

    for (const struct scope *s = scope; s; s = s->outer)
        for (size_t i = 0; i < s->count && n < MAX_LISTED; i++)
            names[n++] = s->variables[i].name;
    names[n] = NULL;
    cli_suggest(name, names, near);
    return err_set(e, ERR_CONFIG, "there is no '%s' here%s", name,
                   *near ? near
                         : " (parameters, arguments of the block, variables of `for`; height, "
                           "width, image_channels, classes, batch_norm)");
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ')
        p->at++;
}

/* Skips the next token if it is this one, and returns whether it was. */
static bool skip_token(struct parser *p, const char *sign)
{
    skip_blanks(p);
    if (strncmp(p->at, sign, strlen(sign)) != 0)
        return false;
    p->at += strlen(sign);
    return true;
}

static int syntax_error(struct parser *p, const char *what)
{
    return err_set(p->e, ERR_CONFIG, "'%s': %s at '%s'", p->text, what, p->at);
}

static int set_value(struct parser *p, bool overflow, int64_t value, int64_t *dst)
{
    if (overflow || value > EXPRESSION_LIMIT || value < -EXPRESSION_LIMIT)
        return err_set(p->e, ERR_CONFIG, "'%s': an intermediate number is too large", p->text);
    *dst = value;
    return 0;
}

static int parse_level(struct parser *p, int level, int64_t *dst);

static int parse_number(struct parser *p, int64_t *dst)
{
    int64_t value = 0;

    while (isdigit((unsigned char)*p->at)) {
        value = 10 * value + (*p->at++ - '0');
        if (set_value(p, false, value, &value))
            return -1;
    }
    *dst = value;
    return 0;
}

static int parse_name(struct parser *p, int64_t *dst)
{
    char name[EXPRESSION_NAME];
    size_t n = strspn(p->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

    if (n >= sizeof name)
        return syntax_error(p, "a name is too long");
    memcpy(name, p->at, n);
    name[n] = 0;
    const struct variable *v = find_variable(p->scope, name);
    if (!v)
        return set_unknown(p->scope, name, p->e);
    if (v->is_text)
        return err_set(p->e, ERR_CONFIG, "'%s': %s is the string '%s', not a number", p->text, name,
                       v->text);
    p->at += n;
    *dst = v->number;
    return 0;
}

static int parse_unit(struct parser *p, int64_t *dst)
{
    int rc;

    skip_blanks(p);
    if (isdigit((unsigned char)*p->at))
        return parse_number(p, dst);
    if (isalpha((unsigned char)*p->at) || *p->at == '_')
        return parse_name(p, dst);
    if (++p->nested > MAX_NESTED)
        return syntax_error(p, "nested too deeply");
    if (skip_token(p, "(")) {
        rc = parse_level(p, 0, dst);
        if (rc == 0 && !skip_token(p, ")"))
            rc = syntax_error(p, "')' is missing");
    } else if (skip_token(p, "-")) {
        rc = parse_unit(p, dst);
        *dst = -*dst;
    } else if (skip_token(p, "!")) {
        rc = parse_unit(p, dst);
        *dst = !*dst;
    } else {
        rc = syntax_error(p, *p->at ? "a number or name is expected" : "it ends too early");
    }
    p->nested--;
    return rc;
}

static int apply_operator(struct parser *p, const char *sign, int64_t a, int64_t b, int64_t *dst)
{
    bool overflow = false;
    int64_t v = 0;

    switch (sign[0]) {
    case '+': overflow = __builtin_add_overflow(a, b, &v); break;
    case '-': overflow = __builtin_sub_overflow(a, b, &v); break;
    case '*': overflow = __builtin_mul_overflow(a, b, &v); break;
    case '/':
    case '%':
        if (b == 0)
            return err_set(p->e, ERR_CONFIG, "'%s': division by 0", p->text);
        v = sign[0] == '/' ? a / b : a % b;
        break;
    case '^':
        if (b < 0)
            return err_set(p->e, ERR_CONFIG, "'%s': a negative power", p->text);
        v = a == 0 && b > 0 ? 0 : a == -1 && b % 2 ? -1 : 1;
        for (; b > 0 && (a < -1 || a > 1) && !overflow; b--)
            overflow = __builtin_mul_overflow(v, a, &v);
        break;
    case '<': v = sign[1] ? a <= b : a < b; break;
    case '>': v = sign[1] ? a >= b : a > b; break;
    case '=': v = a == b; break;
    case '!': v = a != b; break;
    case '&': v = a && b; break;
    case '|': v = a || b; break;
    }
    return set_value(p, overflow, v, dst);
}

/* Operators by increasing precedence; within a level, longer ones first. */
static const char *const signs[][5] = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}, {"^"}};
#define NLEVELS ((int)(sizeof signs / sizeof *signs))

static int parse_level(struct parser *p, int level, int64_t *dst)
{
    if (level == NLEVELS)
        return parse_unit(p, dst);
    if (parse_level(p, level + 1, dst))
        return -1;
    for (int i = 0; i < 5 && signs[level][i]; i++) {
        int64_t right;

        if (!skip_token(p, signs[level][i]))
            continue;
        if (parse_level(p, level + 1, &right) ||
            apply_operator(p, signs[level][i], *dst, right, dst))
            return -1;
        i = -1; /* restart the level */
    }
    return 0;
}

int expression_evaluate(const char *text, const struct scope *scope, int64_t *dst, struct err *e)
{
    struct parser p = {.text = text, .at = text, .scope = scope, .e = e};

    *dst = 0;
    if (parse_level(&p, 0, dst))
        return -1;
    skip_blanks(&p);
    return *p.at ? syntax_error(&p, "not understood") : 0;
}

static int expand_one(const char *inner, const struct scope *scope, char dst[TENSOR_NAME_SIZE],
                      struct err *e)
{
    const struct variable *v = find_variable(scope, inner);
    int64_t number;

    if (v && v->is_text) {
        memcpy(dst, v->text, TENSOR_NAME_SIZE);
        return 0;
    }
    if (expression_evaluate(inner, scope, &number, e))
        return -1;
    snprintf(dst, TENSOR_NAME_SIZE, "%" PRId64, number);
    return 0;
}

int expression_expand(const char *text, const struct scope *scope, char dst[TENSOR_NAME_SIZE],
                      struct err *e)
{
    size_t n = 0;

    for (const char *at = text; *at;) {
        char inner[TENSOR_NAME_SIZE], value[TENSOR_NAME_SIZE] = {*at, 0};
        const char *end = *at == '{' ? strchr(at, '}') : NULL;

        if (*at == '{') {
            if (!end || (size_t)(end - at) > sizeof inner)
                return err_set(e, ERR_CONFIG, "'%s': %s", text,
                               end ? "too long between { and }" : "'}' is missing");
            snprintf(inner, sizeof inner, "%.*s", (int)(end - at - 1), at + 1);
            if (expand_one(inner, scope, value, e))
                return -1;
        }
        if (n + strlen(value) >= TENSOR_NAME_SIZE)
            return err_set(e, ERR_CONFIG, "'%s' would be longer than %d characters", text,
                           TENSOR_NAME_SIZE - 1);
        strcpy(dst + n, value);
        n += strlen(value);
        at = end ? end + 1 : at + 1;
    }
    dst[n] = 0;
    return 0;
}
