/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/json/cjson.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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

int main(void)
{
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
