import Glibc

/// Nanoseconds of a clock that only goes forward.
func nanoseconds() -> UInt64 {
    nanoseconds(of: CLOCK_MONOTONIC)
}

/// Nanoseconds of CPU time that this process has used.
func ownCPUNanoseconds() -> UInt64 {
    nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)
}

/// What a clock says, in nanoseconds.
func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Lets the programs under test work for a while.
func pause(milliseconds: UInt32) {
    usleep(milliseconds * 1000)
}
