import SpoolLibc

/// A program that the harness started. It ends with the harness.
final class Program {
    let name: String
    let process: pid_t
    /// The path of the file with the program's standard output and error.
    let logPath: String
    private var isRunning = true

    /// Starts a program and sends it a signal when its parent is gone. Without it, the programs of
    /// a killed harness would stay.
    private static let parentWatch = "/usr/bin/setpriv"

    /// The user and the group `nobody`, as Linux numbers them.
    private static let nobody: uid_t = 65_534

    /// Starts a program. With `isNobody`, a program that root starts runs as the user `nobody`.
    init(_ name: String, _ arguments: [String], logPath: String, isNobody: Bool = false) throws {
        self.name = name
        self.logPath = logPath
        var words = arguments
        if access(Self.parentWatch, X_OK) == 0 {
            let user = isNobody && getuid() == 0 ? ["--reuid=\(Self.nobody)", "--regid=\(Self.nobody)", "--clear-groups"] : []
            words = [Self.parentWatch] + user + ["--pdeathsig", "TERM", "--"] + words
        }
        process = try Self.spawn(words, logPath)
    }

    deinit {
        stop()
    }

    /// Lets a program that runs as `nobody` write to a directory. Does nothing for a user other
    /// than root.
    static func giveToNobody(_ directory: String) throws {
        guard getuid() == 0 else { return }
        guard chown(directory, nobody, nobody) == 0 else { throw BenchmarkError.system("chown \(directory)") }
    }

    private static func spawn(_ words: [String], _ logPath: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, logPath, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, words[0], &actions, nil, &arguments, environ)
        guard code == 0 else { throw BenchmarkError.system("start \(words[0])", code) }
        return process
    }

    /// The program's output so far.
    var log: String {
        readSmallFile(logPath) ?? ""
    }

    /// Polls until `probe` returns a value.
    ///
    /// - Throws: An error with the program's output, if the program ended or the time has passed.
    func waitUntilReady<Answer>(seconds: Int, _ probe: () -> Answer?) throws -> Answer {
        let deadline = nanoseconds() + UInt64(seconds) * 1_000_000_000
        while nanoseconds() < deadline {
            if let answer = probe() { return answer }
            if waitpid(process, nil, WNOHANG) == process {
                isRunning = false
                throw BenchmarkError("\(name) ended at its start: \(log)")
            }
            pause(milliseconds: 1)
        }
        throw BenchmarkError("\(name) is not ready after \(seconds) s: \(log)")
    }

    /// Ends the program as a user would (Ctrl-C), and waits for it. After `seconds` seconds it is
    /// killed.
    func stop(seconds: Int = 10) {
        guard isRunning else { return }
        isRunning = false
        kill(process, SIGINT)
        for _ in 0..<seconds * 200 {
            if waitpid(process, nil, WNOHANG) == process { return }
            pause(milliseconds: 5)
        }
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
    }
}

/// Runs a program to its end, and returns its output, or nil if it failed.
func output(of arguments: [String], logPath: String) -> String? {
    unlink(logPath)
    guard let program = try? Program(arguments[0], arguments, logPath: logPath) else { return nil }
    var status: Int32 = 0
    waitpid(program.process, &status, 0)
    program.forget()
    return status == 0 ? program.log : nil
}

extension Program {
    /// Marks the process as already waited for.
    fileprivate func forget() {
        isRunning = false
    }
}

/// Returns the path of this program, which can be started again in another role.
func ownPath() -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
}

/// The largest number of bytes that `readSmallFile` reads.
let smallFileBytes = 64 * 1024

/// Returns the beginning of a small file, such as those of /proc, or nil if it cannot be read.
func readSmallFile(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    while bytes.count < smallFileBytes {
        let count = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
            return count
        }
        if count <= 0 { break }
    }
    return String(decoding: bytes, as: UTF8.self)
}
