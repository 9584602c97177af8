// The C declarations of Darwin that Spool uses, for a type-check on Linux. The types and the values are those of Darwin.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef long ssize_t;
typedef int64_t off_t;
typedef int32_t pid_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef uint16_t mode_t;
typedef int32_t dev_t;
typedef uint16_t nlink_t;
typedef uint64_t ino_t;
typedef int64_t blkcnt_t;
typedef int32_t blksize_t;
typedef long time_t;
typedef int32_t suseconds_t;
typedef uint32_t socklen_t;
typedef uint8_t sa_family_t;
typedef uint16_t in_port_t;
typedef uint32_t in_addr_t;
typedef uint32_t sigset_t;
typedef uint64_t rlim_t;
typedef uint32_t fsblkcnt_t;
typedef uint32_t fsfilcnt_t;
typedef uint32_t nfds_t;

struct timespec { time_t tv_sec; long tv_nsec; };
struct timeval { time_t tv_sec; suseconds_t tv_usec; };
struct tm { int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst; long tm_gmtoff; char *tm_zone; };

// Errors
#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define E2BIG 7
#define EBADF 9
#define ECHILD 10
#define ENOMEM 12
#define EACCES 13
#define EBUSY 16
#define EEXIST 17
#define ENOLCK 77
#define EXDEV 18
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENFILE 23
#define EMFILE 24
#define EFBIG 27
#define ENOSPC 28
#define EROFS 30
#define EPIPE 32
#define ERANGE 34
#define EAGAIN 35
#define EWOULDBLOCK EAGAIN
#define EINPROGRESS 36
#define ENOTSOCK 38
#define ENOTSUP 45
#define EAFNOSUPPORT 47
#define EADDRINUSE 48
#define EADDRNOTAVAIL 49
#define ENETDOWN 50
#define ENETUNREACH 51
#define ECONNABORTED 53
#define ECONNRESET 54
#define ENOBUFS 55
#define ENOTCONN 57
#define ETIMEDOUT 60
#define ECONNREFUSED 61
#define ELOOP 62
#define ENAMETOOLONG 63
#define EHOSTUNREACH 65
#define ENOTEMPTY 66
#define EDQUOT 69
#define ESTALE 70
#define ENOSYS 78
#define ECANCELED 89
#define EOPNOTSUPP 102
int *_Null_unspecified __error(void);
char *_Null_unspecified strerror(int);

// Files
#define O_RDONLY 0x0000
#define O_WRONLY 0x0001
#define O_RDWR 0x0002
#define O_NONBLOCK 0x0004
#define O_APPEND 0x0008
#define O_NOFOLLOW 0x0100
#define O_CREAT 0x0200
#define O_TRUNC 0x0400
#define O_EXCL 0x0800
#define O_DIRECTORY 0x00100000
#define O_CLOEXEC 0x01000000
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define FD_CLOEXEC 1
#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
#define STDIN_FILENO 0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#define PATH_MAX 1024
#define OPEN_MAX 10240

struct stat {
    dev_t st_dev;
    mode_t st_mode;
    nlink_t st_nlink;
    ino_t st_ino;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec;
    struct timespec st_mtimespec;
    struct timespec st_ctimespec;
    struct timespec st_birthtimespec;
    off_t st_size;
    blkcnt_t st_blocks;
    blksize_t st_blksize;
    uint32_t st_flags;
    uint32_t st_gen;
};
struct statvfs {
    unsigned long f_bsize, f_frsize;
    fsblkcnt_t f_blocks, f_bfree, f_bavail;
    fsfilcnt_t f_files, f_ffree, f_favail;
    unsigned long f_fsid, f_flag, f_namemax;
};
int stat(const char *_Null_unspecified, struct stat *_Null_unspecified);
int lstat(const char *_Null_unspecified, struct stat *_Null_unspecified);
int fstat(int, struct stat *_Null_unspecified);
int statvfs(const char *_Null_unspecified, struct statvfs *_Null_unspecified);
int fstatvfs(int, struct statvfs *_Null_unspecified);
int close(int);
ssize_t read(int, void *_Null_unspecified, size_t);
ssize_t write(int, const void *_Null_unspecified, size_t);
ssize_t pread(int, void *_Null_unspecified, size_t, off_t);
ssize_t pwrite(int, const void *_Null_unspecified, size_t, off_t);
off_t lseek(int, off_t, int);
int ftruncate(int, off_t);
int fsync(int);
int flock(int, int);
int unlink(const char *_Null_unspecified);
int rename(const char *_Null_unspecified, const char *_Null_unspecified);
int link(const char *_Null_unspecified, const char *_Null_unspecified);
int mkdir(const char *_Null_unspecified, mode_t);
int rmdir(const char *_Null_unspecified);
int chmod(const char *_Null_unspecified, mode_t);
int fchmod(int, mode_t);
int access(const char *_Null_unspecified, int);
int isatty(int);
int dup(int);
int dup2(int, int);
int sched_yield(void);
int pipe(int *_Null_unspecified);
char *_Null_unspecified realpath(const char *_Null_unspecified, char *_Null_unspecified);
char *_Null_unspecified getcwd(char *_Null_unspecified, size_t);
void free(void *_Null_unspecified);
#define R_OK 4
#define W_OK 2
#define X_OK 1
#define F_OK 0

// Memory
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 0x0002
#define MAP_ANON 0x1000
void *_Null_unspecified mmap(void *_Null_unspecified, size_t, int, int, int, off_t);
int munmap(void *_Null_unspecified, size_t);
int memset_s(void *_Null_unspecified, size_t, int, size_t);
void *_Null_unspecified memset(void *_Null_unspecified, int, size_t);
void *_Null_unspecified memcpy(void *_Null_unspecified, const void *_Null_unspecified, size_t);
int memcmp(const void *_Null_unspecified, const void *_Null_unspecified, size_t);
void *_Null_unspecified memchr(const void *_Null_unspecified, int, size_t);
void *_Null_unspecified memmem(const void *_Null_unspecified, size_t, const void *_Null_unspecified, size_t);
size_t strlen(const char *_Null_unspecified);

// Sockets
#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 30
#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOL_SOCKET 0xffff
#define SO_REUSEADDR 0x0004
#define SO_KEEPALIVE 0x0008
#define SO_LINGER 0x0080
#define SO_SNDBUF 0x1001
#define SO_RCVBUF 0x1002
#define SO_SNDTIMEO 0x1005
#define SO_RCVTIMEO 0x1006
#define SO_ERROR 0x1007
#define SO_NOSIGPIPE 0x1022
#define IPPROTO_TCP 6
#define IPPROTO_IPV6 41
#define IPV6_V6ONLY 27
#define TCP_NODELAY 0x01
#define SHUT_RD 0
#define SHUT_WR 1
#define SHUT_RDWR 2
#define SOMAXCONN 128
#define MSG_PEEK 0x2
#define MSG_DONTWAIT 0x80
#define MSG_NOSIGNAL 0x80000
#define IFF_UP 0x1
#define IFF_POINTOPOINT 0x10
#define INET_ADDRSTRLEN 16
#define INET6_ADDRSTRLEN 46

struct in_addr { in_addr_t s_addr; };
struct in6_addr {
    union { uint8_t __u6_addr8[16]; uint16_t __u6_addr16[8]; uint32_t __u6_addr32[4]; } __u6_addr;
};
struct sockaddr { uint8_t sa_len; sa_family_t sa_family; char sa_data[14]; };
struct sockaddr_in { uint8_t sin_len; sa_family_t sin_family; in_port_t sin_port; struct in_addr sin_addr; char sin_zero[8]; };
struct sockaddr_in6 {
    uint8_t sin6_len; sa_family_t sin6_family; in_port_t sin6_port; uint32_t sin6_flowinfo; struct in6_addr sin6_addr;
    uint32_t sin6_scope_id;
};
struct sockaddr_un { uint8_t sun_len; sa_family_t sun_family; char sun_path[104]; };
struct sockaddr_storage { uint8_t ss_len; sa_family_t ss_family; char __ss_pad1[6]; int64_t __ss_align; char __ss_pad2[112]; };
struct linger { int l_onoff; int l_linger; };
struct ifaddrs {
    struct ifaddrs *_Null_unspecified ifa_next;
    char *_Null_unspecified ifa_name;
    unsigned int ifa_flags;
    struct sockaddr *_Null_unspecified ifa_addr;
    struct sockaddr *_Null_unspecified ifa_netmask;
    struct sockaddr *_Null_unspecified ifa_dstaddr;
    void *_Null_unspecified ifa_data;
};
struct pollfd { int fd; short events; short revents; };
struct sf_hdtr;
int socket(int, int, int);
int socketpair(int, int, int, int *_Null_unspecified);
int bind(int, const struct sockaddr *_Null_unspecified, socklen_t);
int listen(int, int);
int accept(int, struct sockaddr *_Null_unspecified, socklen_t *_Null_unspecified);
int connect(int, const struct sockaddr *_Null_unspecified, socklen_t);
ssize_t sendto(
    int, const void *_Null_unspecified, size_t, int, const struct sockaddr *_Null_unspecified, socklen_t);
int shutdown(int, int);
ssize_t send(int, const void *_Null_unspecified, size_t, int);
ssize_t recv(int, void *_Null_unspecified, size_t, int);
int setsockopt(int, int, int, const void *_Null_unspecified, socklen_t);
int getsockopt(int, int, int, void *_Null_unspecified, socklen_t *_Null_unspecified);
int getsockname(int, struct sockaddr *_Null_unspecified, socklen_t *_Null_unspecified);
int getpeername(int, struct sockaddr *_Null_unspecified, socklen_t *_Null_unspecified);
int sendfile(int, int, off_t, off_t *_Null_unspecified, struct sf_hdtr *_Null_unspecified, int);
const char *_Null_unspecified inet_ntop(int, const void *_Null_unspecified, char *_Null_unspecified, socklen_t);
int inet_pton(int, const char *_Null_unspecified, void *_Null_unspecified);
int getifaddrs(struct ifaddrs *_Null_unspecified *_Null_unspecified);
void freeifaddrs(struct ifaddrs *_Null_unspecified);
int poll(struct pollfd *_Null_unspecified, nfds_t, int);

// kqueue
struct kevent { uintptr_t ident; int16_t filter; uint16_t flags; uint32_t fflags; intptr_t data; void *_Null_unspecified udata; };
int kqueue(void);
int kevent(int, const struct kevent *_Null_unspecified, int, struct kevent *_Null_unspecified, int, const struct timespec *_Null_unspecified);
#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EVFILT_USER (-10)
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_CLEAR 0x0020
#define EV_ERROR 0x4000
#define EV_EOF 0x8000
#define NOTE_TRIGGER 0x01000000

// Processes, signals and limits
#define SIGHUP 1
#define SIGINT 2
#define SIGKILL 9
#define SIGPIPE 13
#define SIGTERM 15
#define SIG_BLOCK 1
#define SIG_UNBLOCK 2
#define SIG_SETMASK 3
#define SA_RESTART 0x0002
#define RLIMIT_NOFILE 8
#define _SC_PAGESIZE 29
#define _SC_NPROCESSORS_ONLN 58
#define _SC_PHYS_PAGES 200
#define CLOCKS_PER_SEC 1000000
typedef enum { _CLOCK_REALTIME = 0, _CLOCK_MONOTONIC = 6, _CLOCK_UPTIME_RAW = 8, _CLOCK_PROCESS_CPUTIME_ID = 12, _CLOCK_THREAD_CPUTIME_ID = 16 } clockid_t;
struct rlimit { rlim_t rlim_cur; rlim_t rlim_max; };
union __sigaction_u { void (*_Null_unspecified __sa_handler)(int); void (*_Null_unspecified __sa_sigaction)(int, void *_Null_unspecified, void *_Null_unspecified); };
struct sigaction { union __sigaction_u __sigaction_u; sigset_t sa_mask; int sa_flags; };
int sigaction(int, const struct sigaction *_Null_unspecified, struct sigaction *_Null_unspecified);
int sigemptyset(sigset_t *_Null_unspecified);
int sigsuspend(const sigset_t *_Null_unspecified);
int sigaddset(sigset_t *_Null_unspecified, int);
int kill(pid_t, int);
int raise(int);
pid_t getpid(void);
pid_t getppid(void);
pid_t waitpid(pid_t, int *_Null_unspecified, int);
uid_t getuid(void);
uid_t geteuid(void);
int getrlimit(int, struct rlimit *_Null_unspecified);
int setrlimit(int, const struct rlimit *_Null_unspecified);
long sysconf(int);
int sysctlbyname(const char *_Null_unspecified, void *_Null_unspecified, size_t *_Null_unspecified, void *_Null_unspecified, size_t);
int clock_gettime(clockid_t, struct timespec *_Null_unspecified);
time_t time(time_t *_Null_unspecified);
struct tm *_Null_unspecified gmtime_r(const time_t *_Null_unspecified, struct tm *_Null_unspecified);
struct tm *_Null_unspecified localtime_r(const time_t *_Null_unspecified, struct tm *_Null_unspecified);
time_t timegm(struct tm *_Null_unspecified);
unsigned int sleep(unsigned int);
int usleep(uint32_t);
char *_Null_unspecified getenv(const char *_Null_unspecified);
int setenv(const char *_Null_unspecified, const char *_Null_unspecified, int);
int unsetenv(const char *_Null_unspecified);
void exit(int) __attribute__((noreturn));
void _exit(int) __attribute__((noreturn));
void abort(void) __attribute__((noreturn));
uint32_t arc4random(void);
uint32_t arc4random_uniform(uint32_t);
void arc4random_buf(void *_Null_unspecified, size_t);
int gethostname(char *_Null_unspecified, size_t);

// Programs
typedef void *_Null_unspecified posix_spawnattr_t;
typedef void *_Null_unspecified posix_spawn_file_actions_t;
struct winsize { unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel; };
typedef unsigned long tcflag_t;
typedef unsigned char cc_t;
typedef unsigned long speed_t;
#define NCCS 20
struct termios {
    tcflag_t c_iflag, c_oflag, c_cflag, c_lflag;
    cc_t c_cc[NCCS];
    speed_t c_ispeed, c_ospeed;
};
#define ECHO 0x00000008
#define ICANON 0x00000100
#define VSUSP 10
#define TCSANOW 0
#define TCSADRAIN 1
int tcgetattr(int, struct termios *);
int tcsetattr(int, int, const struct termios *);
#define POSIX_SPAWN_SETSIGDEF 0x0004
#define F_DUPFD_CLOEXEC 67
#define POLLIN 0x0001
#define POLLOUT 0x0004
#define WNOHANG 1
char *_Null_unspecified *_Null_unspecified *_Null_unspecified _NSGetEnviron(void);
char *_Null_unspecified strdup(const char *_Null_unspecified);
char *_Null_unspecified mkdtemp(char *_Null_unspecified);
int mkstemp(char *_Null_unspecified);
int posix_spawnattr_init(posix_spawnattr_t *_Null_unspecified);
int posix_spawnattr_destroy(posix_spawnattr_t *_Null_unspecified);
int posix_spawnattr_setsigdefault(posix_spawnattr_t *_Null_unspecified, const sigset_t *_Null_unspecified);
int posix_spawnattr_setflags(posix_spawnattr_t *_Null_unspecified, short);
int posix_spawnp(pid_t *_Null_unspecified, const char *_Null_unspecified, const posix_spawn_file_actions_t *_Null_unspecified,
                 const posix_spawnattr_t *_Null_unspecified, char *_Null_unspecified const *_Null_unspecified,
                 char *_Null_unspecified const *_Null_unspecified);
void (*_Null_unspecified signal(int, void (*_Null_unspecified)(int)))(int);
