/* SPDX-License-Identifier: Apache-2.0 */
/* STI__UNROLL(n) before a loop of at most n rounds takes it apart, so that arrays over its counter live in registers. Not
   where a sanitizer watches every access: compiling thousands of them in a row takes minutes. The bits are the same. */
#ifndef STI_BASE_UNROLL_H
#define STI_BASE_UNROLL_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define STI__WATCHED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define STI__WATCHED 1
#endif
#endif

#define STI__PRAGMA(text) _Pragma(#text)
#ifdef STI__WATCHED
#define STI__UNROLL(n)
#else
#define STI__UNROLL(n) STI__PRAGMA(GCC unroll n)
#endif

#endif
