/* SPDX-License-Identifier: Apache-2.0 */
/* A scene drawn by OpenGL ES, as band.c and picture.c draw it by the CPU: maps of the lamp and the sky, the mirror's view, then two by
   two samples a pixel, whose mean becomes bytes; depth and objects with one sample a pixel. */
#include "record/egl/context.h"
#include <stddef.h>
#include <string.h>

enum { FINE = 2 };

/* ---- blocks of the shaders (shaders.h), in vectors of four --------------------------------------------------- */

typedef struct view {
    float right[4], up[4], forward[4], from[4], screen[4], area[4];
} view;
typedef struct thing {
    float rot[3][4], scale[4], color[4], other[4], gloss[4], plane[4], what[4], lay[4], shift[4];
} thing;
typedef struct light {
    float sky_right[STI__SKY][4], sky_up[STI__SKY][4], sky_forward[STI__SKY][4], sky_color[STI__SKY][4],
        tap[STI__TAPS][4];
    float sky_from[4], sky_map[4], key_right[4], key_up[4], key_forward[4], key_from[4], key_map[4],
        key_more[4];
    float lamp[STI__LAMPS][4][4];
    float head[4], head_specular[4], ambient[4], zenith[4], horizon[4], ground[4], floor_color[4];
} light;

typedef struct job {
    sti__egl *egl;
    const sti__gl *gl;
    const sti__scene *scene;
    sti__lights *lights;
    const double *origin; /* places are counted from the eye */
    int polished;
} job;

static void set(float out[4], const float v[3], float w) { memcpy(out, v, 3 * sizeof *v), out[3] = w; }

static void from_origin(const job *j, float out[4], const double p[3], float w) {
    for (int k = 0; k < 3; k++) out[k] = (float)(p[k] - j->origin[k]);
    out[3] = w;
}

static void upload(const job *j, int block, const void *data, size_t size) {
    j->gl->BindBuffer(GL_UNIFORM_BUFFER, j->egl->block[block]);
    j->gl->BufferData(GL_UNIFORM_BUFFER, (intptr_t)size, data, GL_STREAM_DRAW);
}

/* Depth from which parallel maps end. */
static float range_of(const job *j) { return (float)(4 * j->scene->radius); }

static void set_view(const job *j, const sti__lens *l, int width, int height) {
    view v = {.screen = {l->fx, l->fy, l->cx, l->cy},
              .area = {(float)width, (float)height, l->parallel, range_of(j)}};
    set(v.right, l->axis, 0), set(v.up, l->axis + 3, 0), set(v.forward, l->axis + 6, 0);
    from_origin(j, v.from, l->pos, l->near);
    upload(j, BLOCK_VIEW, &v, sizeof v);
    j->gl->Viewport(0, 0, width, height);
    j->gl->FrontFace(l->mirrored ? GL_CCW : GL_CW);
}

static void bind(const job *j, unsigned unit, unsigned kind, unsigned texture) {
    j->gl->ActiveTexture(GL_TEXTURE0 + unit);
    j->gl->BindTexture(kind, texture);
}

enum { PRINTED = 6, CUBED }; /* beside 1 + sti__wrap */

/* lay: repetitions or scales, and how the texture lies, 0: none; shift: what is added. */
static void set_texture(const job *j, const sti__item *i, const sti__drawn_mesh *shape, thing *t) {
    const sti__look *o = &i->look;
    if (!o->texture) return;
    bool cube = j->scene->texture[o->texture - 1].cube, printed = o->printed && shape && shape->coord;
    set(t->lay, o->map, cube ? CUBED : printed ? PRINTED : 1 + (float)o->wrap);
    t->shift[0] = o->shift[0], t->shift[1] = o->shift[1];
    bind(j, cube ? UNIT_CUBE : UNIT_PICTURE, cube ? GL_TEXTURE_CUBE_MAP : GL_TEXTURE_2D,
         j->egl->laid[o->texture - 1]);
}

static void set_thing(const job *j, int id, bool polished) {
    const sti__item *i = sti__scene_item(j->scene, id);
    const sti__look *o = &i->look;
    const sti__drawn_mesh *shape = i->shape < 0 ? NULL : &j->scene->shapes.shape[i->shape];
    thing t = {.gloss = {o->specular, o->shininess, o->emission, o->reflectance},
               .plane = {i->half[0], i->half[1], o->cell[0], o->cell[1]},
               .what = {(float)id, shape && shape->tint, !shape || shape->closed,
                        shape      ? 0
                        : polished ? 2
                                   : 1}};
    set_texture(j, i, shape, &t);
    for (int k = 0; k < 3; k++) set(t.rot[k], i->rot + 3 * k, (float)(i->pos[k] - j->origin[k]));
    set(t.scale, i->scale, i->stretch);
    set(t.color, o->color, o->alpha);
    set(t.other, o->other, (float)o->pattern);
    upload(j, BLOCK_THING, &t, sizeof t);
}

static void set_sky(const job *j, light *b) {
    const sti__lights *l = j->lights;
    const sti__lens *lens = &l->sky[0].lens;
    for (int i = 0; i < STI__SKY; i++) {
        set(b->sky_right[i], l->sky[i].lens.axis, 0);
        set(b->sky_up[i], l->sky[i].lens.axis + 3, 0);
        set(b->sky_forward[i], l->sky[i].lens.axis + 6, 0);
        set(b->sky_color[i], l->sky_color[i], 0);
    }
    for (int i = 0; i < STI__TAPS; i++) b->tap[i][0] = l->tap[0][i], b->tap[i][1] = l->tap[1][i];
    from_origin(j, b->sky_from, j->scene->centre, range_of(j));
    set(b->sky_map, (float[3]){lens->fx, lens->cx, l->sky[0].texel}, (float)l->sky[0].size);
    set(b->zenith, l->zenith, 0), set(b->horizon, l->horizon, 0), set(b->ground, l->ground, 0);
}

static void set_lamps(const job *j, light *b) {
    const sti__lights *l = j->lights;
    const sti__lens *lens = &l->key.lens;
    for (int i = 0; i < l->nlamp; i++) {
        const sti__lamp *p = &l->lamp[i];
        if (p->positional) from_origin(j, b->lamp[i][0], p->pos, 1);
        else set(b->lamp[i][0], p->dir, 0);
        set(b->lamp[i][1], p->color, i == l->shadow);
        set(b->lamp[i][2], p->specular, 0);
    }
    set(b->head, l->head, (float)j->scene->radius), set(b->head_specular, l->head_specular, 0);
    set(b->ambient, l->ambient, (float)l->nlamp);
    set(b->floor_color, j->scene->floor, 0);
    if (l->shadow < 0) return;
    set(b->key_right, lens->axis, 0), set(b->key_up, lens->axis + 3, 0),
        set(b->key_forward, lens->axis + 6, 0);
    from_origin(j, b->key_from, lens->pos, 0);
    set(b->key_map, (float[3]){lens->fx, lens->cx, l->key.texel}, (float)l->key.size);
    set(b->key_more, (float[3]){lens->parallel, range_of(j), 1}, lens->near);
}

/* ---- meshes ---------------------------------------------------------------------------------------------------- */

enum { CORNER = 9 }; /* floats: place, normal, colour or texture coordinates */

static bool fill_mesh(const job *j, const sti__drawn_mesh *s, unsigned buffer) {
    size_t n = 3 * (size_t)s->nface, bytes = sti__size(n, CORNER, sizeof(float));
    float *corner = sti__alloc(&j->egl->allocator, bytes), *p = corner;
    if (!corner) return false;
    for (size_t c = 0; c < n; c++, p += CORNER) {
        f3_copy(p, s->vert + 3 * (size_t)s->face[c]);
        f3_copy(p + 3, s->normal + 3 * c);
        if (s->tint) f3_copy(p + 6, s->tint + 3 * (size_t)s->face[c]);
        else if (s->coord) memcpy(p + 6, s->coord + 2 * (size_t)s->face_coord[c], 2 * sizeof(float));
    }
    j->gl->BindBuffer(GL_ARRAY_BUFFER, buffer);
    j->gl->BufferData(GL_ARRAY_BUFFER, (intptr_t)bytes, corner, GL_STREAM_DRAW);
    sti__free(&j->egl->allocator, corner, bytes);
    return true;
}

static bool need_mesh(const job *j, int shape) {
    const sti_model *m = j->scene->model;
    sti__gl_mesh *mesh = &j->egl->mesh[shape];
    const sti__drawn_mesh *s = &j->scene->shapes.shape[shape];
    bool soft = shape >= STI__MESHES + m->nmesh + m->nhfield;
    if (mesh->count && !soft) return true;
    if (!mesh->array) {
        j->gl->GenVertexArrays(1, &mesh->array);
        j->gl->GenBuffers(1, &mesh->buffer);
        j->gl->BindVertexArray(mesh->array);
        j->gl->BindBuffer(GL_ARRAY_BUFFER, mesh->buffer);
        for (unsigned i = 0; i < 3; i++) {
            j->gl->EnableVertexAttribArray(i);
            j->gl->VertexAttribPointer(i, 3, GL_FLOAT, 0, CORNER * sizeof(float),
                                       (const void *)(uintptr_t)(3 * i * sizeof(float)));
        }
    }
    bool filled = fill_mesh(j, s, mesh->buffer);
    mesh->count = filled ? 3 * s->nface : 0;
    return filled;
}

/* The texture in all its sizes. */
static unsigned make_laid(const job *j, const sti__texture *t) {
    unsigned name, kind = t->cube ? GL_TEXTURE_CUBE_MAP : GL_TEXTURE_2D;
    int faces = t->cube ? 6 : 1;
    j->gl->GenTextures(1, &name);
    bind(j, UNIT_COUNT, kind, name);
    j->gl->TexStorage2D(kind, t->levels, GL_RGB16F, t->width[0], t->height[0] / t->faces);
    for (int level = 0; level < t->levels; level++)
        for (int f = 0; f < faces; f++) {
            int width = t->width[level], height = t->height[level] / t->faces;
            const float *texel =
                t->texel[level] + (t->faces > 1 ? 3 * (size_t)f * (size_t)width * (size_t)height : 0);
            unsigned face = t->cube ? GL_TEXTURE_CUBE_MAP_POSITIVE_X + (unsigned)f : kind;
            j->gl->TexSubImage2D(face, level, 0, 0, width, height, GL_RGB, GL_FLOAT, texel);
        }
    return name;
}

static bool need_textures(const job *j) {
    sti__egl *e = j->egl;
    const sti__texture *texture = j->scene->texture;
    if (!texture) return true;
    if (!e->laid) {
        e->laid = sti__alloc(&e->allocator, sti__size(j->scene->model->ntex, sizeof *e->laid));
        if (!e->laid) return false;
        e->nlaid = j->scene->model->ntex;
    }
    for (int i = 0; i < e->nlaid; i++)
        if (texture[i].ntexel && !e->laid[i]) e->laid[i] = make_laid(j, &texture[i]);
    return true;
}

static void drop_meshes(sti__egl *e) {
    for (int i = 0; i < e->nlaid; i++) {
        if (e->laid[i]) e->gl.DeleteTextures(1, &e->laid[i]);
        e->laid[i] = 0;
    }
    for (int i = 0; i < e->nmesh; i++) {
        if (!e->mesh[i].array) continue;
        e->gl.DeleteVertexArrays(1, &e->mesh[i].array);
        e->gl.DeleteBuffers(1, &e->mesh[i].buffer);
        e->mesh[i] = (sti__gl_mesh){0};
    }
    e->stale = false;
}

static const int *levels(const sti__item *item, int out[2]) {
    out[0] = item->shape;
    out[1] = item->shape < STI__CUBE ? item->shape + STI__LEVELS : item->shape + 1;
    return out;
}

static bool need_meshes(const job *j) {
    sti__egl *e = j->egl;
    if (e->stale) drop_meshes(e);
    if (!e->mesh) {
        e->mesh = sti__alloc(&e->allocator, sti__size(j->scene->shapes.count, sizeof *e->mesh));
        if (!e->mesh) return false;
        e->nmesh = j->scene->shapes.count;
    }
    int range[2];
    for (int i = 0; i < (int)j->scene->items.count; i++) {
        const sti__item *item = sti__scene_item(j->scene, i);
        if (item->shape < 0) continue;
        levels(item, range);
        for (int k = range[0]; k < range[1]; k++)
            if (!need_mesh(j, k)) return false;
    }
    return true;
}

/* ---- targets ------------------------------------------------------------------------------------------------- */

static unsigned need_texture(const job *j, int which, unsigned format, int width, int height, int layers) {
    sti__gl_texture *t = &j->egl->texture[which];
    unsigned kind = layers ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D;
    if (t->name && t->width == width && t->height == height) return t->name;
    if (t->name) j->gl->DeleteTextures(1, &t->name);
    j->gl->GenTextures(1, &t->name);
    j->gl->ActiveTexture(GL_TEXTURE0 + UNIT_COUNT); /* a unit that no program reads */
    j->gl->BindTexture(kind, t->name);
    if (layers) j->gl->TexStorage3D(kind, 1, format, width, height, layers);
    else j->gl->TexStorage2D(kind, 1, format, width, height);
    t->width = width, t->height = height;
    return t->name;
}

/* Draws go there; 0 = nowhere. */
static void set_target(const job *j, unsigned color, unsigned depth) {
    j->gl->FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, color, 0);
    j->gl->FramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, depth, 0);
}

/* ---- drawing --------------------------------------------------------------------------------------------------- */

static void turn(const job *j, unsigned what, bool on) { (on ? j->gl->Enable : j->gl->Disable)(what); }

static void draw_mesh(const job *j, int id, const sti__lens *lens, sti__program program, bool finest) {
    const sti__item *item = sti__scene_item(j->scene, id);
    const sti__drawn_mesh *chosen = sti__choose_shape(j->scene, item, lens, false);
    int range[2], shape = finest ? levels(item, range)[1] - 1 : (int)(chosen - j->scene->shapes.shape);
    set_thing(j, id, false);
    turn(j, GL_CULL_FACE, chosen->closed);
    j->gl->UseProgram(j->egl->program[program]);
    j->gl->BindVertexArray(j->egl->mesh[shape].array);
    j->gl->DrawArrays(GL_TRIANGLES, 0, j->egl->mesh[shape].count);
}

/* One triangle over everything. */
static void cover(const job *j, sti__program program) {
    turn(j, GL_CULL_FACE, false);
    j->gl->UseProgram(j->egl->program[program]);
    j->gl->BindVertexArray(j->egl->empty);
    j->gl->DrawArrays(GL_TRIANGLES, 0, 3);
}

static void draw_map(const job *j, const sti__map *map) {
    set_view(j, &map->lens, map->size, map->size);
    j->gl->Clear(GL_DEPTH_BUFFER_BIT);
    for (int i = 0; i < (int)j->scene->items.count; i++)
        if (sti__scene_item(j->scene, i)->casts) draw_mesh(j, i, &map->lens, PROGRAM_DEPTH, false);
}

static void draw_maps(const job *j) {
    const sti__lights *l = j->lights;
    unsigned key = need_texture(j, TEXTURE_KEY, GL_DEPTH_COMPONENT32F, l->key.size, l->key.size, 0),
             sky = need_texture(j, TEXTURE_SKY, GL_DEPTH_COMPONENT32F, l->sky[0].size, l->sky[0].size,
                                STI__SKY);
    /* what is read must not be drawn on */
    for (unsigned i = 0; i < UNIT_COUNT; i++)
        bind(j, i, i == UNIT_SKY ? GL_TEXTURE_2D_ARRAY : GL_TEXTURE_2D, 0);
    set_target(j, 0, key);
    if (l->shadow >= 0) draw_map(j, &l->key);
    for (int i = 0; i < STI__SKY; i++) {
        j->gl->FramebufferTextureLayer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, sky, 0, i);
        draw_map(j, &l->sky[i]);
    }
    bind(j, UNIT_DEPTH, GL_TEXTURE_2D, key);
    bind(j, UNIT_OPEN, GL_TEXTURE_2D, key);
    bind(j, UNIT_SKY, GL_TEXTURE_2D_ARRAY, sky);
}

static void draw_solid(const job *j, const sti__lens *lens, const sti__item *over) {
    for (int i = 0; i < (int)j->scene->items.count; i++) {
        const sti__item *item = sti__scene_item(j->scene, i);
        if (sti__is_opaque(item) && (!over || sti__scene_above(item, over)))
            draw_mesh(j, i, lens, PROGRAM_SHADE_MESH, false);
    }
}

static void draw_mirror(const job *j, const sti__lens *mirror, int width, int height) {
    unsigned color = need_texture(j, TEXTURE_MIRROR, GL_RGBA16F, width, height, 0),
             depth = need_texture(j, TEXTURE_MIRROR_DEPTH, GL_DEPTH_COMPONENT32F, width, height, 0);
    set_target(j, color, depth);
    set_view(j, mirror, width, height);
    j->gl->Clear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    draw_solid(j, mirror, sti__scene_item(j->scene, j->polished));
    bind(j, UNIT_MIRROR, GL_TEXTURE_2D, color);
}

static void draw_planes(const job *j, sti__program program) {
    for (int i = 0; i < (int)j->scene->items.count; i++) {
        if (sti__scene_item(j->scene, i)->shape >= 0) continue;
        set_thing(j, i, i == j->polished);
        cover(j, program);
    }
}

/* Transparent things hide nothing; marks are drawn over everything, but hide each other. */
static bool draw_layers(const job *j, const sti__lens *eye) {
    int n = (int)j->scene->items.count;
    size_t bytes = sti__size(sti__add((size_t)n, 1), sizeof(int));
    int *order = sti__alloc(&j->egl->allocator, bytes);
    if (!order) return false;
    int count = sti__scene_layers(j->scene, eye, order);
    turn(j, GL_BLEND, true);
    j->gl->DepthMask(0);
    for (int i = 0; i < count; i++)
        if (!sti__is_mark(sti__scene_item(j->scene, order[i])))
            draw_mesh(j, order[i], eye, PROGRAM_SHADE_MESH, false);
    j->gl->DepthMask(1);
    j->gl->Clear(GL_DEPTH_BUFFER_BIT);
    for (int i = 0; i < n; i++)
        if (sti__is_mark(sti__scene_item(j->scene, i))) draw_mesh(j, i, eye, PROGRAM_SHADE_MESH, false);
    turn(j, GL_BLEND, false);
    sti__free(&j->egl->allocator, order, bytes);
    return true;
}

static bool draw_samples(const job *j, const sti__lens *eye, int width, int height) {
    unsigned color = need_texture(j, TEXTURE_SAMPLES, GL_RGBA16F, width, height, 0),
             depth = need_texture(j, TEXTURE_SAMPLE_DEPTH, GL_DEPTH_COMPONENT32F, width, height, 0);
    set_target(j, color, depth);
    set_view(j, eye, width, height);
    j->gl->Clear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    turn(j, GL_DEPTH_TEST, false);
    cover(j, PROGRAM_BACKGROUND);
    turn(j, GL_DEPTH_TEST, true);
    draw_solid(j, eye, NULL);
    draw_planes(j, PROGRAM_SHADE_PLANE);
    return draw_layers(j, eye);
}

/* ---- pictures ------------------------------------------------------------------------------------------------ */

static sti_status no_memory(sti_error *error) {
    return sti__fail(error, STI_NO_MEMORY, "out of memory for the picture");
}

static sti_status check(const job *j, sti_error *error) {
    unsigned code =
        j->gl->CheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE ? j->gl->GetError() : 1;
    return code ? sti__fail(error, STI_NO_MEMORY, "%s could not draw the picture (%#x)", j->egl->name, code)
                : STI_OK;
}

static sti_status paint_colors(job *j, const sti_picture_options *o, uint8_t *rgb, sti_error *error) {
    sti__lens eye, mirror;
    sti_status status = sti__lens_eye(&eye, j->scene, o, FINE, error);
    if (status != STI_OK) return status;
    int width = FINE * o->width, height = FINE * o->height;
    j->origin = eye.pos;
    sti__lights_aim(j->lights, j->scene, &eye, o->width > o->height ? o->width : o->height);
    light b = {0};
    set_sky(j, &b), set_lamps(j, &b);
    upload(j, BLOCK_LIGHT, &b, sizeof b);
    turn(j, GL_DEPTH_TEST, true);
    draw_maps(j);
    j->polished = sti__scene_mirror(j->scene, &eye, &mirror);
    if (j->polished >= 0) draw_mirror(j, &mirror, width, height);
    if (!draw_samples(j, &eye, width, height)) return no_memory(error);
    status = check(j, error);
    turn(j, GL_DEPTH_TEST, false);
    set_target(j, need_texture(j, TEXTURE_BYTES, GL_RGBA8, o->width, o->height, 0), 0);
    bind(j, UNIT_SAMPLES, GL_TEXTURE_2D, j->egl->texture[TEXTURE_SAMPLES].name);
    j->gl->Viewport(0, 0, o->width, o->height);
    cover(j, PROGRAM_BYTES);
    size_t n = (size_t)o->width * (size_t)o->height, bytes = sti__size(n, 4);
    uint8_t *pixel = sti__alloc(&j->egl->allocator, bytes);
    if (!pixel) return no_memory(error);
    j->gl->ReadPixels(0, 0, o->width, o->height, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
    for (size_t i = 0; i < n; i++) memcpy(rgb + 3 * i, pixel + 4 * i, 3);
    sti__free(&j->egl->allocator, pixel, bytes);
    return status != STI_OK ? status : check(j, error);
}

static void write_objects(const job *j, size_t n, const float *pixel, const sti_picture *out) {
    float far = (float)(STI_PICTURE_FAR * j->scene->model->stat.extent);
    for (size_t i = 0; i < n; i++, pixel += 4) {
        const sti__item *item = pixel[3] > 0 ? sti__scene_item(j->scene, (int)pixel[1]) : NULL;
        if (out->depth) out->depth[i] = item && pixel[0] < far ? pixel[0] : far;
        if (!out->segment) continue;
        out->segment[2 * i] = item ? item->object : -1;
        out->segment[2 * i + 1] = item ? item->kind : -1;
    }
}

static sti_status paint_objects(job *j, const sti_picture_options *o, const sti_picture *out,
                                sti_error *error) {
    sti__lens eye;
    sti_status status = sti__lens_eye(&eye, j->scene, o, 1, error);
    if (status != STI_OK) return status;
    j->origin = eye.pos;
    set_target(j, need_texture(j, TEXTURE_OBJECTS, GL_RGBA32F, o->width, o->height, 0),
               need_texture(j, TEXTURE_OBJECT_DEPTH, GL_DEPTH_COMPONENT32F, o->width, o->height, 0));
    set_view(j, &eye, o->width, o->height);
    turn(j, GL_DEPTH_TEST, true);
    j->gl->Clear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    for (int i = 0; i < (int)j->scene->items.count; i++) {
        const sti__item *item = sti__scene_item(j->scene, i);
        if (item->shape >= 0 && item->kind >= 0) draw_mesh(j, i, &eye, PROGRAM_OBJECT_MESH, true);
    }
    draw_planes(j, PROGRAM_OBJECT_PLANE);
    size_t n = (size_t)o->width * (size_t)o->height, bytes = sti__size(n, 4, sizeof(float));
    float *pixel = sti__alloc(&j->egl->allocator, bytes);
    if (!pixel) return no_memory(error);
    j->gl->ReadPixels(0, 0, o->width, o->height, GL_RGBA, GL_FLOAT, pixel);
    status = check(j, error);
    if (status == STI_OK) write_objects(j, n, pixel, out);
    sti__free(&j->egl->allocator, pixel, bytes);
    return status;
}

sti_status sti__egl_draw(sti__egl *e, const sti__scene *scene, sti__lights *lights,
                         const sti_picture_options *o, const sti_picture *out, sti_error *error) {
    if (FINE * o->width > e->largest || FINE * o->height > e->largest)
        return sti__fail(error, STI_ARGUMENT, "%s draws pictures of at most %d pixels a side", e->name,
                         e->largest / FINE);
    if (!sti__egl_enter(e))
        return sti__fail(error, STI_UNSUPPORTED,
                         "pictures by EGL cannot be drawn in a thread that has a context of its own");
    job j = {.egl = e, .gl = &e->gl, .scene = scene, .lights = lights, .polished = -1};
    sti_status status = need_meshes(&j) && need_textures(&j) ? STI_OK : no_memory(error);
    if (status == STI_OK && out->rgb) status = paint_colors(&j, o, out->rgb, error);
    if (status == STI_OK && (out->depth || out->segment)) status = paint_objects(&j, o, out, error);
    sti__egl_leave(e);
    return status;
}
