#if canImport(Combine) && !os(watchOS)
public import Combine
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

extension PlaybackObserver {
    /// The values of `states` as a publisher. They come on the main thread.
    public var statePublisher: AnyPublisher<PlaybackState, Never> { broadcast.publisher }
}

extension PlaybackObserver {
    /// The values of `currentItems` as a publisher. They come on the main thread.
    public var currentItemPublisher: AnyPublisher<CurrentItem?, Never> { itemBroadcast.publisher }
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
