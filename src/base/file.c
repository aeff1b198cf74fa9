/* SPDX-License-Identifier: Apache-2.0 */
/* Files are opened for reading only if they are regular, without waiting, and replaced as a whole: the new
   content is written beside the old one and takes its name at the end. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

const char *sti__file_reason(int number) {
    switch (number) {
    case ENOENT:
    case ENOTDIR: return "no such file";
    case EACCES:
    case EPERM: return "permission denied";
    case EROFS: return "the disk can only be read";
    case ELOOP: return "too many symbolic links";
    case ENAMETOOLONG: return "the path is too long";
    case EISDIR: return "it is a folder";
    case ENOSPC:
    case EDQUOT: return "is the disk full?";
    case EFBIG: return "it would be larger than files may be (ulimit -f); or is the disk full?";
    default: return "input or output error";
    }
}

int sti__file_open(const char *path, uint64_t *size, const char **why) {
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe must not block */
    *why = sti__file_reason(errno);
    if (file < 0) return -1;
    if (fstat(file, &info) != 0) *why = sti__file_reason(errno);
    else if (S_ISDIR(info.st_mode)) *why = "it is a folder, not a regular file";
    else if (!S_ISREG(info.st_mode)) *why = "it is not a regular file";
    else {
        if (size) *size = (uint64_t)info.st_size;
        return file;
    }
    close(file);
    return -1;
}

const char *sti__file_fill(int file, void *data, size_t size) {
    char *to = data;
    while (size > 0) {
        ssize_t n = read(file, to, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? sti__file_reason(errno) : "it became shorter";
        to += n;
        size -= (size_t)n;
    }
    return NULL;
}

bool sti__file_fits(uint64_t size) {
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || size <= most.rlim_cur;
}

/* ---- replacing ------------------------------------------------------------------------------------ */

/* A new file beside `target`; its name goes to `name`. */
static int open_beside(const char *target, char name[PATH_MAX]) {
    for (int i = 0; i < 100; i++) {
        int n = snprintf(name, PATH_MAX, "%s.%ld-%d.part", target, (long)getpid(), i);
        if (n < 0 || n >= PATH_MAX) return errno = ENAMETOOLONG, -1;
        int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

/* 0, or the number of an error. */
static int write_all(int file, const char *data, size_t size) {
    while (size > 0) {
        ssize_t n = write(file, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : ENOSPC;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Why what is there now may not be replaced; 0 if it may, or if there is nothing. */
static int check_target(const char *target, mode_t *mode) {
    struct stat info;
    *mode = 0;
    if (stat(target, &info) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(info.st_mode)) return S_ISDIR(info.st_mode) ? EISDIR : ENXIO;
    *mode = info.st_mode & 07777;
    return access(target, W_OK) == 0 ? 0 : errno;
}

static int replace(const char *target, const void *data, size_t size) {
    char name[PATH_MAX];
    mode_t mode;
    int bad = check_target(target, &mode);
    if (bad) return bad;
    if (!sti__file_fits(size)) return EFBIG;
    int file = open_beside(target, name);
    if (file < 0) return errno;
    bad = write_all(file, data, size);
    if (!bad && mode && fchmod(file, mode) != 0) bad = errno;
    if (close(file) != 0 && !bad) bad = errno;
    if (!bad && rename(name, target) != 0) bad = errno;
    if (bad) unlink(name);
    return bad;
}

sti_status sti__file_replace(const char *path, const void *data, size_t size, sti_error *error) {
    char real[PATH_MAX];
    int bad = replace(realpath(path, real) ? real : path, data, size); /* a link stays one */
    if (!bad) return STI_OK;
    return sti__fail_at(error, (sti__place){.file = path}, STI_FILE, "cannot be written: %s",
                        bad == ENXIO    ? "it is not a regular file"
                        : bad == ENOENT ? "there is no such folder"
                                        : sti__file_reason(bad));
}
