import SpoolSystem

/// The objects that doors keep beside a cache for as long as it lives, one of each type.
package final class Attachments: Sendable {
    private let objects = Locked<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    /// Returns the object of a type, and makes it at the first call. `make` must not ask for
    /// attachments itself.
    package func object<Object: AnyObject & Sendable>(_ type: Object.Type, make: () -> Object) -> Object {
        // Made outside the lock. An object that loses the race is released.
        if let existing = objects.withLock({ $0[ObjectIdentifier(type)] as? Object }) { return existing }
        let made = make()
        return objects.withLock { objects in
            if let raced = objects[ObjectIdentifier(type)] as? Object { return raced }
            objects[ObjectIdentifier(type)] = made
            return made
        }
    }
}
