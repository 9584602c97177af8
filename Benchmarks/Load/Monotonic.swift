import SpoolLibc

/// The time of the monotonic clock in nanoseconds.
func nanoseconds() -> UInt64 {
    nanoseconds(of: CLOCK_MONOTONIC)
}

/// The CPU time of this process in nanoseconds.
func ownCPUNanoseconds() -> UInt64 {
    nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)
}

/// The time of a clock in nanoseconds.
func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Sleeps while the programs under test work.
func pause(milliseconds: UInt32) {
    usleep(milliseconds * 1000)
}
