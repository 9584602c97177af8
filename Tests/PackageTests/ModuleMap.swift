/// The module map of ARCHITECTURE.md as a table: what each module may import.
enum ModuleMap {
    /// The modules right below each module. A module may import whatever its arrows lead to, near or far.
    static let arrows: [String: Set<String>] = [
        "Rangeable": [],
        "SpoolCore": ["Rangeable"],
        "SpoolSystem": ["SpoolCore", "CSpoolSystem"],
        "SpoolStore": ["SpoolSystem", "CSQLite", "COpenSSL"],
        "SpoolOrigin": ["SpoolSystem", "CCurl"],
        "SpoolURLSession": ["SpoolOrigin"],
        "SpoolServer": ["SpoolSystem"],
        "SpoolManifests": ["SpoolCore"],
        "Spool": ["SpoolStore", "SpoolOrigin", "SpoolURLSession"],
        "SpoolProxy": ["Spool", "SpoolServer", "SpoolManifests"],
        "SpoolAVFoundation": ["Spool", "AVFoundation"],
        // The double, on Linux; lies among the tests.
        "AVFoundation": ["SpoolSystem"],
        "SpoolTesting": ["Spool"],
        "SpoolCommand": ["SpoolProxy"],
        "SpoolCrashTest": ["SpoolTesting"],
        "SpoolBenchmarks": ["SpoolProxy", "SpoolAVFoundation", "SpoolTesting"],
    ]

    /// Modules whose binary must not grow by Foundation.
    static let withoutFoundation: Set<String> = [
        "Rangeable", "SpoolCore", "SpoolSystem", "SpoolStore", "SpoolOrigin", "SpoolServer", "SpoolManifests",
    ]

    /// Modules that a simulation drives: their language is calls and callbacks, their time and chance are injected.
    static let engine: Set<String> = [
        "Rangeable", "SpoolCore", "SpoolSystem", "SpoolStore", "SpoolOrigin", "SpoolServer", "SpoolManifests",
    ]

    /// Every module that `module` may import.
    static func reachable(from module: String) -> Set<String> {
        var found: Set<String> = []
        var open = Array(arrows[module] ?? [])
        while let next = open.popLast() {
            if found.insert(next).inserted { open += arrows[next] ?? [] }
        }
        return found
    }

    /// What comes with the platforms, by who may use it; `nil` is everyone.
    static let platform: [String: Set<String>?] = [
        "Glibc": nil,
        "Darwin": nil,
        "Dispatch": nil,
        "SQLite3": ["SpoolStore"],
        "CryptoKit": ["SpoolStore"],
        "CommonCrypto": ["SpoolStore"],
        "Security": ["Spool"],
        "FoundationEssentials": [
            "Spool", "SpoolURLSession", "SpoolProxy", "SpoolCommand", "SpoolBenchmarks", "SpoolTesting", "SpoolAVFoundation",
        ],
        "Foundation": ["Spool", "SpoolURLSession", "SpoolProxy", "SpoolCommand", "SpoolBenchmarks", "SpoolTesting", "SpoolAVFoundation"],
        "FoundationNetworking": ["SpoolURLSession"],
        "os": ["Spool"],
        "AVFoundation": ["SpoolAVFoundation", "SpoolBenchmarks"],
        "UniformTypeIdentifiers": ["SpoolAVFoundation"],
        "Combine": ["SpoolAVFoundation", "Spool"],
    ]

    /// Whether `module` may say `import imported`.
    static func mayImport(_ imported: String, in module: String) -> Bool {
        if let users = platform[imported] { return users?.contains(module) ?? true }
        return reachable(from: module).contains(imported)
    }
}
