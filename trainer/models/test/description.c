/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of models: built-in ones have the numbers of parameters that are published, errors
 * name the place and what is wrong, and damaged texts give a model or an error. */
#include "src/base.h"
#include "trainer/models/model.h"

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/models/models_internal.h"
#include "trainer/network/network.h"

static void has_parameters(const char *name, struct network_config c, size_t want, const char *what)
{
    struct err e = {0};

    c.model = name;
    c.backend = "ref";
    c.threads = 1;
    struct network *n = network_create(&c, &e);
    is_int(n ? (long)weights_trainable(network_weights(n)) : -1, (long)want, "%s %s", what, e.text);
    network_destroy(n);
}

static void check_sizes(void)
{
    struct network_config pixels = {.channels = 1, .height = 64, .width = 64,
                                    .batch_norm = BATCH_NORM_LOCAL};
    struct network_config rgb = {.channels = 3, .classes = 10, .height = 32, .width = 32,
                                 .batch_norm = BATCH_NORM_LOCAL};
    struct network_config chips = {.channels = 3, .classes = 2, .height = 500, .width = 500};
    struct network_config bands = {.channels = 4, .classes = 2, .height = 64, .width = 64};

    has_parameters("unet", pixels, 487145, "the U-Net of the reference");
    has_parameters("resnet20", rgb, 269722, "ResNet-20");
    has_parameters("resnet44", rgb, 658586, "ResNet-44");
    has_parameters("resnet44-projection", rgb, 662826, "ResNet-44 with projections");
    has_parameters("resnet110", rgb, 1727962, "ResNet-110");
    has_parameters("chips", chips, 7942658, "the chips network at 500x500x3");
    has_parameters("resnet18", rgb, 11181642, "torchvision's ResNet-18 of 10 classes");
    has_parameters("resnet34", rgb, 21289802, "and ResNet-34");
    has_parameters("unet-resnet18", pixels, 14235009, "a U-Net whose encoder is ResNet-18");
    has_parameters("unet-resnet34", pixels, 24343169, "and ResNet-34");
    has_parameters("nnunet", pixels, 20617121, "nnU-Net's of six stages without deep supervision");
    pixels.depth = 7;
    pixels.height = pixels.width = 256;
    has_parameters("nnunet", pixels, 46320545, "and of eight");
    has_parameters("fcnn", bands, 120962, "OTBTF's network with 4 bands");
    bands.channels = 3;
    has_parameters("fcnn", bands, 120818, "and with 3");
}

/* Decodes a complete document with these layers. */
static const struct model *decode_layers(const char *layers, struct err *e)
{
    static char text[4096];

    snprintf(text, sizeof text, "model: mine\nof: masks\nparameters: {n: 2}\nblocks:\n  one:\n"
             "    - conv: {name: \"{name}\", channels: channels}\nlayers:\n%s", layers);
    return model_decode(text, "mine.yaml", e);
}

static void refused_layers(const char *layers, const char *place, const char *word)
{
    struct network_config c = {.backend = "ref", .channels = 1, .height = 24, .width = 32,
                               .batch_norm = BATCH_NORM_LOCAL, .threads = 1};
    struct err e = {0};
    const struct model *m = decode_layers(layers, &e);
    struct network *n = NULL;

    if (m) {
        c.model = m->name;
        n = network_create(&c, &e);
    }
    ok(!n && e.code == ERR_CONFIG && strstr(e.text, place) && strstr(e.text, word), "%s", e.text);
    network_destroy(n);
}

#define HEAD "  - conv: {channels: classes, kernel: 1}\n"

static void check_refusals(void)
{
    refused_layers("  - convv: 3\n", "mine.yaml:8:", "did you mean 'conv'");
    refused_layers("  - conv: {chanels: 3}\n", "mine.yaml:8:", "did you mean 'channels'");
    refused_layers("  - conv:\n", "mine.yaml:8:", "channels is missing");
    refused_layers("  - conv: clases\n", "mine.yaml:8:", "did you mean 'classes'");
    refused_layers("  - conv: {channels: 4, kernel: 4}\n", "mine.yaml:8: conv (conv1)",
                   "it can be 1, 3, 5 or 7");
    refused_layers("  - conv: {channels: 4, stride: 3}\n", "mine.yaml:8:", "stride is 3");
    refused_layers("  - conv: 4\n  - group_norm: 3\n", "mine.yaml:9: group_norm (group_norm1)",
                   "3 groups of 4 channels");
    refused_layers("  - global_avg_pool\n  - instance_norm\n", "mine.yaml:9:", "no variance");
    refused_layers("  - leaky_relu: 1\n", "mine.yaml:8: leaky_relu", "a slope of 1");
    refused_layers("  - conv: {channels: 4, dilation: 0}\n", "mine.yaml:8: conv", "dilation is 0");
    refused_layers("  - max_pool: 4\n", "mine.yaml:8: max_pool", "kernel is 4");
    refused_layers("  - conv: 0\n", "mine.yaml:8:", "channels is 0");
    refused_layers("  - relu\n  - save: a\n  - max_pool\n  - concat: a\n", "mine.yaml:11: concat",
                   "the input is 12x16x1, but 'a' is 24x32x1");
    refused_layers("  - save: a\n  - conv: 4\n  - add: a\n", "mine.yaml:10: add",
                   "channels must be equal");
    refused_layers("  - save: skip\n  - use: skp\n", "mine.yaml:9:", "did you mean 'skip'");
    refused_layers("  - dense: 4\n", "mine.yaml:8: dense", "`- flatten`");
    refused_layers("  - dropout: 1.5\n", "mine.yaml:8: dropout", "rate of 1.5");
    refused_layers("  - conv: {name: a, channels: 2}\n  - conv: {name: a, channels: 2}\n", "mine.yaml:9:",
                   "the name 'a' is used");
    refused_layers("  - one: {name: a, chanels: 2}\n", "mine.yaml:6:", "(block one, used in line 8)");
    refused_layers("  - for: i = 1..6\n    do:\n      - max_pool\n", "mine.yaml:10: max_pool",
                   "is too small to halve");
    refused_layers("  - for: i from 1\n    do:\n      - relu\n", "mine.yaml:8:", "FIRST..LAST");
    refused_layers("  - if: n\n", "mine.yaml:8:", "needs `do:`");
    refused_layers("  - conv: 3\n", "mine.yaml:8:", "must end with 24x32x1");
    refused_layers("  - global_avg_pool\n" HEAD, "mine.yaml:8:", "the last layer gives 1x1x1");
    refused_layers("  - for: i = 1..1000000\n    do:\n      - relu\n" HEAD, "mine.yaml:", "layers");
    refused_layers("  - [relu]\n", "mine.yaml:8:", "one layer is expected");
    refused_layers("  - conv: {channels: 2, channels: 3}\n", "mine.yaml:8:", "given twice");
    refused_layers("  - conv: {channels: 2\n", "mine.yaml:", "");
}

static void refused_text(const char *text, const char *word)
{
    struct err e = {0};

    ok(!model_decode(text, "t.yaml", &e) && e.code == ERR_CONFIG && strstr(e.text, word), "%s",
       e.text);
}

static void check_documents(void)
{
    struct err e = {0};

    refused_text("", "a model is expected");
    refused_text("- 1\n", "a model is expected");
    refused_text("model: x\nof: masks\n", "layers: is missing");
    refused_text("model: x\nlayers: []\n", "of: masks");
    refused_text("model: x\nof: pixels\nlayers: []\n", "neither masks");
    refused_text("model: x\nof: masks\ninit: zero\nlayers: []\n", "neither pytorch nor glorot");
    refused_text("model: a/b\nof: masks\nlayers: []\n", "is not a name");
    refused_text("model: x\nof: masks\nlayer: []\n", "did you mean 'layers'");
    refused_text("model: x\nof: masks\nlayers: 3\n", "a list is expected");
    refused_text("model: x\nof: masks\nparameters: {n: -1}\nlayers: []\n", "from 0 to");
    refused_text("model: x\nof: masks\nvariants: {y: {m: 1}}\nlayers: []\n",
                 "not one of the parameters");
    refused_text("model: x\nof: masks\nblocks: {conv: []}\nlayers: []\n", "the name of a layer");
    const struct model *a = model_decode("model: x\nof: masks\nlayers: [relu]\n", "a", &e);
    const struct model *b = model_decode("model: x\nof: masks\nlayers: [relu]\n", "b", &e);
    ok(a && a == b, "the same text is the same model");
    ok(a && model_find(a->name) == a && strcmp(a->title, "x") == 0, "and is found by its name");
    ok(!model_open("nosuch.yaml", &e) && e.code == ERR_CONFIG && strstr(e.text, "nosuch.yaml"),
       "%s", e.text);
    ok(!model_open("resnet45", &e) && strstr(e.text, "resnet44"), "%s", e.text);
}

/* A block that uses itself, directly or through another, is an error. */
static void check_recursion(void)
{
    struct network_config c = {.backend = "ref", .channels = 1, .height = 8, .width = 8,
                               .threads = 1};
    struct err e = {0};
    const struct model *m = model_decode("model: r\nof: masks\nblocks: {a: [b], b: [a]}\n"
                                         "layers: [a]\n", "r.yaml", &e);

    c.model = m ? m->name : "";
    struct network *n = m ? network_create(&c, &e) : NULL;
    ok(m && !n && e.code == ERR_CONFIG && strstr(e.text, "does a block use itself"), "%s", e.text);
    const char *used = strstr(e.text, "(block a, used in line 3)");
    ok(used && !strstr(used + 1, "(block a, used in line 3)"), "each use is named once");
    network_destroy(n);
}

/* Built-in descriptions with changed, missing or doubled bytes are models or errors with a text. */
static void check_mutations(void)
{
    struct network_config c = {.channels = 2, .height = 32, .width = 32, .classes = 2, .threads = 1,
                               .batch_norm = BATCH_NORM_LOCAL};
    static const char letters[] = "0123456789{}[]:,-^*/ \n\"'abcdefnorst.&|!<>";
    int built = 0, refusals = 0, bad = 0;

    for (uint64_t i = 0; i < 3000; i++) {
        char text[16384];
        const char *source = model_find(i % 3 ? i % 3 == 1 ? "chips" : "unet"
                                                     : "fcnn")->text;
        struct err e = {0};
        size_t n = strlen(source);

        memcpy(text, source, n + 1);
        for (uint64_t k = 0; k <= i % 5; k++) {
            size_t at = (size_t)(rng_uniform(41, i, 3 * k) * (double)n);
            size_t length = (size_t)(rng_uniform(41, i, 3 * k + 1) * 12) % (n - at);
            double how = rng_uniform(41, i, 3 * k + 2);
            if (how < 0.5)
                text[at] = letters[(size_t)(how * 2 * (double)(sizeof letters - 1))];
            else if (how < 0.75)
                memmove(text + at, text + at + length, n + 1 - at - length), n -= length;
            else
                memmove(text + at + length, text + at, n + 1 - at), n += length;
        }
        struct description *d = description_decode(text, "m.yaml", &e);
        struct graph *g = d ? graph_create(true, &e) : NULL;
        int rc = g ? description_build(d, NULL, g, &c, 1, &e) : -1;
        built += rc == 0;
        refusals += rc != 0;
        bad += rc != 0 && (e.code != ERR_CONFIG || !*e.text);
        if (bad && rc && e.code != ERR_CONFIG)
            printf("# %d %s\n", e.code, e.text);
        graph_destroy(g);
        description_destroy(d);
    }
    ok(bad == 0 && built > 100 && refusals > 1000, "changed texts: %d built, %d refused, %d badly",
       built, refusals, bad);
}

/* Returns the plan's hash of a network with these layers before its head. */
static uint64_t plan_of(const char *layers)
{
    const struct network_config c = {.channels = 1, .classes = 1, .height = 16, .width = 16};
    char text[1024];
    struct err e = {0};

    snprintf(text, sizeof text, "model: m\nof: masks\nlayers:\n  - conv: {name: a, channels: 4}\n"
             "%s  - conv: {name: head, channels: classes, kernel: 1}\n", layers);
    struct description *d = description_decode(text, "m.yaml", &e);
    struct graph *g = d ? graph_create(true, &e) : NULL;
    if (!g || description_build(d, NULL, g, &c, 1, &e) < 0)
        bail_out("%s", e.text);
    uint64_t hash = graph_hash(g);
    graph_destroy(g);
    description_destroy(d);
    return hash;
}

/* Layers without parameters belong to the plan, too. */
static void check_plans(void)
{
    static const char *const layers[] = {
        "", "  - relu\n", "  - dropout: 0.5\n", "  - dropout: 0.25\n",
        "  - save: s\n  - relu\n  - add: s\n", "  - relu\n  - save: s\n  - add: s\n"};
    size_t n = sizeof layers / sizeof *layers, nsame = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            nsame += plan_of(layers[i]) == plan_of(layers[k]);
    ok(nsame == n, "a plan's hash tells layers without parameters, their arguments and places apart");
}

int main(void)
{
    check_plans();
    check_mutations();
    check_sizes();
    check_refusals();
    check_documents();
    check_recursion();
    return done_testing();
}
