import SpoolCore

/// The sessions of a cache: those in use, and a bounded number that nobody uses, oldest use out first.
struct SessionTable {
    private var sessions: [ResourceKey: ResourceSession] = [:]
    /// Idle sessions, longest idle first. One that serves hits stays here: those take no look at the table.
    private var idle: [ResourceSession] = []
    /// How many idle sessions stay.
    var idleLimit: Int
    /// Keys of sessions that are let go as soon as nobody uses them, because the store has changed under them.
    private var stale: Set<ResourceKey> = []
    var isClosed = false
    /// Tells a session from the others of the cache, also from earlier ones of its key.
    private var lastNumber: UInt64 = 0

    init(idleLimit: Int) {
        self.idleLimit = idleLimit
    }

    /// The session of a key, which is in use from now on.
    mutating func use(_ key: ResourceKey) -> ResourceSession? {
        guard let session = sessions[key] else { return nil }
        session.claim()
        if let index = idle.lastIndex(where: { $0 === session }) { idle.remove(at: index) }
        return session
    }

    /// A number that no session of this cache has had.
    mutating func makeNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    func peek(_ key: ResourceKey) -> ResourceSession? { sessions[key] }

    var all: [ResourceSession] { sessions.values.sorted { $0.key < $1.key } }

    /// What sessions know of the store holds no longer for those who come: idle ones go now, the others when they are idle.
    mutating func makeStale() {
        stale.formUnion(sessions.keys)
        for session in idle { letGo(session) }
        idle = idle.filter { sessions[$0.key] === $0 }
        stale.formIntersection(sessions.keys)
    }

    /// The same for one resource.
    mutating func makeStale(_ key: ResourceKey) {
        guard let session = sessions[key] else { return }
        if idle.contains(where: { $0 === session }), session.detachIfIdle() { _ = remove(key) } else { stale.insert(key) }
    }

    mutating func insert(_ session: ResourceSession) -> ResourceSession {
        sessions[session.key] = session
        session.claim()
        return session
    }

    /// Nobody uses the session now. One that is taken up again meanwhile just comes back by `use`.
    mutating func noteIdle(_ session: ResourceSession) {
        if idle.last === session, stale.isEmpty { return }
        guard sessions[session.key] === session else { return }
        if stale.contains(session.key), session.detachIfIdle() {
            _ = remove(session.key)
            return
        }
        if let index = idle.firstIndex(where: { $0 === session }) { idle.remove(at: index) }
        idle.append(session)
        if idle.count > idleLimit {
            let excess = idle.count - idleLimit
            for session in idle.prefix(excess) { letGo(session) }
            idle.removeFirst(excess)
        }
    }

    /// Takes a session out unless somebody came to use it.
    private mutating func letGo(_ session: ResourceSession) {
        if sessions[session.key] === session, session.detachIfIdle() { sessions[session.key] = nil }
    }

    mutating func remove(_ key: ResourceKey) -> ResourceSession? {
        idle.removeAll { $0.key == key }
        stale.remove(key)
        return sessions.removeValue(forKey: key)
    }

    /// Takes out this very session, if it is still the one of its key.
    mutating func remove(_ session: ResourceSession) {
        if sessions[session.key] === session { _ = remove(session.key) }
    }

    mutating func removeAll() -> [ResourceSession] {
        defer {
            sessions = [:]
            idle = []
            stale = []
        }
        return sessions.values.sorted { $0.key < $1.key }
    }
}
