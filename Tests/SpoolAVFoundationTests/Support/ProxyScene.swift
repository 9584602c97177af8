import AVFoundation
import Foundation
import Spool
import SpoolAVFoundation
import SpoolCore
import SpoolOrigin
import SpoolSystem
import SpoolTestSupport
import SpoolTesting
import Testing

/// A cache in a directory of its own, over an origin on this machine.
final class ProxyScene {
    let origin: RawOrigin
    let cache: MediaCache
    /// The reasons of the events about resources that play without the cache.
    var reasons: [String] { events.reasons.withLock { $0 } }
    private let events = Events()
    private let directory: URL

    private final class Events: EventSink {
        let reasons = Locked<[String]>([])

        func record(_ event: CacheEvent) {
            if case .degradedToPassthrough(_, let reason) = event { reasons.withLock { $0.append(reason) } }
        }
    }

    /// Serves playlists by their paths, and media whose responses a behaviour may change.
    init(_ documents: [String: String] = [:], behaviours: [String: OriginBehaviour] = [:]) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-door-" + UUID().uuidString)
        origin = try RawOrigin(script: { request, _ in
            let path = URL(string: request.url)?.path ?? ""
            guard let text = documents[path] else { return behaviours[path] ?? .correct }
            return .status(200, fields: ["Content-Type": "application/vnd.apple.mpegurl"], body: Array(text.utf8))
        })
        for name in ["/s/1.ts", "/s/2.ts", "/song.mp3"] {
            origin.serve(VirtualResource(url: origin.url(name), seed: 7, length: 100_000, contentType: "audio/mpeg"))
        }
        var configuration = Configuration()
        configuration.storage.directory = directory.path
        configuration.events.append(events)
        cache = try MediaCache(configuration: configuration)
    }

    func close() async throws {
        await cache.close()
        origin.stop()
        try FileManager.default.removeItem(at: directory)
    }

    func url(_ path: String) throws -> URL { try #require(URL(string: origin.url(path))) }

    /// Gets a URL as a player does, and returns head and body.
    func get(_ url: URL, _ path: String? = nil) throws -> String { try Self.get(url, path) }

    /// The same, for a closure that is called on any thread.
    static func get(_ url: URL, _ path: String? = nil) throws -> String {
        let port = UInt16(url.port ?? 0)
        let request = "GET \(path ?? url.path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n"
        return try LoopbackHTTPClient.perform(request, host: "127.0.0.1", port: port)
    }

    func request(_ path: String) -> OriginRequest? {
        origin.log.entries.last { URL(string: $0.request.url)?.path == path }?.request
    }

    /// Loads a resource as a player does: the information first, and then all bytes.
    static func load(_ asset: CachingAVURLAsset, _ world: PlaybackWorld) async -> [UInt8] {
        let mailbox = world.mailbox("player")
        let bytes = Locked<[UInt8]>([])
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let ask = AVFoundation.LoadingAsk(
                url: asset.url, wantsInformation: true, data: AVFoundation.LoadingAsk.Data(offset: 0, length: .max, toEnd: true))
            mailbox.post {
                _ = asset.resourceLoader.begin(ask, for: asset, world: world, on: mailbox) { event in
                    switch event {
                    case .accepted: break
                    case .data(let data, _): bytes.withLock { $0 += data }
                    case .finished, .refused, .unanswered, .redirected, .failed, .cancelled: continuation.resume()
                    }
                }
            }
        }
        return bytes.withLock { $0 }
    }

    /// Makes requests for the information of an asset at once, and returns the URLs to which the
    /// player was sent.
    static func redirects(of asset: CachingAVURLAsset, count: Int, _ world: PlaybackWorld) async -> [URL] {
        let mailbox = world.mailbox("player")
        let urls = Locked<[URL?]>([])
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let ask = AVFoundation.LoadingAsk(
                url: asset.url, wantsInformation: true, data: AVFoundation.LoadingAsk.Data(offset: 0, length: 2))
            let answered: @Sendable (URL?) -> Void = { url in
                let isLast = urls.withLock { urls in
                    urls.append(url)
                    return urls.count == count
                }
                if isLast { continuation.resume() }
            }
            mailbox.post {
                for _ in 0..<count {
                    _ = asset.resourceLoader.begin(ask, for: asset, world: world, on: mailbox) { event in
                        switch event {
                        case .accepted, .data: break
                        case .redirected(let request): answered(request.url)
                        case .finished, .refused, .unanswered, .failed, .cancelled: answered(nil)
                        }
                    }
                }
            }
        }
        return urls.withLock { $0.compactMap { $0 } }
    }
}
