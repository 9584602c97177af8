import SpoolCore
import SpoolOrigin
import SpoolStore
import SpoolSystem
#if !os(Linux)
import SpoolURLSession
#endif

#if !os(Linux)
import Foundation
#endif

/// The parts of a cache with the real implementations: SQLite and sparse files, libcurl (URLSession
/// on Apple's systems), threads.
struct CacheOpening {
    let configuration: Configuration

    /// Sets the attributes of the directory. A failure is recorded as an event and does not keep
    /// the store from opening.
    func setAttributes(of directory: String) {
        do { try StoreAttributes(configuration)?.apply(to: directory) } catch {
            record("attributes of \(directory): \(error)")
        }
    }

    /// Records trouble of the store as an event.
    func record(_ trouble: String) {
        for sink in sinks { sink.record(.storeTrouble(trouble)) }
    }

    private var sinks: [any EventSink] {
        configuration.events + (configuration.log.map { [EventLogger(log: $0)] } ?? [])
    }

    /// The options of the built-in store.
    var storeOptions: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.isReadOnly = configuration.storage.isReadOnly
        options.encryption = configuration.security.encryption
        options.openFiles = configuration.storage.openFileLimits
        options.expendable = configuration.storage.expendable
        options.onExpended = configuration.storage.onExpended
        let sinks = sinks
        options.onRecovery = { note in for sink in sinks { sink.record(.storeTrouble("\(note)")) } }
        return options
    }

    /// Starts the threads of a cache, with the given random numbers and clocks.
    func environment(random: any RandomSource, time: any TimeSource) throws(CacheError) -> CacheEnvironment {
        // First, because it may throw: threads of lanes would stay.
        let (wire, loop) = try transport()
        let control = DiskLane(name: "spool-control")
        let index = DiskLane(name: "spool-index")
        let sync = DiskLane(name: "spool-sync")
        // Two lanes: one slow disk operation does not keep the bytes of another resource from being
        // written.
        let data = [DiskLane(name: "spool-data-0"), DiskLane(name: "spool-data-1")]
        // Two lanes: a new version of a manifest does not wait behind an old one.
        let manifests = [DiskLane(name: "spool-text-0"), DiskLane(name: "spool-text-1")]
        let lanes = manifests + data + [sync, index, control]
        if configuration.network.keepsLanesOffLoop { loop?.keepOffItsCore(lanes) }
        let doubling = DoublingTransport(wire, time: time, on: control)
        let redirecting = RedirectingTransport(
            doubling, privateNames: configuration.security.privateNames, fieldsForURL: configuration.network.requestFieldsForURL)
        var transport: any Transport = AsAskedTransport(redirecting, time: time)
        let parts = TierSetting.Parts(
            wire: wire, time: time, control: control, keyPolicy: configuration.freshness.keyPolicy,
            isShared: configuration.freshness.isShared, log: configuration.log)
        var tiers: [any TierService] = []
        for setting in configuration.network.tiers {
            let (around, tier) = setting.open(transport, parts)
            transport = around
            if let tier { tiers.append(tier) }
        }
        if let modifier = configuration.network.requestModifier { transport = ModifyingTransport(transport, modifier: modifier) }
        #if canImport(Darwin)
        // The system continues downloads in the background, and leaves files.
        transport = ReceivedFilesTransport(transport, on: data[0])
        #endif
        var environment = CacheEnvironment(
            time: time, random: random, transport: transport, loop: loop, control: control,
            indexLane: index, dataLanes: data,
            shutDown: {
                for lane in lanes { lane.shutdown() }
            })
        environment.syncLane = sync
        environment.manifestLanes = manifests
        environment.tiers = tiers
        environment.monitor = Configuration.Network.systemMonitor
        return environment
    }

    /// Returns the transport, and its loop if that can be shared.
    private func transport() throws(CacheError) -> (any Transport, LoopThread?) {
        if let given = configuration.network.transport { return (given, nil) }
        #if os(Linux)
        var options = CurlTransportOptions()
        options.certificateFile = configuration.network.certificateFile
        options.privateNames = configuration.security.privateNames
        options.onTrouble = { [log = configuration.log] in log?.log(.warning, $0) }
        if configuration.network.usesHTTP2 { options.version = .http2 }
        options.maxConnections = max(
            options.maxConnections,
            FetchScheduler.mostRequests(total: configuration.fetching.maximumFetches)
                + FetchScheduler.mostRequests(total: FetchLimiter.forwardedRequests) + CurlTransportOptions.spareConnections)
        do throws(SystemError) {
            let loop = try LoopThread(name: "spool-loop")
            return (CurlTransport(options: options, on: loop), loop)
        } catch {
            throw CacheError(
                .configuration, "can't open the descriptors of the network loop; close files or raise the limit: \(error)", cause: error)
        }
        #else
        // A background session takes no data tasks, and would trap at the first request.
        if configuration.network.urlSessionConfiguration?().identifier != nil {
            throw CacheError(
                .configuration, "urlSessionConfiguration is a background configuration; return a default one, and use BackgroundDownloads")
        }
        var options = URLSessionTransportOptions()
        options.userAgent = configuration.network.userAgent.text
        options.makeConfiguration = configuration.network.urlSessionConfiguration
        options.onChallenge = configuration.network.onChallenge
        return (URLSessionTransport(options: options), nil)
        #endif
    }
}
