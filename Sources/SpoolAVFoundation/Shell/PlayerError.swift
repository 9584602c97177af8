package import Foundation
public import SpoolCore

extension CacheError.Code {
    /// What came is no media: a sign-in page, an error page. Nothing of it stays in the cache.
    public static let notMedia = CacheError.Code("notMedia")
    /// The player was sent to the original URL; the message says why. Not a failure unless the player refuses.
    public static let fellBack = CacheError.Code("fellBack")
}

/// The error that a loading request ends with, in the words that AVFoundation knows.
///
/// Trouble on the way to the origin has the codes of `NSURLErrorDomain`, as if the player had loaded by itself: some versions ask again
/// after those. The error of the cache lies beneath. AVFoundation often replaces both by one of its own, so an app reads
/// `CachingAVURLAsset.lastError`.
package func playerError(_ error: CacheError) -> NSError {
    let text = "\(error.code): \(error.message)"
    let beneath = NSError(
        domain: "Spool.CacheError", code: error.status ?? 0, userInfo: [NSLocalizedDescriptionKey: text, NSDebugDescriptionErrorKey: text])
    let code =
        switch error.code {
        case .originUnreachable: NSURLErrorCannotConnectToHost
        case .originTimeout: NSURLErrorTimedOut
        case .tlsFailed: NSURLErrorSecureConnectionFailed
        case .unsupportedURL: NSURLErrorUnsupportedURL
        case .originStatus where error.status == 404 || error.status == 410: NSURLErrorFileDoesNotExist
        case .originStatus where error.status == 401 || error.status == 407: NSURLErrorUserAuthenticationRequired
        case .originStatus where error.status == 403: NSURLErrorNoPermissionsToReadFile
        case .originStatus, .originMalformed: NSURLErrorBadServerResponse
        case .notMedia: NSURLErrorCannotDecodeContentData
        case .closed, .removed: NSURLErrorCancelled
        default: NSURLErrorResourceUnavailable
        }
    return NSError(domain: NSURLErrorDomain, code: code, userInfo: [NSLocalizedDescriptionKey: text, NSUnderlyingErrorKey: beneath])
}
