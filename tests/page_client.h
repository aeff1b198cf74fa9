/* SPDX-License-Identifier: Apache-2.0 */
/* A page of the viewer, for tests: requests and WebSocket messages as bytes over a real socket, well formed or not. */
#ifndef STI_TEST_PAGE_CLIENT_H
#define STI_TEST_PAGE_CLIENT_H

#include "scene.h"
#include "server.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE = 60000 }; /* ms that an answer may take */

/* "http://127.0.0.1:PORT/TOKEN/" */
static inline int port_of(const sti_viewer *v) {
    return atoi(sti_viewer_url(v) + strlen("http://127.0.0.1:"));
}
static inline const char *token_of(const sti_viewer *v) { return strchr(sti_viewer_url(v) + 7, '/'); }

static inline int dial(const sti_viewer *v) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port_of(v))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(s >= 0 && connect(s, (const struct sockaddr *)&to, sizeof to) == 0);
    return s;
}

static inline void put_bytes(int s, const void *data, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = send(s, (const char *)data + done, size - done, MSG_NOSIGNAL);
        if (n <= 0) return; /* the server has hung up: its answer says why */
        done += (size_t)n;
    }
}

/* Up to `size` bytes, fewer where the connection ends or nothing comes. */
static inline size_t get_bytes(int s, void *data, size_t size) {
    size_t done = 0;
    while (done < size) {
        struct pollfd p = {s, POLLIN, 0};
        ssize_t n = poll(&p, 1, PATIENCE) > 0 ? recv(s, (char *)data + done, size - done, 0) : 0;
        if (n <= 0) break;
        done += (size_t)n;
    }
    return done;
}

/* Whether the server ends the connection; what it still sends is passed over. */
static inline bool hangs_up(int s) {
    char rest[4096];
    for (;;) {
        struct pollfd p = {s, POLLIN, 0};
        if (poll(&p, 1, PATIENCE) <= 0) return false;
        if (recv(s, rest, sizeof rest, 0) <= 0) return true;
    }
}

/* The head of an answer, up to its empty line; its status, 0 if none came. */
static inline int get_head(int s, char *head, size_t size) {
    size_t n = 0;
    while (n + 1 < size && get_bytes(s, head + n, 1) == 1) {
        head[++n] = 0;
        if (n >= 4 && strcmp(head + n - 4, "\r\n\r\n") == 0) break;
    }
    head[n] = 0;
    return strncmp(head, "HTTP/1.", 7) == 0 ? atoi(head + 9) : 0;
}

/* The status of METHOD PATH with the header lines given, on a connection of its own. */
static inline int status_of(const sti_viewer *v, const char *method, const char *path, const char *headers) {
    char text[2048], head[4096];
    int s = dial(v), n = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\n%s\r\n", method, path, headers);
    REQUIRE(n > 0 && n < (int)sizeof text);
    put_bytes(s, text, (size_t)n);
    int status = get_head(s, head, sizeof head);
    close(s);
    return status;
}

/* ---- WebSocket -------------------------------------------------------------------------------------------- */

/* Asks for a socket; its status: 101 if it is one now. */
static inline int open_page(const sti_viewer *v, const char *path, const char *headers, int *out) {
    char text[2048], head[4096];
    int s = dial(v);
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n%s\r\n",
                     path, headers);
    REQUIRE(n > 0 && n < (int)sizeof text);
    put_bytes(s, text, (size_t)n);
    int status = get_head(s, head, sizeof head);
    if (out && status == 101) return *out = s, status;
    close(s);
    return status;
}

static inline int page_of(const sti_viewer *v) {
    char path[128];
    int s = -1;
    snprintf(path, sizeof path, "%sstream", token_of(v));
    REQUIRE(open_page(v, path, "Host: 127.0.0.1\r\nSec-WebSocket-Protocol: stiction\r\n", &s) == 101);
    return s;
}

/* A frame as a browser sends it: masked. opcode: 0 goes on, 1 text, 2 binary, 8 close, 9 ping. */
static inline void send_piece(int s, int opcode, bool last, const void *data, size_t size) {
    static const uint8_t mask[4] = {1, 2, 3, 4};
    uint8_t head[8] = {(uint8_t)(opcode | (last ? 0x80 : 0)), (uint8_t)(0x80 | (size < 126 ? size : 126)),
                       (uint8_t)(size >> 8), (uint8_t)size};
    uint8_t body[1024];
    REQUIRE(size <= sizeof body);
    for (size_t i = 0; i < size; i++) body[i] = ((const uint8_t *)data)[i] ^ mask[i % 4];
    put_bytes(s, head, size < 126 ? 2 : 4);
    put_bytes(s, mask, 4);
    put_bytes(s, body, size);
}

static inline void send_command(int s, operation op, uint32_t index, double x) {
    command c = {op, index, {x}};
    send_piece(s, 2, true, &c, sizeof c);
}

/* Bytes of the next message of the server; 0 if none comes. */
static inline size_t get_message(int s, uint8_t *data, size_t size) {
    uint8_t head[10];
    if (get_bytes(s, head, 2) != 2) return 0;
    size_t n = head[1] & 127, more = n == 126 ? 2 : n == 127 ? 8 : 0;
    if (get_bytes(s, head + 2, more) != more) return 0;
    if (more) n = 0;
    for (size_t i = 0; i < more; i++) n = n << 8 | head[2 + i];
    return n <= size && get_bytes(s, data, n) == n ? n : 0;
}

/* ---- frames ----------------------------------------------------------------------------------------------- */

/* The words of a section, and how many; NULL if it is not there. Checks that the sections fill the message. */
static inline const void *section(const uint8_t *data, size_t size, const char *tag, uint32_t *count) {
    const void *found = NULL;
    size_t at = 0;
    while (at + 8 <= size) {
        uint32_t n;
        memcpy(&n, data + at + 4, sizeof n);
        if (memcmp(data + at, tag, 4) == 0) found = data + at + 8, *count = n;
        at += 8 + 4 * (size_t)n;
    }
    CHECK(at == size);
    return found;
}

#endif
