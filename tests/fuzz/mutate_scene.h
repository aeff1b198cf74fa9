/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations by the schema: a scene is read, an element of it gets an attribute, a child or an end, and it is written
   again. Parts that need several elements to mean something come from a list. What does not parse is mutated as text. */
#ifndef STI_MUTATE_SCENE_H
#define STI_MUTATE_SCENE_H

#include "load/tree.h"
#include "mutate_xml.h"
#include <ctype.h>
#include <stdio.h>

/* ---- values ----------------------------------------------------------------------------------- */

static const char *any_number(unsigned int *seed) {
    static const char *const usual[] = {"0",    "1",    "-1",  "0.1", "0.05", "0.3", "2",   "3",
                                        "-0.1", "0.01", "10",  "45",  "90",   "0.5", "-.5", "1e-3",
                                        "100",  "1e3",  "1e4", "1e5", "1e6",  "0.9", "0.7", "4"};
    static const char *const hostile[] = {"1e300",      "-1e300",      "1e-300",    "1e154", "1e-154",
                                          "1e20",       "-1e20",       "1e10",      "1e-10", "1e38",
                                          "65535",      "-0",          "1e-16",     "1e308", "5e-324",
                                          "2147483647", "-2147483648", "123456789", "1e15",  "1e-7"};
    return dice(seed, 6) ? usual[dice(seed, sizeof usual / sizeof *usual)]
                         : hostile[dice(seed, sizeof hostile / sizeof *hostile)];
}

static const char *any_integer(unsigned int *seed) {
    static const char *const usual[] = {"0", "1", "2", "3", "4", "5", "6", "8", "10"};
    static const char *const hostile[] = {"-1",    "100",     "255",        "1000",
                                          "65535", "1000000", "2147483647", "-2147483648"};
    return dice(seed, 6) ? usual[dice(seed, sizeof usual / sizeof *usual)]
                         : hostile[dice(seed, sizeof hostile / sizeof *hostile)];
}

static void put_numbers(char *out, size_t room, const sti__attr_info *info, unsigned int *seed) {
    int most = info->max < info->min + 4 ? info->max : info->min + 4;
    int count = info->min + (int)dice(seed, (size_t)(most - info->min + 1));
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < count && used + 16 < room; i++) {
        const char *word = info->type == STI_T_INT ? any_integer(seed) : any_number(seed);
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? " " : "", word);
    }
}

/* One of "a|!b|-c" that is supported, if the dice say so. */
static void put_word(char *out, size_t room, const char *words, unsigned int *seed) {
    uint32_t count = 1 + count_byte((const uint8_t *)words, strlen(words), '|');
    const char *p = words;
    for (uint32_t k = dice(seed, count); k > 0; k--) p = strchr(p, '|') + 1;
    if (*p == '!' || *p == '-') p++;
    snprintf(out, room, "%.*s", (int)strcspn(p, "|"), p);
}

/* Whether an attribute such as joint1, cranksite or subtree2 means elements of this tag. */
static int means(const char *attribute, const char *tag) {
    if (strstr(attribute, "subtree")) return strcmp(tag, "body") == 0;
    if (strstr(attribute, "tendon")) return strcmp(tag, "spatial") == 0 || strcmp(tag, "fixed") == 0;
    return strstr(attribute, tag) != NULL;
}

/* A name that some element has, rather one of the right kind. */
static void put_reference(char *out, size_t room, const sti_element *root, const sti__attr_info *info,
                          unsigned int *seed) {
    uint32_t seen = 0, right = 0;
    snprintf(out, room, "nobody");
    for (const sti_element *e = root; e; e = sti__preorder(root, e)) {
        const char *name = sti__own_text(e, STI_A_name);
        if (!name) continue;
        if (means(info->text, sti__schema(e->id)->tag)) {
            if (dice(seed, ++right) == 0) snprintf(out, room, "%s", name);
        } else if (right == 0 && dice(seed, ++seen) == 0) snprintf(out, room, "%s", name);
    }
}

static void put_value(char *out, size_t room, const sti_element *root, const sti__attr_info *info,
                      unsigned int *seed) {
    switch (info->type) {
    case STI_T_REAL:
    case STI_T_INT: put_numbers(out, room, info, seed); break;
    case STI_T_KEY:
    case STI_T_KEYS: put_word(out, room, info->words, seed); break;
    case STI_T_FILE: snprintf(out, room, dice(seed, 4) ? "cube.stl" : "part.xml"); break;
    case STI_T_NAME:
        if (strcmp(info->text, "name") == 0) snprintf(out, room, "n%u", (unsigned)dice(seed, 50));
        else put_reference(out, room, root, info, seed);
        break;
    default: snprintf(out, room, "%s", any_number(seed)); break;
    }
}

/* ---- changes of the tree ------------------------------------------------------------------------ */

static sti_element *any_element(sti_spec *spec, unsigned int *seed) {
    const sti_element *root = sti_spec_root(spec), *chosen = root;
    uint32_t seen = 0;
    for (const sti_element *e = root; e; e = sti__preorder(root, e))
        if (dice(seed, ++seen) == 0) chosen = e;
    return (sti_element *)chosen;
}

static void set_attribute(sti_element *element, const sti_element *root, const sti__attr_info *info,
                          unsigned int *seed) {
    char text[256];
    sti_error error;
    put_value(text, sizeof text, root, info, seed);
    if (dice(seed, 12) == 0) text[0] = 0;
    sti__value_set(element, info, text, &error);
}

static void mutate_attribute(sti_element *element, const sti_element *root, unsigned int *seed) {
    const sti__attr_info *attr = sti__schema(element->id)->attr;
    uint32_t count = 0;
    while (attr[count].text) count++;
    if (count) set_attribute(element, root, &attr[dice(seed, count)], seed);
}

static void add_child(sti_element *parent, const sti_element *root, unsigned int *seed) {
    sti_status code;
    uint32_t seen = 0;
    sti__eid chosen = STI_E_COUNT;
    for (int i = 0; i < STI_E_COUNT; i++) {
        const sti__elem_info *e = sti__schema((sti__eid)i);
        bool own = (e->flags & STI_F_OWN) != 0;
        if (e->flags & (STI_F_UNSUPPORTED | STI_F_LOOKS)) continue;
        if (sti__schema_child(parent->id, e->tag, own) == (sti__eid)i && dice(seed, ++seen) == 0)
            chosen = (sti__eid)i;
    }
    if (chosen == STI_E_COUNT) return;
    sti_element *child = sti__element_new(parent->spec, parent, chosen, &code);
    if (!child) return;
    for (const sti__attr_info *a = sti__schema(chosen)->attr; a->text; a++)
        if (a->flags & STI_F_REQUIRED || dice(seed, 8) == 0) set_attribute(child, root, a, seed);
}

/* The written scene in place of the old one; 0 if it is too long. */
static size_t write_back(const sti_spec *spec, uint8_t *data, size_t max_size) {
    size_t size;
    char *text = sti_spec_write(spec, false, &size, NULL);
    if (!text) return 0;
    bool fits = size <= max_size;
    if (fits) memcpy(data, text, size);
    sti_string_free(spec, text, size);
    return fits ? size : 0;
}

/* 0: not a scene, or not one that fits. */
static size_t mutate_tree(uint8_t *data, size_t size, size_t max_size, unsigned int *seed) {
    sti_load_options options = sti_load_options_default();
    options.no_disk = true;
    options.memory_limit = (size_t)1 << 20;
    sti_spec *spec = sti_spec_parse((const char *)data, size, &options, NULL, NULL);
    if (!spec) return 0;
    for (uint32_t k = 1 + dice(seed, 3); k > 0; k--) {
        sti_element *element = any_element(spec, seed);
        uint32_t kind = dice(seed, 10);
        if (kind == 0) sti_element_remove(element);
        else if (kind < 4) add_child(element, sti_spec_root(spec), seed);
        else mutate_attribute(element, sti_spec_root(spec), seed);
    }
    size = write_back(spec, data, max_size);
    sti_spec_free(spec);
    return size;
}

/* ---- parts that mean something together ---------------------------------------------------------- */

/* '#' stands for a number that is the same in one part, '?' for any number. */
static const char *const parts[] = {
    "<worldbody><geom name='floor' type='plane' size='0 0 1'/></worldbody>",
    "<worldbody><body name='b#' pos='0 0 .2'><freejoint/><geom name='g#' type='box' size='.1 .1 .1'/><site "
    "name='s#'/>"
    "</body></worldbody>",
    "<worldbody><body name='b#' pos='0 0 ?'><joint name='j#' axis='0 1 0' range='-90 90' "
    "frictionloss='.1'/><geom "
    "name='g#' type='capsule' size='.05' fromto='0 0 0 .3 0 0'/><site name='s#' pos='.3 0 0'/><body "
    "name='c#' pos='.3 "
    "0 0'><joint name='k#' type='ball' damping='.1'/><geom "
    "size='.08'/></body></body></worldbody><actuator><position "
    "name='a#' joint='j#' kp='?' sti:implicit='true' forcerange='-10 10'/></actuator>",
    "<worldbody><body name='b#' pos='.05 0 .1'><joint name='j#' type='slide' axis='0 0 1' limited='true' "
    "range='-.1 "
    "?'/><geom name='g#' type='cylinder' size='.1 .05' condim='4'/></body></worldbody>",
    "<worldbody><flexcomp name='f#' type='grid' dim='3' count='2 2 2' spacing='.1 .1 .1' mass='1' pos='0 0 "
    ".2'><elasticity young='1e4' poisson='.3' damping='.01'/></flexcomp></worldbody>",
    "<worldbody><flexcomp name='f#' type='box' dim='3' count='3 2 2' spacing='.05 .05 .05' mass='.5' "
    "pos='.02 0 .04'>"
    "<elasticity young='1e5' poisson='.45' sti:law='neohookean'/><contact selfcollide='auto' "
    "friction='?'/><pin id='0'/></flexcomp></worldbody>",
    "<worldbody><sti:soft name='f#' type='sphere' size='.1' edge='.08' pos='0 0 .1' young='?' poisson='.4' "
    "law='corotated'/></worldbody>",
    "<worldbody><body name='b#' pos='0 0 .3'><freejoint/><sti:soft name='f#' type='box' size='.1 .05 .05' "
    "edge='.1' "
    "young='1e4' poisson='.3' law='stvk'/><geom name='g#' size='.02'/></body></worldbody>",
    "<worldbody><body name='b#' pos='0 0 .12'><freejoint/><geom name='g#' type='box' size='.1 .1 .1' "
    "sti:hydroelastic_stiffness='1e6'/></body></worldbody>",
    "<worldbody><body name='b#' pos='.1 .1 .5'><freejoint/><geom name='g#' type='ellipsoid' size='.1 .2 ?' "
    "condim='6' friction='? .1 .1'/><site name='s#'/></body></worldbody>",
    "<worldbody><replicate count='3' offset='0 .05 .21'><body name='r#' pos='0 0 .1'><freejoint/><geom "
    "type='box' "
    "size='.1 .1 .1'/></body></replicate></worldbody>",
    "<worldbody><body name='m#' mocap='true' pos='0 0 ?'><geom type='sphere' size='.1'/></body></worldbody>",
    "<asset><mesh name='mesh#' vertex='0 0 0 .2 0 0 0 .2 0 0 0 .2 .2 .2 .2'/></asset><worldbody><body "
    "name='b#' pos='0 "
    "0 .3'><freejoint/><geom name='g#' type='mesh' mesh='mesh#'/></body></worldbody>",
    "<asset><hfield name='h#' nrow='3' ncol='3' size='1 1 .2 .1' elevation='0 1 0 ? 0 1 0 0 "
    "1'/></asset><worldbody>"
    "<geom type='hfield' hfield='h#'/></worldbody>",
    "<equality><connect name='e#' body1='b?' body2='c?' anchor='0 0 ?'/></equality>",
    "<equality><weld body1='b?' body2='b?'/></equality>",
    "<equality><sti:coupled site1='s?' site2='s?' ratio='1 ? 0 1' max_force='?'/></equality>",
    "<equality><joint joint1='j?' joint2='j?' polycoef='0 ? ? 0 0'/></equality>",
    "<equality><sti:distance site1='s?' site2='s?' distance='?'/></equality>",
    "<worldbody><body name='b#' pos='0 0 ?'><joint name='j#' type='ball' sti:stiffnessaxes='? 2 3' "
    "springyield='?'/><geom name='g#' size='.05' pos='.1 0 0'/></body></worldbody>",
    "<tendon><spatial name='t#' stiffness='?' range='0 ?'><site site='s?'/><geom geom='g?'/><site "
    "site='s?'/></spatial></tendon><actuator><motor tendon='t#'/></actuator>",
    "<tendon><fixed name='t#' limited='true' range='-1 1' frictionloss='?'><joint joint='j?' "
    "coef='?'/><joint joint='j?' "
    "coef='-1'/></fixed></tendon>",
    "<actuator><general name='a#' joint='j?' dyntype='filter' dynprm='?' gainprm='?' biastype='affine' "
    "biasprm='0 -1 "
    "?'/></actuator>",
    "<actuator><intvelocity joint='j?' kp='?' actrange='-1 1'/><velocity joint='j?' kv='?'/></actuator>",
    "<sensor><contact geom1='g?' data='found force dist pos' num='3' reduce='maxforce'/><touch "
    "site='s?'/><accelerometer "
    "site='s?'/></sensor>",
    "<sensor><distance geom1='g?' geom2='g?' cutoff='1'/><rangefinder site='s?'/><force site='s?'/><torque "
    "site='s?'/></sensor>",
    "<contact><pair geom1='g?' geom2='g?' condim='3' margin='?' gap='?'/><exclude body1='b?' "
    "body2='c?'/></contact>",
    "<keyframe><key ctrl='1' time='?'/></keyframe>",
    "<option integrator='RK4'/>",
    "<option integrator='implicit' density='?' viscosity='?' wind='1 0 0'/>",
    "<option integrator='implicitfast' timestep='?'/>",
    "<option integrator='alm' timestep='.005'/>",
    "<option gravity='? 0 -9.81'/>",
    "<option><flag energy='enable' island='disable'/></option>",
    "<sti:option solver='apgd'/>",
    "<sti:option solver='newton' coulomb='relaxed'/>",
    "<sti:option solver='auto' linear='pcg' preconditioner='mg'/>",
    "<sti:option coulomb='relaxed' linear='pcg' preconditioner='jacobi'/>",
    "<sti:option substeps='2' memory='disable' linear='direct'/>",
    "<sti:option alm_scheme='bdf2'/>",
    "<sti:option alm_scheme='midpoint' alm_adaptive='disable' alm_outer='5'/>",
    "<sti:option tol='?' max_newton='3' merge='.1' pool_contacts='1'/>",
    "<worldbody><flexcomp name='f#' type='grid' dim='2' count='3 3 1' spacing='.1 .1 .1' mass='.3' "
    "radius='.01' pos='0 0 .15'><elasticity young='?' poisson='.3' thickness='.01' damping='?' "
    "elastic2d='both'/><pin id='0'/></flexcomp></worldbody>",
    "<worldbody><flexcomp name='f#' type='grid' dim='1' count='4 1 1' spacing='.1 .1 .1' mass='.3' "
    "radius='.01' pos='0 0 .2'><edge stiffness='?' damping='.1'/></flexcomp></worldbody>",
    "<worldbody><body name='b#' pos='0 0 .3'><freejoint/><geom name='g#' size='.02'/><site name='s0'/><site "
    "name='s1' pos='.1 0 0'/><site name='s2' pos='0 .1 0'/><site name='s3' pos='.1 .1 "
    ".1'/></body></worldbody>",
    "<tendon><sti:sheet site1='s?' site2='s?' site3='s?' young='?' poisson='.3' thickness='.01' "
    "damping='?'/></tendon>",
    "<worldbody><flexcomp name='f#' type='grid' dim='1' count='5 1 1' spacing='.1 .1 .1' mass='.3' "
    "radius='?' pos='0 0 .2'><elasticity young='?' damping='?'/><pin id='0 1'/></flexcomp></worldbody>",
    "<tendon><sti:bend site1='s?' site2='s?' site3='s?' young='?' radius='.01' damping='?'/></tendon>",
    "<tendon><sti:fold site1='s?' site2='s?' site3='s?' site4='s?' young='?' poisson='.3' "
    "thickness='.01'/></tendon>",
    "<worldbody><body name='b#' pos='0 0 ?'><joint name='j#' axis='0 1 0' stiffness='? ?' damping='? ?' "
    "springyield='?'/><geom name='g#' size='.05' pos='.1 0 0'/></body></worldbody>",
    "<tendon><spatial name='t#' stiffness='?' springyield='?' damping='?'><site site='s?'/><site "
    "site='s?'/></spatial></tendon>",
    "<worldbody><body name='b#' pos='0 0 .5'><joint name='j#' axis='0 1 0'/><joint name='k#' axis='0 1 "
    "0'/><geom size='.05' pos='? 0 0'/></body></worldbody>",
    "<actuator><dcmotor joint='j?' motorconst='?' resistance='?' inductance='?' cogging='? 6 0' "
    "controller='? ? ? ? ? ?' input='pos vel'/></actuator>",
    "<actuator><dcmotor joint='j?' nominal='12 ? 100' saturation='? 0 ?' thermal='1 ? 0 2 ? 0' lugre='? .1 ? "
    "? ?' input='voltage' armature='?'/></actuator>",
    "<actuator><pid joint='j?' kp='?' kv='?' ki='?' imax='?' slewmax='?' posrange='-1 1' input='pos vel "
    "ff'/></actuator>",
    "<actuator><motor joint='j?' nsample='5' delay='?' interp='linear' damping='?'/><position joint='k?' "
    "kp='?' nsample='3' delay='.004' interp='cubic'/></actuator>",
    "<sensor><jointpos joint='j?' nsample='4' delay='?' interval='? 0' interp='cubic'/><framepos "
    "objtype='body' objname='b?' nsample='2' interval='?'/></sensor>",
    "<worldbody><body name='b#' pos='0 0 .2'><freejoint/><geom name='g#' type='sdf' "
    "mesh='mesh?'/></body></worldbody>",
    "<asset><mesh name='mesh#' builtin='supertorus' params='8 ? ? ?'/></asset>",
    "<worldbody><geom name='g#' type='box' size='1 1 .1' surfacevel='? 0 0 0 0 ?'/></worldbody>",
    "<actuator><adhesion body='b?' gain='?' ctrlrange='0 1'/></actuator>",
    "<option><flag sleep='enable'/></option>",
    "<sti:option sigma='?' beta='?'/>",
    "<sti:option memory='enable' max_work='?'/>",
};

static size_t write_part(char *out, size_t room, unsigned int *seed) {
    const char *p = parts[dice(seed, sizeof parts / sizeof *parts)];
    uint32_t own = dice(seed, 6);
    size_t used = 0;
    for (; *p && used + 16 < room; p++) {
        bool name = used && isalpha((unsigned char)out[used - 1]);
        if (*p == '#') used += (size_t)snprintf(out + used, room - used, "%u", (unsigned)own);
        else if (*p == '?' && name)
            used += (size_t)snprintf(out + used, room - used, "%u", (unsigned)dice(seed, 6));
        else if (*p == '?') used += (size_t)snprintf(out + used, room - used, "%s", any_number(seed));
        else out[used++] = *p;
    }
    return used;
}

/* One part more before the end, in a scene that is at least empty. */
static size_t add_part(uint8_t *data, size_t size, size_t max_size, unsigned int *seed) {
    static const char empty[] = "<mujoco xmlns:sti='urn:stiction'></mujoco>", end[] = "</mujoco>";
    char part[2048];
    size_t used = write_part(part, sizeof part, seed);
    uint8_t *at = memmem(data, size, end, sizeof end - 1);
    if (!at || !memmem(data, size, "urn:stiction", 12)) {
        if (max_size < sizeof empty) return 0;
        memcpy(data, empty, size = sizeof empty - 1);
        at = memmem(data, size, end, sizeof end - 1);
    }
    return splice(data, size, max_size, (size_t)(at - data), (size_t)(at - data), part, used);
}

static size_t mutate_scene(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    uint32_t kind = dice(&seed, 10);
    size_t made = kind == 0  ? mutate_xml(data, size, max_size, seed)
                  : kind < 4 ? add_part(data, size, max_size, &seed)
                             : mutate_tree(data, size, max_size, &seed);
    return made ? made : mutate_xml(data, size, max_size, seed);
}

#endif
