/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/json/cjson.h"

#include <math.h>

#include "t/tap.h"

static bool fails;

static void *allocate(size_t n)
{
    return fails ? NULL : malloc(n);
}

static void check_text(cJSON *o, const char *want, const char *name)
{
    struct err e;
    char *text = cjson_print(o, "\n", &e);

    is_str(text, want, "%s", name);
    free(text);
}

static void refuse_file(const char *text, int code, const char *want)
{
    char path[] = "/tmp/cjson.XXXXXX";
    int fd = mkstemp(path);
    struct err e;

    ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) &&
           !cjson_read(path, 64, code, &e) && e.code == code && strstr(e.text, want),
       "%s is refused: %s", text, e.text);
    close(fd);
    unlink(path);
}

static void test_reading(void)
{
    cJSON *o = cJSON_Parse("{\"a\":7,\"b\":1.5,\"c\":-1,\"t\":\"x\",\"l\":[\"y\",\"z\"],"
                           "\"m\":[1]}");
    int64_t v = 0;
    int n = 0;
    char **texts = NULL;
    struct err e;

    refuse_file("{\"a\":1} x", ERR_DATA, "is not JSON from byte 8 on");
    refuse_file("[1]", ERR_CONFIG, "is not a JSON object");
    refuse_file("{\"a\":\"0123456789012345678901234567890123456789012345678901234567890123\"}",
                ERR_CHECKPOINT, "");
    ok(strcmp(cjson_text(o, "t"), "x") == 0 && !*cjson_text(o, "a") && !*cjson_text(o, "none"),
       "a member that is no text reads as an empty one");
    ok(cjson_number(o, "b") > 1.4 && cjson_number(o, "c") == 0 && cjson_number(o, "t") == 0,
       "a number below 0 reads as 0");
    ok(cjson_read_int(o, "a", 7, 7, ERR_DATA, &v, &e) == 0 && v == 7, "a whole number");
    ok(cjson_read_int(o, "a", 0, 6, ERR_DATA, &v, &e) &&
           cjson_read_int(o, "b", 0, 6, ERR_DATA, &v, &e) &&
           cjson_read_int(o, "t", 0, 6, ERR_DATA, &v, &e) && e.code == ERR_DATA,
       "other members are none: %s", e.text);
    ok(cjson_read_texts(cJSON_GetObjectItem(o, "l"), "l", ERR_DATA, &texts, &n, &e) == 0 &&
           n == 2 && strcmp(texts[1], "z") == 0, "a list of texts");
    for (int i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
    ok(cjson_read_texts(cJSON_GetObjectItem(o, "m"), "m", ERR_DATA, &texts, &n, &e) && n == 0,
       "another list is refused: %s", e.text);
    free(texts);
    cJSON_Delete(o);
}

int main(void)
{
    test_reading();
    cJSON *o = cJSON_CreateObject();
    const double third = 1.0 / 3;
    const char *volatile none = NULL; /* that compilers cannot see */
    struct err e;

    cjson_addf(o, "text=%s none=%s", "a \"b\"\n", none);
    cjson_addf(o, "int=%d unsigned=%u size=%zu wide=%" PRId64, -1, 4294967295u,
               (size_t)9007199254740993, INT64_MIN);
    cjson_addf(o, "yes=%i no=%i", true, false);
    check_text(o, "{\"text\":\"a \\\"b\\\"\\n\",\"none\":null,\"int\":-1,\"unsigned\":4294967295,"
               "\"size\":9007199254740993,\"wide\":-9223372036854775808,\"yes\":true,"
               "\"no\":false}\n", "whole numbers have all their digits");

    o = cJSON_CreateObject();
    cjson_addf(o, "tenth=%g whole=%g nan=%g infinite=%g", 0.1, 5.0, NAN, INFINITY);
    check_text(o, "{\"tenth\":0.1,\"whole\":5,\"nan\":null,\"infinite\":null}\n",
               "reals are short, and null if they are not finite");
    o = cJSON_CreateObject();
    cjson_addf(o, "third=%g", third);
    char *text = cjson_print(o, "", &e);
    ok(strtod(text + 9, NULL) == third, "a real is read back as it was: %s", text);
    free(text);

    o = cJSON_CreateObject();
    cjson_addf(cjson_object(cjson_array(o, "list"), NULL), "a=%d", 1);
    cjson_add(cjson_object(o, "inner"), "b", cJSON_CreateString("c"));
    check_text(o, "{\"list\":[{\"a\":1}],\"inner\":{\"b\":\"c\"}}\n", "objects in each other");

    cJSON_InitHooks(&(cJSON_Hooks){allocate, free});
    o = cJSON_CreateObject();
    cjson_addf(o, "a=%d", 1);
    cJSON *inner = cjson_object(o, "inner");
    fails = true;
    cjson_addf(inner, "b=%d", 2);
    cjson_addf(cjson_object(inner, "c"), "d=%d", 3);
    fails = false;
    cjson_addf(inner, "e=%d", 4);
    ok(!cjson_print(o, "", &e) && e.code == ERR_INTERNAL, "what lacks a member is not printed: %s",
       e.text);
    return done_testing();
}
