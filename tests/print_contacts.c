/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the contacts of a model in given states, for comparison with MuJoCo.

   usage: print_contacts model.xml < states; a state is nq numbers; all output numbers are exact. */
#include "collide/collide.h"
#include "world/world.h"
#include <stdio.h>

static void print_reals(const double *x, int n) {
    for (int i = 0; i < n; i++) printf(" %.17g", x[i]);
}

static void print_contact(const sti__contact *x) {
    printf("%d %d %d %d %d %d", x->geom1, x->geom2, x->body1, x->body2, x->mixed.dim, x->exclude);
    print_reals(&x->dist, 1);
    print_reals(&x->mixed.includemargin, 1);
    print_reals(x->mixed.friction, 5);
    print_reals(x->mixed.solref, 2);
    print_reals(x->mixed.solreffriction, 2);
    print_reals(x->mixed.solimp, 5);
    print_reals(x->pos, 3);
    print_reals(x->frame, 9);
    printf("\n");
}

static bool read_state(double *qpos, int nq) {
    for (int i = 0; i < nq; i++)
        if (scanf("%lf", qpos + i) != 1) return false;
    return nq > 0;
}

int main(int argc, char **argv) {
    sti_error error;
    char text[1024];
    sti__collide c;
    sti__collide_sizes need;
    sti_model *model = argc == 2 ? sti_model_load(argv[1], NULL, NULL, &error) : NULL;
    if (!model) {
        fprintf(stderr, "%s\n",
                argc == 2 ? sti_error_format(&error, text, sizeof text) : "usage: print_contacts model");
        return 1;
    }
    sti_world *world = sti_world_create(model, NULL, NULL);
    if (!world || !sti__collide_create(&c, world->collision, (sti__collide_sizes){0}, NULL, NULL)) return 1;
    sti__world_want(world, STI__WANT_GEOM);
    while (read_state(world->state->qpos, model->nq)) {
        sti_stage_position(world);
        while (!sti__collide_run(&c, world->state, NULL, &need))
            if (sti__collide_grow(&c, &need, NULL) != STI_OK) return 1;
        printf("state %d\n", c.ncontact);
        for (int i = 0; i < c.ncontact; i++) print_contact(c.contact + i);
    }
    sti__collide_free(&c);
    sti_world_destroy(world);
    sti_model_free(model);
    return 0;
}
