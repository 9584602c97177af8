// The C library of the system, under one name. Files import this module in place of a choice
// between the systems' own.

#if canImport(Darwin)
@_exported public import Darwin
#else
@_exported public import Glibc
#endif
