/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/prepare/prepare.h"

#include "src/format/sha256.h"
#include "t/tap.h"

#define H 96
#define W 128

static uint8_t image[H * W], mask[H * W];

static const char *hash(void)
{
    static char hex[65];
    struct sha256_ctx s;

    sha256_init(&s);
    sha256_add(&s, image, sizeof image);
    sha256_add(&s, mask, sizeof mask);
    sha256_finish(&s, hex);
    return hex;
}

int main(void)
{
    struct err e;
    char first[65];
    size_t foreground = 0, inter = 0, either = 0;
    bool binary = true, bar = true;

    ok(synth_draw(1, 1, H, W, image, mask, &e) == 0, "drawn");
    /* The demo, other tests and published results use these images: they must never change by
     * accident. */
    is_str(hash(), "a28ac567f0c16b24dcac6ca76eb759c5e4fade106758ce7e8dc26a508aabd02d",
           "picture 1 of seed 1, to the last bit");
    strcpy(first, hash());
    synth_draw(1, 2, H, W, image, mask, &e);
    ok(strcmp(first, hash()) != 0, "another index, another picture");
    synth_draw(2, 1, H, W, image, mask, &e);
    ok(strcmp(first, hash()) != 0, "another seed, another picture");

    for (uint64_t i = 1; i <= 48; i++) {
        synth_draw(7, i, H, W, image, mask, &e);
        int threshold = survey_otsu(image, H * W);
        for (int k = 0; k < H * W; k++) {
            bool t = mask[k] == 255, p = image[k] > threshold;
            binary = binary && (t || mask[k] == 0);
            bar = bar && !(t && k >= (H - H / 14) * W);
            foreground += t;
            inter += t && p;
            either += t || p;
        }
    }
    double share = (double)foreground / (48.0 * H * W), iou = (double)inter / (double)either;
    ok(binary, "masks hold 0 and 255");
    ok(bar, "no mark lies under the info bar");
    ok(share > 0.03 && share < 0.2, "the marks cover a sensible share: %.3f", share);
    ok(iou < 0.25, "a threshold does not find them: IoU %.3f", iou);

    uint8_t *big = malloc(2 * 33 * 4096);
    ok(big && synth_draw(1, 1, 33, 4096, big, big + 33 * 4096, &e) == 0, "a strip can be drawn");
    ok(big && synth_draw(1, 1, 4096, 32, big, big + 32 * 4096, &e) == 0, "an upright one too");
    free(big);
    return done_testing();
}
