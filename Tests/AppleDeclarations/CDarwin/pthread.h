#pragma once
#include "CDarwin.h"

typedef struct _opaque_pthread_t { long identity; } *pthread_t;
typedef struct { long opaque[8]; } pthread_mutex_t;
typedef struct { long opaque[6]; } pthread_cond_t;
typedef struct { long opaque[2]; } pthread_mutexattr_t;
typedef struct { long opaque[2]; } pthread_condattr_t;
typedef struct { long opaque[8]; } pthread_attr_t;
typedef enum qos_class_t : unsigned int { QOS_CLASS_USER_INITIATED = 0x19 } qos_class_t;

int pthread_create(pthread_t _Nullable *_Nonnull, const pthread_attr_t *_Nullable,
                   void *_Nullable (*_Nonnull)(void *_Nonnull), void *_Nullable);
int pthread_join(pthread_t _Nonnull, void *_Nullable *_Nullable);
int pthread_detach(pthread_t _Nonnull);
int pthread_equal(pthread_t _Nullable, pthread_t _Nullable);
pthread_t _Nonnull pthread_self(void);
int pthread_sigmask(int, const sigset_t *_Nullable, sigset_t *_Nullable);
int pthread_set_qos_class_self_np(qos_class_t, int);
int pthread_mutex_init(pthread_mutex_t *_Nonnull, const pthread_mutexattr_t *_Nullable);
int pthread_mutex_destroy(pthread_mutex_t *_Nonnull);
int pthread_mutex_lock(pthread_mutex_t *_Nonnull);
int pthread_mutex_unlock(pthread_mutex_t *_Nonnull);
int pthread_cond_init(pthread_cond_t *_Nonnull, const pthread_condattr_t *_Nullable);
int pthread_cond_destroy(pthread_cond_t *_Nonnull);
int pthread_cond_signal(pthread_cond_t *_Nonnull);
int pthread_cond_broadcast(pthread_cond_t *_Nonnull);
int pthread_cond_wait(pthread_cond_t *_Nonnull, pthread_mutex_t *_Nonnull);
int pthread_cond_timedwait_relative_np(pthread_cond_t *_Nonnull, pthread_mutex_t *_Nonnull, const struct timespec *_Nullable);
int pthread_cond_timedwait(pthread_cond_t *_Nonnull, pthread_mutex_t *_Nonnull, const struct timespec *_Nullable);
