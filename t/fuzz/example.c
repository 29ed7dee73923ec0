/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of TFRecord shards: tf.train.Example with serialized tensors. If the image and the mask
 * of a record are accepted, it can be written again, and then has the same image. */
#include "config.h"
#include "trainer/data/source/example.h"

#include "t/fuzz/fuzz.h"

static bool decode(const uint8_t *data, size_t n, enum example_part part, struct pixels *img)
{
    struct err e = {0};

    if (example_decode(data, n, "x", part, img, &e) == 0) {
        FUZZ_REQUIRE(img->nbytes == (size_t)img->width * img->height * (size_t)img->channels *
                                        (size_t)(img->bits / 8));
        return true;
    }
    FUZZ_REQUIRE(e.code == ERR_DATA && strstr(e.text, "x"));
    return false;
}

static void check_again(const struct pixels *image, const struct pixels *mask)
{
    struct buf again = {0};
    struct pixels img;
    struct err e = {0};

    example_encode(image, mask, 0, &again);
    FUZZ_REQUIRE(!again.failed);
    FUZZ_REQUIRE(example_decode((const uint8_t *)again.data, again.length, "y", EXAMPLE_IMAGE, &img,
                                &e) == 0);
    FUZZ_REQUIRE(img.nbytes == image->nbytes && memcmp(img.samples, image->samples,
                                                       img.nbytes) == 0);
    pixels_free(&img);
    buf_destroy(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct pixels image = {0}, mask = {0};
    struct err e = {0};
    int label = -1;

    bool has_image = decode(data, n, EXAMPLE_IMAGE, &image);
    bool has_mask = decode(data, n, EXAMPLE_TARGET, &mask);
    int rc = example_label(data, n, "x", &label, &e);
    FUZZ_REQUIRE(rc == 0 || (rc == 1 && label >= 0) || (rc == -1 && e.code == ERR_DATA));
    if (has_image && has_mask)
        check_again(&image, &mask);
    pixels_free(&image);
    pixels_free(&mask);
    return 0;
}
