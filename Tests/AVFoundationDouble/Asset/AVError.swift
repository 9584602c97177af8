public import Foundation

/// The domain of errors of AVFoundation.
public let AVFoundationErrorDomain = "AVFoundationErrorDomain"

/// An error of AVFoundation, with the codes that loading can cause.
public struct AVError: CustomNSError, Hashable, Sendable {
    /// The codes of the errors.
    public enum Code: Int, Sendable {
        case unknown = -11800
        @available(macOS, unavailable)
        case mediaServicesWereReset = -11819
        case fileFormatNotRecognized = -11828
        case operationNotSupportedForAsset = -11838
        case fileFailedToParse = -11829
        case failedToLoadMediaData = -11849
        case serverIncorrectlyConfigured = -11850
        case failedToParse = -11853
        case contentIsUnavailable = -11863
        case noLongerPlayable = -11867
        case operationCancelled = -11878
    }

    /// The domain of these errors.
    public static var errorDomain: String { AVFoundationErrorDomain }

    /// The code of the error.
    public let code: Code

    /// Makes an error with a code.
    public init(_ code: Code) {
        self.code = code
    }

    /// The code as a number.
    public var errorCode: Int { code.rawValue }

    /// Returns the error as the system does, with its cause beneath if there is one.
    package static func nsError(_ code: Code, underlying: NSError? = nil) -> NSError {
        NSError(domain: AVFoundationErrorDomain, code: code.rawValue, userInfo: underlying.map { [NSUnderlyingErrorKey: $0] } ?? [:])
    }
}
