#if os(Linux)
private import CCurl
package import SpoolSystem

/// A transport over libcurl: one event loop, one multi handle, one easy handle for each transfer.
///
/// Back-pressure is exact over HTTP/1.1, because a paused transfer stops reading its socket. A
/// cancelled transfer is removed from the multi handle at once, even during the name look-up.
/// Connections are kept and reused; libcurl itself replaces a kept one that was dead before it
/// answered.
///
/// Receivers are called on the loop. A server may share the loop, so that bytes go from origin to
/// client without waking a thread.
package final class CurlTransport: Transport {
    private let loop: CurlLoop
    private let options: CurlTransportOptions

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - options: The bounds and settings of libcurl.
    ///   - time: The clock of the first-byte, head and stall timeouts, or nil for the monotonic
    ///     clock of the system. The connect timeout is libcurl's own and runs on real time.
    ///   - thread: The loop to run on, or nil for a thread of its own.
    package init(options: CurlTransportOptions = CurlTransportOptions(), time: (any TimeSource)? = nil, on thread: LoopThread? = nil) {
        self.options = options
        loop = CurlLoop(options: options, time: time, thread: thread ?? Self.ownThread())
    }

    private static func ownThread() -> LoopThread {
        do throws(SystemError) { return try LoopThread(name: "spool-origin") } catch {
            preconditionFailure("no descriptor is left for the transport's thread: \(error)")
        }
    }

    deinit { loop.close() }

    /// The most bytes that one request should ask for: nil over HTTP/1.1.
    package var windowBytes: Int64? {
        switch options.version {
        case .http1: nil
        case .http2: CurlTransportOptions.http2WindowBytes
        }
    }

    /// The bytes of all transfers that are over, by the kernel's count over HTTP/1.1.
    package var receivedBytes: Int64? { loop.receivedBytes }

    /// Starts a request. The receiver is called on the loop.
    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = CurlTransfer(request: request, receiver: receiver, loop: loop)
        if !loop.accept({ [loop] in loop.begin(transfer) }) {
            _ = SystemThread(name: "spool-origin") { receiver.finished(.cancelled) }
        }
        return transfer
    }

    /// Ends every transfer with `.cancelled`, closes the connections, and waits until that is done.
    /// A thread of its own ends then.
    ///
    /// On the loop of the transport the call does not wait. Idempotent.
    package func close() { loop.close() }
}
#endif
