import SpoolSystem

/// What doors keep beside a cache for as long as it lives, one object of each type.
package final class Attachments: Sendable {
    private let objects = Locked<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    /// The object of this type; made when it is asked for first. `make` must not ask for attachments itself.
    package func object<Object: AnyObject & Sendable>(_ type: Object.Type, make: () -> Object) -> Object {
        // Made outside the lock: a second one that loses the race is let go.
        if let existing = objects.withLock({ $0[ObjectIdentifier(type)] as? Object }) { return existing }
        let made = make()
        return objects.withLock { objects in
            if let raced = objects[ObjectIdentifier(type)] as? Object { return raced }
            objects[ObjectIdentifier(type)] = made
            return made
        }
    }
}
