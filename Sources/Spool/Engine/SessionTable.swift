import SpoolCore

/// The sessions of a cache: those in use, and a bounded number that nobody uses, oldest use out first.
struct SessionTable {
    private var sessions: [ResourceKey: ResourceSession] = [:]
    /// Keys of idle sessions, longest idle first.
    private var idle: [ResourceKey] = []
    private let idleLimit: Int
    /// Keys of sessions that are let go as soon as nobody uses them, because the store has changed under them.
    private var stale: Set<ResourceKey> = []
    var isClosed = false

    init(idleLimit: Int) {
        self.idleLimit = idleLimit
    }

    /// The session of a key, which is in use from now on.
    mutating func use(_ key: ResourceKey) -> ResourceSession? {
        guard let session = sessions[key] else { return nil }
        session.claim()
        if let index = idle.lastIndex(of: key) { idle.remove(at: index) }
        return session
    }

    func peek(_ key: ResourceKey) -> ResourceSession? { sessions[key] }

    var all: [ResourceSession] { sessions.values.sorted { $0.key < $1.key } }

    /// What sessions know of the store holds no longer for those who come: idle ones go now, the others when they are idle.
    mutating func makeStale() {
        stale.formUnion(sessions.keys)
        for key in idle where sessions[key]?.isIdle ?? true { sessions[key] = nil }
        idle = idle.filter { sessions[$0] != nil }
        stale.formIntersection(sessions.keys)
    }

    /// The same for one resource.
    mutating func makeStale(_ key: ResourceKey) {
        guard let session = sessions[key] else { return }
        if idle.contains(key), session.isIdle { _ = remove(key) } else { stale.insert(key) }
    }

    mutating func insert(_ session: ResourceSession) -> ResourceSession {
        sessions[session.key] = session
        session.claim()
        return session
    }

    /// Nobody uses the session now. One that is taken up again meanwhile just comes back by `use`.
    mutating func noteIdle(_ key: ResourceKey) {
        guard sessions[key] != nil, idle.last != key else { return }
        if stale.contains(key), sessions[key]?.isIdle ?? true {
            _ = remove(key)
            return
        }
        if let index = idle.firstIndex(of: key) { idle.remove(at: index) }
        idle.append(key)
        guard idle.count > idleLimit else { return }
        let oldest = idle.removeFirst()
        if sessions[oldest]?.isIdle ?? true { sessions[oldest] = nil }
    }

    mutating func remove(_ key: ResourceKey) -> ResourceSession? {
        idle.removeAll { $0 == key }
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
