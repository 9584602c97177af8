#pragma once
#include <curl/curl.h>

// Swift can't call C functions with a variable number of arguments, so this file has one function
// for each kind of argument. The functions are typed: an option that requires a `long` can't get a
// pointer.

static inline CURLcode spool_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode spool_curl_set_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode spool_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode spool_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode spool_curl_set_callback(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode spool_curl_set_request_callback(CURL *handle, curl_prereq_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode spool_curl_set_open_socket(CURL *handle, curl_opensocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode spool_curl_set_close_socket(CURL *handle, curl_closesocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, value);
}

static inline CURLcode spool_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode spool_curl_set_read(CURL *handle, curl_read_callback value) {
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, value);
}

static inline CURLcode spool_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode spool_curl_get_size(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

// The socket of a finished transfer's connection, if the connection is kept open.
static inline CURLcode spool_curl_get_socket(CURL *handle, curl_socket_t *value) {
    return curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, value);
}

static inline CURLMcode spool_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLSHcode spool_curl_share_tls_sessions(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

static inline void spool_curl_multi_set_socket_callback(CURLM *multi, curl_socket_callback value, void *context) {
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline void spool_curl_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback value, void *context) {
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

// The result of a DONE message of `curl_multi_info_read`. Swift can't access the union's member by
// name here.
static inline CURLcode spool_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}

// Ends a cancelled transfer at once instead of waiting for its name lookup (libcurl 7.87 and later;
// the thread of the lookup frees its resources itself).
static inline CURLcode spool_curl_set_quick_exit(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075700
    return curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
#else
    (void)handle;
    return CURLE_OK;
#endif
}

// Signs the request (AWS Signature Version 4). libcurl 7.88 is the first that signs all fields of a
// request and takes the hash of the body from `x-amz-content-sha256`.
static inline CURLcode spool_curl_set_signature(CURL *handle, const char *scheme) {
#if LIBCURL_VERSION_NUM >= 0x075800
    return curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, scheme);
#else
    (void)handle;
    (void)scheme;
    return CURLE_UNKNOWN_OPTION;
#endif
}

// Answers a Digest challenge (RFC 7616) with the user information of the URL.
static inline CURLcode spool_curl_set_digest(CURL *handle) {
    return curl_easy_setopt(handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_DIGEST);
}

// Allows http and https only.
static inline CURLcode spool_curl_set_web_only(CURL *handle) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    return curl_easy_setopt(handle, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

// The results of the callback for a request's body that pause and end the transfer.
static inline size_t spool_curl_read_pause(void) { return CURL_READFUNC_PAUSE; }
static inline size_t spool_curl_read_abort(void) { return CURL_READFUNC_ABORT; }

// The result of a body callback that pauses the transfer.
static inline size_t spool_curl_pause(void) { return CURL_WRITEFUNC_PAUSE; }
