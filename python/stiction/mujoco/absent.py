# SPDX-License-Identifier: Apache-2.0
"""Fields of MuJoCo's structs that have no counterpart. Packages that wrap every field by its name read them when a model is loaded, and hardly ever use
them: they get a stand-in, which is an error when it is used."""

_MODEL = """
    B_colind B_rowadr B_rownnz actuator_plugin body_bvhadr body_bvhnum body_conaffinity body_contype
    body_margin body_plugin body_sameframe body_simple bvh_aabb bvh_child bvh_depth bvh_nodeid cam_ipd cam_output dof_Madr dof_length
    dof_simplenum efm0_L efm0_L_colind efm0_L_rowadr efm0_L_rownnz efm0_dofid efmC_perm exclude_signature flex_activelayers flex_bending flex_bendingadr
    flex_bvhadr flex_bvhnum flex_cellnum flex_centered flex_dim flex_edge flex_edgeadr flex_edgedamping flex_edgeequality flex_edgeflap flex_edgenum
    flex_edgestiffness flex_elemdataadr flex_elemedge flex_elemedgeadr flex_elemlayer flex_elemtexcoord flex_flatskin flex_gap flex_interp flex_margin
    flex_node flex_node0 flex_nodeadr flex_nodebodyid flex_nodenum flex_passive flex_plasticadr flex_plasticmode flex_radius flex_rigid flex_shelldataadr
    flex_size flex_solimp flex_solref flex_stiffness flex_stiffnessadr flex_texcoord flex_texcoordadr flex_vert flex_vert0 flex_vertbodyid flex_vertcell
    flex_yield flexedge_J_colind flexedge_J_rowadr flexedge_J_rownnz flexedge_invweight0 flexedge_length0 flexedge_rigid geom_aabb
    geom_castshadow geom_plugin geom_sameframe hfield_pathadr light_attenuation light_bulbradius light_cutoff light_exponent
    light_intensity light_range light_softness light_texid light_type mapD2M mapM2D mapM2M mat_metallic mat_roughness mesh_bvhadr mesh_bvhnum mesh_extrema
    mesh_facenormal mesh_graph mesh_graphadr mesh_normal mesh_normaladr mesh_normalnum mesh_octadr mesh_octnum mesh_pathadr mesh_polyadr mesh_polymap
    mesh_polymapadr mesh_polymapnum mesh_polynormal mesh_polynum mesh_polyvert mesh_polyvertadr mesh_polyvertnum mesh_scale names_map oct_aabb oct_child
    oct_coeff oct_depth pair_signature plugin plugin_attr plugin_attradr plugin_stateadr plugin_statenum sensor_plugin
    site_sameframe skin_pathadr tendon_treeid tendon_treenum tendon_type tex_colorspace tex_contenttypeadr
    tex_pathadr text_adr text_size tree_bodyadr tree_bodynum tree_dofadr tree_dofnum tuple_adr tuple_objid tuple_objprm tuple_objtype tuple_size"""
# and of MuJoCo's next version
_MODEL += """
    flex_vertedge flex_vertedgeadr flex_vertedgenum flex_vertmetric flexvert_J_colind flexvert_J_rowadr flexvert_J_rownnz paths text_data"""
_DATA = """
    body_awake body_awake_ind bvh_aabb_dyn bvh_active crb dof_awake_ind dof_island efc_AR efc_AR_colind efc_AR_rowadr efc_AR_rownnz efc_D efc_J
    efc_J_colind efc_J_rowadr efc_J_rownnz efc_J_rowsuper efc_KBIP efc_R efc_Y efc_Y_colind efc_Y_rowadr efc_Y_rownnz efc_aref efc_b efc_diagA efc_force
    efc_frictionloss efc_id efc_island efc_margin efc_pos efc_state efc_type efc_vel efm_K_colind efm_K_rowadr efm_K_rownnz efm_K_val efm_L efm_aid efm_ak
    efm_as efm_c efm_ca efm_ck efm_con_ind efm_con_val efm_diag efm_dofid efm_fluid efm_sdiag efm_tid efm_tk efm_ts flex_hessian_valid flexedge_J
    flexedge_hessian flexedge_length flexedge_velocity flexelem_aabb flexelem_krot flexvert_conage flexvert_hessian flexvert_lambda geom_xquat iacc
    iacc_smooth iefc_D iefc_R iefc_aref iefc_force iefc_frictionloss iefc_id iefc_state iefc_type ifrc_constraint ifrc_smooth island_dofadr island_idofadr
    island_iefcadr island_itreeadr island_ne island_nefc island_nf island_ntree island_nv map_dof2idof map_efc2iefc map_idof2dof map_iefc2efc
    map_itree2tree parent_awake_ind plugin plugin_data plugin_state qDeriv qH qHDiagInv qLU site_xquat solver_fwdinv
    solver_nnz ten_wrapadr ten_wrapnum tendon_efcadr tree_awake tree_island wrap_obj wrap_xpos xiquat"""
_DATA += " flexvert_J flexvert_length"
# of such arrays
_COUNTS = """
    nJfv nB nC nJfe narena nbuffer nbvh nbvhdynamic nbvhstatic nconmax nefm0L nefm0dof nefmCvert nemax nflexbending nflexedge nflexelemdata nflexelemedge
    nflexnode nflexshelldata nflexstiffness nflextexcoord ngravcomp njmax nmeshdegmax nmeshgraph nmeshnormal nmeshpoly nmeshpolymap nmeshpolyvert
    nnames_map noct npaths npluginattr npolygonmax ntextdata ntupledata"""

MODEL, DATA, COUNTS = (frozenset(names.split()) for names in (_MODEL, _DATA, _COUNTS))


class Absent:
    """Stands for a field that is not here; whatever is done with it is an error that says so."""

    def __init__(self, error):
        object.__setattr__(self, "_error", error)

    def _refuse(self, *_, **__):
        raise self._error

    def __repr__(self):
        return f"<absent: {self._error}>"

    def __getattr__(self, name):
        if name.startswith("__"):  # what Python itself asks for, such as copy
            raise AttributeError(name)
        raise self._error

    __setattr__ = __getitem__ = __setitem__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = __index__ = __array__ = __call__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __matmul__ = __rmatmul__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = object.__hash__
