import SpoolCore

/// The sessions of a cache: those in use, and a bounded number of idle ones. The longest idle
/// session goes first.
struct SessionTable {
    private var sessions: [ResourceKey: ResourceSession] = [:]
    /// The idle sessions, longest idle first. A session that serves hits stays here, because hits
    /// do not use the table.
    private var idle: [ResourceSession] = []
    /// The number of idle sessions that stay.
    var idleLimit: Int
    /// The keys of sessions that are released as soon as they are idle, because the store has
    /// changed under them.
    private var stale: Set<ResourceKey> = []
    var isClosed = false
    /// The last number given to a session. Each session has its own, also among those of one key.
    private var lastNumber: UInt64 = 0

    init(idleLimit: Int) {
        self.idleLimit = idleLimit
    }

    /// Returns the session of a key and claims it for the caller.
    mutating func use(_ key: ResourceKey) -> ResourceSession? {
        guard let session = sessions[key] else { return nil }
        session.claim()
        if let index = idle.lastIndex(where: { $0 === session }) { idle.remove(at: index) }
        return session
    }

    /// Returns a number that no session of this cache has had.
    mutating func makeNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    func peek(_ key: ResourceKey) -> ResourceSession? { sessions[key] }

    var all: [ResourceSession] { sessions.values.sorted { $0.key < $1.key } }

    /// Marks all sessions as outdated, because the store has changed under them. Idle sessions go
    /// now, the others when they are idle.
    mutating func makeStale() {
        stale.formUnion(sessions.keys)
        for session in idle { drop(session) }
        idle = idle.filter { sessions[$0.key] === $0 }
        stale.formIntersection(sessions.keys)
    }

    /// Marks the session of one resource as outdated.
    mutating func makeStale(_ key: ResourceKey) {
        guard let session = sessions[key] else { return }
        if idle.contains(where: { $0 === session }), session.detachIfIdle() { _ = remove(key) } else { stale.insert(key) }
    }

    mutating func insert(_ session: ResourceSession) -> ResourceSession {
        sessions[session.key] = session
        session.claim()
        return session
    }

    /// Notes that a session is idle. A reader that comes meanwhile takes it back with `use`.
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
            for session in idle.prefix(excess) { drop(session) }
            idle.removeFirst(excess)
        }
    }

    /// Removes a session, unless a caller has begun to use it.
    private mutating func drop(_ session: ResourceSession) {
        if sessions[session.key] === session, session.detachIfIdle() { sessions[session.key] = nil }
    }

    mutating func remove(_ key: ResourceKey) -> ResourceSession? {
        idle.removeAll { $0.key == key }
        stale.remove(key)
        return sessions.removeValue(forKey: key)
    }

    /// Removes `session` if it is still the one of its key.
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
