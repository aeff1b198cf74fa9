/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP and WebSocket by libwebsockets, in a thread of its own. What can be asked for is a fixed list in memory: no file is
   ever opened. A page gets the newest frame whenever its socket can take one; frames that it was too slow for are never
   queued. */
#include "server.h"

#include <libwebsockets.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

enum { TOKEN = 32, CLIENTS = 128, CHUNK = 16384, STRANGERS = 64, STRANGER_SECONDS = 5 };

struct server {
    sti_viewer *viewer;
    struct lws_context *context;
    pthread_t thread;
    bool threaded;
    char prefix[TOKEN + 3];          /* "/token/" */
    char host[128], own[128];        /* where it listens, "" = loopback; the machine's name */
    uint32_t sent;                   /* counts the frames taken from the mailbox */
    struct lws *stranger[STRANGERS]; /* connections that have not shown the token yet, oldest first */
    int nstranger;
    pid_t process; /* that has the thread */
    _Atomic bool stop;
};

/* Of a connection: what is left of a file, or what a page has seen. */
typedef struct session {
    const uint8_t *data;
    size_t left;
    uint32_t seen;
    bool open, dragging;
    message message;
} session;

/* ---- who may come in ------------------------------------------------------------------------------------ */

/* Whether a request was meant for this machine: a name that somebody else's server has made point here (DNS rebinding) is
   none of its names. Any port, as it may have been forwarded. */
static bool is_local(const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) == 0 && (host[n] == 0 || host[n] == ':')) return true;
    }
    return false;
}

/* When others may come: the name or address that was asked for, the machine's own name, and addresses in numbers. */
static bool is_ours(const server *s, const char *host) {
    size_t n = strcspn(host, ":");
    if (!s->host[0]) return false;
    return (strlen(s->host) == n && strncasecmp(host, s->host, n) == 0) ||
           (strlen(s->own) == n && strncasecmp(host, s->own, n) == 0) || strspn(host, "0123456789.") == n;
}

/* For this machine, and of no page but our own. */
static bool is_trusted(const server *s, struct lws *wsi) {
    char host[256], origin[256 + 8];
    if (lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) <= 0) return false;
    if (!is_local(host) && !is_ours(s, host)) return false;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0) return true; /* no browser, or nothing to protect */
    return lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) > 0 &&
           strncasecmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

static void forget_stranger(server *s, const struct lws *wsi) {
    for (int i = 0; i < s->nstranger; i++) {
        if (s->stranger[i] != wsi) continue;
        s->nstranger--;
        memmove(s->stranger + i, s->stranger + i + 1, sizeof *s->stranger * (size_t)(s->nstranger - i));
        return;
    }
}

/* A new connection: of those that only wait, the oldest makes room for it. */
static int meet_stranger(server *s, struct lws *wsi) {
    if (s->nstranger == STRANGERS) {
        struct lws *oldest = s->stranger[0];
        forget_stranger(s, oldest);
        lws_set_timeout(oldest, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
    }
    s->stranger[s->nstranger++] = wsi;
    lws_set_timeout(wsi, PENDING_TIMEOUT_ESTABLISH_WITH_SERVER, STRANGER_SECONDS);
    return 0;
}

/* ---- files -------------------------------------------------------------------------------------------- */

/* The rest of a path that begins with the token, NULL if it does not. Takes the same time for all wrong tokens. */
static const char *after_token(const server *s, const char *path) {
    size_t n = strlen(s->prefix);
    unsigned wrong = 0;
    if (strlen(path) < n) return NULL;
    for (size_t i = 0; i < n; i++) wrong |= (unsigned)(path[i] ^ s->prefix[i]);
    return wrong ? NULL : path + n;
}

/* What has this name; false if there is nothing. */
static bool find_file(const server *s, const char *name, asset *out, bool *packed) {
    const sti_viewer *v = s->viewer;
    *packed = false;
    *out = (asset){"scene.json", "application/json", v->scene.data, v->scene.size};
    if (strcmp(name, out->name) == 0) return true;
    *out = (asset){"meshes.bin", "application/octet-stream", v->meshes.data, v->meshes.size};
    if (strcmp(name, out->name) == 0) return true;
    *packed = true;
    if (*name == 0) name = "index.html";
    for (int i = 0; i < page_nasset; i++)
        if (strcmp(name, page_assets[i].name) == 0) return *out = page_assets[i], true;
    return false;
}

static int add_header(struct lws *wsi, const char *name, const char *value, uint8_t **p, uint8_t *end) {
    return lws_add_http_header_by_name(wsi, (const uint8_t *)name, (const uint8_t *)value, (int)strlen(value),
                                       p, end);
}

static int send_headers(struct lws *wsi, const asset *file, bool packed) {
    uint8_t buffer[LWS_PRE + 2048], *start = buffer + LWS_PRE, *p = start, *end = buffer + sizeof buffer;
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, file->type, file->size, &p, end) ||
        (packed && add_header(wsi, "content-encoding:", "gzip", &p, end)) ||
        add_header(wsi, "cache-control:", "no-store", &p, end) ||
        add_header(wsi, "referrer-policy:", "no-referrer", &p, end) ||
        add_header(wsi, "x-content-type-options:", "nosniff", &p, end) ||
        add_header(wsi, "x-frame-options:", "deny", &p,
                   end) || /* of browsers that do not know frame-ancestors */
        add_header(wsi, "content-security-policy:",
                   "default-src 'self'; img-src 'self' blob: data:; media-src blob:; style-src 'self' "
                   "'unsafe-inline'; frame-ancestors http://127.0.0.1:* http://localhost:*",
                   &p, end) ||
        lws_finalize_write_http_header(wsi, start, &p, end))
        return -1;
    return 0;
}

static int refuse(struct lws *wsi, unsigned status) {
    return lws_return_http_status(wsi, status, NULL) || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int http_request(server *s, struct lws *wsi, session *c, const char *path) {
    asset file;
    bool packed;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0) return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED);
    const char *name = is_trusted(s, wsi) ? after_token(s, path) : NULL;
    if (!name) return refuse(wsi, HTTP_STATUS_FORBIDDEN);
    forget_stranger(s, wsi);
    if (!find_file(s, name, &file, &packed)) return refuse(wsi, HTTP_STATUS_NOT_FOUND);
    if (send_headers(wsi, &file, packed)) return -1;
    c->data = file.data;
    c->left = file.size;
    lws_callback_on_writable(wsi);
    return 0;
}

static int http_more(struct lws *wsi, session *c) {
    uint8_t buffer[LWS_PRE + CHUNK];
    if (!c->data) return 0;
    size_t n = c->left < CHUNK ? c->left : CHUNK;
    bool last = n == c->left;
    memcpy(buffer + LWS_PRE, c->data, n);
    if (lws_write(wsi, buffer + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) != (int)n)
        return -1;
    c->data += n;
    c->left -= n;
    if (!last) return lws_callback_on_writable(wsi) < 0 ? -1 : 0;
    c->data = NULL;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* ---- pages ---------------------------------------------------------------------------------------------- */

/* Who may open a socket: a page of ours that knows the token, as long as there is room. */
static int filter(server *s, struct lws *wsi) {
    char path[256];
    if (lws_hdr_copy(wsi, path, sizeof path, WSI_TOKEN_GET_URI) <= 0) return 1;
    const char *name = is_trusted(s, wsi) ? after_token(s, path) : NULL;
    if (!name || strcmp(name, "stream") != 0 || atomic_load(&s->viewer->nclient) >= CLIENTS) return 1;
    forget_stranger(s, wsi);
    return 0;
}

static int opened(server *s, session *c) {
    *c = (session){.open = true, .seen = s->sent - 1};
    atomic_fetch_add(&s->viewer->nclient, 1);
    atomic_store(&s->viewer->welcome, true);
    return 0;
}

static int closed(server *s, session *c) {
    if (!c->open) return 0;
    c->open = false;
    atomic_fetch_sub(&s->viewer->nclient, 1);
    if (c->dragging) mailbox_send(&s->viewer->mail, &(command){.op = OP_RELEASE});
    return 0;
}

static int send_frame(server *s, struct lws *wsi, session *c) {
    bytes *b = s->viewer->mail.front;
    if (c->seen == s->sent || b->size <= HEADROOM) return 0;
    c->seen = s->sent;
    size_t n = b->size - HEADROOM;
    return lws_write(wsi, b->data + HEADROOM, n, LWS_WRITE_BINARY) < (int)n ? -1 : 0;
}

/* One command per message; what is not one ends the connection. */
static int received(server *s, struct lws *wsi, session *c, const void *in, size_t size) {
    command order;
    if (!lws_frame_is_binary(wsi)) return -1;
    bool last = lws_remaining_packet_payload(wsi) == 0 && lws_is_final_fragment(wsi);
    int whole = message_add(&c->message, in, size, last, &order);
    if (whole <= 0) return whole;
    if (order.op == OP_DRAG || order.op == OP_TWIST) c->dragging = true;
    if (order.op == OP_RELEASE) c->dragging = false;
    mailbox_send(&s->viewer->mail, &order);
    return 0;
}

/* ---- libwebsockets ---------------------------------------------------------------------------------------- */

static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
    server *s = lws_context_user(lws_get_context(wsi));
    (void)size;
    switch (reason) {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED: return meet_stranger(s, wsi);
    case LWS_CALLBACK_WSI_DESTROY: return forget_stranger(s, wsi), 0;
    case LWS_CALLBACK_HTTP: return http_request(s, wsi, user, in);
    case LWS_CALLBACK_HTTP_WRITEABLE: return http_more(wsi, user);
    case LWS_CALLBACK_HTTP_BODY: return -1;
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return 1; /* a socket that does not name the protocol */
    case LWS_CALLBACK_FILTER_HTTP_CONNECTION: return 0;
    default: return 0;
    }
}

static int on_stream(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
    server *s = lws_context_user(lws_get_context(wsi));
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return filter(s, wsi);
    case LWS_CALLBACK_ESTABLISHED: return opened(s, user);
    case LWS_CALLBACK_CLOSED: return closed(s, user);
    case LWS_CALLBACK_RECEIVE: return received(s, wsi, user, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE: return send_frame(s, wsi, user);
    default: return 0;
    }
}

static const struct lws_protocols protocols[] = {
    {.name = "http", .callback = on_http, .per_session_data_size = sizeof(session)},
    {.name = "stiction",
     .callback = on_stream,
     .per_session_data_size = sizeof(session),
     .rx_buffer_size = 256},
    {0}};
static const lws_retry_bo_t patience = {.secs_since_valid_ping = 10, .secs_since_valid_hangup = 20};

static void *serve(void *argument) {
    server *s = argument;
    while (!atomic_load(&s->stop)) {
        if (lws_service(s->context, 0) < 0) break;
        if (!mailbox_take(&s->viewer->mail)) continue;
        s->sent++;
        lws_callback_on_writable_all_protocol(s->context, &protocols[1]);
    }
    return NULL;
}

static bool make_token(server *s) {
    uint8_t random[TOKEN / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    s->prefix[0] = s->prefix[TOKEN + 1] = '/';
    for (int i = 0; i < TOKEN; i++)
        s->prefix[1 + i] = "0123456789abcdef"[(random[i / 2] >> (i % 2 ? 0 : 4)) & 15];
    return true;
}

/* The port that is listened to, 0 if that one is not free. The virtual host is made apart from its context: a context whose
   own host fails is not freed whole by the library. */
static int listen_on(server *s, int port) {
    bool all = strcmp(s->host, "0.0.0.0") == 0;
    struct lws_context_creation_info info = {.port = port,
                                             .iface = !s->host[0] ? "127.0.0.1"
                                                      : all       ? NULL
                                                                  : s->host,
                                             .protocols = protocols,
                                             .gid = (gid_t)-1,
                                             .uid = (uid_t)-1,
                                             .options = LWS_SERVER_OPTION_DISABLE_IPV6 |
                                                        LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                                                        LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND,
                                             .user = s,
                                             .fd_limit_per_thread = 512,
                                             .timeout_secs = 10,
                                             .keepalive_timeout = 10,
                                             .retry_and_idle_policy = &patience,
                                             .server_string = "stiction"};
    lws_set_log_level(0, NULL);
    s->context = lws_create_context(&info);
    struct lws_vhost *host = s->context ? lws_create_vhost(s->context, &info) : NULL;
    return host ? lws_get_vhost_listen_port(host) : 0;
}

server *server_start(sti_viewer *v, int port, sti_error *error) {
    server *s = take(&v->allocator, sizeof *s);
    if (!s) return fail(error, STI_NO_MEMORY, "no memory for a server"), NULL;
    int listening = 0;
    s->viewer = v;
    s->process = getpid();
    s->sent = 1;
    const char *host = v->options.host ? v->options.host : "";
    snprintf(s->host, sizeof s->host, "%s", strcmp(host, "127.0.0.1") == 0 ? "" : host);
    if (gethostname(s->own, sizeof s->own - 1) != 0) s->own[0] = 0;
    if (strlen(host) >= sizeof s->host) fail(error, STI_ARGUMENT, "the host's name is too long");
    else if (!make_token(s)) fail(error, STI_FILE, "no random numbers for a token");
    else if ((listening = listen_on(s, port)) == 0)
        fail(error, STI_FILE, "port %d of %s is not free, or this machine has no such address", port,
             s->host[0] ? s->host : "127.0.0.1");
    else if (pthread_create(&s->thread, NULL, serve, s) != 0)
        fail(error, STI_NO_MEMORY, "no thread for a server");
    else {
        s->threaded = true;
        const char *name = !s->host[0] ? "127.0.0.1" : strcmp(s->host, "0.0.0.0") != 0 ? s->host : s->own;
        snprintf(v->url, sizeof v->url, "http://%s:%d%s", name, listening, s->prefix);
        return s;
    }
    server_stop(s);
    return NULL;
}

void server_wake(server *s) { lws_cancel_service(s->context); }

void server_stop(server *s) {
    if (!s) return;
    atomic_store(&s->stop, true);
    bool ours = getpid() ==
                s->process; /* in a child of fork there is no thread, and the connections are the parent's */
    if (ours && s->threaded) {
        lws_cancel_service(s->context);
        pthread_join(s->thread, NULL);
    }
    if (ours && s->context) lws_context_destroy(s->context);
    give(&s->viewer->allocator, s, sizeof *s);
}
