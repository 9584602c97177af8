// The Swift half of Darwin: declarations that C cannot express.
@_exported import CDarwin

public var errno: Int32 {
    get { fatalError("declaration") }
    set { fatalError("declaration") }
}

public var MAP_FAILED: UnsafeMutableRawPointer! { nil }
public let S_IFMT = mode_t(0o170000)
public let S_IFDIR = mode_t(0o040000)
public let S_IFREG = mode_t(0o100000)
public let S_IFLNK = mode_t(0o120000)
public let CLOCK_REALTIME = _CLOCK_REALTIME
public let CLOCK_MONOTONIC = _CLOCK_MONOTONIC
public let CLOCK_UPTIME_RAW = _CLOCK_UPTIME_RAW
public let CLOCK_PROCESS_CPUTIME_ID = _CLOCK_PROCESS_CPUTIME_ID
public let CLOCK_THREAD_CPUTIME_ID = _CLOCK_THREAD_CPUTIME_ID

public func open(_ path: UnsafePointer<CChar>, _ oflag: Int32) -> Int32 { fatalError("declaration") }
public func open(_ path: UnsafePointer<CChar>, _ oflag: Int32, _ mode: mode_t) -> Int32 { fatalError("declaration") }
public func fcntl(_ fd: Int32, _ cmd: Int32) -> Int32 { fatalError("declaration") }
public func fcntl(_ fd: Int32, _ cmd: Int32, _ value: Int32) -> Int32 { fatalError("declaration") }
public func ioctl(_ fd: Int32, _ request: UInt, _ value: UnsafeMutableRawPointer) -> Int32 { fatalError("declaration") }
public let TIOCGWINSZ: UInt = 0x4008_7468
public var SIG_DFL: (@convention(c) (Int32) -> Void)? { nil }
public var SIG_IGN: (@convention(c) (Int32) -> Void)? { nil }
public func exp(_ x: Double) -> Double { fatalError("declaration") }
public func sin(_ x: Double) -> Double { fatalError("declaration") }
public func cos(_ x: Double) -> Double { fatalError("declaration") }
public func pow(_ x: Double, _ y: Double) -> Double { fatalError("declaration") }
public func log2(_ x: Double) -> Double { fatalError("declaration") }
public func log10(_ x: Double) -> Double { fatalError("declaration") }
