/* SPDX-License-Identifier: Apache-2.0 */
/* The one list of what a model holds. Struct, allocation, size, hash, copy, Python attributes and
   tests all follow from it. Names and layouts are MuJoCo's where the thing is the same. */
#ifndef STICTION_MODEL_FIELDS_H
#define STICTION_MODEL_FIELDS_H

/* X(name, meaning) */
/* clang-format off */
#define STI_MODEL_SIZES(X)                                                                \
    X(nq, "generalised coordinates")                                                      \
    X(nv, "degrees of freedom")                                                           \
    X(nu, "controls")                                                                     \
    X(nactuator, "actuators")                                                             \
    X(nout, "force outputs of actuators: one each, of servos for orientations three")     \
    X(na, "activation states")                                                            \
    X(nhistory, "numbers of all histories of controls and sensors")                       \
    X(nplastic, "plastic states of springs")                                              \
    X(nbody, "bodies, the world first")                                                   \
    X(ntree, "kinematic trees that can move")                                             \
    X(njnt, "joints")                                                                     \
    X(ngeom, "geoms")                                                                     \
    X(nsite, "sites")                                                                     \
    X(ncam, "cameras")                                                                    \
    X(nlight, "lights")                                                                   \
    X(nmat, "materials")                                                                  \
    X(ntex, "textures")                                                                   \
    X(ntexdata, "bytes of all textures")                                                  \
    X(nmesh, "meshes")                                                                    \
    X(nmeshvert, "vertices of all meshes")                                                \
    X(nmeshface, "triangles of all meshes")                                               \
    X(nmeshtexcoord, "texture coordinates of all meshes")                                 \
    X(nmeshtangent, "vertices of meshes with tangents")                                   \
    X(nmeshhullvert, "hull vertices of all meshes")                                       \
    X(nmeshhullface, "hull triangles of all meshes")                                      \
    X(nhfield, "height fields")                                                           \
    X(nhfielddata, "heights of all height fields")                                        \
    X(nflex, "soft bodies")                                                               \
    X(nflexvert, "vertices of all soft bodies")                                           \
    X(nflexelem, "tetrahedra of all soft bodies")                                         \
    X(nflexshell, "surface triangles of all soft bodies")                                 \
    X(nskin, "skins")                                                                     \
    X(nskinvert, "vertices of all skins")                                                 \
    X(nskintexvert, "vertices of skins with texture coordinates")                         \
    X(nskinface, "triangles of all skins")                                                \
    X(nskinbone, "bones of all skins")                                                    \
    X(nskinbonevert, "vertices of all bones")                                             \
    X(nmocap, "mocap bodies")                                                             \
    X(ntendon, "tendons")                                                                 \
    X(nwrap, "path elements of all tendons")                                              \
    X(nJten, "nonzeros of the tendon Jacobian")                                           \
    X(nJmom, "nonzeros of the actuator moment arms")                                      \
    X(nsheet, "triangles of elastic sheets")                                              \
    X(nfold, "folds of elastic sheets")                                                   \
    X(nbend, "corners of elastic strings")                                                \
    X(nsensor, "sensors")                                                                 \
    X(nsensordata, "sensor values")                                                       \
    X(neq, "equality constraints")                                                        \
    X(ncoupled, "coupled constraints")                                                    \
    X(npair, "explicit contact pairs")                                                    \
    X(nexclude, "excluded body pairs")                                                    \
    X(nkey, "keyframes")                                                                  \
    X(nnumeric, "custom numbers")                                                         \
    X(nnumericdata, "values of all custom numbers")                                       \
    X(nuserdata, "the user's numbers of a world")                                         \
    X(nuser_body, "the user's numbers per body")                                          \
    X(nuser_jnt, "the user's numbers per joint")                                          \
    X(nuser_geom, "the user's numbers per geom")                                          \
    X(nuser_site, "the user's numbers per site")                                          \
    X(nuser_cam, "the user's numbers per camera")                                         \
    X(nuser_tendon, "the user's numbers per tendon")                                      \
    X(nuser_actuator, "the user's numbers per actuator")                                  \
    X(nuser_sensor, "the user's numbers per sensor")                                      \
    X(nM, "elements of the mass matrix, by rows that are multiples of four long")                            \
    X(nD, "nonzeros of the velocity-derivative matrix (M's pattern and its mirror)")      \
    X(nname, "bytes of all names")                                                        \
    X(nnamemap, "slots of the name hash table")
/* clang-format on */

/* X(type, name, rows, cols, vary, change)
   type: double, float, int, char
   vary: C  the same for all worlds of a model
         W  may be given per world (domain randomisation, sti_batch_parameter); kernels read it through the
            state's parameter table, see src/model/state.h
   change: what becomes of a value that is written into a finished model, once sti_model_update is told (docs/changing.md)
         F  fixed: sizes, tree, meshes and names cannot change; the model must be compiled anew
         D  derived from others: sti_model_update computes it, what is written is lost
         V  value: steps read it as it is, nothing follows from it
         R  reference: masses, poses and the like, from which derived fields follow
         B  both: the same, and sti_model_update completes it (second anchors, damping ratios, open lengths, added mass)
         S  shape: what worlds keep follows from it too (who may touch whom, meshes of fields, elastic bodies) */
/* clang-format off */
#define STI_MODEL_FIELDS(X)                                                               \
    /* reference configuration */                                                         \
    X(double, qpos0, nq, 1, C, R)                                                         \
    X(double, qpos_spring, nq, 1, W, V)                                                   \
    /* bodies */                                                                          \
    X(int, body_parentid, nbody, 1, C, F)                                                 \
    X(int, body_rootid, nbody, 1, C, F)                                                   \
    X(int, body_weldid, nbody, 1, C, F)                                                   \
    X(int, body_mocapid, nbody, 1, C, F)                                                  \
    X(int, body_jntnum, nbody, 1, C, F)                                                   \
    X(int, body_jntadr, nbody, 1, C, F)                                                   \
    X(int, body_dofnum, nbody, 1, C, F)                                                   \
    X(int, body_dofadr, nbody, 1, C, F)                                                   \
    X(int, body_treeid, nbody, 1, C, F)                                                   \
    X(int, body_geomnum, nbody, 1, C, F)                                                  \
    X(int, body_geomadr, nbody, 1, C, F)                                                  \
    X(int, body_lastdof, nbody, 1, C, F)  /* last dof on the path to the root, -1 if none */ \
    X(double, body_pos, nbody, 3, W, R)                                                   \
    X(double, body_quat, nbody, 4, W, R)                                                  \
    X(double, body_ipos, nbody, 3, W, R)                                                  \
    X(double, body_iquat, nbody, 4, W, R)                                                 \
    X(double, body_mass, nbody, 1, W, R)                                                  \
    X(double, body_subtreemass, nbody, 1, W, D)                                           \
    X(double, body_inertia, nbody, 3, W, R)                                               \
    X(double, body_invweight0, nbody, 2, C, D)                                            \
    X(double, body_gravcomp, nbody, 1, W, V)                                              \
    X(int, body_contactlook, nbody, 1, C, V)  /* sti_contact_look */                         \
    /* trees */                                                                           \
    X(int, tree_sleep_policy, ntree, 1, C, F)  /* sti_sleep_policy */                        \
    /* joints */                                                                          \
    X(int, jnt_type, njnt, 1, C, F)                                                       \
    X(int, jnt_qposadr, njnt, 1, C, F)                                                    \
    X(int, jnt_dofadr, njnt, 1, C, F)                                                     \
    X(int, jnt_bodyid, njnt, 1, C, F)                                                     \
    X(int, jnt_group, njnt, 1, C, V)                                                      \
    X(int, jnt_actuatorid, njnt, 1, C, F) /* that gives it damping or armature; -1: none, -2: several */\
    X(int, jnt_plasticadr, njnt, 1, C, F) /* in plastic; -1: none */                      \
    X(int, jnt_limited, njnt, 1, C, S)                                                    \
    X(int, jnt_actfrclimited, njnt, 1, C, V)                                              \
    X(int, jnt_actgravcomp, njnt, 1, C, V)                                                \
    X(double, jnt_solref, njnt, 2, C, V)                                                  \
    X(double, jnt_solimp, njnt, 5, C, V)                                                  \
    X(double, jnt_pos, njnt, 3, W, R)                                                     \
    X(double, jnt_axis, njnt, 3, W, R)                                                    \
    X(double, jnt_stiffness, njnt, 1, W, V)                                               \
    X(double, jnt_stiffnesspoly, njnt, 2, W, V)                                           \
    X(double, jnt_stiffnessaxes, njnt, 3, C, F) /* of ball joints, about the body's axes, N m/rad */ \
    X(double, jnt_springyield, njnt, 1, W, V) /* displacement at which the spring yields */\
    X(double, jnt_range, njnt, 2, W, V)                                                   \
    X(double, jnt_actfrcrange, njnt, 2, W, V)                                             \
    X(double, jnt_margin, njnt, 1, C, V)                                                  \
    /* degrees of freedom */                                                              \
    X(int, dof_bodyid, nv, 1, C, F)                                                       \
    X(int, dof_jntid, nv, 1, C, F)                                                        \
    X(int, dof_parentid, nv, 1, C, F)                                                     \
    X(int, dof_treeid, nv, 1, C, F)                                                       \
    X(double, dof_solref, nv, 2, C, V)                                                    \
    X(double, dof_solimp, nv, 5, C, V)                                                    \
    X(double, dof_frictionloss, nv, 1, W, V)                                              \
    X(double, dof_armature, nv, 1, W, R)                                                  \
    X(double, dof_damping, nv, 1, W, V)                                                   \
    X(double, dof_dampingpoly, nv, 2, W, V)                                               \
    X(double, dof_invweight0, nv, 1, C, D)                                                \
    X(double, dof_M0, nv, 1, C, D)                                                        \
    /* sparse mass matrix: row i = dofs on the path from the root to i, ascending, i last; \
       rows start at multiples of four, what lies between them means nothing */ \
    X(int, M_rowadr, nv, 1, C, F)                                                         \
    X(int, M_rownnz, nv, 1, C, F)                                                         \
    X(int, M_colind, nM, 1, C, F)                                                         \
    /* velocity derivatives: row i = ancestors, i, and descendants, ascending */          \
    X(int, D_rowadr, nv, 1, C, F)                                                         \
    X(int, D_rownnz, nv, 1, C, F)                                                         \
    X(int, D_diag, nv, 1, C, F)                                                           \
    X(int, D_colind, nD, 1, C, F)                                                         \
    /* geoms */                                                                           \
    X(int, geom_type, ngeom, 1, C, F)                                                     \
    X(int, geom_contype, ngeom, 1, C, S)                                                  \
    X(int, geom_conaffinity, ngeom, 1, C, S)                                              \
    X(int, geom_condim, ngeom, 1, C, V)                                                   \
    X(int, geom_bodyid, ngeom, 1, C, F)                                                   \
    X(int, geom_dataid, ngeom, 1, C, F)   /* mesh or height field, -1 if none */                         \
    X(int, geom_matid, ngeom, 1, C, V)                                                    \
    X(int, geom_group, ngeom, 1, C, V)                                                    \
    X(int, geom_priority, ngeom, 1, C, V)                                                 \
    X(double, geom_solmix, ngeom, 1, C, V)                                                \
    X(double, geom_solref, ngeom, 2, C, V)                                                \
    X(double, geom_solimp, ngeom, 5, C, V)                                                \
    X(double, geom_softness, ngeom, 4, C, V) /* stiffness, dissipation, beta, sigma; -1: not set */\
    X(double, geom_hydroelastic, ngeom, 1, C, S) /* Pa at the deepest point; 0: rigid */     \
    X(double, geom_hydroedge, ngeom, 1, C, S)    /* m, of its mesh for contact over patches; 0: by its size */ \
    X(int, geom_sdf, ngeom, 1, C, F)      /* sti_sdf */                                      \
    X(double, geom_sdfprm, ngeom, 5, C, F)                                                \
    X(double, geom_size, ngeom, 3, W, S)                                                  \
    X(double, geom_rbound, ngeom, 1, W, D)                                                \
    X(double, geom_pos, ngeom, 3, W, R)                                                   \
    X(double, geom_quat, ngeom, 4, W, R)                                                  \
    X(double, geom_friction, ngeom, 3, W, V)                                              \
    X(double, geom_surfacevel, ngeom, 6, C, S)  /* in the frame of the geom: linear, angular */\
    X(double, geom_margin, ngeom, 1, C, S)                                                \
    X(double, geom_gap, ngeom, 1, C, S)                                                   \
    X(double, geom_adhesion, ngeom, 1, C, V)  /* force with which its contacts stick, N */ \
    X(double, geom_fluid, ngeom, 12, C, B)                                                \
    X(float, geom_rgba, ngeom, 4, C, V)                                                   \
    /* sites */                                                                           \
    X(int, site_type, nsite, 1, C, F)                                                     \
    X(int, site_dataid, nsite, 1, C, F)  /* mesh, -1: none */                             \
    X(int, site_bodyid, nsite, 1, C, F)                                                   \
    X(int, site_matid, nsite, 1, C, V)                                                    \
    X(int, site_group, nsite, 1, C, V)                                                    \
    X(double, site_size, nsite, 3, C, V)                                                  \
    X(double, site_pos, nsite, 3, W, R)                                                   \
    X(double, site_quat, nsite, 4, W, R)                                                  \
    X(float, site_rgba, nsite, 4, C, V)                                                   \
    /* cameras */                                                                         \
    X(int, cam_mode, ncam, 1, C, F)                                                       \
    X(int, cam_bodyid, ncam, 1, C, F)                                                     \
    X(int, cam_targetbodyid, ncam, 1, C, F)                                               \
    X(double, cam_pos, ncam, 3, W, R)                                                     \
    X(double, cam_quat, ncam, 4, W, R)                                                    \
    X(double, cam_poscom0, ncam, 3, C, D)                                                 \
    X(double, cam_pos0, ncam, 3, C, D)                                                    \
    X(double, cam_mat0, ncam, 9, C, D)                                                    \
    X(double, cam_fovy, ncam, 1, C, V)    /* degrees */                                      \
    X(int, cam_projection, ncam, 1, C, F) /* 0: perspective, 1: orthographic, fovy in metres */ \
    X(int, cam_resolution, ncam, 2, C, F)                                                 \
    X(float, cam_sensorsize, ncam, 2, C, F)                                               \
    X(float, cam_intrinsic, ncam, 4, C, F)                                                \
    /* lights */                                                                          \
    X(int, light_mode, nlight, 1, C, F)                                                   \
    X(int, light_bodyid, nlight, 1, C, F)                                                 \
    X(int, light_targetbodyid, nlight, 1, C, F)                                           \
    X(int, light_directional, nlight, 1, C, V)                                            \
    X(int, light_castshadow, nlight, 1, C, V)                                             \
    X(int, light_active, nlight, 1, C, V)                                                 \
    X(double, light_pos, nlight, 3, W, R)                                                 \
    X(double, light_dir, nlight, 3, W, R)                                                 \
    X(double, light_poscom0, nlight, 3, C, D)                                             \
    X(double, light_pos0, nlight, 3, C, D)                                                \
    X(double, light_dir0, nlight, 3, C, D)                                                \
    X(float, light_ambient, nlight, 3, C, V)                                              \
    X(float, light_diffuse, nlight, 3, C, V)                                              \
    X(float, light_specular, nlight, 3, C, V)                                             \
    /* materials and textures */                                                          \
    X(int, mat_texid, nmat, 1, C, F)                                                      \
    X(float, mat_rgba, nmat, 4, C, V)                                                     \
    X(float, mat_emission, nmat, 1, C, V)                                                 \
    X(float, mat_specular, nmat, 1, C, V)                                                 \
    X(float, mat_shininess, nmat, 1, C, V)                                                \
    X(float, mat_reflectance, nmat, 1, C, V)                                              \
    X(float, mat_texrepeat, nmat, 2, C, V)                                                \
    X(int, mat_texuniform, nmat, 1, C, V)                                                 \
    X(int, tex_type, ntex, 1, C, F)                                                       \
    X(int, tex_builtin, ntex, 1, C, F)                                                    \
    X(float, tex_rgb1, ntex, 3, C, V) /* of the checker of planes; tex_data is made from them once */ \
    X(float, tex_rgb2, ntex, 3, C, V)                                                     \
    X(int, tex_width, ntex, 1, C, F) /* 0: it has no pixels, as those of the sky */       \
    X(int, tex_height, ntex, 1, C, F) /* of a cube: one side for all, or six below each other */ \
    X(int, tex_nchannel, ntex, 1, C, F)                                                   \
    X(int, tex_adr, ntex, 1, C, F)                                                        \
    X(char, tex_data, ntexdata, 1, C, F) /* red, green, blue, 0 to 255; rows from the top */ \
    /* meshes, centred on their volume's centre of mass and principal axes */             \
    X(int, mesh_vertadr, nmesh, 1, C, F)                                                  \
    X(int, mesh_vertnum, nmesh, 1, C, F)                                                  \
    X(int, mesh_faceadr, nmesh, 1, C, F)                                                  \
    X(int, mesh_facenum, nmesh, 1, C, F)                                                  \
    X(int, mesh_texcoordadr, nmesh, 1, C, F) /* -1: none */                               \
    X(int, mesh_texcoordnum, nmesh, 1, C, F)                                              \
    X(int, mesh_tangentadr, nmesh, 1, C, F) /* -1: none; else two for each vertex */      \
    X(int, mesh_hullvertadr, nmesh, 1, C, F)                                              \
    X(int, mesh_hullvertnum, nmesh, 1, C, F)                                              \
    X(int, mesh_hullfaceadr, nmesh, 1, C, F)                                              \
    X(int, mesh_hullfacenum, nmesh, 1, C, F)                                              \
    X(int, mesh_convex, nmesh, 1, C, F) /* contact over patches takes its hull, not its own triangles */ \
    X(double, mesh_pos, nmesh, 3, C, F)   /* the centring that was applied */                \
    X(double, mesh_quat, nmesh, 4, C, F)                                                  \
    X(float, mesh_vert, nmeshvert, 3, C, F)                                               \
    X(int, mesh_face, nmeshface, 3, C, F)                                                 \
    X(float, mesh_texcoord, nmeshtexcoord, 2, C, F) /* right and down, 1 is the texture's size */ \
    X(float, mesh_tangent, nmeshtangent, 6, C, F) /* of builtin wedges and plates: directions in which tactile sensors see slip */ \
    X(int, mesh_facetexcoord, nmeshface, 3, C, F) /* index within the mesh's; 0 where it has none */ \
    X(int, mesh_hullvert, nmeshhullvert, 1, C, F) /* vertex index within the mesh */         \
    X(int, mesh_hullface, nmeshhullface, 3, C, F) /* vertex indices within the mesh */       \
    /* height fields, first row at -y */                                                  \
    X(int, hfield_nrow, nhfield, 1, C, F)                                                 \
    X(int, hfield_ncol, nhfield, 1, C, F)                                                 \
    X(int, hfield_adr, nhfield, 1, C, F)                                                  \
    X(double, hfield_size, nhfield, 4, C, F) /* half x, half y, top, base */                 \
    X(float, hfield_data, nhfielddata, 1, C, S) /* 0 to 1 */                                 \
    /* skins, which are only looked at */                                                 \
    X(int, skin_matid, nskin, 1, C, F)                                                    \
    X(int, skin_group, nskin, 1, C, F)                                                    \
    X(float, skin_rgba, nskin, 4, C, F)                                                   \
    X(float, skin_inflate, nskin, 1, C, F) /* along the normals, m */                     \
    X(int, skin_vertadr, nskin, 1, C, F)                                                  \
    X(int, skin_vertnum, nskin, 1, C, F)                                                  \
    X(int, skin_texcoordadr, nskin, 1, C, F) /* -1: none */                               \
    X(int, skin_faceadr, nskin, 1, C, F)                                                  \
    X(int, skin_facenum, nskin, 1, C, F)                                                  \
    X(int, skin_boneadr, nskin, 1, C, F)                                                  \
    X(int, skin_bonenum, nskin, 1, C, F)                                                  \
    X(float, skin_vert, nskinvert, 3, C, F) /* in the pose in which the bones are bound */ \
    X(float, skin_texcoord, nskintexvert, 2, C, F)                                        \
    X(int, skin_face, nskinface, 3, C, F) /* vertex indices within the skin */            \
    X(int, skin_bonevertadr, nskinbone, 1, C, F)                                          \
    X(int, skin_bonevertnum, nskinbone, 1, C, F)                                          \
    X(float, skin_bonebindpos, nskinbone, 3, C, F)                                        \
    X(float, skin_bonebindquat, nskinbone, 4, C, F)                                       \
    X(int, skin_bonebodyid, nskinbone, 1, C, F)                                           \
    X(int, skin_bonevertid, nskinbonevert, 1, C, F) /* within the skin */                 \
    X(float, skin_bonevertweight, nskinbonevert, 1, C, F) /* of a vertex they sum to 1 */ \
    /* tendons */                                                                         \
    X(int, tendon_adr, ntendon, 1, C, F)                                                  \
    X(int, tendon_num, ntendon, 1, C, F)                                                  \
    X(int, tendon_matid, ntendon, 1, C, V)                                                \
    X(int, tendon_group, ntendon, 1, C, V)                                                \
    X(int, tendon_limited, ntendon, 1, C, S)                                              \
    X(int, tendon_actfrclimited, ntendon, 1, C, V)                                        \
    X(double, tendon_width, ntendon, 1, C, V)                                             \
    X(double, tendon_solref_lim, ntendon, 2, C, V)                                        \
    X(double, tendon_solimp_lim, ntendon, 5, C, V)                                        \
    X(double, tendon_solref_fri, ntendon, 2, C, V)                                        \
    X(double, tendon_solimp_fri, ntendon, 5, C, V)                                        \
    X(int, tendon_actuatorid, ntendon, 1, C, F) /* as jnt_actuatorid */                   \
    X(int, tendon_plasticadr, ntendon, 1, C, F)                                           \
    X(double, tendon_range, ntendon, 2, W, V)                                             \
    X(double, tendon_actfrcrange, ntendon, 2, W, V)                                       \
    X(double, tendon_margin, ntendon, 1, C, V)                                            \
    X(double, tendon_stiffness, ntendon, 1, W, V)                                         \
    X(double, tendon_stiffnesspoly, ntendon, 2, W, V)                                     \
    X(double, tendon_springyield, ntendon, 1, W, V)                                       \
    X(double, tendon_damping, ntendon, 1, W, V)                                           \
    X(double, tendon_dampingpoly, ntendon, 2, W, V)                                       \
    X(double, tendon_armature, ntendon, 1, W, R)                                          \
    X(double, tendon_frictionloss, ntendon, 1, W, V)                                      \
    X(double, tendon_lengthspring, ntendon, 2, W, B)                                      \
    X(double, tendon_length0, ntendon, 1, C, D)                                           \
    X(double, tendon_invweight0, ntendon, 1, C, D)                                        \
    X(float, tendon_rgba, ntendon, 4, C, V)                                               \
    X(int, wrap_type, nwrap, 1, C, F)                                                     \
    X(int, wrap_objid, nwrap, 1, C, F)                                                    \
    X(double, wrap_prm, nwrap, 1, C, F) /* joint coef, pulley divisor, or side site id */    \
    X(int, sheet_siteid, nsheet, 3, C, F)                                                 \
    X(double, sheet_matter, nsheet, 4, C, B)  /* Young's modulus, Pa; Poisson's ratio; thickness, m; damping, s */ \
    X(double, sheet_length2, nsheet, 3, C, D) /* squared edge lengths at qpos0: 1-2, 2-0, 0-1 */ \
    X(double, sheet_metric, nsheet, 6, C, D)  /* energy is its form in the changes of those: 00 11 22 01 02 12 */ \
    X(int, fold_siteid, nfold, 4, C, F)       /* the edge, and the corners across it */      \
    X(double, fold_matter, nfold, 4, C, B)    /* as sheet_matter */                          \
    X(double, fold_weight, nfold, 4, C, D)    /* energy is half the square of the sum of places with them */ \
    X(int, bend_siteid, nbend, 3, C, F)       /* three vertices in a row */                 \
    X(double, bend_matter, nbend, 3, C, B)    /* Young's modulus, Pa; radius of the cross-section, m; damping, s */ \
    X(double, bend_stiffness, nbend, 1, C, D) /* energy is half of it times the square of the curvature binormal */ \
    X(int, ten_J_rowadr, ntendon, 1, C, F)                                                \
    X(int, ten_J_rownnz, ntendon, 1, C, F)                                                \
    X(int, ten_J_colind, nJten, 1, C, F)                                                  \
    /* actuators */                                                                       \
    X(int, actuator_trntype, nactuator, 1, C, F)                                                 \
    X(int, actuator_trnid, nactuator, 2, C, F)                                                   \
    X(int, actuator_dyntype, nactuator, 1, C, F)                                                 \
    X(int, actuator_gaintype, nactuator, 1, C, F)                                                \
    X(int, actuator_biastype, nactuator, 1, C, F)                                                \
    X(int, actuator_ctrladr, nactuator, 1, C, F) /* its first control */                  \
    X(int, actuator_ctrlnum, nactuator, 1, C, F)                                          \
    X(int, actuator_ctrlspec, nactuator, 1, C, F) /* sti_input bits of pid and dcmotor */ \
    X(int, actuator_outadr, nactuator, 1, C, F) /* its first force output */              \
    X(int, actuator_outnum, nactuator, 1, C, F)                                           \
    X(int, actuator_actadr, nactuator, 1, C, F)                                                  \
    X(int, actuator_actnum, nactuator, 1, C, F)                                                  \
    X(int, actuator_group, nactuator, 1, C, V)                                                   \
    X(int, actuator_ctrllimited, nu, 1, C, V)                                             \
    X(int, actuator_forcelimited, nactuator, 1, C, V)                                            \
    X(int, actuator_actlimited, nactuator, 1, C, V)                                              \
    X(int, actuator_actearly, nactuator, 1, C, V)                                                \
    X(int, actuator_history, nactuator, 2, C, F) /* samples, interpolation: 0 held, 1 linear, 2 cubic */\
    X(int, actuator_historyadr, nactuator, 1, C, F) /* in history; -1: none */            \
    X(double, actuator_delay, nactuator, 1, C, V)                                         \
    X(int, actuator_implicit, nactuator, 1, C, F)  /* gains are rows of the problem */              \
    X(int, actuator_pid, nactuator, 1, C, F)       /* bits STI_PID: made by a plugin; STI_MOTOR: states of pid and dcmotor */ \
    X(double, actuator_pidprm, nactuator, 5, W, V) /* kp, ki, kd, largest integral, largest rate */ \
    X(double, actuator_dynprm, nactuator, 10, W, V)                                              \
    X(double, actuator_gainprm, nactuator, 10, W, V)                                             \
    X(double, actuator_biasprm, nactuator, 10, W, B)                                             \
    X(double, actuator_ctrlrange, nu, 2, W, V)                                            \
    X(double, actuator_forcerange, nactuator, 2, W, V)                                           \
    X(double, actuator_actrange, nactuator, 2, W, V)                                             \
    X(double, actuator_gear, nout, 6, W, R)                                                 \
    X(double, actuator_damping, nactuator, 1, W, V) /* of the target, over the square of the gear */\
    X(double, actuator_dampingpoly, nactuator, 2, W, V)                                          \
    X(double, actuator_armature, nactuator, 1, W, R)                                             \
    X(double, actuator_cranklength, nactuator, 1, C, R)                                          \
    X(double, actuator_lengthrange, nout, 2, C, V)                                          \
    X(double, actuator_length0, nout, 1, C, D)                                              \
    X(double, actuator_acc0, nout, 1, C, D)                                                 \
    X(int, moment_rowadr, nout, 1, C, F)                                                    \
    X(int, moment_rownnz, nout, 1, C, F)                                                    \
    X(int, moment_colind, nJmom, 1, C, F)                                                 \
    /* sensors */                                                                         \
    X(int, sensor_type, nsensor, 1, C, F)                                                 \
    X(int, sensor_datatype, nsensor, 1, C, F)                                             \
    X(int, sensor_needstage, nsensor, 1, C, F)                                            \
    X(int, sensor_objtype, nsensor, 1, C, F)                                              \
    X(int, sensor_objid, nsensor, 1, C, F)                                                \
    X(int, sensor_reftype, nsensor, 1, C, F)                                              \
    X(int, sensor_refid, nsensor, 1, C, F)                                                \
    X(int, sensor_dim, nsensor, 1, C, F)                                                  \
    X(int, sensor_adr, nsensor, 1, C, F)                                                  \
    X(int, sensor_intprm, nsensor, 3, C, F) /* bits 1 << sti_contact_field or sti_ray_field; of contacts sti_contact_reduce, num; of touch grids columns, rows, channels */ \
    X(double, sensor_grid, nsensor, 3, C, F) /* of touch grids: fields of view, rad; gamma */ \
    X(double, sensor_cutoff, nsensor, 1, C, V)                                            \
    X(double, sensor_noise, nsensor, 1, C, V)                                             \
    X(int, sensor_history, nsensor, 2, C, F)                                              \
    X(int, sensor_historyadr, nsensor, 1, C, F)                                           \
    X(double, sensor_delay, nsensor, 1, C, V)                                             \
    X(double, sensor_interval, nsensor, 2, C, V) /* period, phase */                      \
    /* soft bodies; numbers of vertices and elements count from the body's first */       \
    X(int, flex_bodyid, nflex, 1, C, F)   /* that its pinned vertices are fixed to */        \
    X(int, flex_vertadr, nflex, 1, C, F)                                                  \
    X(int, flex_vertnum, nflex, 1, C, F)                                                  \
    X(int, flex_elemadr, nflex, 1, C, F)                                                  \
    X(int, flex_elemnum, nflex, 1, C, F)                                                  \
    X(int, flex_shelladr, nflex, 1, C, F)                                                 \
    X(int, flex_shellnum, nflex, 1, C, F)                                                 \
    X(int, flex_law, nflex, 1, C, F)      /* sti_flex_law */                                 \
    X(int, flex_contype, nflex, 1, C, F)                                                  \
    X(int, flex_conaffinity, nflex, 1, C, F)                                              \
    X(int, flex_condim, nflex, 1, C, V)                                                   \
    X(int, flex_priority, nflex, 1, C, V)                                                 \
    X(int, flex_selfcollide, nflex, 1, C, F)                                              \
    X(int, flex_matid, nflex, 1, C, V)                                                    \
    X(int, flex_group, nflex, 1, C, V)                                                    \
    X(double, flex_solmix, nflex, 1, C, V)                                                \
    X(double, flex_friction, nflex, 3, C, V)                                              \
    X(double, flex_damping, nflex, 2, C, S) /* Rayleigh: of the mass, 1/s; of the stiffness, s */ \
    X(double, flex_hydroelastic, nflex, 1, C, F) /* Pa at the deepest point */               \
    X(double, flex_dissipation, nflex, 1, C, V)  /* s; -1: not set */                        \
    X(float, flex_rgba, nflex, 4, C, V)                                                   \
    X(double, flexvert_pos0, nflexvert, 3, C, F)  /* at rest, world frame */                 \
    X(double, flexvert_mass, nflexvert, 1, C, F)                                          \
    X(double, flexvert_pressure, nflexvert, 1, C, F) /* Pa */                                \
    X(int, flexvert_pinned, nflexvert, 1, C, F)                                           \
    X(double, flexvert_local, nflexvert, 3, C, F) /* in the frame of flex_bodyid */          \
    X(int, flex_elem, nflexelem, 4, C, F)                                                 \
    X(double, flexelem_young, nflexelem, 1, C, S)                                         \
    X(double, flexelem_poisson, nflexelem, 1, C, S)                                       \
    X(double, flexelem_density, nflexelem, 1, C, F)                                       \
    X(double, flexelem_pressure, nflexelem, 1, C, F) /* in the middle, if all vertices are on the surface; else 0 */ \
    X(int, flex_shell, nflexshell, 3, C, F)                                               \
    X(int, flex_shellelem, nflexshell, 1, C, F)                                           \
    /* constraints, kept for the contact stage */                                         \
    X(int, eq_type, neq, 1, C, F)                                                         \
    X(int, eq_obj1id, neq, 1, C, F)                                                       \
    X(int, eq_obj2id, neq, 1, C, F)                                                       \
    X(int, eq_objtype, neq, 1, C, F)                                                      \
    X(int, eq_active0, neq, 1, C, V)                                                      \
    X(double, eq_solref, neq, 2, C, V)                                                    \
    X(double, eq_solimp, neq, 5, C, V)                                                    \
    X(double, eq_data, neq, 11, C, B)                                                     \
    X(double, eq_softness, neq, 4, C, V)                                                  \
    X(double, eq_closing, neq, 1, C, V)           /* m/s or rad/s; -1: that of the option */ \
    X(int, coupled_eq, ncoupled, 1, C, F)         /* the equality */                         \
    X(int, coupled_count, ncoupled, 1, C, F)      /* equations */                            \
    X(double, coupled_equation, ncoupled, 12, C, F) /* r_d, r_theta, target of each */       \
    X(double, coupled_axis, ncoupled, 3, C, F)    /* in the frame of the first site */       \
    X(double, coupled_rest, ncoupled, 2, C, F)    /* m, rad */                               \
    X(double, coupled_softness, ncoupled, 2, C, F) /* S_d, S_theta; -1: as other equalities */ \
    X(double, coupled_rule, ncoupled, 4, C, F)    /* baumgarte, pivot_epsilon, condition_limit, max_drops */ \
    X(double, coupled_most, ncoupled, 2, C, F)    /* force and torque that break it; 0: none does */ \
    X(int, pair_dim, npair, 1, C, V)                                                      \
    X(int, pair_geom1, npair, 1, C, F)                                                    \
    X(int, pair_geom2, npair, 1, C, F)                                                    \
    X(double, pair_solref, npair, 2, C, V)                                                \
    X(double, pair_solreffriction, npair, 2, C, V)                                        \
    X(double, pair_solimp, npair, 5, C, V)                                                \
    X(double, pair_margin, npair, 1, C, S)                                                \
    X(double, pair_gap, npair, 1, C, S)                                                   \
    X(double, pair_adhesion, npair, 1, C, V)                                              \
    X(double, pair_friction, npair, 5, C, V)                                              \
    X(double, pair_softness, npair, 4, C, V)                                              \
    X(int, exclude_body1, nexclude, 1, C, F)                                              \
    X(int, exclude_body2, nexclude, 1, C, F)                                              \
    /* keyframes */                                                                       \
    X(double, key_time, nkey, 1, C, V)                                                    \
    X(double, key_qpos, nkey, nq, C, V)                                                   \
    X(double, key_qvel, nkey, nv, C, V)                                                   \
    X(double, key_act, nkey, na, C, V)                                                    \
    X(double, key_mpos, nkey, nmocap * 3, C, V)                                           \
    X(double, key_mquat, nkey, nmocap * 4, C, V)                                          \
    X(double, key_ctrl, nkey, nu, C, V)                                                   \
    X(double, key_plastic, nkey, nplastic, C, V)                                          \
    /* custom numbers */                                                                  \
    X(int, numeric_adr, nnumeric, 1, C, F)                                                \
    X(int, numeric_size, nnumeric, 1, C, F)                                               \
    X(double, numeric_data, nnumericdata, 1, C, V)                                        \
    /* numbers for the user's own purposes */                                             \
    X(double, body_user, nbody, nuser_body, C, V)                                         \
    X(double, jnt_user, njnt, nuser_jnt, C, V)                                            \
    X(double, geom_user, ngeom, nuser_geom, C, V)                                         \
    X(double, site_user, nsite, nuser_site, C, V)                                         \
    X(double, cam_user, ncam, nuser_cam, C, V)                                            \
    X(double, tendon_user, ntendon, nuser_tendon, C, V)                                   \
    X(double, actuator_user, nactuator, nuser_actuator, C, V)                             \
    X(double, sensor_user, nsensor, nuser_sensor, C, V)                                   \
    /* names: offsets into `names`, one array per kind; then a hash table over all */     \
    X(int, name_body, nbody, 1, C, F)                                                     \
    X(int, name_jnt, njnt, 1, C, F)                                                       \
    X(int, name_geom, ngeom, 1, C, F)                                                     \
    X(int, name_site, nsite, 1, C, F)                                                     \
    X(int, name_cam, ncam, 1, C, F)                                                       \
    X(int, name_light, nlight, 1, C, F)                                                   \
    X(int, name_mat, nmat, 1, C, F)                                                       \
    X(int, name_tex, ntex, 1, C, F)                                                       \
    X(int, name_mesh, nmesh, 1, C, F)                                                     \
    X(int, name_hfield, nhfield, 1, C, F)                                                 \
    X(int, name_flex, nflex, 1, C, F)                                                     \
    X(int, name_tendon, ntendon, 1, C, F)                                                 \
    X(int, name_actuator, nactuator, 1, C, F)                                                    \
    X(int, name_sensor, nsensor, 1, C, F)                                                 \
    X(int, name_eq, neq, 1, C, F)                                                         \
    X(int, name_pair, npair, 1, C, F)                                                     \
    X(int, name_exclude, nexclude, 1, C, F)                                               \
    X(int, name_key, nkey, 1, C, F)                                                       \
    X(int, name_skin, nskin, 1, C, F)                                                     \
    X(int, name_numeric, nnumeric, 1, C, F)                                               \
    X(char, names, nname, 1, C, F)                                                        \
    X(int, name_map, nnamemap, 1, C, F)
/* clang-format on */

#endif
