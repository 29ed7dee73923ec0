/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/dnnl/dnnl_backend.h"

#include <dnnl.h>
#include <stdio.h>

#include "trainer/backends/simd/simd.h"

static const struct kernel *const kernels[] = {
    &dnnl_conv2d,
    &dnnl_conv2d_grad_input,
    &dnnl_conv2d_grad_weights,
    &dnnl_conv_transpose2d,
    &dnnl_conv_transpose2d_grad_input,
    &dnnl_conv_transpose2d_grad_weights,
    NULL,
};

static const char *version(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();

    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

const struct backend dnnl_backend = {.name = "dnnl", .kernels = kernels, .before = &simd_backend,
                                     .fuses = true, .version = version};
