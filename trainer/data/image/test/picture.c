/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/pixels.h"

#include "t/tap.h"

static struct pixels make(int channels, int bits, uint8_t *samples)
{
    return (struct pixels){.width = 2, .height = 1, .channels = channels, .bits = bits,
                               .source_bits = bits, .samples = samples};
}

int main(void)
{
    struct pixels grey = make(1, 8, (uint8_t[]){7, 200});
    struct pixels grey_alpha = make(2, 8, (uint8_t[]){7, 0, 200, 99});
    struct pixels rgb = make(3, 8, (uint8_t[]){7, 7, 7, 200, 200, 200});
    struct pixels rgba = make(4, 8, (uint8_t[]){7, 7, 7, 0, 200, 200, 200, 255});
    struct pixels deep = make(1, 16, (uint8_t[]){7, 7, 200, 200});
    const struct pixels *same[] = {&grey, &grey_alpha, &rgb, &rgba, &deep};
    static const char *const names[] = {"grey", "grey and alpha", "RGB", "RGBA", "16-bit grey"};
    float want[2] = {7 / 255.0f, 200 / 255.0f}, got[6];

    for (int i = 0; i < 5; i++) {
        picture_to_float(same[i], 1, got);
        ok(memcmp(got, want, sizeof want) == 0, "%s: the same tensor to the last bit", names[i]);
    }
    picture_to_float(&grey, 3, got);
    ok(got[0] == want[0] && got[1] == want[0] && got[2] == want[0] && got[5] == want[1],
       "grey is repeated for RGB");

    struct pixels colour = make(3, 8, (uint8_t[]){255, 0, 0, 10, 100, 250});
    uint8_t bytes[6], bytes4[8];
    picture_to_bytes(&colour, 1, bytes);
    is_int(bytes[0], 76, "red to grey: 0.299 x 255, rounded");
    is_int(bytes[1], 90, "0.299 x 10 + 0.587 x 100 + 0.114 x 250 = 90.19");
    picture_to_bytes(&colour, 3, bytes);
    ok(memcmp(bytes, colour.samples, 6) == 0, "RGB stays RGB");
    picture_to_bytes(&rgba, 3, bytes);
    ok(bytes[0] == 7 && bytes[3] == 200, "alpha is dropped, not blended");

    picture_to_bytes(&rgba, 4, bytes4);
    ok(memcmp(bytes4, rgba.samples, 8) == 0, "four channels stay four bands");
    struct pixels bands = make(5, 8, (uint8_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    struct err e;
    ok(picture_check(&bands, 5, "x", &e) == 0 && picture_check(&rgba, 3, "x", &e) == 0 &&
           picture_check(&rgba, 1, "x", &e) == 0, "what can be seen");
    ok(picture_check(&bands, 3, "x", &e) < 0 && e.code == ERR_DATA, "refused: %s", e.text);
    ok(picture_check(&grey, 4, "x", &e) < 0 && e.code == ERR_DATA, "refused: %s", e.text);

    bool steady = true;
    for (unsigned v = 0; v < 256; v++) {
        uint8_t samples[] = {(uint8_t)v, (uint8_t)v, (uint8_t)v, 0, 0, 0};
        struct pixels p = make(3, 8, samples);
        steady = steady && picture_sample(&p, 0, 0, 1) == v;
    }
    ok(steady, "R = G = B = v is grey v for every v");
    return done_testing();
}
