/* SPDX-License-Identifier: Apache-2.0 */
/* Opening EGL: its library, a device, a context and the programs. */
#include "record/egl/context.h"
#include "record/egl/shaders.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct egl_calls {
    STI__EGL_CALLS(STI__CALL_MEMBER)
} egl_calls;

static sti_status fail(sti_error *error, const char *why) {
    return sti__fail(error, STI_UNSUPPORTED, "no pictures by EGL: %s", why);
}

/* A function by its name, and where its pointer goes. */
typedef struct call {
    const char *name;
    size_t at;
} call;

static void put_call(void *calls, const call *c, sti__gl_any symbol) {
    memcpy((char *)calls + c->at, &symbol, sizeof symbol);
}

/* The library stays open: its threads and handlers outlive a renderer. */
static bool load(egl_calls *c) {
#define ENTRY(name, result, arguments) {"egl" #name, offsetof(egl_calls, name)},
    static const call list[] = {STI__EGL_CALLS(ENTRY)};
#undef ENTRY
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof list / sizeof *list; i++) {
        sti__gl_any symbol;
        void *found = dlsym(library, list[i].name);
        memcpy(&symbol, &found, sizeof symbol);
        if (!found) return false;
        put_call(c, &list[i], symbol);
    }
    return library != NULL;
}

static bool load_gl(sti__gl *gl, const egl_calls *c) {
#define ENTRY(name, result, arguments) {"gl" #name, offsetof(sti__gl, name)},
    static const call list[] = {STI__GL_CALLS(ENTRY)};
#undef ENTRY
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        sti__gl_any symbol = c->GetProcAddress(list[i].name);
        if (!symbol) return false;
        put_call(gl, &list[i], symbol);
    }
    return true;
}

static bool has(const char *list, const char *word) { return list && strstr(list, word) != NULL; }

/* ---- programs -------------------------------------------------------------------------------------------- */

static unsigned compile(const sti__gl *gl, unsigned kind, const char *const *parts, int count) {
    unsigned shader = gl->CreateShader(kind);
    int good = 0;
    gl->ShaderSource(shader, count, parts, NULL);
    gl->CompileShader(shader);
    gl->GetShaderiv(shader, GL_COMPILE_STATUS, &good);
    return good ? shader : 0;
}

static unsigned link_program(const sti__gl *gl, unsigned vertex, unsigned fragment) {
    static const char *const block[BLOCK_COUNT] = {"View", "Thing", "Light"};
    static const char *const sampler[UNIT_COUNT] = {"key_depth", "key_open", "sky_open", "reflection",
                                                    "samples",   "picture",  "cube"};
    if (!vertex || !fragment) return 0;
    unsigned program = gl->CreateProgram();
    int good = 0;
    gl->AttachShader(program, vertex);
    gl->AttachShader(program, fragment);
    gl->LinkProgram(program);
    gl->GetProgramiv(program, GL_LINK_STATUS, &good);
    if (!good) return 0;
    gl->UseProgram(program);
    for (unsigned i = 0; i < BLOCK_COUNT; i++) {
        unsigned at = gl->GetUniformBlockIndex(program, block[i]);
        if (at != 0xffffffffu) gl->UniformBlockBinding(program, at, i);
    }
    for (int i = 0; i < UNIT_COUNT; i++) {
        int at = gl->GetUniformLocation(program, sampler[i]);
        if (at >= 0) gl->Uniform1i(at, i);
    }
    return program;
}

static bool make_programs(sti__egl *e) {
    const sti__gl *gl = &e->gl;
#define COMPILE(kind, ...)                                \
    compile(gl, kind, (const char *const[]){__VA_ARGS__}, \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))
    unsigned mesh = COMPILE(GL_VERTEX_SHADER, glsl_head, glsl_mesh),
             cover = COMPILE(GL_VERTEX_SHADER, glsl_head, glsl_cover);
    e->program[PROGRAM_DEPTH] = link_program(gl, mesh, COMPILE(GL_FRAGMENT_SHADER, glsl_head, glsl_nothing));
    e->program[PROGRAM_SHADE_MESH] = link_program(
        gl, mesh,
        COMPILE(GL_FRAGMENT_SHADER, glsl_head, glsl_mesh_surface, glsl_light, glsl_shadow, glsl_shade));
    e->program[PROGRAM_SHADE_PLANE] =
        link_program(gl, cover,
                     COMPILE(GL_FRAGMENT_SHADER, glsl_head, glsl_ray, glsl_plane_surface, glsl_light,
                             glsl_shadow, glsl_shade));
    e->program[PROGRAM_OBJECT_MESH] =
        link_program(gl, mesh, COMPILE(GL_FRAGMENT_SHADER, glsl_head, glsl_mesh_surface, glsl_objects));
    e->program[PROGRAM_OBJECT_PLANE] = link_program(
        gl, cover, COMPILE(GL_FRAGMENT_SHADER, glsl_head, glsl_ray, glsl_plane_surface, glsl_objects));
    e->program[PROGRAM_BACKGROUND] = link_program(
        gl, cover, COMPILE(GL_FRAGMENT_SHADER, glsl_head, glsl_ray, glsl_light, glsl_background));
    e->program[PROGRAM_BYTES] = link_program(gl, cover, COMPILE(GL_FRAGMENT_SHADER, glsl_head, glsl_bytes));
#undef COMPILE
    for (int i = 0; i < PROGRAM_COUNT; i++)
        if (!e->program[i]) return false;
    return true;
}

/* How the maps are read: as they are, or compared with a key and mixed from four. */
static void make_samplers(const sti__gl *gl) {
    unsigned sampler[3];
    gl->GenSamplers(3, sampler);
    for (int i = 0; i < 2; i++) {
        gl->SamplerParameteri(sampler[i], GL_TEXTURE_MIN_FILTER, i ? GL_LINEAR : GL_NEAREST);
        gl->SamplerParameteri(sampler[i], GL_TEXTURE_MAG_FILTER, i ? GL_LINEAR : GL_NEAREST);
        gl->SamplerParameteri(sampler[i], GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
        gl->SamplerParameteri(sampler[i], GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    }
    gl->SamplerParameteri(sampler[1], GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE);
    gl->SamplerParameteri(sampler[1], GL_TEXTURE_COMPARE_FUNC, GL_GEQUAL);
    gl->SamplerParameteri(sampler[2], GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
    gl->SamplerParameteri(sampler[2], GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    gl->SamplerParameteri(sampler[2], GL_TEXTURE_WRAP_S, GL_REPEAT);
    gl->SamplerParameteri(sampler[2], GL_TEXTURE_WRAP_T, GL_REPEAT);
    for (unsigned i = 0; i < UNIT_COUNT; i++)
        gl->BindSampler(i, sampler[i >= UNIT_PICTURE ? 2 : i == UNIT_OPEN || i == UNIT_SKY]);
}

static bool prepare(sti__egl *e) {
    const sti__gl *gl = &e->gl;
    if (!make_programs(e)) return false;
    make_samplers(gl);
    gl->GenFramebuffers(1, &e->frame);
    gl->GenVertexArrays(1, &e->empty);
    gl->GenBuffers(BLOCK_COUNT, e->block);
    for (unsigned i = 0; i < BLOCK_COUNT; i++) gl->BindBufferBase(GL_UNIFORM_BUFFER, i, e->block[i]);
    gl->BindFramebuffer(GL_FRAMEBUFFER, e->frame);
    gl->DepthFunc(GL_GREATER);
    gl->ClearDepthf(0);
    gl->ClearColor(0, 0, 0, 0);
    gl->BlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    gl->PixelStorei(GL_PACK_ALIGNMENT, 1);
    gl->ClipControlEXT(GL_LOWER_LEFT, GL_ZERO_TO_ONE);
    gl->GetIntegerv(GL_MAX_TEXTURE_SIZE, &e->largest);
    return gl->GetError() == 0;
}

/* ---- devices --------------------------------------------------------------------------------------------- */

/* Programs that draw in place of a GPU, by what they call themselves. */
static bool is_software(const char *name) {
    static const char *const known[] = {"llvmpipe", "softpipe", "swrast", "SwiftShader", "Software"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has(name, known[i])) return true;
    return false;
}

/* A context on a display, with all that is needed in it; what is missing is told, or NULL. */
static const char *try_display(sti__egl *e, const egl_calls *c, void *display, bool hardware) {
    static const int32_t version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE};
    if (!display || !c->Initialize(display, NULL, NULL) || !c->BindAPI(EGL_OPENGL_ES_API))
        return "no device of it can be opened";
    const char *list = c->QueryString(display, EGL_EXTENSIONS);
    if (!has(list, "EGL_KHR_surfaceless_context") || !has(list, "EGL_KHR_no_config_context"))
        return "its devices need a display";
    e->display = display;
    e->context = c->CreateContext(display, NULL, NULL, version);
    if (!e->context) return "its devices have no OpenGL ES 3";
    const char *missing = NULL;
    if (!sti__egl_enter(e)) missing = "its devices cannot draw in this thread";
    else {
        const char *name = load_gl(&e->gl, c) ? e->gl.GetString(GL_RENDERER) : NULL;
        const char *extensions = name ? e->gl.GetString(GL_GL_EXTENSIONS) : NULL;
        if (!name) missing = "its devices have no OpenGL ES 3 with clip control";
        else if (hardware && is_software(name)) missing = "there is no GPU that it could use";
        else if (!has(extensions, "GL_EXT_clip_control") || !has(extensions, "GL_EXT_color_buffer_float"))
            missing = "its devices lack clip control or targets of floats";
        else if (!prepare(e)) missing = "its driver does not accept the programs";
        else snprintf(e->name, sizeof e->name, "%s", name);
        sti__egl_leave(e);
    }
    if (missing) c->DestroyContext(display, e->context), e->context = NULL;
    return missing;
}

enum { DEVICES = 16 };

/* Every device of this machine in turn, those of hardware first; then whatever draws without one. */
static const char *try_devices(sti__egl *e, const egl_calls *c, bool hardware) {
    const char *list = c->QueryString(NULL, EGL_EXTENSIONS), *missing = "it finds no device";
    unsigned (*query)(int, void **, int *) = NULL;
    sti__gl_any symbol = c->GetProcAddress("eglQueryDevicesEXT");
    memcpy(&query, &symbol, sizeof symbol);
    void *device[DEVICES];
    int n = 0;
    if (has(list, "EGL_EXT_platform_device") && query && !query(DEVICES, device, &n)) n = 0;
    for (int pass = 1; pass >= hardware; pass--)
        for (int i = 0; i < n; i++) {
            missing =
                try_display(e, c, c->GetPlatformDisplay(EGL_PLATFORM_DEVICE, device[i], NULL), pass == 1);
            if (!missing) return NULL;
        }
    if (!has(list, "EGL_MESA_platform_surfaceless")) return missing;
    return try_display(e, c, c->GetPlatformDisplay(EGL_PLATFORM_SURFACELESS, NULL, NULL), hardware);
}

sti_status sti__egl_open(sti__egl **out, const sti_allocator *allocator, bool hardware, sti_error *error) {
    egl_calls c;
    if (!load(&c)) return fail(error, "the library libEGL.so.1 is not there (Debian: libegl1)");
    sti__egl *e = sti__alloc(allocator, sizeof *e);
    if (!e) return sti__fail(error, STI_NO_MEMORY, "out of memory for the picture");
    e->allocator = *allocator;
    e->make_current = c.MakeCurrent, e->current = c.GetCurrentContext, e->destroy = c.DestroyContext;
    const char *missing = try_devices(e, &c, hardware);
    *out = missing ? NULL : e;
    if (!missing) return STI_OK;
    sti__free(allocator, e, sizeof *e);
    return fail(error, missing);
}

void sti__egl_close(sti__egl *e) {
    if (!e) return;
    sti_allocator a = e->allocator;
    e->destroy(e->display, e->context);
    sti__free(&a, e->mesh, (size_t)e->nmesh * sizeof *e->mesh);
    sti__free(&a, e->laid, (size_t)e->nlaid * sizeof *e->laid);
    sti__free(&a, e, sizeof *e);
}

const char *sti__egl_name(const sti__egl *e) { return e->name; }
void sti__egl_forget(sti__egl *e) { e->stale = true; }

/* A program that draws with EGL itself has its own context in this thread: a picture asks for none to be current. */
bool sti__egl_enter(sti__egl *e) {
    return !e->current() && e->make_current(e->display, NULL, NULL, e->context);
}

void sti__egl_leave(sti__egl *e) { e->make_current(e->display, NULL, NULL, NULL); }
