/* SPDX-License-Identifier: Apache-2.0 */
/* From a spec or a file to a complete model. */
#include "dynamics/reference.h"
#include "model/change.h"
#include "model/compile.h"

sti_model *sti_model_compile(const sti_spec *spec, sti_report *report, sti_error *error) {
    if (!spec) {
        sti__fail(error, STI_ARGUMENT, "no spec was given");
        return NULL;
    }
    sti_model *model = sti__model_build(spec, report, error);
    if (!model) return NULL;
    if (sti__reference_values(model, spec, report, error) == STI_OK &&
        sti__find_lengthranges(model, spec, report, error) == STI_OK) {
        sti__remember_fields(model);
        return model;
    }
    sti_model_free(model);
    return NULL;
}

sti_status sti__model_derive(sti_model *model, sti_error *error) {
    sti__derive_plain(model);
    return sti__reference_values(model, NULL, NULL, error);
}

sti_status sti_model_update(sti_model *model, sti_error *error) {
    if (error) *error = (sti_error){0};
    if (!model) return sti__fail(error, STI_ARGUMENT, "no model was given");
    int reach = sti__find_changes(model);
    if (reach < 0) return STI_OK;
    sti_status status = sti__check_changes(model, error);
    if (status == STI_OK && reach >= STI__REACH_REFERENCE) status = sti__model_derive(model, error);
    if (status == STI_OK) {
        sti__remember_fields(model);
        sti__count_change(model, (sti__reach)reach);
        return STI_OK;
    }
    sti__restore_fields(model);
    if (reach >= STI__REACH_REFERENCE) sti__model_derive(model, NULL);
    return status;
}

sti_model *sti_model_load(const char *path, const sti_load_options *options, sti_report *report,
                          sti_error *error) {
    sti_spec *spec = sti_spec_load(path, options, report, error);
    sti_model *model = spec ? sti_model_compile(spec, report, error) : NULL;
    if (spec) sti_spec_free(spec);
    return model;
}
