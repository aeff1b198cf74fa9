/* SPDX-License-Identifier: Apache-2.0 */
/* Attribute texts to values: numbers and keywords are checked once, when they are set. */
#include "load/tree.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BLANK " \t\r\n"

const sti__value *sti__value_of(const sti_element *element, sti__aid name) {
    for (const sti__value *v = element->value; v; v = v->next)
        if (v->info->name == name) return v;
    return NULL;
}

const char *sti__own_text(const sti_element *element, sti__aid name) {
    const sti__value *v = sti__value_of(element, name);
    return v && v->text[0] ? v->text : NULL;
}

void sti__value_unset(sti_element *element, const sti__attr_info *info) {
    sti__value *before = NULL;
    for (sti__value *v = element->value; v; before = v, v = v->next) {
        if (v->info != info) continue;
        if (before) before->next = v->next;
        else element->value = v->next;
        if (element->last_value == v) element->last_value = before;
        sti__spec_release(element->spec, v, v->size);
        return;
    }
}

/* Takes the place of an older value, so that the order of the file stays. */
static void link_value(sti_element *element, sti__value *value) {
    for (sti__value **p = &element->value; *p; p = &(*p)->next) {
        sti__value *old = *p;
        if (old->info != value->info) continue;
        value->next = old->next;
        *p = value;
        if (element->last_value == old) element->last_value = value;
        sti__spec_release(element->spec, old, old->size);
        return;
    }
    if (element->last_value) element->last_value->next = value;
    else element->value = value;
    element->last_value = value;
}

/* ---- words and numbers ------------------------------------------------------------------------------ */

/* The next word of a text, its size in *size; NULL at the end. */
static const char *next_word(const char *p, size_t *size) {
    p += strspn(p, BLANK);
    *size = strcspn(p, BLANK);
    return *size ? p : NULL;
}

static size_t count_words(const char *text) {
    size_t count = 0, size;
    for (const char *p = text; (p = next_word(p, &size)); p += size) count++;
    return count;
}

/* What is set, for messages; long words are cut */
typedef struct target {
    const sti__attr_info *info;
    sti__place place;
    sti_error *error;
} target;

static int cut(size_t size) { return size > 40 ? 40 : (int)size; }

static sti_status bad(const target *t, const char *word, size_t size, const char *why) {
    return sti__fail_at(t->error, t->place, STI_VALUE, "'%.*s'%s %s", cut(size), word, size > 40 ? "..." : "",
                        why);
}

static sti_status read_real(const target *t, const char *word, size_t size, double *out) {
    bool ok = false;
    const char *end = sti__parse_real(word, word + size, out, &ok);
    if (end && !ok) return bad(t, word, size, "is not a finite number");
    if (end != word + size) return bad(t, word, size, "is not a number");
    bool space = t->info->flags & STI_F_SPACE;
    if ((t->info->flags & STI_F_ANY) || fabs(*out) <= (space ? STI__MOST_SPACE : STI__MOST_NUMBER))
        return STI_OK;
    return bad(t, word, size, space ? "is beyond 1e10" : "is beyond 1e40");
}

static sti_status read_int(const target *t, const char *word, size_t size, double *out) {
    size_t i = word[0] == '-' || word[0] == '+';
    int64_t value = 0;
    if (i == size) return bad(t, word, size, "is not an integer");
    for (; i < size; i++) {
        if (word[i] < '0' || word[i] > '9') return bad(t, word, size, "is not an integer");
        value = 10 * value + (word[i] - '0');
        if (value > (int64_t)INT_MAX + 1) return bad(t, word, size, "is too large");
    }
    if (word[0] == '-') value = -value;
    if (value > INT_MAX) return bad(t, word, size, "is too large");
    *out = (double)value;
    return STI_OK;
}

static sti_status unknown_word(const target *t, const char *word, size_t size) {
    char near[64], list[200] = "";
    size_t used = 0;
    const char *guess = sti__suggest_word(t->info->words, word, size, near, sizeof near);
    if (guess)
        return sti__fail_at(t->error, t->place, STI_VALUE, "unknown keyword '%.*s', did you mean '%s'?",
                            cut(size), word, guess);
    for (const char *p = t->info->words; p && used < sizeof list - 1;) {
        size_t n = strcspn(p, "|");
        if (*p != '-' && *p != '!')
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "", (int)n, p);
        p = p[n] ? p + n + 1 : NULL;
    }
    return sti__fail_at(t->error, t->place, STI_VALUE, "unknown keyword '%.*s', expected one of %s",
                        cut(size), word, list);
}

static sti_status read_word(const target *t, const char *word, size_t size, double *out) {
    char mark = 0;
    int index = sti__word_index(t->info->words, word, size, &mark);
    if (index < 0 || mark == '-') return unknown_word(t, word, size);
    if (mark == '!')
        return sti__fail_at(t->error, t->place, STI_UNSUPPORTED, "'%.*s' is not supported yet", cut(size),
                            word);
    *out = index;
    return STI_OK;
}

/* ---- whole values ------------------------------------------------------------------------------------- */

static const char *unit(sti__type type, size_t count) {
    const char *one[] = {"number", "integer", "keyword", "keyword"};
    const char *many[] = {"numbers", "integers", "keywords", "keywords"};
    return count == 1 ? one[type] : many[type];
}

static sti_status check_count(const target *t, size_t count) {
    size_t min = (size_t)t->info->min, max = (size_t)t->info->max;
    if (count >= min && count <= max) return STI_OK;
    sti__type type = t->info->type;
    if (min == max)
        return sti__fail_at(t->error, t->place, STI_VALUE, "needs %zu %s, %zu given", min, unit(type, min),
                            count);
    return sti__fail_at(t->error, t->place, STI_VALUE, "takes %zu to %zu %s, %zu given", min, max,
                        unit(type, max), count);
}

static sti_status read_words(const target *t, sti__value *value) {
    size_t size;
    if (t->info->type == STI_T_KEY) return read_word(t, value->text, strlen(value->text), value->number);
    double *out = value->number;
    for (const char *p = value->text; (p = next_word(p, &size)); p += size, out++) {
        sti_status code = t->info->type == STI_T_REAL  ? read_real(t, p, size, out)
                          : t->info->type == STI_T_INT ? read_int(t, p, size, out)
                                                       : read_word(t, p, size, out);
        if (code) return code;
    }
    return STI_OK;
}

static bool has_numbers(sti__type type) { return type <= STI_T_KEYS; }

/* Whether the numbers are what the schema gives anyway. */
static bool is_standard(const sti__value *v) {
    const char *p = v->info->otherwise;
    if (!p) return false;
    if (!has_numbers(v->info->type) || v->info->type >= STI_T_KEY) return strcmp(v->text, p) == 0;
    size_t size;
    for (int i = 0; i < v->count && (p = next_word(p, &size)); i++, p += size) {
        double x = 0;
        bool ok;
        sti__parse_real(p, p + size, &x, &ok);
        if (x != v->number[i]) return false;
    }
    return true;
}

/* Flags that speak about the value: an error, a warning (returns OK), or nothing. */
static sti_status check_flags(const target *t, const sti__value *v) {
    int flags = t->info->flags;
    bool unsupported = (flags & STI_F_UNSUPPORTED) && !is_standard(v);
    bool idle = (flags & STI_F_IDLE) && !is_standard(v);
    if (unsupported && !(flags & STI_F_LOOKS))
        return sti__fail_at(t->error, t->place, STI_UNSUPPORTED, "this attribute is not supported yet");
    if (idle) sti__fail_at(t->error, t->place, STI_UNSUPPORTED, "has no effect here: %s", t->info->doc);
    else if (unsupported)
        sti__fail_at(t->error, t->place, STI_UNSUPPORTED, "is not supported yet, only looks are affected");
    return STI_OK;
}

/* A new block with the text copied and room for the numbers. */
static sti__value *new_value(sti_spec *spec, const sti__attr_info *info, const char *text, size_t count,
                             sti_status *code) {
    size_t length = strlen(text) + 1, head = sti__add(sizeof(sti__value), sti__size(count, sizeof(double)));
    sti__value *v = sti__spec_alloc(spec, head + length, code);
    if (!v) return NULL;
    v->info = info;
    v->size = head + length;
    v->count = (int)count;
    v->text = (char *)v + head;
    memcpy((char *)v + head, text, length);
    return v;
}

sti_status sti__value_set(sti_element *element, const sti__attr_info *info, const char *text,
                          sti_error *error) {
    target t = {info, sti__place_attr(element, info->name), error};
    if ((info->flags & STI_F_NODEFAULT) && sti__in_default(element))
        return sti__fail_at(error, t.place, STI_SCHEMA, "cannot be set in a default class");
    bool blank = text[strspn(text, BLANK)] == 0;
    if (blank && info->type <= STI_T_INT) {
        sti__value_unset(element, info);
        return STI_OK;
    }
    size_t count = !has_numbers(info->type) ? 0 : info->type == STI_T_KEY ? 1 : count_words(text);
    sti_status code = has_numbers(info->type) ? check_count(&t, count) : STI_OK;
    if (code) return code;
    sti__value *v = new_value(element->spec, info, text, count, &code);
    if (!v) return sti__out_of_memory(error, t.place, code);
    if (has_numbers(info->type)) code = read_words(&t, v);
    if (!code) code = check_flags(&t, v);
    if (code) sti__spec_release(element->spec, v, v->size);
    else link_value(element, v);
    return code;
}
