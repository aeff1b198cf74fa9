/* SPDX-License-Identifier: Apache-2.0 */
/* Steps per second of many worlds on a device, beside their certificates; and whether worlds there have the bits of worlds here.
   bench_gpu FILE DEVICE STEPS CHECKED COUNT...
   For each count of worlds: STEPS steps to warm up, STEPS that are timed; the first CHECKED worlds are then stepped by the processor
   too. Environment: STI_TOL, the tolerance of contact; STI_CALL, the steps of a call (all); STI_FIRST, whose
   controls the first world has (0). Each world has controls of its own, constant, within a half of their ranges. Exit status 1 if bits differ where they must not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <stiction/stiction.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double control(const sti_model *m, int world, int k) {
    if (getenv("STI_FIRST")) world += atoi(getenv("STI_FIRST"));
    double low = -1, high = 1, x = fmod(0.618034 * (1 + world) + 0.414214 * (1 + k), 1);
    if (m->actuator_ctrllimited[k])
        low = m->actuator_ctrlrange[2 * k], high = m->actuator_ctrlrange[2 * k + 1];
    return 0.5 * (low + high) + 0.5 * (high - low) * (x - 0.5);
}

static sti_model *load(const char *path) {
    sti_error error = {0};
    sti_spec *spec = sti_spec_load(path, NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    sti_spec_free(spec);
    if (!model) fprintf(stderr, "%s: %s\n", path, error.message);
    return model;
}

/* How many of the first worlds have other bits here. */
static int differing(const sti_model *m, const uint64_t *there, int checked, int steps) {
    int bad = 0;
    for (int i = 0; i < checked; i++) {
        sti_world *w = sti_world_create(m, NULL, NULL);
        double *ctrl = sti_world_view(w, STI_FIELD_ctrl).data;
        for (int k = 0; k < m->nu; k++) ctrl[k] = control(m, i, k);
        for (int s = 0; s < steps; s++) sti_step(w, 1);
        bad += sti_world_hash(w) != there[i];
        sti_world_destroy(w);
    }
    return bad;
}

static void set_controls(sti_batch *b, int count) {
    const sti_model *m = sti_batch_model(b);
    double *ctrl = malloc(sizeof *ctrl * (size_t)(count * m->nu + 1));
    for (int i = 0; ctrl && i < count; i++)
        for (int k = 0; k < m->nu; k++) ctrl[i * m->nu + k] = control(m, i, k);
    sti_batch_scatter(b, STI_FIELD_ctrl, ctrl);
    free(ctrl);
}

/* false: bits differ */
static bool report(sti_batch *b, int count, int checked, int steps, double rate, int failed) {
    double *certificate = malloc(sizeof *certificate * (size_t)count), worst = 0;
    bool *converged = malloc(sizeof *converged * (size_t)count);
    uint64_t *hash = malloc(sizeof *hash * (size_t)count);
    int open = 0, most = checked < count ? checked : count;
    sti_batch_solved(b, certificate, NULL, converged);
    sti_batch_hash(b, hash);
    for (int i = 0; i < count; i++) worst = fmax(worst, certificate[i]), open += !converged[i];
    sti_device_info info = sti_batch_device_info(b);
    int bad = differing(sti_batch_model(b), hash, most, 2 * steps);
    printf("%8d %12.0f %10.2e %6d %6d %9.3f %6lld %6lld %4d/%d\n", count, rate, worst, open, failed,
           1e-6 * (double)info.world_bytes, (long long)info.grown, (long long)info.reordered, most - bad,
           most);
    fflush(stdout);
    free(certificate), free(converged), free(hash);
    return bad == 0 || info.reordered > 0;
}

static bool run(const sti_model *m, const char *device, int count, int steps, int checked) {
    sti_batch_options o = sti_batch_options_default();
    sti_error error = {0};
    int failed = 0;
    o.device = device;
    int piece = getenv("STI_CALL") ? atoi(getenv("STI_CALL")) : steps;
    if (piece < 1) piece = steps;
    double begun = seconds();
    sti_batch *b = sti_batch_create(m, count, &o, &error);
    if (!b) return fprintf(stderr, "%d worlds: %s\n", count, error.message), false;
    set_controls(b, count);
    double made = seconds();
    sti_batch_step(b, steps);
    double start = seconds();
    for (int k = 0; k < steps; k += piece) sti_batch_step(b, steps - k < piece ? steps - k : piece);
    double end = seconds();
    for (int i = 0; i < count; i++)
        if (sti_batch_status(b)[i] != STI_OK && failed++ == 0 && sti_batch_error(b, i, &error) == STI_OK)
            fprintf(stderr, "world %d: %s (%s)\n", i, error.message, sti_status_name(sti_batch_status(b)[i]));
    if (made - begun > 1) fprintf(stderr, "%d worlds were made in %.1f s\n", count, made - begun);
    bool good = report(b, count, checked, steps, (double)count * steps / (end - start), failed);
    sti_batch_destroy(b);
    return good;
}

int main(int argc, char **argv) {
    if (argc < 6) return fprintf(stderr, "bench_gpu FILE DEVICE STEPS CHECKED COUNT...\n"), 2;
    sti_model *m = load(argv[1]);
    bool good = m != NULL;
    if (m && getenv("STI_TOL")) m->opt.contact_tol = atof(getenv("STI_TOL"));
    printf("%s on %s, %s steps, nv %d, tolerance %g\n  worlds      steps/s      worst   open failed  "
           "MB/world  grown "
           "reord. bits\n",
           argv[1], argv[2], argv[3], m ? m->nv : 0, m ? m->opt.contact_tol : 0);
    for (int i = 5; m && i < argc; i++) good &= run(m, argv[2], atoi(argv[i]), atoi(argv[3]), atoi(argv[4]));
    sti_model_free(m);
    return !good;
}
