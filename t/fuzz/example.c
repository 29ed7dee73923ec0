/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of TFRecord shards: tf.train.Example with serialized tensors or encoded pictures. */
#include "src/base.h"
#include "trainer/data/source/source_internal.h"

#include "t/fuzz/fuzz.h"

static void decode(const uint8_t *data, size_t n, enum example_part part)
{
    struct pixels img = {0};
    struct err e = {0};

    if (example_decode(data, n, "x", part, &img, &e) == 0)
        FUZZ_REQUIRE(img.nbytes == (size_t)img.width * img.height * (size_t)img.channels *
                                       (size_t)(img.bits / 8));
    else
        FUZZ_REQUIRE(e.code == ERR_DATA && strstr(e.text, "x"));
    pixels_free(&img);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = {0};
    int label = -1;

    decode(data, n, EXAMPLE_IMAGE);
    decode(data, n, EXAMPLE_TARGET);
    int rc = example_label(data, n, "x", &label, &e);
    FUZZ_REQUIRE(rc == 0 || (rc == 1 && label >= 0) || (rc == -1 && e.code == ERR_DATA));
    return 0;
}
