/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures by EGL call of EGL 1.5 and OpenGL ES 3.0 (with float targets and clip control), as lists: name, result and
   arguments. The libraries are opened at run time, and no header of theirs is needed to build. Numbers are the standards'. */
#ifndef STI_RECORD_EGL_GL_H
#define STI_RECORD_EGL_GL_H

#include <stdint.h>

typedef void (*sti__gl_any)(void);

#define STI__EGL_CALLS(X)                                               \
    X(GetProcAddress, sti__gl_any, (const char *))                      \
    X(QueryString, const char *, (void *, int32_t))                     \
    X(Initialize, unsigned, (void *, int32_t *, int32_t *))             \
    X(Terminate, unsigned, (void *))                                    \
    X(BindAPI, unsigned, (unsigned))                                    \
    X(CreateContext, void *, (void *, void *, void *, const int32_t *)) \
    X(DestroyContext, unsigned, (void *, void *))                       \
    X(MakeCurrent, unsigned, (void *, void *, void *, void *))          \
    X(GetCurrentContext, void *, (void))                                \
    X(GetPlatformDisplay, void *, (unsigned, void *, const intptr_t *))

#define STI__GL_CALLS(X)                                                                          \
    X(ActiveTexture, void, (unsigned))                                                            \
    X(AttachShader, void, (unsigned, unsigned))                                                   \
    X(BindBuffer, void, (unsigned, unsigned))                                                     \
    X(BindBufferBase, void, (unsigned, unsigned, unsigned))                                       \
    X(BindFramebuffer, void, (unsigned, unsigned))                                                \
    X(BindSampler, void, (unsigned, unsigned))                                                    \
    X(BindTexture, void, (unsigned, unsigned))                                                    \
    X(BindVertexArray, void, (unsigned))                                                          \
    X(BlendFunc, void, (unsigned, unsigned))                                                      \
    X(BufferData, void, (unsigned, intptr_t, const void *, unsigned))                             \
    X(CheckFramebufferStatus, unsigned, (unsigned))                                               \
    X(Clear, void, (unsigned))                                                                    \
    X(ClearColor, void, (float, float, float, float))                                             \
    X(ClearDepthf, void, (float))                                                                 \
    X(ClipControlEXT, void, (unsigned, unsigned))                                                 \
    X(CompileShader, void, (unsigned))                                                            \
    X(CreateProgram, unsigned, (void))                                                            \
    X(CreateShader, unsigned, (unsigned))                                                         \
    X(DeleteBuffers, void, (int, const unsigned *))                                               \
    X(DeleteTextures, void, (int, const unsigned *))                                              \
    X(DeleteVertexArrays, void, (int, const unsigned *))                                          \
    X(DepthFunc, void, (unsigned))                                                                \
    X(DepthMask, void, (unsigned char))                                                           \
    X(Disable, void, (unsigned))                                                                  \
    X(DrawArrays, void, (unsigned, int, int))                                                     \
    X(Enable, void, (unsigned))                                                                   \
    X(EnableVertexAttribArray, void, (unsigned))                                                  \
    X(FramebufferTexture2D, void, (unsigned, unsigned, unsigned, unsigned, int))                  \
    X(FramebufferTextureLayer, void, (unsigned, unsigned, unsigned, int, int))                    \
    X(FrontFace, void, (unsigned))                                                                \
    X(GenBuffers, void, (int, unsigned *))                                                        \
    X(GenFramebuffers, void, (int, unsigned *))                                                   \
    X(GenSamplers, void, (int, unsigned *))                                                       \
    X(GenTextures, void, (int, unsigned *))                                                       \
    X(GenVertexArrays, void, (int, unsigned *))                                                   \
    X(GetError, unsigned, (void))                                                                 \
    X(GetIntegerv, void, (unsigned, int *))                                                       \
    X(GetProgramiv, void, (unsigned, unsigned, int *))                                            \
    X(GetShaderInfoLog, void, (unsigned, int, int *, char *))                                     \
    X(GetShaderiv, void, (unsigned, unsigned, int *))                                             \
    X(GetString, const char *, (unsigned))                                                        \
    X(GetUniformBlockIndex, unsigned, (unsigned, const char *))                                   \
    X(GetUniformLocation, int, (unsigned, const char *))                                          \
    X(LinkProgram, void, (unsigned))                                                              \
    X(PixelStorei, void, (unsigned, int))                                                         \
    X(ReadPixels, void, (int, int, int, int, unsigned, unsigned, void *))                         \
    X(SamplerParameteri, void, (unsigned, unsigned, int))                                         \
    X(ShaderSource, void, (unsigned, int, const char *const *, const int *))                      \
    X(TexSubImage2D, void, (unsigned, int, int, int, int, int, unsigned, unsigned, const void *)) \
    X(TexStorage2D, void, (unsigned, int, unsigned, int, int))                                    \
    X(TexStorage3D, void, (unsigned, int, unsigned, int, int, int))                               \
    X(Uniform1i, void, (int, int))                                                                \
    X(UniformBlockBinding, void, (unsigned, unsigned, unsigned))                                  \
    X(UseProgram, void, (unsigned))                                                               \
    X(VertexAttribPointer, void, (unsigned, int, unsigned, unsigned char, int, const void *))     \
    X(Viewport, void, (int, int, int, int))

#define STI__CALL_MEMBER(name, result, arguments) result(*name) arguments;
typedef struct sti__gl {
    STI__GL_CALLS(STI__CALL_MEMBER)
} sti__gl;

enum {
    EGL_EXTENSIONS = 0x3055,
    EGL_OPENGL_ES_API = 0x30A0,
    EGL_CONTEXT_MAJOR_VERSION = 0x3098,
    EGL_NONE = 0x3038,
    EGL_PLATFORM_DEVICE = 0x313F,
    EGL_PLATFORM_SURFACELESS = 0x31DD
};

enum {
    GL_TRIANGLES = 0x0004,
    GL_GREATER = 0x0204,
    GL_GEQUAL = 0x0206,
    GL_SRC_ALPHA = 0x0302,
    GL_ONE_MINUS_SRC_ALPHA = 0x0303,
    GL_CW = 0x0900,
    GL_CCW = 0x0901,
    GL_CULL_FACE = 0x0B44,
    GL_DEPTH_TEST = 0x0B71,
    GL_BLEND = 0x0BE2,
    GL_PACK_ALIGNMENT = 0x0D05,
    GL_MAX_TEXTURE_SIZE = 0x0D33,
    GL_TEXTURE_2D = 0x0DE1,
    GL_UNSIGNED_BYTE = 0x1401,
    GL_FLOAT = 0x1406,
    GL_RGB = 0x1907,
    GL_RGBA = 0x1908,
    GL_RENDERER = 0x1F01,
    GL_GL_EXTENSIONS = 0x1F03,
    GL_NEAREST = 0x2600,
    GL_LINEAR = 0x2601,
    GL_LINEAR_MIPMAP_LINEAR = 0x2703,
    GL_REPEAT = 0x2901,
    GL_TEXTURE_MAG_FILTER = 0x2800,
    GL_TEXTURE_MIN_FILTER = 0x2801,
    GL_TEXTURE_WRAP_S = 0x2802,
    GL_TEXTURE_WRAP_T = 0x2803,
    GL_COLOR_BUFFER_BIT = 0x4000,
    GL_DEPTH_BUFFER_BIT = 0x0100,
    GL_RGBA8 = 0x8058,
    GL_CLAMP_TO_EDGE = 0x812F,
    GL_TEXTURE0 = 0x84C0,
    GL_TEXTURE_CUBE_MAP = 0x8513,
    GL_TEXTURE_CUBE_MAP_POSITIVE_X = 0x8515,
    GL_RGBA32F = 0x8814,
    GL_RGB16F = 0x881B,
    GL_RGBA16F = 0x881A,
    GL_TEXTURE_COMPARE_MODE = 0x884C,
    GL_TEXTURE_COMPARE_FUNC = 0x884D,
    GL_COMPARE_REF_TO_TEXTURE = 0x884E,
    GL_ARRAY_BUFFER = 0x8892,
    GL_STREAM_DRAW = 0x88E0,
    GL_UNIFORM_BUFFER = 0x8A11,
    GL_FRAGMENT_SHADER = 0x8B30,
    GL_VERTEX_SHADER = 0x8B31,
    GL_COMPILE_STATUS = 0x8B81,
    GL_LINK_STATUS = 0x8B82,
    GL_TEXTURE_2D_ARRAY = 0x8C1A,
    GL_DEPTH_COMPONENT32F = 0x8CAC,
    GL_FRAMEBUFFER_COMPLETE = 0x8CD5,
    GL_COLOR_ATTACHMENT0 = 0x8CE0,
    GL_DEPTH_ATTACHMENT = 0x8D00,
    GL_FRAMEBUFFER = 0x8D40,
    GL_LOWER_LEFT = 0x8CA1,
    GL_ZERO_TO_ONE = 0x935F
};

#endif
