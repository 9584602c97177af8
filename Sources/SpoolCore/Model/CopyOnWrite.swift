/// A value behind a reference, which is copied at its first change while it is shared.
///
/// A copy costs one reference count, however many references the value has. Suits values of many
/// parts that are read often and changed seldom. The members of the value are read and changed as
/// if they were members of this type.
@dynamicMemberLookup
package struct CopyOnWrite<Value> {
    @usableFromInline
    final class Box {
        @usableFromInline var value: Value

        @usableFromInline init(_ value: Value) { self.value = value }
    }

    @usableFromInline var box: Box

    /// Wraps `value`.
    @inlinable package init(_ value: Value) { box = Box(value) }

    /// The value. Changing it copies it first if it is shared.
    package var value: Value {
        @inlinable get { box.value }
        @inlinable _modify {
            if !isKnownUniquelyReferenced(&box) { box = Box(box.value) }
            yield &box.value
        }
    }

    /// A member of the value.
    @inlinable package subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { box.value[keyPath: path] }

    /// A member of the value, which can be changed.
    @inlinable package subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
        get { box.value[keyPath: path] }
        _modify { yield &value[keyPath: path] }
    }
}

extension CopyOnWrite: Equatable where Value: Equatable {
    /// Whether both values are equal. The same box needs no comparison.
    package static func == (a: Self, b: Self) -> Bool { a.box === b.box || a.box.value == b.box.value }
}

extension CopyOnWrite: Hashable where Value: Hashable {
    /// Hashes the value.
    package func hash(into hasher: inout Hasher) { hasher.combine(box.value) }
}

// This is safe to share: a box with several owners is only read.
extension CopyOnWrite.Box: @unchecked Sendable where Value: Sendable {}
extension CopyOnWrite: Sendable where Value: Sendable {}
