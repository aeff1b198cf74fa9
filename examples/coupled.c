/* SPDX-License-Identifier: Apache-2.0 */
/* A screw without a world: a rod that moves 0.1 m per radian, driven by a torque and held back by a force until it breaks.
   cc coupled.c $(pkg-config --cflags --libs stiction) && ./a.out */
#include <stdio.h>
#include <stiction/coupled.h>

int main(void) {
    const double h = 0.01, start[2] = {5, 0};
    sti_coupled_body frame = sti_coupled_body_fixed(), rod = sti_coupled_body_planar(1, 1, start, 0);
    sti_coupled_def def = sti_coupled_def_default();
    sti_coupled screw;
    sti_error error;

    def.count = 1;
    def.distance = 5;
    def.equation[0] = (sti_coupled_equation){.r_d = 1, .r_theta = -0.1};
    def.max_force = 50;
    if (sti_coupled_init(&screw, &def, &error) != STI_OK) return fprintf(stderr, "%s\n", error.message), 1;

    for (int step = 0; step < 1000 && !screw.broken; step++) {
        rod.omega[2] += h * 0.5;      /* 0.5 N m */
        rod.vel[0] -= h * 0.1 * step; /* a force that grows by 10 N in a second */
        if (sti_coupled_prepare(&screw, &frame, &rod, h) != STI_OK) return 1;
        sti_coupled_solve_velocity(&screw, &frame, &rod);
        sti_coupled_finish(&screw, &frame, &rod);
        sti_coupled_body_move(&rod, h);
        if (step % 100 == 0)
            printf("t = %4.1f s  x = %6.3f m  angle = %7.3f rad  force = %6.2f N\n", step * h, rod.pos[0],
                   screw.last_angle, screw.diagnostics.force);
    }
    printf("%s, after %lld steps\n", screw.broken ? sti_coupled_flag_text(STI_COUPLED_BROKEN) : "held",
           (long long)screw.diagnostics.steps);
    return screw.broken ? 0 : 1;
}
