/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/pixels.h"

#include <math.h>

#include "t/tap.h"

static bool near(const float *got, const float *want, int n)
{
    for (int i = 0; i < n; i++)
        if (fabsf(got[i] - want[i]) > 1e-6f) {
            printf("# element %d: got %.7f, want %.7f\n", i, (double)got[i], (double)want[i]);
            return false;
        }
    return true;
}

static bool fits(int sh, int sw, int dh, int dw, int h, int w, int top, int left)
{
    struct resize_fit f = resize_fit(sh, sw, dh, dw);

    if (f.height == h && f.width == w && f.top == top && f.left == left)
        return true;
    printf("# got %d x %d at %d, %d\n", f.height, f.width, f.top, f.left);
    return false;
}

/* One output element by the formula of bilinear interpolation, in double: source pixels weighted by
 * a triangle of half-width 1, border pixels repeated. */
static double bilinear(const float *src, int h, int w, int oh, int ow, int y, int x)
{
    double fy = (y + 0.5) * h / oh - 0.5, fx = (x + 0.5) * w / ow - 0.5, sum = 0;

    fy = fmin(fmax(fy, 0), h - 1);
    fx = fmin(fmax(fx, 0), w - 1);
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            sum += src[i * w + j] * fmax(0, 1 - fabs(i - fy)) * fmax(0, 1 - fabs(j - fx));
    return sum;
}

static void test_against_formula(int h, int w, int dh, int dw)
{
    float src[64], dst[400];
    struct resize_fit f = resize_fit(h, w, dh, dw);
    double worst = 0;

    for (int i = 0; i < h * w; i++)
        src[i] = (float)((i * 37 + 11) % 101) / 100.0f;
    resize_pad(src, h, w, dst, dh, dw, 1);
    for (int y = 0; y < dh; y++)
        for (int x = 0; x < dw; x++) {
            bool in = y >= f.top && y < f.top + f.height && x >= f.left && x < f.left + f.width;
            double want = in ? bilinear(src, h, w, f.height, f.width, y - f.top, x - f.left) : 0;
            worst = fmax(worst, fabs(dst[y * dw + x] - want));
        }
    ok(worst < 1e-5, "%dx%d to %dx%d: worst error %g", h, w, dh, dw, worst);
}

static void test_labels(void)
{
    uint8_t out[12];

    resize_pad_labels((uint8_t[]){1, 2, 3, 4}, 2, 2, out, 2, 2, 9);
    ok(memcmp(out, "\1\2\3\4", 4) == 0, "labels of equal size are copied");
    resize_pad_labels((uint8_t[]){1, 2, 3, 4, 5}, 1, 5, out, 1, 3, 9);
    ok(out[1] == 3, "the middle one of five stays the middle one of three");
    resize_pad_labels((uint8_t[]){1, 2, 3, 4, 5, 6}, 1, 6, out, 1, 3, 9);
    ok(memcmp(out, "\2\4\6", 3) == 0, "between two, the second");
    resize_pad_labels((uint8_t[]){1, 2}, 1, 2, out, 3, 4, 9);
    ok(memcmp(out, "\1\1\2\2\1\1\2\2\11\11\11\11", 12) == 0, "padded with what was asked");
}

int main(void)
{
    test_labels();
    const float grid[] = {0, 1, 2, 3};
    float dst[64];

    resize_pad(grid, 2, 2, dst, 2, 2, 1);
    ok(near(dst, grid, 4), "equal sizes: identity");

    /* With half-pixel centres, output pixels lie at -1/4, 1/4, 3/4 and 5/4 of the input's
     * pixels. */
    const float up[] = {0, 0.25f, 0.75f, 1, 0.5f, 0.75f, 1.25f, 1.5f,
                        1.5f, 1.75f, 2.25f, 2.5f, 2, 2.25f, 2.75f, 3};
    resize_pad(grid, 2, 2, dst, 4, 4, 1);
    ok(near(dst, up, 16), "2x2 to 4x4 by hand");

    /* Without antialiasing only the four middle pixels of the 4 x 4 block count. */
    const float block[] = {0, 10, 20, 90, 1, 11, 21, 91, 2, 12, 22, 92, 3, 13, 23, 93};
    resize_pad(block, 4, 4, dst, 1, 1, 1);
    ok(near(dst, (float[]){(11 + 21 + 12 + 22) / 4.0f}, 1), "4x4 to 1x1 by hand");

    const float wide[] = {0, 0, 0, 1, 0, 0, 0, 0, 2, 3, 0, 0};
    resize_pad(grid, 2, 2, dst, 2, 6, 1);
    ok(near(dst, wide, 12), "2x2 to 2x6: two columns of zeros on both sides");

    const float rgb[] = {1, 2, 3, 4, 5, 6};
    const float rgb_up[] = {1, 2, 3, 1.75f, 2.75f, 3.75f, 3.25f, 4.25f, 5.25f, 4, 5, 6};
    resize_pad(rgb, 1, 2, dst, 4, 4, 3);
    ok(near(dst + 12, rgb_up, 12), "channels do not mix");

    ok(fits(256, 256, 128, 128, 128, 128, 0, 0), "256x256 in 128x128");
    ok(fits(520, 696, 128, 128, 95, 128, 16, 0), "520x696 in 128x128");
    ok(fits(603, 1272, 256, 256, 121, 256, 67, 0), "603x1272 in 256x256");
    ok(fits(347, 260, 768, 1024, 768, 575, 0, 224), "347x260 in 768x1024");
    ok(fits(1, 2048, 96, 128, 1, 128, 47, 0), "a strip keeps one row");
    ok(fits(49, 49, 7, 7, 7, 7, 0, 0) && fits(3, 3, 65535, 65535, 65535, 65535, 0, 0),
       "no row is lost to rounding");

    test_against_formula(7, 5, 12, 12);
    test_against_formula(5, 7, 3, 20);
    test_against_formula(8, 8, 5, 5);
    test_against_formula(1, 8, 20, 20);
    return done_testing();
}
