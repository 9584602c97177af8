import AVFoundation
import SpoolCore
import SpoolSystem
import SpoolTestSupport
import SpoolTesting

/// Answers loading requests from a virtual resource, in chunks over time, correctly or with one
/// misstep.
///
/// For a simulated world only, because its state has no lock.
final class ServingDelegate: NSObject, AVAssetResourceLoaderDelegate, @unchecked Sendable {
    // Sendable for the jobs of the simulator, all of which run on one thread.

    /// A breach of the contract.
    enum Misstep: Equatable {
        case answersAfterFinishing, finishesTwice, answersAfterCancel, finishesAfterCancel
        case sendsTooMuch, sendsWrongByte, finishesShort
        case sendsDataFirst, tellsNothing, tellsNoLength, tellsNoType, tellsMIMEType, tellsForbiddenType
        case neverAnswers, forgetsTheRequest, reusesItsBuffer
        case redirectsToFTP, redirectsWithoutResponse, redirectsLate
        case refuses
    }

    let resource: VirtualResource
    var misstep: Misstep?
    var chunkBytes = 64_000
    /// The time between a request and its first chunk, and between two chunks.
    var delay: Nanoseconds = .milliseconds(5)
    var contentType = AVFileType.mp3.rawValue
    var isEverythingAtHand = false
    var supportsRanges = true
    var redirect: URL?
    /// Whether every request fails, as without a network.
    var isOffline = false
    private(set) var asked: [AVAssetResourceLoadingRequest] = []
    private(set) var cancelled: [Int] = []
    private var open: [ObjectIdentifier: AVAssetResourceLoadingRequest] = [:]
    private let simulator: Simulator
    private let mailbox: any Mailbox

    init(_ resource: VirtualResource, _ simulator: Simulator) {
        self.resource = resource
        self.simulator = simulator
        mailbox = simulator.mailbox("serving")
    }

    // MARK: Delegate

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool {
        asked.append(loadingRequest)
        if misstep == .refuses { return false }
        if misstep == .forgetsTheRequest {
            asked = []
            return true
        }
        open[ObjectIdentifier(loadingRequest)] = loadingRequest
        later { $0.begin(loadingRequest) }
        return true
    }

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForRenewalOfRequestedResource renewalRequest: AVAssetResourceRenewalRequest
    ) -> Bool {
        self.resourceLoader(resourceLoader, shouldWaitForLoadingOfRequestedResource: renewalRequest)
    }

    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest) {
        cancelled.append(loadingRequest.transaction.number)
        open[ObjectIdentifier(loadingRequest)] = nil
        if misstep == .answersAfterCancel { later { _ in loadingRequest.dataRequest?.respond(with: Data(count: 1)) } }
        if misstep == .finishesAfterCancel { later { _ in loadingRequest.finishLoading() } }
    }

    /// Sets whether the network is away. Open requests fail when it goes.
    func setOffline(_ isOffline: Bool) {
        self.isOffline = isOffline
        guard isOffline else { return }
        for request in open.values.sorted(by: { $0.transaction.number < $1.transaction.number }) { fail(request) }
    }

    private func later(_ body: @escaping @Sendable (ServingDelegate) -> Void) {
        _ = simulator.after(delay, on: mailbox) { [weak self] in self.map(body) }
    }

    // MARK: Answers

    private func begin(_ request: AVAssetResourceLoadingRequest) {
        guard open[ObjectIdentifier(request)] != nil, misstep != .neverAnswers else { return }
        if isOffline { return fail(request) }
        if let redirect { return self.redirect(request, to: redirect) }
        if misstep == .sendsDataFirst, let data = request.dataRequest { data.respond(with: bytes(data.requestedOffset, 1)) }
        if let information = request.contentInformationRequest, misstep != .tellsNothing { fill(information) }
        if misstep == .redirectsLate { return self.redirect(request, to: URL(string: resource.url)!) }
        go(on: request)
    }

    private func fill(_ information: AVAssetResourceLoadingContentInformationRequest) {
        switch misstep {
        case .tellsNoType: break
        case .tellsMIMEType: information.contentType = "audio/mpeg"
        case .tellsForbiddenType: information.contentType = "public.avi"
        default: information.contentType = contentType
        }
        information.contentLength = misstep == .tellsNoLength ? 0 : resource.length
        information.isByteRangeAccessSupported = supportsRanges
        information.isEntireLengthAvailableOnDemand = isEverythingAtHand
    }

    private func redirect(_ request: AVAssetResourceLoadingRequest, to url: URL) {
        let target = misstep == .redirectsToFTP ? URL(string: "ftp://origin.test/")! : url
        request.redirect = URLRequest(url: target)
        if misstep != .redirectsWithoutResponse {
            request.response = HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil)
        }
        finish(request)
    }

    /// Sends the next chunk, or finishes the request.
    private func go(on request: AVAssetResourceLoadingRequest) {
        guard open[ObjectIdentifier(request)] != nil, !isOffline else { return }
        guard let data = request.dataRequest else { return finish(request) }
        let end = data.requestsAllDataToEndOfResource ? resource.length : data.requestedOffset + Int64(data.requestedLength)
        var rest = min(end, resource.length) - data.currentOffset
        if misstep == .finishesShort, request.contentInformationRequest == nil { rest -= 1 }
        guard rest > 0 else {
            if misstep == .sendsTooMuch { data.respond(with: Data(count: 1)) }
            return finish(request)
        }
        respond(data, Int(min(rest, Int64(chunkBytes))))
        later { $0.go(on: request) }
    }

    private func respond(_ data: AVAssetResourceLoadingDataRequest, _ count: Int) {
        var chunk = bytes(data.currentOffset, count)
        if misstep == .sendsWrongByte { chunk[chunk.startIndex] ^= 1 }
        // `Data` would copy a few bytes into the value itself.
        guard misstep == .reusesItsBuffer, count > 64 else { return data.respond(with: chunk) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        chunk.copyBytes(to: buffer)
        data.respond(with: Data(bytesNoCopy: buffer.baseAddress!, count: count, deallocator: .free))
        let address = UInt(bitPattern: buffer.baseAddress)
        later { _ in UnsafeMutablePointer<UInt8>(bitPattern: address)?.pointee ^= 1 }
    }

    private func bytes(_ offset: Int64, _ count: Int) -> Data { Data(resource.content.bytes(at: offset, count: count)) }

    private func finish(_ request: AVAssetResourceLoadingRequest) {
        open[ObjectIdentifier(request)] = nil
        request.finishLoading()
        if misstep == .finishesTwice { request.finishLoading() }
        if misstep == .answersAfterFinishing { request.dataRequest?.respond(with: Data(count: 1)) }
    }

    private func fail(_ request: AVAssetResourceLoadingRequest) {
        open[ObjectIdentifier(request)] = nil
        request.finishLoading(with: NSError(domain: NSURLErrorDomain, code: NSURLErrorNotConnectedToInternet))
    }
}
