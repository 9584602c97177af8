#if canImport(Combine) && !os(watchOS)
public import Combine
public import Spool
public import SpoolCore
import SpoolSystem

// The same values for Combine. These declarations are type-checked only where Combine exists.

extension CachingAVURLAsset {
    /// The values of `progress` as a publisher. They may come on any thread. Use `receive(on:)` to
    /// choose one.
    public var progressPublisher: AnyPublisher<AssetProgress, Never> {
        guard let watch else { return Empty().eraseToAnyPublisher() }
        return watch.progress.publisher
    }
}

/// A view that has the controller as its `@ObservedObject` is drawn again at each new `state`.
extension PlaybackController: ObservableObject {
    /// Sends before each new `state`, on the main thread.
    nonisolated public var objectWillChange: ObservableObjectPublisher { willChange.withLock { $0 } }
}

extension PlaybackController {
    /// The values of `states` as a publisher. They come on the main thread.
    public var statePublisher: AnyPublisher<PlaybackState, Never> { broadcast.publisher }
}

extension PlaybackController {
    /// The values of `currentItems` as a publisher. They come on the main thread.
    public var currentItemPublisher: AnyPublisher<CurrentItem?, Never> { itemBroadcast.publisher }
}

extension Downloads {
    /// The values of `updates` as a publisher. They may come on any thread.
    public var updatePublisher: AnyPublisher<[Download], Never> { .stream { updates } }
}

extension Preload {
    /// The values of `progress` as a publisher. They may come on any thread.
    public var progressPublisher: AnyPublisher<PreloadProgress, Never> {
        .stream { [weak self] in self?.progress ?? AsyncStream { $0.finish() } }
    }
}

extension CacheObservation {
    /// The values of `events` as a publisher. They may come on any thread.
    public var eventPublisher: AnyPublisher<CacheEvent, Never> {
        .stream { events }
    }

    /// The values of `statistics(every:)` as a publisher. They may come on any thread.
    public func statisticsPublisher(every interval: Duration = .seconds(1)) -> AnyPublisher<Statistics, Never> {
        .stream { statistics(every: interval) }
    }
}

/// The most values that wait for a subscriber without demand. Older ones are dropped.
private let maximumWaiting = 1000

extension AnyPublisher where Failure == Never, Output: Sendable {
    /// Returns a publisher that gives each subscriber a stream of its own.
    fileprivate static func stream(_ make: @escaping () -> AsyncStream<Output>) -> AnyPublisher {
        Deferred {
            let subject = PassthroughSubject<Output, Never>()
            let (carried, stream, task) = (Handed(subject), make(), Locked<Task<Void, Never>?>(nil))
            return fed(subject, task) {
                for await value in stream { carried.value.send(value) }
                carried.value.send(completion: .finished)
            }
        }
        .eraseToAnyPublisher()
    }
}

/// Starts `body` once the subscriber is connected, so that no value comes before it, and ends it
/// with the subscription.
private func fed<Output, Failure>(
    _ subject: PassthroughSubject<Output, Failure>, _ task: Locked<Task<Void, Never>?>, _ body: @escaping @Sendable () async -> Void
) -> AnyPublisher<Output, Failure> {
    subject.buffer(size: maximumWaiting, prefetch: .byRequest, whenFull: .dropOldest)
        .handleEvents(
            receiveSubscription: { _ in task.withLock { $0 = Task { await body() } } }, receiveOutput: nil, receiveCompletion: nil,
            receiveCancel: { task.withLock { $0 }?.cancel() }, receiveRequest: nil
        )
        .eraseToAnyPublisher()
}

extension Broadcast {
    /// A publisher of the current value and each later one.
    var publisher: AnyPublisher<Value, Never> {
        Deferred { [self] in
            // The subject stores its latest value, so a value that comes before the subscriber is
            // not lost.
            let subject = CurrentValueSubject<Value, Never>(value)
            let carried = Handed(subject)
            let subscription = follow({ carried.value.send($0) }, end: { carried.value.send(completion: .finished) })
            return subject.removeDuplicates().handleEvents(receiveCancel: { subscription.cancel() })
        }
        .eraseToAnyPublisher()
    }
}
#endif
