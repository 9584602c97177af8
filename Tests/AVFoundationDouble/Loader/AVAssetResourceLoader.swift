public import Dispatch
public import Foundation
package import FoundationNetworking
import SpoolCore
package import SpoolSystem

/// Passes the loading requests of an asset to a delegate.
///
/// An `AVURLAsset` makes it, and copies of the asset share it. Requests begin with
/// ``begin(_:for:world:on:events:)``, which only a simulated player, a replayed trace or a test
/// calls.
open class AVAssetResourceLoader: NSObject {
    private struct State {
        weak var delegate: (any AVAssetResourceLoaderDelegate)?
        var hadDelegate = false
        var queue: DispatchQueue?
        var preloadsEligibleContentKeys = false
        var sendsCommonMediaClientData = false
        /// Made from the queue when the first request begins, and made again when the queue
        /// changes.
        var mailbox: (any Mailbox)?
        /// The number of live assets that share this loader.
        var assetCount = 0
        var open: [ObjectIdentifier: LoadingTransaction] = [:]
        var nextNumber = 1
    }

    /// The time within which a request without information or data has to be finished (L13).
    private static let emptyAskTime = Nanoseconds.seconds(1)

    private let state = Locked(State())
    /// The objects that are associated with this loader.
    package let associatedObjects = AssociatedObjects()

    /// Unavailable in the real class, which an asset makes.
    package override init() { super.init() }

    /// Sets the delegate, which is not retained, and the queue of its calls.
    ///
    /// With a queue of nil the loader chooses one that is not the main queue.
    open func setDelegate(_ delegate: (any AVAssetResourceLoaderDelegate)?, queue delegateQueue: DispatchQueue?) {
        state.withLock {
            $0.delegate = delegate
            $0.hadDelegate = $0.hadDelegate || delegate != nil
            $0.queue = delegateQueue
            $0.mailbox = nil
        }
    }

    /// The delegate, or nil once it is released.
    open var delegate: (any AVAssetResourceLoaderDelegate)? { state.withLock { $0.delegate } }

    open var delegateQueue: DispatchQueue? { state.withLock { $0.queue } }

    open var preloadsEligibleContentKeys: Bool {
        get { state.withLock { $0.preloadsEligibleContentKeys } }
        set { state.withLock { $0.preloadsEligibleContentKeys = newValue } }
    }

    @available(iOS 18, macOS 15, tvOS 18, visionOS 2, *)
    open var sendsCommonMediaClientDataAsHTTPHeaders: Bool {
        get { state.withLock { $0.sendsCommonMediaClientData } }
        set { state.withLock { $0.sendsCommonMediaClientData = newValue } }
    }

    // MARK: Requests

    /// Begins a loading request. The delegate is asked on its queue, and its answers arrive on
    /// `mailbox`.
    ///
    /// - Parameter owner: The asset that asks, among those that share the loader. Its end cancels
    ///   the request.
    @discardableResult
    package func begin(
        _ ask: LoadingAsk, for owner: AVURLAsset? = nil, world: PlaybackWorld, on mailbox: any Mailbox,
        events: @escaping @Sendable (LoadingEvent) -> Void
    ) -> LoadingTransaction {
        let number = state.withLock { state in
            defer { state.nextNumber += 1 }
            return state.nextNumber
        }
        let transaction = LoadingTransaction(
            number: number, ask: ask, owner: owner.map(ObjectIdentifier.init), world: world, mailbox: mailbox, events: events)
        let request = ask.isRenewal ? AVAssetResourceRenewalRequest(transaction) : AVAssetResourceLoadingRequest(transaction)
        transaction.adopt(request)
        state.withLock { state in
            state.open = state.open.filter { $0.value.isOpen }
            state.open[ObjectIdentifier(transaction)] = transaction
        }
        let delegateMailbox = delegateMailbox(world)
        let (loader, carried) = (Carried(self), Carried(request))
        delegateMailbox.post { loader.value.ask(carried.value, transaction) }
        if ask.data == nil, !ask.wantsInformation {
            _ = world.time.after(Self.emptyAskTime, on: delegateMailbox) { transaction.checkEmptyAsk() }
        }
        return transaction
    }

    /// Asks the delegate, on its queue.
    private func ask(_ request: AVAssetResourceLoadingRequest, _ transaction: LoadingTransaction) {
        guard let delegate else {
            // A delegate that was never set fails the load (C19). A released one leaves it
            // unanswered (D7).
            let hadDelegate = state.withLock { $0.hadDelegate }
            hadDelegate ? transaction.delegateIsGone() : transaction.refused()
            return
        }
        let willAnswer =
            if let renewal = request as? AVAssetResourceRenewalRequest {
                delegate.resourceLoader(self, shouldWaitForRenewalOfRequestedResource: renewal)
            } else {
                delegate.resourceLoader(self, shouldWaitForLoadingOfRequestedResource: request)
            }
        willAnswer ? transaction.accepted() : transaction.refused()
    }

    /// Cancels a request: `isCancelled` becomes true, and the delegate is notified on its queue
    /// unless it finished meanwhile.
    package func cancel(_ transaction: LoadingTransaction) {
        guard transaction.beginCancel() else { return }
        let loader = Carried(self)
        delegateMailbox(transaction.world).post {
            guard let request = transaction.takeCancelledRequest() else { return }
            loader.value.delegate?.resourceLoader(loader.value, didCancel: request)
            transaction.cancelWasTold()
        }
    }

    /// The requests that began and were neither finished nor cancelled, oldest first.
    package var openTransactions: [LoadingTransaction] {
        state.withLock { Array($0.open.values) }.filter(\.isOpen).sorted { $0.number < $1.number }
    }

    /// Asks the delegate about a challenge, and passes its answer to `answer` on `mailbox`.
    package func challenge(
        _ challenge: URLAuthenticationChallenge, world: PlaybackWorld, on mailbox: any Mailbox, answer: @escaping @Sendable (Bool) -> Void
    ) {
        let (loader, carried) = (Carried(self), Carried(challenge))
        delegateMailbox(world).post {
            let willAnswer = loader.value.delegate?.resourceLoader(loader.value, shouldWaitForResponseTo: carried.value) ?? false
            mailbox.post { answer(willAnswer) }
        }
    }

    /// Cancels a challenge.
    package func cancel(_ challenge: URLAuthenticationChallenge, world: PlaybackWorld) {
        let (loader, carried) = (Carried(self), Carried(challenge))
        delegateMailbox(world).post { loader.value.delegate?.resourceLoader(loader.value, didCancel: carried.value) }
    }

    private func delegateMailbox(_ world: PlaybackWorld) -> any Mailbox {
        let (existing, queue) = state.withLock { ($0.mailbox, $0.queue) }
        if let existing { return existing }
        let made = world.delegateMailbox(for: queue)
        return state.withLock { state in
            if let raced = state.mailbox { return raced }
            state.mailbox = made
            return made
        }
    }

    // MARK: The assets that share it

    func assetWasMade() {
        state.withLock { $0.assetCount += 1 }
    }

    /// Cancels the requests of a released asset (C6), or every open request if it was the last one.
    func assetIsGone(_ asset: ObjectIdentifier) {
        let isLast = state.withLock { state in
            state.assetCount -= 1
            return state.assetCount == 0
        }
        cancelAll(of: isLast ? nil : asset)
    }

    /// Cancels the requests of `asset`, or every request, and notifies their callers.
    func cancelAll(of asset: ObjectIdentifier?) {
        for transaction in openTransactions where asset == nil || transaction.owner == asset {
            cancel(transaction)
            transaction.wasCancelledFromOutside()
        }
    }
}

/// Carries an object that is not marked Sendable, or only on newer systems, to the queue that will
/// use it.
private struct Carried<Value>: @unchecked Sendable {
    // Safe: the sender does not touch the value while the queue has it.
    let value: Value

    init(_ value: Value) { self.value = value }
}

@available(iOS 18, macOS 15, tvOS 18, visionOS 2, *)
extension AVAssetResourceLoader: @unchecked Sendable {
    // Safe to share: all state is behind the lock.
}
