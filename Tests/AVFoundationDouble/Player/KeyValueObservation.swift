public import Foundation
import SpoolSystem

/// The values that an observer requests.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
    /// The bits of the options.
    public let rawValue: UInt

    /// Makes options from bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Reports the new value.
    public static let new = NSKeyValueObservingOptions(rawValue: 1)
    /// Requests the old value, which the double does not have.
    public static let old = NSKeyValueObservingOptions(rawValue: 2)
    /// Also reports the present value, before `observe` returns.
    public static let initial = NSKeyValueObservingOptions(rawValue: 4)
}

/// One change of an observed property.
public struct NSKeyValueObservedChange<Value> {
    /// The new value, if the observer requested it.
    public let newValue: Value?
    /// Always nil, because the double keeps no old values.
    public let oldValue: Value?
    /// Whether the report precedes the change. Always false in the double.
    public let isPrior: Bool
}

/// An observation. It ends when it is invalidated or released.
public final class NSKeyValueObservation: NSObject, Sendable {
    private let onInvalidate: @Sendable () -> Void

    init(onInvalidate: @escaping @Sendable () -> Void) {
        self.onInvalidate = onInvalidate
    }

    deinit {
        onInvalidate()
    }

    /// Ends the observation.
    public func invalidate() { onInvalidate() }
}

/// The observers of one object's properties.
///
/// Linux has no key-value observing. The objects of the double have such a table, and report their
/// own changes.
package final class ObserverTable<Name: Hashable & Sendable>: Sendable {
    private struct State {
        var observers: [(number: Int, name: Name, fire: @Sendable () -> Void)] = []
        var next = 0
    }

    private let state = Locked(State())

    func add(_ name: Name, fire: @escaping @Sendable () -> Void) -> NSKeyValueObservation {
        let number = state.withLock { state in
            state.next += 1
            state.observers.append((state.next, name, fire))
            return state.next
        }
        return NSKeyValueObservation { [weak self] in
            self?.state.withLock { $0.observers.removeAll { $0.number == number } }
        }
    }

    /// Calls the observers of each of `names`, synchronously.
    func tell(_ names: Set<Name>) {
        let observers = state.withLock { $0.observers.filter { names.contains($0.name) } }
        for observer in observers { observer.fire() }
    }
}

extension ObserverTable {
    /// Calls `handler` at each change of the property of `object` at `keyPath`, which has the name
    /// `property` in the table.
    func observe<Object: NSObject, Value>(
        _ object: Object, _ keyPath: KeyPath<Object, Value>, as property: Name?, _ options: NSKeyValueObservingOptions,
        _ handler: @escaping @Sendable (Object, NSKeyValueObservedChange<Value>) -> Void
    ) -> NSKeyValueObservation {
        guard let property else { preconditionFailure("the double does not tell about changes of \(keyPath)") }
        let watch = Watch(object: object, keyPath: keyPath)
        let wantsNew = options.contains(.new)
        let fire = { @Sendable in
            guard let object = watch.object else { return }
            let value = wantsNew ? object[keyPath: watch.keyPath] : nil
            handler(object, NSKeyValueObservedChange(newValue: value, oldValue: nil, isPrior: false))
        }
        if options.contains(.initial) { fire() }
        return add(property, fire: fire)
    }
}

/// A property of an object, with a weak reference to the object.
private final class Watch<Object: AnyObject, Value>: @unchecked Sendable {
    // Safe to share: nothing changes, and a weak reference is read atomically.
    private(set) weak var object: Object?
    let keyPath: KeyPath<Object, Value>

    init(object: Object, keyPath: KeyPath<Object, Value>) {
        self.object = object
        self.keyPath = keyPath
    }
}
