#if !os(watchOS)
import AVFoundation
import Spool
import SpoolCore
import SpoolSystem

// Fresh URLs for a resource whose URL expires.

/// The renewal of an asset's URL.
struct Renewal {
    /// The largest number of renewals without a byte in between. An origin that refuses several
    /// fresh URLs refuses the user.
    static let maxInARow = 2

    /// The requests of AVFoundation for a renewal, while the app makes a URL. Nil at any other
    /// time.
    var waiting: [AVAssetResourceLoadingRequest]?
    /// The number of renewals since the last byte.
    var count = 0

    /// Whether the app makes a URL at the moment.
    var isRunning: Bool { waiting != nil }

    mutating func bytesCame() { count = 0 }
}

extension LoaderCore {
    /// Asks the app for a fresh URL if the origin refused the present one.
    ///
    /// - Returns: Whether a fresh URL is on its way, so that the failure does not count.
    func renewIfRefused(_ error: CacheError) -> Bool {
        guard source.renewal != nil, !isEnded, error.code == .originStatus, [401, 403].contains(error.status) else { return false }
        if renewal.isRunning { return true }
        guard renewal.count < Renewal.maxInARow else { return false }
        renewal.count += 1
        renew()
        return true
    }

    /// Handles AVFoundation's request for a renewal, at the date that it got.
    func renewalRequested(_ request: AVAssetResourceLoadingRequest) {
        guard source.renewal != nil, !isEnded else { return requested(request) }
        if !renewal.isRunning { renew() }
        renewal.waiting?.append(request)
    }

    private func renew() {
        guard let renew = source.renewal else { return }
        renewal.waiting = []
        renew(source.presentURL) { [weak self, mailbox] result in
            mailbox.post { [weak self] in self?.renewed(result) }
        }
    }

    private func renewed(_ result: Result<RenewedURL, any Error>) {
        let waiting = renewal.waiting ?? []
        renewal.waiting = nil
        switch result {
        case .success(let renewed):
            source.presentURL = renewed.url
            report.renewed(renewed.url)
            source.renewalDate = renewed.expires
        case .failure(let error):
            renewal.count = Renewal.maxInARow
            report.note(CacheError(.originStatus, "no fresh URL: \(error)", key: source.key))
        }
        for request in waiting { requested(request) }
        perform(machine.released(now: now))
    }
}
#endif
