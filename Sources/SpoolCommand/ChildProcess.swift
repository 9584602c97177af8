import SpoolSystem

// `environ` is a C variable. This program never changes it.
@preconcurrency import SpoolLibc

/// A program that was started with this program's standard streams and environment.
struct ChildProcess: Sendable {
    let name: String
    private let id: pid_t

    /// How a program ended.
    enum End: Hashable, Sendable {
        case exited(Int32)
        case signal(Int32)
    }

    /// Starts the program that the first of `words` names, found in `PATH`.
    ///
    /// - Parameter variables: The names of environment variables that the program does not get.
    /// - Throws: `SystemError` with `ENOENT` when there is no program with that name.
    static func start(_ words: [String], without variables: [String] = []) throws(SystemError) -> ChildProcess {
        let name = words.first ?? ""
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var id = pid_t()
        let code = spawn(name, arguments, environment(without: variables), &id)
        guard code == 0 else { throw SystemError(code: code, operation: "start", subject: name) }
        return ChildProcess(name: name, id: id)
    }

    /// Returns the environment without the named variables, as a C array. The strings live as long
    /// as this program.
    private static func environment(without names: [String]) -> [UnsafeMutablePointer<CChar>?] {
        #if canImport(Darwin)
        return variables(from: _NSGetEnviron().pointee, without: names)
        #else
        return variables(from: environ, without: names)
        #endif
    }

    /// Returns the variables of a C array that ends with nil, without the named ones.
    private static func variables(
        from first: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, without names: [String]
    ) -> [UnsafeMutablePointer<CChar>?] {
        let prefixes = names.map { $0 + "=" }
        var kept: [UnsafeMutablePointer<CChar>?] = []
        var next = first
        while let current = next, let variable = current.pointee {
            let text = String(cString: variable)
            if !prefixes.contains(where: text.hasPrefix) { kept.append(variable) }
            next = current + 1
        }
        return kept + [nil]
    }

    /// Spawns the program and restores the default action for SIGPIPE. This program ignores that
    /// signal, and a child would inherit that.
    private static func spawn(
        _ name: String, _ arguments: [UnsafeMutablePointer<CChar>?], _ environment: [UnsafeMutablePointer<CChar>?], _ id: inout pid_t
    ) -> Int32 {
        #if canImport(Darwin)
        var attributes: posix_spawnattr_t?
        #else
        var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        return posix_spawnp(&id, name, nil, &attributes, arguments, environment)
    }

    /// Sends SIGTERM to the program.
    func terminate() {
        kill(id, SIGTERM)
    }

    /// Waits for the end of the program. Call it once.
    func end() async -> End {
        await withCheckedContinuation { continuation in
            // Waits on a thread of its own, because the pool that runs this function must not
            // block.
            let thread = SystemThread(name: "spool-child") { continuation.resume(returning: Self.wait(id)) }
            withExtendedLifetime(thread) {}
        }
    }

    private static func wait(_ id: pid_t) -> End {
        var status: Int32 = 0
        if case .failure = attemptSystemCall({ waitpid(id, &status, 0) }) { return .exited(0) }
        let signal = status & 0x7F
        return signal == 0 ? .exited(status >> 8 & 0xFF) : .signal(signal)
    }
}
