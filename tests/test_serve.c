/* SPDX-License-Identifier: Apache-2.0 */
/* The viewer's server over real sockets: what it serves and to whom, and what pages may not do to it. */
#include "page_client.h"
#include <sys/wait.h>

static const char scene[] =
    "<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='5 5 1'/>"
    "<body name='ball' pos='0 0 1'><freejoint/><geom size='.1'/></body>"
    "<body name='arm' pos='1 0 1'><joint name='j' axis='0 1 0'/><geom size='.03' pos='.1 0 0'/></body>"
    "</worldbody><actuator><motor joint='j' ctrlrange='-1 1'/></actuator></mujoco>";
#define LOCAL "Host: 127.0.0.1:8080\r\n"
#define STREAM LOCAL "Sec-WebSocket-Protocol: stiction\r\n"

static sti_model *model;
static sti_world *world;
static sti_viewer *viewer;

static void begin(void) {
    sti_viewer_options options = sti_viewer_options_default();
    options.rate = 1e6; /* a frame whenever it is asked for one */
    sti_error error = {0};
    model = model_of(scene);
    world = world_of(model);
    REQUIRE(sti_forward(world) == STI_OK);
    viewer = sti_viewer_create(model, &options, &error);
    REQUIRE(viewer);
}

static void end(void) {
    sti_viewer_destroy(viewer);
    sti_world_destroy(world);
    sti_model_free(model);
}

static const char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s%s", token_of(viewer), name);
    return path;
}

/* Until the server's thread has done what it was asked for. */
static bool comes_true(bool (*condition)(void)) {
    for (int i = 0; i < PATIENCE && !condition(); i++) usleep(1000);
    return condition();
}
static bool nobody_is_there(void) { return sti_viewer_clients(viewer) == 0; }
static bool one_is_there(void) { return sti_viewer_clients(viewer) == 1; }
enum { MOST = 128 }; /* pages at a time */
static bool all_are_there(void) { return sti_viewer_clients(viewer) == MOST; }
static bool a_command_waits(void) { return atomic_load(&viewer->mail.waiting) > 0; }
static bool two_commands_wait(void) { return atomic_load(&viewer->mail.waiting) > 1; }

/* ---- files -------------------------------------------------------------------------------------------------- */

TEST(files_come_whole_and_with_their_headers) {
    char head[4096], text[512];
    begin();
    int s = dial(viewer);
    for (int i = 0; i < page_nasset + 2; i++) { /* on one connection, as a browser does */
        bool packed = i < page_nasset;
        const char *name = packed ? page_assets[i].name : i == page_nasset ? "scene.json" : "meshes.bin";
        const bytes *plain = i == page_nasset ? &viewer->scene : &viewer->meshes;
        size_t size = packed ? page_assets[i].size : plain->size;
        const uint8_t *expected = packed ? page_assets[i].data : plain->data;
        int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" LOCAL "\r\n", path_of(name));
        put_bytes(s, text, (size_t)n);
        CHECK(get_head(s, head, sizeof head) == 200);
        CHECK((strstr(head, "content-encoding: gzip") != NULL) == packed);
        CHECK(strstr(head, "cache-control: no-store") && strstr(head, "x-content-type-options: nosniff"));
        CHECK(strstr(head, "x-frame-options: deny") && strstr(head, "content-security-policy: default-src"));
        const char *length = strstr(head, "content-length: ");
        REQUIRE(length && (size_t)atol(length + 16) == size);
        uint8_t *body = malloc(size);
        REQUIRE(body && get_bytes(s, body, size) == size);
        CHECK(memcmp(body, expected, size) == 0);
        free(body);
    }
    close(s);
    CHECK(status_of(viewer, "GET", path_of(""), LOCAL) == 200); /* index.html */
    end();
}

TEST(a_page_that_leaves_in_the_middle_of_a_file) {
    begin();
    for (int i = 0; i < 20; i++) {
        char text[512];
        int s = dial(viewer),
            n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" LOCAL "\r\n", path_of("three.core.js"));
        struct linger at_once = {1, 0};
        put_bytes(s, text, (size_t)n);
        get_bytes(s, text, i % 2 ? 100 : 1);
        setsockopt(s, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(s);
    }
    CHECK(status_of(viewer, "GET", path_of("scene.json"), LOCAL) == 200);
    end();
}

TEST(without_the_token_nothing_is_served) {
    char path[256];
    begin();
    CHECK(status_of(viewer, "GET", "/", LOCAL) == 403);
    CHECK(status_of(viewer, "GET", "/scene.json", LOCAL) == 403);
    CHECK(status_of(viewer, "GET", "/etc/passwd", LOCAL) == 403);
    for (size_t i = 0; i < strlen(token_of(viewer)); i += 8) {
        snprintf(path, sizeof path, "%sscene.json", token_of(viewer));
        path[i] = path[i] == 'g' ? 'h' : 'g'; /* no digit of a token */
        int status = status_of(viewer, "GET", path, LOCAL);
        CHECK(i == 0 ? status != 200 : status == 403); /* at 0 it is no path at all */
    }
    end();
}

TEST(names_and_methods_that_are_not_served) {
    static const char *const names[] = {
        "nothing.js", "stream.jsx", "scene.json0", "%2e%2e", "..%2f..%2fetc%2fpasswd", "index.html%00.js"};
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
    begin();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int status = status_of(viewer, "GET", path_of(names[i]), LOCAL);
        CHECK(status == 404 || status == 403 || status == 0); /* or hung up on */
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        int status = status_of(viewer, methods[i], path_of("scene.json"), LOCAL "Content-Length: 0\r\n");
        CHECK(status == 405 || status == 0);
    }
    int posted = status_of(viewer, "POST", path_of("scene.json"), LOCAL "Content-Length: 4\r\n\r\nbody");
    CHECK(posted == 405 || posted == 0);
    CHECK(status_of(viewer, "GET", path_of("scene.json"), LOCAL) == 200);
    end();
}

TEST(requests_for_other_machines_or_of_other_pages_are_refused) {
    static const struct {
        const char *headers;
        int status;
    } asked[] = {{"Host: localhost\r\n", 200},
                 {"Host: LOCALHOST:1\r\n", 200},
                 {"Host: [::1]:99\r\n", 200},
                 {"Host: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n", 200},
                 {"Host: 127.0.0.1:7\r\nOrigin: http://127.0.0.1:7\r\n", 200},
                 {"Host: evil.example\r\n", 403},
                 {"Host: 127.0.0.1.evil.example\r\n", 403},
                 {"Host: localhostess\r\n", 403},
                 {"Accept: */*\r\n", 403},
                 {"Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n", 403},
                 {"Host: 127.0.0.1:7\r\nOrigin: http://127.0.0.1:8\r\n", 403},
                 {"Host: 127.0.0.1\r\nOrigin: https://127.0.0.1\r\n", 403},
                 {"Host: 127.0.0.1\r\nOrigin: null\r\n", 403}};
    begin();
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int status = status_of(viewer, "GET", path_of("scene.json"), asked[i].headers);
        if (status != asked[i].status) fprintf(stderr, "%d for\n%s", status, asked[i].headers);
        CHECK(status == asked[i].status);
    }
    char far[600] = "Host: 127.0.0.1\r\nOrigin: http://"; /* longer than any of ours */
    memset(far + strlen(far), 'a', 400);
    strcat(far, "\r\n");
    CHECK(status_of(viewer, "GET", path_of("scene.json"), far) == 403);
    end();
}

/* ---- handshake ---------------------------------------------------------------------------------------------- */

TEST(who_may_open_a_socket) {
    char path[256];
    begin();
    CHECK(open_page(viewer, path_of("stream"), STREAM, NULL) == 101);
    CHECK(open_page(viewer, path_of("stream"), STREAM "Origin: http://127.0.0.1:8080\r\n", NULL) == 101);
    CHECK(open_page(viewer, path_of("stream"), STREAM "Origin: http://evil.example\r\n", NULL) != 101);
    CHECK(open_page(viewer, path_of("stream"), "Host: evil.example\r\nSec-WebSocket-Protocol: stiction\r\n",
                    NULL) != 101);
    CHECK(open_page(viewer, path_of("stream"), LOCAL, NULL) != 101); /* no protocol named */
    CHECK(open_page(viewer, path_of("stream"), LOCAL "Sec-WebSocket-Protocol: other\r\n", NULL) != 101);
    CHECK(open_page(viewer, path_of("streams"), STREAM, NULL) != 101);
    CHECK(open_page(viewer, path_of(""), STREAM, NULL) != 101);
    CHECK(open_page(viewer, "/stream", STREAM, NULL) != 101);
    snprintf(path, sizeof path, "%sstream", token_of(viewer));
    path[5] = 'x';
    CHECK(open_page(viewer, path, STREAM, NULL) != 101);
    char far[400];
    memset(far, 'a', sizeof far);
    memcpy(far, path_of(""), strlen(path_of("")));
    far[sizeof far - 1] = 0;
    CHECK(open_page(viewer, far, STREAM, NULL) != 101);
    CHECK(comes_true(nobody_is_there));
    end();
}

TEST(as_many_pages_as_there_is_room_for) {
    int page[MOST];
    begin();
    for (int i = 0; i < MOST; i++) page[i] = page_of(viewer);
    CHECK(comes_true(all_are_there));
    CHECK(open_page(viewer, path_of("stream"), STREAM, NULL) != 101);
    for (int i = 0; i < MOST; i++) close(page[i]);
    CHECK(comes_true(nobody_is_there));
    CHECK(open_page(viewer, path_of("stream"), STREAM, NULL) == 101);
    end();
}

TEST(idle_connections_make_room_for_new_ones) {
    enum { IDLE = 80 };
    int idle[IDLE];
    begin();
    for (int i = 0; i < IDLE; i++) idle[i] = dial(viewer);
    CHECK(status_of(viewer, "GET", path_of("scene.json"), LOCAL) == 200);
    CHECK(hangs_up(idle[0])); /* the oldest */
    struct pollfd last = {idle[IDLE - 1], POLLIN, 0};
    CHECK(poll(&last, 1, 0) == 0); /* the newest waits still */
    for (int i = 0; i < IDLE; i++) close(idle[i]);
    CHECK(status_of(viewer, "GET", path_of("scene.json"), LOCAL) == 200);
    end();
}

/* ---- messages of pages -------------------------------------------------------------------------------------- */

TEST(a_message_that_is_no_command_ends_the_connection) {
    command good = {OP_PAUSE, 1, {0}}, unknown = {OP_COUNT, 0, {0}}, none = {0, 0, {0}}, wild = good;
    uint8_t longer[1000] = {1};
    wild.x[3] = NAN;
    const struct {
        int opcode;
        const void *data;
        size_t size;
    } bad[] = {{1, &good, sizeof good},     {2, &unknown, sizeof unknown},
               {2, &none, sizeof none},     {2, &wild, sizeof wild},
               {2, &good, sizeof good - 1}, {2, longer, sizeof good + 1},
               {2, longer, sizeof longer},  {2, "", 0},
               {3, &good, sizeof good},     {0, &good, sizeof good}};
    begin();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int s = page_of(viewer);
        send_piece(s, bad[i].opcode, true, bad[i].data, bad[i].size);
        bool ended = hangs_up(s);
        if (!ended) fprintf(stderr, "case %zu goes on\n", i);
        CHECK(ended);
        close(s);
    }
    CHECK(comes_true(nobody_is_there) && atomic_load(&viewer->mail.waiting) == 0);
    end();
}

TEST(a_command_in_pieces_arrives) {
    command c = {OP_CONTROL, 0, {0.5}}, got;
    begin();
    int s = page_of(viewer);
    send_piece(s, 2, false, &c, 10);
    send_piece(s, 9, true, "are you there", 13); /* a ping between them */
    send_piece(s, 0, false, (const char *)&c + 10, 30);
    send_piece(s, 0, true, (const char *)&c + 40, sizeof c - 40);
    CHECK(comes_true(a_command_waits));
    CHECK(mailbox_receive(&viewer->mail, &got) && memcmp(&got, &c, sizeof c) == 0);
    close(s);
    end();
}

TEST(a_page_that_goes_lets_go_of_what_it_drags) {
    command got;
    begin();
    for (int released = 0; released < 2; released++) {
        int s = page_of(viewer);
        send_command(s, OP_DRAG, 1, 0);
        if (released) send_command(s, OP_RELEASE, 0, 0);
        CHECK(comes_true(released ? two_commands_wait : a_command_waits));
        close(s);
        CHECK(comes_true(nobody_is_there));
        CHECK(comes_true(two_commands_wait));
        CHECK(mailbox_receive(&viewer->mail, &got) && got.op == OP_DRAG);
        CHECK(mailbox_receive(&viewer->mail, &got) && got.op == OP_RELEASE);
        CHECK(!mailbox_receive(&viewer->mail, &got)); /* once */
    }
    end();
}

TEST(a_page_sees_what_the_world_does) {
    static uint8_t frame[1 << 16];
    uint32_t n = 0;
    begin();
    int s = page_of(viewer);
    CHECK(comes_true(one_is_there));
    send_command(s, OP_CONTROL, 0, 7); /* beyond its range */
    CHECK(comes_true(a_command_waits));
    CHECK(sti_viewer_sync(viewer, world) == STI_OK);
    CHECK(values(world, "ctrl")[0] == 1);
    size_t size = get_message(s, frame, sizeof frame);
    REQUIRE(size > 0);
    const float *body = section(frame, size, "BODY", &n);
    REQUIRE(body && n == 7 * 3);
    CHECK(body[7 + 2] == 1 && body[7 + 3] == 1); /* the ball: z, and the quaternion's w */
    const float *control = section(frame, size, "CTRL", &n);
    CHECK(control && n == 1 && control[0] == 1);
    close(s);
    end();
}

/* ---- life --------------------------------------------------------------------------------------------------- */

TEST(a_port_that_is_taken) {
    sti_viewer_options options = sti_viewer_options_default();
    sti_error error = {0};
    begin();
    options.port = port_of(viewer);
    CHECK(!sti_viewer_create(model, &options, &error) && error.code == STI_FILE);
    CHECK(strstr(error.message, "is not free"));
    CHECK(!sti_viewer_create(model, &options, NULL));
    end();
}

TEST(a_child_of_fork_leaves_the_parents_server_alone) {
    begin();
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        sti_viewer_destroy(viewer);
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(status_of(viewer, "GET", path_of("scene.json"), LOCAL) == 200);
    end();
}

MAIN(CASE(files_come_whole_and_with_their_headers), CASE(a_page_that_leaves_in_the_middle_of_a_file),
     CASE(without_the_token_nothing_is_served), CASE(names_and_methods_that_are_not_served),
     CASE(requests_for_other_machines_or_of_other_pages_are_refused), CASE(who_may_open_a_socket),
     CASE(as_many_pages_as_there_is_room_for), CASE(idle_connections_make_room_for_new_ones),
     CASE(a_message_that_is_no_command_ends_the_connection), CASE(a_command_in_pieces_arrives),
     CASE(a_page_that_goes_lets_go_of_what_it_drags), CASE(a_page_sees_what_the_world_does),
     CASE(a_port_that_is_taken), CASE(a_child_of_fork_leaves_the_parents_server_alone))
