#if os(Linux)
private import CCurl
package import SpoolSystem

/// A transport over libcurl: one thread, one multi handle, one easy handle for each transfer.
///
/// Back-pressure is exact over HTTP/1.1: a paused transfer stops reading its socket. A cancelled transfer is taken off
/// the multi handle at once, wherever it is, the name look-up included. Connections are kept and used again;
/// a kept one that was dead before it answered is replaced by libcurl itself.
/// The transport's thread calls receivers and touches neither disk nor locks of the engine.
package final class CurlTransport: Transport {
    private let loop: CurlLoop
    private let options: CurlTransportOptions

    /// Starts the transport's thread.
    ///
    /// - Parameter time: the clock of the first-byte and stall timeouts; nil is the system's monotonic clock.
    ///   The connect timeout is libcurl's own and runs on real time.
    package init(options: CurlTransportOptions = CurlTransportOptions(), time: (any TimeSource)? = nil) {
        self.options = options
        loop = CurlLoop(options: options, time: time)
        loop.start()
    }

    deinit { loop.close() }

    package var windowBytes: Int64? {
        switch options.version {
        case .http1: nil
        case .http2: CurlTransportOptions.http2WindowBytes
        }
    }

    /// The transport's thread as a mailbox; what is posted after `close` is dropped.
    package var mailbox: any Mailbox { loop }

    package func start(_ request: OriginRequest, receiver: any TransferReceiver) -> any Transfer {
        let transfer = CurlTransfer(request: request, receiver: receiver, loop: loop)
        if !loop.accept({ [loop] in loop.begin(transfer) }) {
            _ = SystemThread(name: "spool-curl") { receiver.finished(.cancelled) }
        }
        return transfer
    }

    /// Ends every transfer with `.cancelled`, closes the connections and waits for the thread to end.
    ///
    /// Called on the transport's own thread it does not wait. Harmless when repeated.
    package func close() { loop.close() }
}
#endif
