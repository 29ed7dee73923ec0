/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/task.h"

#include "trainer/core/model.h"

int task_check(const char *model, const struct dataset *ds, int *classes, struct err *e)
{
    int height, width, found = dataset_classes(ds);
    bool whole = model_find(model)->whole;

    dataset_size(ds, &height, &width);
    bool masks = dataset_targets(ds) == (size_t)height * (size_t)width;
    if (masks && whole)
        return err_set(e, ERR_CONFIG, "%s gives each image one class as a whole, and this data set "
                       "has masks: use model unet", model);
    if (!masks && !whole)
        return err_set(
            e, ERR_CONFIG,
            "%s needs a mask for each image, and in this data set an "
            "image has one class as a whole: use model resnet20, 32, 44, 56, 110 or chips",
            model);
    if (whole && *classes == 1)
        *classes = found;
    if (whole && *classes != found)
        return err_set(e, ERR_CONFIG, "this data set has %d classes, not %d (data.classes)", found,
                       *classes);
    return 0;
}
