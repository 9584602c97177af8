import AVFoundation

// Paste this file into an app to record the requests that AVPlayer makes of a resource loader, in
// the notation of docs/traces/README.md.
//
//     let recorder = LoadingTraceRecorder(to: directory.appendingPathComponent("my.trace"), header: ["system": "iOS 18.1 iPhone15,2"])
//     let loader = TracedFileLoader(file: song, contentType: "public.mp3", bytesPerSecond: 500_000, recorder: recorder)
//     let item = AVPlayerItem(asset: loader.makeAsset())
//     // play, seek, pause …; keep `loader` as long as the asset, then:
//     recorder.close()
//
// An app that has a delegate of its own calls `began`, `cancelled`, and `ended` after it finished a
// request, and needs no `TracedFileLoader`.

/// Writes one line for each request, and one for its outcome.
///
/// Can be used from any thread. The calls for one asset come from the loader's serial queue.
final class LoadingTraceRecorder: @unchecked Sendable {
    // Safe to share: everything below is used on `queue` only.
    private let queue = DispatchQueue(label: "loading-trace")
    private let file: URL
    private let start = DispatchTime.now()
    private var numbers: [ObjectIdentifier: Int] = [:]
    private var next = 1
    private var lines: [String]

    /// - Parameter header: Facts about the circumstances, such as `system`, `media` and `length`.
    init(to file: URL, header: [String: String]) {
        self.file = file
        lines = ["# spool trace 1"] + header.sorted { $0.key < $1.key }.map { "# \($0.key): \($0.value)" }
    }

    /// Records a request. Call it first in `shouldWaitForLoadingOfRequestedResource`.
    func began(_ request: AVAssetResourceLoadingRequest) {
        var words: [String] = []
        if request is AVAssetResourceRenewalRequest {
            words.append("R+")
        } else if request.contentInformationRequest != nil {
            words.append("I+")
        }
        if let data = request.dataRequest {
            words.append("@\(data.requestedOffset)+\(data.requestedLength == .max ? "max" : "\(data.requestedLength)")")
            if data.requestsAllDataToEndOfResource { words.append("E") }
        }
        let (id, text) = (ObjectIdentifier(request), words.joined(separator: " "))
        write { recorder in
            recorder.numbers[id] = recorder.next
            recorder.next += 1
            return (id, text)
        }
    }

    /// Records a cancel. Call it in `didCancel`.
    func cancelled(_ request: AVAssetResourceLoadingRequest) {
        end(request, "✗")
    }

    /// Records an end. Call it after `finishLoading()` or `finishLoading(with:)`.
    func ended(_ request: AVAssetResourceLoadingRequest, error: (any Error)? = nil) {
        let failure = error.map { $0 as NSError }
        end(request, failure.map { "! \($0.domain) \($0.code)" } ?? "✓")
    }

    /// Writes the file.
    func close() {
        queue.sync {
            let text = lines.joined(separator: "\n") + "\n"
            do {
                try text.write(to: file, atomically: true, encoding: .utf8)
            } catch {
                print("the trace could not be written: \(error)")
            }
        }
    }

    private func end(_ request: AVAssetResourceLoadingRequest, _ how: String) {
        let bytes = request.dataRequest.map { $0.currentOffset - $0.requestedOffset } ?? 0
        let id = ObjectIdentifier(request)
        write { _ in (id, "→\(bytes) \(how)") }
    }

    private func write(_ line: @escaping @Sendable (LoadingTraceRecorder) -> (ObjectIdentifier, String)) {
        let milliseconds = (DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1_000_000
        queue.async { [self] in
            let (id, words) = line(self)
            let seconds = "\(milliseconds / 1000).\(String(milliseconds % 1000 + 1000).dropFirst())"
            lines.append("\(seconds) \(numbers[id] ?? 0) \(words)")
        }
    }
}

/// Serves a local file through the loader at the pace of a network, and records every request.
///
/// The loader does not keep its delegate, so keep this object as long as the asset.
final class TracedFileLoader: NSObject, AVAssetResourceLoaderDelegate, @unchecked Sendable {
    // Safe to share: all mutable state is used on `queue` only.
    private static let chunkBytes = 65_536

    private let queue = DispatchQueue(label: "traced-file-loader")
    private let file: FileHandle
    private let length: Int64
    private let contentType: String
    private let pathExtension: String
    private let chunkTime: DispatchTimeInterval
    private let recorder: LoadingTraceRecorder
    private var open: [ObjectIdentifier: AVAssetResourceLoadingRequest] = [:]

    /// - Parameter contentType: a type identifier, such as `public.mp3` or `public.mpeg-4`.
    init(file url: URL, contentType: String, bytesPerSecond: Int, recorder: LoadingTraceRecorder) throws {
        file = try FileHandle(forReadingFrom: url)
        length = Int64(try file.seekToEnd())
        self.contentType = contentType
        pathExtension = url.pathExtension
        chunkTime = .milliseconds(max(1, Self.chunkBytes * 1000 / max(1, bytesPerSecond)))
        self.recorder = recorder
    }

    /// Returns an asset whose loader asks this object.
    func makeAsset() -> AVURLAsset {
        let asset = AVURLAsset(url: URL(string: "traced-file://media/file.\(pathExtension)")!)
        asset.resourceLoader.setDelegate(self, queue: queue)
        return asset
    }

    func resourceLoader(
        _ resourceLoader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource loadingRequest: AVAssetResourceLoadingRequest
    ) -> Bool {
        recorder.began(loadingRequest)
        open[ObjectIdentifier(loadingRequest)] = loadingRequest
        if let information = loadingRequest.contentInformationRequest {
            information.contentType = contentType
            information.contentLength = length
            information.isByteRangeAccessSupported = true
        }
        sendLater(loadingRequest)
        return true
    }

    func resourceLoader(_ resourceLoader: AVAssetResourceLoader, didCancel loadingRequest: AVAssetResourceLoadingRequest) {
        recorder.cancelled(loadingRequest)
        open[ObjectIdentifier(loadingRequest)] = nil
    }

    private func sendLater(_ request: AVAssetResourceLoadingRequest) {
        queue.asyncAfter(deadline: .now() + chunkTime) { [weak self] in self?.send(request) }
    }

    private func send(_ request: AVAssetResourceLoadingRequest) {
        guard open[ObjectIdentifier(request)] != nil, !request.isCancelled else { return }
        guard let data = request.dataRequest else { return end(request) }
        let asked = data.requestsAllDataToEndOfResource ? length : data.requestedOffset + Int64(data.requestedLength)
        let rest = min(asked, length) - data.currentOffset
        guard rest > 0 else { return end(request) }
        do {
            try file.seek(toOffset: UInt64(data.currentOffset))
            guard let chunk = try file.read(upToCount: Int(min(rest, Int64(Self.chunkBytes)))), !chunk.isEmpty else {
                throw CocoaError(.fileReadCorruptFile)
            }
            data.respond(with: chunk)
            sendLater(request)
        } catch {
            end(request, error)
        }
    }

    private func end(_ request: AVAssetResourceLoadingRequest, _ error: (any Error)? = nil) {
        open[ObjectIdentifier(request)] = nil
        if let error { request.finishLoading(with: error) } else { request.finishLoading() }
        recorder.ended(request, error: error)
    }
}
