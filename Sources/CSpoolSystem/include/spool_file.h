#pragma once
#include <stddef.h>
#include <stdint.h>

// File calls that Swift can't make by itself: variadic functions, and functions that glibc declares
// only with _GNU_SOURCE. Unless stated otherwise, they return -1 and set errno when they fail, and
// do not retry.

/// open(2) with O_CLOEXEC.
int32_t spool_open(const char *path, int32_t flags, uint32_t permissions);

/// close(2), under a name that Swift's own `close` methods do not hide.
int32_t spool_close(int32_t fd);

/// opendir(3) and closedir(3). The first returns NULL and sets errno when it fails.
void *spool_open_directory(const char *path);
void spool_close_directory(void *directory);

#define SPOOL_NAME_CAPACITY 1024

/// Copies the next name of an open directory, without "." and "..", into a buffer of
/// SPOOL_NAME_CAPACITY bytes. Returns 1 for a name, 0 at the end.
int32_t spool_next_name(void *directory, char *buffer);

/// Frees the file-system blocks inside the range. They read as zeros, and the size stays. Linux
/// also zeroes the partial blocks at the edges; Darwin leaves them unchanged.
int32_t spool_punch_hole(int32_t fd, int64_t offset, int64_t count);

/// Reads only bytes that are in the page cache. Fails with EAGAIN when the first page is not, and
/// with EOPNOTSUPP when the file system can't answer. Darwin has no such call: fails with ENOTSUP.
int64_t spool_read_resident(int32_t fd, void *buffer, size_t count, int64_t offset);

/// Returns the number of pages of the range that are in the page cache: cachestat(2), Linux 6.5.
/// Fails with ENOSYS when there is no such call, and with EPERM for a file of another user.
int64_t spool_resident_pages(int32_t fd, int64_t offset, int64_t count);

/// Asks the kernel to start reading the range into the page cache.
int32_t spool_advise_will_need(int32_t fd, int64_t offset, int64_t count);

/// Asks the kernel to read no more of the file than each call needs: POSIX_FADV_RANDOM. Does nothing
/// on Darwin.
int32_t spool_advise_random(int32_t fd);

/// Asks the kernel to start writing the page cache to the disk: sync_file_range with
/// SYNC_FILE_RANGE_WRITE, which guarantees nothing. Does nothing on Darwin.
int32_t spool_start_writeback(int32_t fd);

/// Makes the written data durable: fdatasync; on Darwin F_BARRIERFSYNC, or F_FULLFSYNC when `full`
/// is not 0.
int32_t spool_synchronize(int32_t fd, int32_t full);

/// Creates `path` as a clone of an open file, which shares its blocks until one of the two changes.
/// Returns the descriptor of the clone. A failed call leaves nothing at `path`: ENOTSUP,
/// EOPNOTSUPP, EXDEV or EINVAL when the file system does not support clones.
int32_t spool_clone(int32_t source, const char *path, uint32_t permissions);

/// Copies at most `count` bytes at `offset` of one file to the same offset of another inside the
/// kernel. Returns 0 at the end of the source. Darwin has no such call: fails with ENOTSUP.
int64_t spool_copy_range(int32_t source, int32_t target, int64_t offset, size_t count);

/// Renames a file unless the new name exists: EEXIST.
int32_t spool_rename_exclusive(const char *from, const char *to);

/// flock(2): `kind` is 0 to unlock, 1 for shared, 2 for exclusive. Never waits (EWOULDBLOCK).
int32_t spool_flock(int32_t fd, int32_t kind);

/// Writes the text of an errno, always terminated by 0.
void spool_error_text(int32_t code, char *buffer, size_t capacity);
