package import Foundation
public import SpoolCore

extension CacheError.Code {
    /// The response is no media but a page, such as a sign-in page or an error page. The cache does
    /// not keep it.
    public static let notMedia = CacheError.Code("notMedia")
    /// The media is in a container that AVFoundation does not open on this system, such as
    /// Matroska. The message contains the container.
    public static let unsupportedMedia = CacheError.Code("unsupportedMedia")
    /// The app has set a resource-loader delegate of its own on a cached asset, so the cache gets
    /// no requests of it.
    public static let delegateReplaced = CacheError.Code("delegateReplaced")
    /// The player was sent to the original URL. The message contains the reason. This is no failure
    /// unless the player refuses.
    public static let fellBack = CacheError.Code("fellBack")
}

/// Returns the error for a loading request, in a form that AVFoundation understands.
///
/// Errors on the way to the origin have the codes of `NSURLErrorDomain`, as if the player had
/// loaded by itself. Some versions ask again after those. The cache's error is the underlying
/// error. AVFoundation often replaces both with one of its own, so an app should read
/// `CachingAVURLAsset.lastError`.
package func playerError(_ error: CacheError) -> NSError {
    let text = "\(error.code): \(error.message)"
    let beneath = NSError(
        domain: "Spool.CacheError", code: error.status ?? 0, userInfo: [NSLocalizedDescriptionKey: text, NSDebugDescriptionErrorKey: text])
    let code =
        switch error.code {
        case .originUnreachable: NSURLErrorCannotConnectToHost
        case .originTimeout: NSURLErrorTimedOut
        case .networkRefused: NSURLErrorDataNotAllowed
        case .tlsFailed: NSURLErrorSecureConnectionFailed
        case .unsupportedURL: NSURLErrorUnsupportedURL
        case .originStatus where error.status == 404 || error.status == 410: NSURLErrorFileDoesNotExist
        case .originStatus where error.status == 401 || error.status == 407: NSURLErrorUserAuthenticationRequired
        case .originStatus where error.status == 403: NSURLErrorNoPermissionsToReadFile
        case .originStatus, .originMalformed: NSURLErrorBadServerResponse
        case .notMedia, .unsupportedMedia: NSURLErrorCannotDecodeContentData
        case .closed, .removed: NSURLErrorCancelled
        default: NSURLErrorResourceUnavailable
        }
    return NSError(domain: NSURLErrorDomain, code: code, userInfo: [NSLocalizedDescriptionKey: text, NSUnderlyingErrorKey: beneath])
}
