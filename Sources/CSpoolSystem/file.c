#define _GNU_SOURCE
#include "spool_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __APPLE__
#include <sys/clonefile.h>
#else
#include <linux/fs.h>
#endif

int32_t spool_open(const char *path, int32_t flags, uint32_t permissions) {
    return open(path, flags | O_CLOEXEC, (mode_t)permissions);
}

int32_t spool_close(int32_t fd) { return close(fd); }

void *spool_open_directory(const char *path) { return opendir(path); }

void spool_close_directory(void *directory) { closedir(directory); }

// readdir returns NULL at the end and on failure; only errno distinguishes the two.
int32_t spool_next_name(void *directory, char *buffer) {
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (entry == NULL) return errno == 0 ? 0 : -1;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(buffer, SPOOL_NAME_CAPACITY, "%s", entry->d_name);
        return 1;
    }
}

int32_t spool_flock(int32_t fd, int32_t kind) {
    int operation = kind == 0 ? LOCK_UN : kind == 1 ? LOCK_SH : LOCK_EX;
    return flock(fd, operation | LOCK_NB);
}

// For file systems whose rename always replaces: link(2) creates a second name and never replaces
// one.
static int32_t rename_by_link(const char *from, const char *to) {
    if (link(from, to) != 0) return -1;
    unlink(from);
    return 0;
}

#ifdef __APPLE__

int32_t spool_clone(int32_t source, const char *path, uint32_t permissions) {
    if (fclonefileat(source, AT_FDCWD, path, 0) != 0) return -1;
    // A clone has the permissions of its source.
    int32_t clone = chmod(path, (mode_t)permissions) == 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (clone == -1) {
        int code = errno;
        unlink(path);
        errno = code;
    }
    return clone;
}

int64_t spool_copy_range(int32_t source, int32_t target, int64_t offset, size_t count) {
    (void)source, (void)target, (void)offset, (void)count;
    errno = ENOTSUP;
    return -1;
}

int32_t spool_rename_exclusive(const char *from, const char *to) {
    if (renamex_np(from, to, RENAME_EXCL) == 0) return 0;
    return errno == ENOTSUP || errno == EINVAL ? rename_by_link(from, to) : -1;
}

// F_PUNCHHOLE requires offset and length in whole blocks, so the range is reduced to them.
int32_t spool_punch_hole(int32_t fd, int64_t offset, int64_t count) {
    const int64_t block = 4096;
    int64_t lower = (offset + block - 1) / block * block;
    int64_t upper = (offset + count) / block * block;
    if (lower >= upper) return 0;
    fpunchhole_t hole = {.fp_flags = 0, .reserved = 0, .fp_offset = lower, .fp_length = upper - lower};
    return fcntl(fd, F_PUNCHHOLE, &hole);
}

int64_t spool_read_resident(int32_t fd, void *buffer, size_t count, int64_t offset) {
    (void)fd, (void)buffer, (void)count, (void)offset;
    errno = ENOTSUP;
    return -1;
}

int64_t spool_resident_pages(int32_t fd, int64_t offset, int64_t count) {
    (void)fd, (void)offset, (void)count;
    errno = ENOSYS;
    return -1;
}

int32_t spool_advise_will_need(int32_t fd, int64_t offset, int64_t count) {
    struct radvisory advice = {.ra_offset = offset, .ra_count = count > INT32_MAX ? INT32_MAX : (int)count};
    return fcntl(fd, F_RDADVISE, &advice);
}

int32_t spool_advise_random(int32_t fd) {
    (void)fd;
    return 0;
}

int32_t spool_start_writeback(int32_t fd) {
    (void)fd;
    return 0;
}

// Some volumes do not support the barrier (network mounts); fsync replaces it there.
int32_t spool_synchronize(int32_t fd, int32_t full) {
    int result = fcntl(fd, full ? F_FULLFSYNC : F_BARRIERFSYNC);
    if (result == -1 && (errno == ENOTSUP || errno == EINVAL || errno == ENOTTY)) return fsync(fd);
    return result;
}

void spool_error_text(int32_t code, char *buffer, size_t capacity) {
    if (strerror_r(code, buffer, capacity) != 0) snprintf(buffer, capacity, "error %d", code);
}

#else

int32_t spool_clone(int32_t source, const char *path, uint32_t permissions) {
    int32_t clone = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)permissions);
    if (clone == -1) return -1;
    if (ioctl(clone, FICLONE, source) == 0) return clone;
    int code = errno;
    close(clone);
    unlink(path);
    errno = code;
    return -1;
}

int64_t spool_copy_range(int32_t source, int32_t target, int64_t offset, size_t count) {
    off_t from = offset, to = offset;
    return copy_file_range(source, &from, target, &to, count, 0);
}

int32_t spool_rename_exclusive(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    return errno == EINVAL || errno == ENOSYS ? rename_by_link(from, to) : -1;
}

int32_t spool_punch_hole(int32_t fd, int64_t offset, int64_t count) {
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, count);
}

int64_t spool_read_resident(int32_t fd, void *buffer, size_t count, int64_t offset) {
    struct iovec vector = {.iov_base = buffer, .iov_len = count};
    return preadv2(fd, &vector, 1, offset, RWF_NOWAIT);
}

// The C library does not declare it yet. The number is the same on every architecture.
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

int64_t spool_resident_pages(int32_t fd, int64_t offset, int64_t count) {
    struct { uint64_t offset, count; } range = {.offset = (uint64_t)offset, .count = (uint64_t)count};
    struct { uint64_t cached, dirty, under_write, evicted, recently_evicted; } found = {0};
    if (syscall(SYS_cachestat, fd, &range, &found, 0) != 0) return -1;
    return (int64_t)found.cached;
}

int32_t spool_advise_will_need(int32_t fd, int64_t offset, int64_t count) {
    int code = posix_fadvise(fd, offset, count, POSIX_FADV_WILLNEED);
    if (code == 0) return 0;
    errno = code;
    return -1;
}

int32_t spool_advise_random(int32_t fd) {
    int code = posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    if (code == 0) return 0;
    errno = code;
    return -1;
}

int32_t spool_start_writeback(int32_t fd) { return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }

int32_t spool_synchronize(int32_t fd, int32_t full) {
    (void)full;
    return fdatasync(fd);
}

void spool_error_text(int32_t code, char *buffer, size_t capacity) {
    char local[128];
    snprintf(buffer, capacity, "%s", strerror_r(code, local, sizeof local));
}

#endif
