public import Foundation
public import FoundationNetworking

/// Answers requests for URLs that an asset cannot load itself.
///
/// In the real protocol all methods are `@objc optional`. Here they have default implementations.
/// So a method with a wrong signature is no error but is never called, and a test has to see each
/// callback.
public protocol AVAssetResourceLoaderDelegate: NSObjectProtocol {
    /// Whether the delegate will answer `loadingRequest`, now or later. False fails the request.
    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool

    /// Whether the delegate will renew its information about a resource whose renewal date has
    /// come.
    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
    ) -> Bool

    /// Called when the request is cancelled, with `isCancelled` already true.
    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest)

    /// Whether the delegate will answer the challenge.
    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
    ) -> Bool

    /// Called when the challenge is cancelled.
    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel authenticationChallenge: URLAuthenticationChallenge)
}

extension AVAssetResourceLoaderDelegate {
    /// Refuses the request.
    public func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool { false }

    /// Refuses the renewal.
    public func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
    ) -> Bool { false }

    /// Does nothing.
    public func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest) {}

    /// Refuses the challenge.
    public func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForResponseTo authenticationChallenge: URLAuthenticationChallenge
    ) -> Bool { false }

    /// Does nothing.
    public func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel authenticationChallenge: URLAuthenticationChallenge) {}
}
