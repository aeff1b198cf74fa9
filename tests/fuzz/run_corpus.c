/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without libFuzzer. usage: corpus_X FOLDER_OR_FILE... runs every file once: what was found stays found.
   corpus_X --random SECONDS SEED FILE... runs mutants of these files, and leaves the one at hand in ./mutant, for machines
   and sanitizers that libFuzzer does not have. An input that takes more than a minute of the processor is a failure too. */
#include "target.h"
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#pragma weak LLVMFuzzerCustomMutator
enum { ROOM = 1 << 20, MUTANT = 4000, PATIENCE = 60 }; /* bytes, bytes, s */
static uint8_t buffer[ROOM];

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    (void)max_size;
    if (size) data[(size_t)rand() % size] = (uint8_t)rand();
    return size;
}

static size_t read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(buffer, 1, ROOM, file) : 0;
    if (file) fclose(file);
    return size;
}

/* So many seconds of this process's time from now on it ends; 0: it does not. */
static void set_alarm(int seconds) {
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_PROF, &timer, NULL);
}

/* In a block of its true size, so that a sanitizer sees what is read past it. */
static void run_buffer(size_t size) {
    uint8_t *data = malloc(size ? size : 1);
    if (!data) abort();
    memcpy(data, buffer, size);
    set_alarm(PATIENCE);
    LLVMFuzzerTestOneInput(data, size);
    set_alarm(0);
    free(data);
}

static int run_file(const char *path) {
    printf("%s\n", path);
    fflush(stdout);
    run_buffer(read_file(path));
    return 1;
}

static void keep_mutant(size_t size) {
    FILE *file = fopen("mutant", "wb");
    if (!file) return;
    fwrite(buffer, 1, size, file);
    fclose(file);
}

static int run_mutants(double seconds, unsigned seed, char **path, int npath) {
    time_t end = time(NULL) + (time_t)seconds;
    int done = 0;
    srand(seed);
    while (npath > 0 && time(NULL) < end) {
        size_t size = read_file(path[rand() % npath]);
        for (int k = rand() % 12; k >= 0 && size <= MUTANT; k--)
            size = LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(buffer, size, MUTANT, (unsigned)rand())
                                           : LLVMFuzzerMutate(buffer, size, MUTANT);
        keep_mutant(size);
        run_buffer(size);
        done++;
    }
    return done;
}

static int run_folder(const char *path) {
    struct dirent **list;
    char name[4096];
    int count = scandir(path, &list, NULL, alphasort), done = 0;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s/%s", path, list[i]->d_name);
        if (list[i]->d_name[0] != '.') done += run_file(name);
        free(list[i]);
    }
    if (count >= 0) free(list);
    return done;
}

int main(int argc, char **argv) {
    int done = 0;
    if (argc > 3 && strcmp(argv[1], "--random") == 0) {
        done = run_mutants(atof(argv[2]), (unsigned)atoi(argv[3]), argv + 4, argc - 4);
        argc = 1;
    }
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0)
            done += S_ISDIR(info.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
    }
    printf("%d files\n", done);
    return done == 0;
}
