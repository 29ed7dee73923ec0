/* SPDX-License-Identifier: BSD-3-Clause */
/* Image files: PNG, TIFF, JPEG, by content. What is accepted has the samples that its shape
 * says. */
#include "src/base.h"
#include "trainer/data/image/image_file.h"

#include "t/fuzz/fuzz.h"

static void decode(const uint8_t *data, size_t n, enum pixels_mode mode)
{
    struct pixels img;
    struct err e = {0};

    if (image_file_decode(data, n, "x", 0, mode, &img, &e)) {
        FUZZ_REQUIRE(e.code == ERR_DATA && strstr(e.text, "x"));
        FUZZ_REQUIRE(!img.samples);
        return;
    }
    FUZZ_REQUIRE(img.width && img.width <= PIXELS_MAX_SIDE);
    FUZZ_REQUIRE(img.height && img.height <= PIXELS_MAX_SIDE);
    FUZZ_REQUIRE(img.channels >= 1 && img.channels <= PIXELS_MAX_CHANNELS);
    FUZZ_REQUIRE(img.bits == 8 || img.bits == 16);
    FUZZ_REQUIRE(img.nbytes == (size_t)img.width * img.height * (size_t)img.channels *
                                   (size_t)(img.bits / 8));
    unsigned sum = img.samples[0] + img.samples[img.nbytes - 1];
    FUZZ_REQUIRE(sum <= 510 && img.pages >= 1);
    pixels_free(&img);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    decode(data, n, PIXELS_RAW);
    decode(data, n, PIXELS_PICTURE);
    return 0;
}
