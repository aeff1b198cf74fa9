/* SPDX-License-Identifier: Apache-2.0 */
/* The options that are Stiction's own: one list from which the struct, the sti:option element's reader, checks, hashes and
   the Python names follow. docs/options.md says more. */
#ifndef STICTION_OPTION_FIELDS_H
#define STICTION_OPTION_FIELDS_H

/* X(type, name, attribute, least, most, text): member of sti_option, attribute of sti:option. Defaults are in the schema. */
/* clang-format off */
#define STI_OWN_OPTIONS(X)                                                                                              \
    X(int, contact_solver, solver, 0, 3, "sti_solver: sap, apgd, newton, auto")                                         \
    X(int, coulomb, coulomb, 0, 1, "sti_coulomb: relaxed cones or exact friction")                                      \
    X(int, memory, memory, 0, 1, "whether contacts remember their anchors over steps")                                  \
    X(int, watch, watch, 0, 2, "sti_watch: what happens on energy without a source, inverted elements, absurd displacements") \
    X(int, linear, linear, 0, 2, "sti_linear: auto, direct, pcg")                                                       \
    X(int, preconditioner, preconditioner, 0, 2, "sti_preconditioner: auto, jacobi, mg")                                \
    X(int, substeps, substeps, 1, 10000, "a step is so many of a fraction of timestep")                               \
    X(int, adaptive_atol, adaptive_atol, 0, 1, "atol (1 + 0.1 sqrt(contacts)) instead of atol")                         \
    X(int, max_newton, max_newton, 0, 1000000000, "Newton steps of an island in a step")                                \
    X(int, max_iterations, max_iterations, 0, 1000000000, "steps of a first-order solver")                              \
    X(int, max_pcg, max_pcg, 0, 1000000000, "conjugate-gradient steps of one linear solve")                             \
    X(int, max_line_search, max_line_search, 0, 1000000000, "steps of one line search")                                 \
    X(int, pool_contacts, pool_contacts, 0, 1048576, "contacts that a new world has room for; 0: by the model")        \
    X(int, pool_rows, pool_rows, 0, 1048576, "row blocks, likewise")                                                   \
    X(int, pool_candidates, pool_candidates, 0, 1048576, "pairs for the narrow phase, likewise")                       \
    X(int, pool_overlaps, pool_overlaps, 0, 1048576, "overlaps of boxes in the broad phase, likewise")                 \
    X(int, pool_patches, pool_patches, 0, 1048576, "polygons of contact, likewise")                                    \
    X(int, pool_elements, pool_elements, 0, 1048576, "pairs of near elements of pressure fields, likewise")            \
    X(int, max_hits, max_hits, 1, 65536, "overlaps that every box has room for before all are counted anew")            \
    X(int, max_polygons, max_polygons, 6, 1000000000, "polygons between a soft body and another that are contacts of their own; more are put together") \
    X(int, alm_scheme, alm_scheme, 0, 2, "sti_alm_scheme: euler, bdf2, midpoint")                                       \
    X(int, alm_adaptive, alm_adaptive, 0, 1, "stopping tests and a penalty that grows; else fixed counts")             \
    X(int, alm_outer, alm_outer, 1, 1000000, "multiplier steps of the integrator alm, at most or exactly")              \
    X(int, alm_newton, alm_newton, 1, 1000000, "Newton steps for each")                                                 \
    X(double, alm_mu, alm_mu, 1e-300, 1e300, "its penalty: over the mass that a row feels if adaptive, else plain")     \
    X(double, alm_tol, alm_tol, 0, 1e300, "violation of a joint that ends the multiplier steps, m or rad")              \
    X(double, alm_newton_tol, alm_newton_tol, 0, 1e300, "Newton step that ends Newton's steps, m or rad")               \
    X(double, max_work, max_work, 0, 1e300, "floating-point operations of a step, by estimate; 0: by its size")         \
    X(double, merge, merge, 0, 1e300, "polygons of two rigid bodies in a cell of this size become three contacts, m; 0: none") \
    X(double, contact_tol, tol, 1e-300, 1e300, "on the certificate of a step")                                          \
    X(double, atol, atol, 0, 1e300, "sap also stops at |gradient| <= atol + rtol momentum, in sqrt(J)")                 \
    X(double, rtol, rtol, 0, 1e300, "see atol")                                                                         \
    X(double, pcg_tol, pcg_tol, 0, 1, "least relative residual of a linear solve by conjugate gradients")               \
    X(double, ls_tol, ls_tol, 0, 1, "slope that ends a line search, relative to that at its start")                     \
    X(double, max_step, max_step, 1e-3, 1e300, "largest step of a line search")                                         \
    X(double, gradient_limit, gradient_limit, 0, 1e300, "a larger gradient, in sqrt(J), counts as a warning")           \
    X(double, certificate_limit, certificate_limit, 0, 1e300, "a step with a larger certificate has ended badly")       \
    X(double, beta, beta, 1e-300, 1e300, "near-rigid contact oscillates with the period beta h")                        \
    X(double, sigma, sigma, 0, 1e300, "friction's softness over the inverse mass; 0: by the rule")                      \
    X(double, push, push, 1e-300, 1e300,                                                                                \
      "largest speed at which near-rigid contacts and limits undo an overlap, m/s (rad/s)")                             \
    X(double, closing, closing, 1e-300, 1e300, "largest speed at which near-rigid equalities close, m/s (rad/s); 2.5 % of it is the least cap of limits")

/* Options of MJCF's <option>, one number each: X(type, name, least, most, text). Those that are kept for MJCF have no effect here. */
#define STI_MJCF_OPTIONS(X)                                                                                             \
    X(double, timestep, 1e-15, 1e9, "s")                                                                                \
    X(double, density, 0, 1e40, "of the medium, kg/m3")                                                                 \
    X(double, viscosity, 0, 1e40, "of the medium, Pa s")                                                                \
    X(double, impratio, 0, 1e40, "kept for MJCF")                                                                       \
    X(double, sleep_tolerance, 0, 1e40, "speed below which trees fall asleep, m/s")                                     \
    X(double, tolerance, 0, 1e40, "kept for MJCF; ours is contact_tol")                                                 \
    X(double, ls_tolerance, 0, 1e40, "kept for MJCF; ours is ls_tol")                                                   \
    X(int, iterations, 0, 2147483647, "kept for MJCF; ours is max_newton")                                              \
    X(int, ls_iterations, 0, 2147483647, "kept for MJCF; ours is max_line_search")                                      \
    X(int, sdf_iterations, 1, 1000, "steps towards the contact of a distance field, from each start")                   \
    X(int, sdf_initpoints, 1, 1000, "places from which contacts of a distance field are looked for")                    \
    X(int, integrator, 0, STI_INTEGRATOR_ALM, "sti_integrator")                                                         \
    X(int, cone, 0, 1, "0 pyramidal, 1 elliptic; kept for MJCF; ours is coulomb")                                       \
    X(int, solver, 0, 2, "0 PGS, 1 CG, 2 Newton; kept for MJCF; ours is contact_solver")

/* Sets of bits: X(type, name, 0, all bits, text). */
#define STI_FLAG_OPTIONS(X)                                                                                             \
    X(int, disableflags, 0, STI_DISABLE_ALL, "STI_DISABLE_...")                                                         \
    X(int, enableflags, 0, STI_ENABLE_ALL, "STI_ENABLE_...")                                                            \
    X(int, disableactuator, 0, 2147483647, "bit g: actuators of group g are off")                                       \
    X(int, handlers, 0, STI_HANDLER_ALL, "STI_HANDLER_...: those that are on")

/* X(enum, attribute, text): what turns geometry into rows, each with a switch. */
#define STI_HANDLERS(X)                                                                                                 \
    X(POINT, point, "contacts of geoms at points")                                                                      \
    X(PATCH, patch, "contacts over patches: soft bodies, geoms with a pressure field")                                  \
    X(LIMIT, limit, "limits of joints and tendons")                                                                     \
    X(FRICTION, friction, "dry friction of joints and tendons")                                                         \
    X(EQUALITY, equality, "equalities")                                                                                 \
    X(ACTUATOR, actuator, "implicit gains of actuators")                                                                \
    X(USER, user, "handlers of the user")
/* clang-format on */

enum {
#define X(id, attribute, text) STI_HANDLER_BIT_##id,
    STI_HANDLERS(X)
#undef X
        STI_HANDLER_COUNT
};
/* STI_HANDLER_POINT, ...: bits of sti_option.handlers */
enum {
#define X(id, attribute, text) STI_HANDLER_##id = 1 << STI_HANDLER_BIT_##id,
    STI_HANDLERS(X)
#undef X
        STI_HANDLER_ALL = (1 << STI_HANDLER_COUNT) - 1
};

#endif
