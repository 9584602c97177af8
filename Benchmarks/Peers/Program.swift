import Glibc

/// A program that the harness started: it ends with the harness.
final class Program {
    let name: String
    let process: pid_t
    /// What the program writes to its standard output and error.
    let logPath: String
    private var isRunning = true

    /// Sends a signal to what it starts when its own parent is gone; without it a killed harness leaves its programs behind.
    private static let parentWatch = "/usr/bin/setpriv"

    /// The user and the group that own nothing, as Linux numbers them.
    private static let nobody: uid_t = 65_534

    /// Starts a program; with `isNobody`, one that root starts runs as the user that owns nothing.
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

    /// Lets a program that runs as nobody write to a directory; does nothing for who isn't root.
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

    /// What the program has said so far.
    var log: String {
        readSmallFile(logPath) ?? ""
    }

    /// Polls until `probe` answers something; the program's words are in the error when it does not, or when it ended.
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

    /// Ends the program as a person would (Ctrl-C), and waits for it; after so many seconds it is killed.
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

/// Runs a program to its end; answers what it said, or nil when it failed.
func output(of arguments: [String], logPath: String) -> String? {
    unlink(logPath)
    guard let program = try? Program(arguments[0], arguments, logPath: logPath) else { return nil }
    var status: Int32 = 0
    waitpid(program.process, &status, 0)
    program.forget()
    return status == 0 ? program.log : nil
}

extension Program {
    /// The process was waited for elsewhere.
    fileprivate func forget() {
        isRunning = false
    }
}

/// The program that runs this, to be started again as something else.
func ownPath() -> String? {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
}

/// What `readSmallFile` reads at most.
let smallFileBytes = 64 * 1024

/// The beginning of a small file, such as those of /proc; nil when it can't be read.
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
