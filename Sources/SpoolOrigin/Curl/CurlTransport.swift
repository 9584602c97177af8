#if os(Linux)
private import CCurl
package import SpoolSystem

/// A transport over libcurl: one event loop, one multi handle, one easy handle for each transfer.
///
/// Back-pressure is exact over HTTP/1.1: a paused transfer stops reading its socket. A cancelled transfer is taken off
/// the multi handle at once, wherever it is, the name look-up included. Connections are kept and used again;
/// a kept one that was dead before it answered is replaced by libcurl itself.
/// Receivers are called on the loop, which a server may share: then bytes go from origin to client without waking a thread.
package final class CurlTransport: Transport {
    private let loop: CurlLoop
    private let options: CurlTransportOptions

    /// - Parameter thread: what to run on; nil starts a thread of its own.
    /// - Parameter time: the clock of the first-byte and stall timeouts; nil is the system's monotonic clock.
    ///   The connect timeout is libcurl's own and runs on real time.
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

    package var windowBytes: Int64? {
        switch options.version {
        case .http1: nil
        case .http2: CurlTransportOptions.http2WindowBytes
        }
    }

    /// The transport's loop as a mailbox; what is posted after `close` is dropped.
    package var mailbox: any Mailbox { loop }

    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = CurlTransfer(request: request, receiver: receiver, loop: loop)
        if !loop.accept({ [loop] in loop.begin(transfer) }) {
            _ = SystemThread(name: "spool-origin") { receiver.finished(.cancelled) }
        }
        return transfer
    }

    /// Ends every transfer with `.cancelled`, closes the connections, and waits until that is done; a thread of its own ends then.
    ///
    /// Called on the transport's own loop it does not wait. Harmless when repeated.
    package func close() { loop.close() }
}
#endif
