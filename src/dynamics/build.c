/* SPDX-License-Identifier: Apache-2.0 */
/* From a spec or a file to a complete model. */
#include "dynamics/reference.h"
#include "model/compile.h"

sti_model *sti_model_compile(const sti_spec *spec, sti_report *report, sti_error *error) {
    if (!spec) {
        sti__fail(error, STI_ARGUMENT, "no spec was given");
        return NULL;
    }
    sti_model *model = sti__model_build(spec, report, error);
    if (!model || sti__reference_values(model, spec, report, error) == STI_OK) return model;
    sti_model_free(model);
    return NULL;
}

sti_model *sti_model_load(const char *path, const sti_load_options *options, sti_report *report,
                          sti_error *error) {
    sti_spec *spec = sti_spec_load(path, options, report, error);
    sti_model *model = spec ? sti_model_compile(spec, report, error) : NULL;
    if (spec) sti_spec_free(spec);
    return model;
}
