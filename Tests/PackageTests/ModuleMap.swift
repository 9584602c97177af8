/// The module map of ARCHITECTURE.md as a table of allowed imports.
enum ModuleMap {
    /// The modules right below each module. A module may import every module that its arrows lead
    /// to, near or far.
    static let arrows: [String: Set<String>] = [
        "Intervals": [],
        "Rangeable": ["Intervals"],
        "SpoolCore": ["Intervals"],
        "SpoolJSON": ["SpoolCore"],
        "SpoolLibc": [],
        "SpoolSystem": ["SpoolCore", "SpoolLibc", "CSpoolSystem"],
        "SpoolStore": ["SpoolSystem", "CSQLite", "COpenSSL"],
        "SpoolOrigin": ["SpoolSystem", "CCurl"],
        "SpoolURLSession": ["SpoolOrigin"],
        "SpoolServer": ["SpoolSystem"],
        "SpoolManifests": ["SpoolCore", "CZlib"],
        "SpoolMedia": ["SpoolCore"],
        "Spool": ["SpoolMedia", "SpoolStore", "SpoolOrigin", "SpoolURLSession", "SpoolManifests"],
        "SpoolTiers": ["Spool"],
        "SpoolDASH": ["Spool"],
        "SpoolAdoption": ["SpoolDASH", "SpoolJSON"],
        "SpoolProxy": ["Spool", "SpoolServer"],
        "SpoolDashboard": ["SpoolProxy", "SpoolAdoption"],
        "SpoolAVFoundation": ["SpoolProxy", "AVFoundation"],
        "SpoolBackground": ["SpoolAVFoundation"],
        // The double for Linux, which lies among the tests.
        "AVFoundation": ["SpoolSystem"],
        "SpoolBlobs": ["SpoolStore", "SpoolJSON"],
        "SpoolTesting": ["Spool", "SpoolBlobs"],
        // The parts that only our own tests need.
        "SpoolTestSupport": ["SpoolTesting"],
        "SpoolDeviceChecks": ["SpoolBackground", "SpoolTesting"],
        "SpoolDeviceCheck": ["SpoolDeviceChecks"],
        "SpoolCommand": ["SpoolDashboard", "SpoolTiers", "SpoolDASH"],
        "SpoolCrashTest": ["SpoolTestSupport"],
        "SpoolBenchmarks": ["Rangeable", "SpoolProxy", "SpoolAVFoundation", "SpoolTestSupport"],
    ]

    /// Modules that must not link Foundation, which keeps the program small.
    static let withoutFoundation: Set<String> = [
        "Intervals", "Rangeable", "SpoolCore", "SpoolJSON", "SpoolLibc", "SpoolSystem", "SpoolStore", "SpoolOrigin", "SpoolServer",
        "SpoolManifests", "SpoolMedia", "SpoolBlobs",
    ]

    /// Modules that a simulation drives. They use calls and callbacks, and their clocks and
    /// randomness are injected.
    static let engine: Set<String> = [
        "Intervals", "Rangeable", "SpoolCore", "SpoolJSON", "SpoolLibc", "SpoolSystem", "SpoolStore", "SpoolOrigin", "SpoolServer",
        "SpoolManifests", "SpoolMedia",
        "SpoolTiers",
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

    /// The platforms' modules, with the modules that may import them. `nil` allows every module.
    static let platform: [String: Set<String>?] = [
        "Glibc": ["SpoolLibc"],
        "Darwin": ["SpoolLibc"],
        "Dispatch": nil,
        "SQLite3": ["SpoolStore", "SpoolTesting"],
        "zlib": ["SpoolManifests"],
        "CryptoKit": ["SpoolStore"],
        "Network": ["SpoolURLSession", "SpoolAVFoundation"],
        "CommonCrypto": ["SpoolStore"],
        "Security": ["Spool"],
        "FoundationEssentials": [
            "Spool", "SpoolURLSession", "SpoolProxy", "SpoolCommand", "SpoolBenchmarks", "SpoolTesting", "SpoolAVFoundation",
            "SpoolBackground",
        ],
        "Foundation": [
            "Spool", "SpoolURLSession", "SpoolProxy", "SpoolCommand", "SpoolBenchmarks", "SpoolTesting", "SpoolAVFoundation",
            "SpoolBackground",
        ],
        "FoundationNetworking": ["SpoolURLSession"],
        "os": ["Spool"],
        "AVFoundation": ["SpoolAVFoundation", "SpoolBenchmarks"],
        "UniformTypeIdentifiers": ["SpoolAVFoundation"],
        "SwiftUI": ["SpoolAVFoundation"],
        "Combine": ["SpoolAVFoundation", "Spool"],
    ]

    /// Whether `module` may contain `import imported`.
    static func mayImport(_ imported: String, in module: String) -> Bool {
        if let users = platform[imported] { return users?.contains(module) ?? true }
        return reachable(from: module).contains(imported)
    }
}
