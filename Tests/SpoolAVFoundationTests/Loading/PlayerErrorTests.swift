import Foundation
import SpoolAVFoundation
import SpoolCore
import SpoolSystem
import Testing

/// The error of a failed loading request, as the player gets it.
@Suite struct PlayerErrorTests {
    @Test(
        arguments: [
            (CacheError.Code.tlsFailed, nil, NSURLErrorSecureConnectionFailed), (.originUnreachable, nil, NSURLErrorCannotConnectToHost),
            (.originTimeout, nil, NSURLErrorTimedOut), (.originMalformed, nil, NSURLErrorBadServerResponse),
            (.unsupportedURL, nil, NSURLErrorUnsupportedURL), (.originStatus, 404, NSURLErrorFileDoesNotExist),
            (.originStatus, 407, NSURLErrorUserAuthenticationRequired), (.originStatus, 503, NSURLErrorBadServerResponse),
            (.notMedia, nil, NSURLErrorCannotDecodeContentData), (.closed, nil, NSURLErrorCancelled),
            (.representationChanged, nil, NSURLErrorResourceUnavailable),
        ] as [(CacheError.Code, Int?, Int)])
    func `an error has the code of the system's own requests, and its cause beneath`(
        code: CacheError.Code, status: Int?, expected: Int
    ) {
        let error = playerError(CacheError(code, "what happened", status: status))
        #expect(error.domain == NSURLErrorDomain && error.code == expected)
        #expect(error.localizedDescription.contains("what happened"))
        let beneath = error.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(beneath?.domain == "Spool.CacheError" && beneath?.code == status ?? 0)
    }

    @Test func `an untrusted certificate ends a request at once, without a retry`() {
        var machine = LoadingRequestStateMachine()
        let start = MonotonicInstant(nanoseconds: 1)
        let (id, _) = machine.requested(LoadingAsk(wantsInformation: true, bytes: nil), now: start)
        let failure = LoadingFailure(CacheError(.tlsFailed, "the certificate of origin.test is not trusted"))
        #expect(machine.discoveryFailed(failure, now: start) == [.fail(id, failure)])
    }
}
