package import Foundation
package import SpoolCore
import SpoolSystem

/// Reads an asset without a player, as an image generator, an export or a composition does.
///
/// The patterns are inferred: such readers find the samples by the index, and take no more than
/// they need. A test varies them. Confined to its mailbox.
package final class SimulatedReader: @unchecked Sendable {
    // Sendable for the events of its requests, all of which arrive on its mailbox.

    /// The order in which a reader takes bytes.
    package enum Pattern: Sendable {
        /// Images at some positions, from 0 to 1: the bytes around each, by requests of this size.
        /// A request to the end is cancelled when it has brought as many.
        case images(at: [Double], bytes: Int64, toEnd: Bool)
        /// The whole file from the first byte to the last: small parts if the resource is available
        /// at once (R9), and else one request to the end.
        case export(partBytes: Int64)
        /// The whole file in order, in requests of this size, each after the one before.
        case sequential(bytes: Int64)
    }

    private let asset: AVURLAsset
    private let media: SimulatedMedia
    private let pattern: Pattern
    private let world: PlaybackWorld
    private let mailbox: any Mailbox
    private var length: Int64?
    private var isOnDemand = false
    private var targets: [ByteRange] = []
    private var have = ByteRangeSet()
    private var open: (number: Int, transaction: LoadingTransaction?, target: ByteRange?)?
    private var count = 0

    /// The bytes that it got.
    package var delivered: ByteRangeSet { have }
    /// The number of bytes that it got, with repetitions.
    package private(set) var deliveredBytes: Int64 = 0
    /// The largest number of bytes of one request, which are memory of the app's process.
    package private(set) var largestRequestBytes: Int64 = 0
    private var requestBytes: Int64 = 0
    /// Whether it has every byte that it needs.
    package private(set) var isDone = false
    /// The error that ended it.
    package private(set) var error: NSError?

    /// Makes a reader, which begins at ``begin()``.
    package init(_ asset: AVURLAsset, _ media: SimulatedMedia, _ pattern: Pattern, world: PlaybackWorld) {
        self.asset = asset
        self.media = media
        self.pattern = pattern
        self.world = world
        mailbox = world.mailbox("reader")
    }

    /// Begins to read.
    package func begin() {
        mailbox.post { [self] in request(nil, LoadingAsk.Data(offset: 0, length: 2)) }
    }

    private func request(_ target: ByteRange?, _ data: LoadingAsk.Data) {
        count += 1
        requestBytes = 0
        let number = count
        open = (number, nil, target)
        var ask = LoadingAsk(url: asset.url, wantsInformation: length == nil, data: data)
        ask.knownLength = length
        let transaction = asset.resourceLoader.begin(ask, for: asset, world: world, on: mailbox) { [weak self] event in
            self?.receive(event, number)
        }
        open?.transaction = transaction
    }

    private func receive(_ event: LoadingEvent, _ number: Int) {
        guard let open, open.number == number else { return }
        switch event {
        case .accepted: return
        case .data(let data, let offset): received(data, offset, open.target)
        case .finished(let information):
            self.open = nil
            if let information { learn(information) }
            next()
        case .failed(let error): fail(error)
        case .refused, .redirected, .cancelled, .unanswered: fail(AVError.nsError(.unknown))
        }
    }

    private func fail(_ error: NSError) {
        self.error = error
        open = nil
    }

    private func received(_ data: Data, _ offset: Int64, _ target: ByteRange?) {
        if let difference = data.withUnsafeBytes({ media.firstDifference($0, offset) }) {
            world.journal.note(.r2, "byte \(offset + Int64(difference)) of a reader is wrong")
        }
        have.insert(ByteRange(lower: offset, upper: offset + Int64(data.count)))
        deliveredBytes += Int64(data.count)
        requestBytes += Int64(data.count)
        largestRequestBytes = max(largestRequestBytes, requestBytes)
        guard let target, have.firstGap(in: target) == nil, let transaction = open?.transaction, transaction.isOpen else { return }
        // It has what it needs of a request to the end. A request that ends here finishes by
        // itself.
        guard transaction.ask.data?.toEnd == true, target.upperBound < length ?? 0 else { return }
        open = nil
        asset.resourceLoader.cancel(transaction)
        next()
    }

    private func learn(_ information: ContentInformation) {
        length = information.contentLength
        isOnDemand = information.isEntireLengthAvailableOnDemand
        let length = information.contentLength
        targets = media.headers(length: length)
        switch pattern {
        case .images(let positions, let bytes, _):
            targets += positions.compactMap { position in
                let lower = min(length - 1, Int64(Double(length) * position))
                return ByteRange(lower, min(length, lower + bytes))
            }
        case .export(let part): targets += isOnDemand ? Self.parts(of: length, part) : [ByteRange(lower: 0, upper: length)]
        case .sequential(let bytes): targets += Self.parts(of: length, bytes)
        }
    }

    private static func parts(of length: Int64, _ bytes: Int64) -> [ByteRange] {
        stride(from: 0, to: length, by: Int64.Stride(bytes)).map { ByteRange(lower: $0, upper: min(length, $0 + bytes)) }
    }

    private func next() {
        while let target = targets.first {
            targets.removeFirst()
            guard let gap = have.firstGap(in: target) else { continue }
            return read(ByteRange(lower: gap.lowerBound, upper: target.upperBound))
        }
        isDone = true
    }

    private func read(_ target: ByteRange) {
        let toEnd =
            switch pattern {
            case .images(_, _, let toEnd): toEnd
            case .export: !isOnDemand
            case .sequential: false
            }
        let rest = (length ?? target.upperBound) - target.lowerBound
        request(target, LoadingAsk.Data(offset: target.lowerBound, length: Int(toEnd ? rest : target.count), toEnd: toEnd))
    }
}
