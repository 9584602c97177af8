#if canImport(Combine) && !os(watchOS)
public import Combine
import SpoolSystem

// The same news for those who use Combine; type-checked only where Combine is.

extension CachingAVURLAsset {
    /// As `progress`. Values come from any thread; `receive(on:)` brings them to one.
    public var progressPublisher: AnyPublisher<AssetProgress, Never> {
        guard let watch else { return Empty().eraseToAnyPublisher() }
        return watch.progress.publisher
    }
}

extension PlaybackObserver {
    /// As `states`. Values come on the main thread.
    public var statePublisher: AnyPublisher<PlaybackState, Never> { broadcast.publisher }
}

extension Broadcast {
    /// The value of now and each that comes.
    var publisher: AnyPublisher<Value, Never> {
        Deferred { [self] in
            // Its current value is what came last: nothing that is told before the subscriber is there gets lost.
            let subject = CurrentValueSubject<Value, Never>(value)
            let carried = Handed(subject)
            let subscription = follow({ carried.value.send($0) }, end: { carried.value.send(completion: .finished) })
            return subject.removeDuplicates().handleEvents(receiveCancel: { subscription.cancel() })
        }
        .eraseToAnyPublisher()
    }
}
#endif
