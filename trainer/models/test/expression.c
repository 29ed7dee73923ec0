/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions of model descriptions: values, and errors that name the cause. */
#include "src/base.h"
#include "trainer/models/models_internal.h"

#include "t/tap.h"

static const struct variable variables[] = {
    {"base", false, 8, ""}, {"i", false, 3, ""}, {"name", true, 0, "enc2"}};
static const struct scope scope = {NULL, variables, 3};

static void is_value(const char *text, int64_t want)
{
    struct err e = {0};
    int64_t got = -1;

    ok(expression_evaluate(text, &scope, &got, &e) == 0 && got == want, "%s is %" PRId64 " (%"
       PRId64
       ") %s", text, want, got, e.text);
}

static void refused_expression(const char *text, const char *word)
{
    struct err e = {0};
    int64_t got;

    ok(expression_evaluate(text, &scope, &got, &e) && e.code == ERR_CONFIG && strstr(e.text, word),
       "%s is refused: %s", text, e.text);
}

static void expands(const char *text, const char *want)
{
    char dst[TENSOR_NAME_SIZE] = "";
    struct err e = {0};

    ok(expression_expand(text, &scope, dst, &e) == 0 && strcmp(dst, want) == 0, "%s is %s (%s)",
       text, want, dst);
}

int main(void)
{
    char dst[TENSOR_NAME_SIZE];
    struct err e;

    is_value("42", 42);
    is_value(" base * 2^(i-1) ", 32);
    is_value("2 + 3 * 4 - 1", 13);
    is_value("10 - 3 - 2", 5);
    is_value("7 / 2 % 2", 1);
    is_value("2 ^ 3 ^ 2", 64);
    is_value("-i + 5", 2);
    is_value("1 + (i > 1 && base == 8)", 2);
    is_value("i >= 4 || i <= 2", 0);
    is_value("!i + !0", 1);
    is_value("i != 3", 0);
    is_value("(-1)^1000000000001", -1);
    is_value("1^1000000000000 + 0^5 + 0^0", 2);
    refused_expression("2^60", "too large");
    refused_expression("2^2^2^2^2^2^2", "too large");
    refused_expression("99999999999999", "too large");
    refused_expression("1 / (i - 3)", "division by 0");
    refused_expression("2 ^ -1", "negative power");
    refused_expression("bass", "did you mean 'base'");
    refused_expression("name + 1", "is the string 'enc2'");
    refused_expression("(1", "')' is missing");
    refused_expression("1 2", "not understood");
    refused_expression("1 +", "ends too early");
    refused_expression("", "ends too early");
    refused_expression("((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1", "nested");
    expands("{name}.conv{i}", "enc2.conv3");
    expands("stage{i-2}.{2*i}", "stage1.6");
    ok(expression_expand("{i", &scope, dst, &e) && strstr(e.text, "missing"), "%s", e.text);
    ok(expression_expand("{name}{name}{name}{name}{name}{name}{name}{name}{name}{name}{name}{name}"
                         "{name}{name}{name}{name}", &scope, dst, &e), "%s", e.text);
    return done_testing();
}
