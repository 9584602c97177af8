// swift-tools-version: 6.2
import PackageDescription

// The module map is drawn in ARCHITECTURE.md; arrows point down only.
// Warnings become errors in our own builds only (see scripts/lib.sh): a manifest that
// carries `unsafeFlags` or such a setting could not be a dependency of an app.

// A part of the tests, for a build in which the others would take minutes (scripts/test): one target
// of tests by its name, or `StressTests`, `MemoryTests` or `FuzzTests`, the files of the tables below.
let onlyTests = Context.environment["SPOOL_ONLY_TESTS"]

let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    // Memory that its owner takes back is overwritten (`poison`), in debug builds and in those of tests.
    + (onlyTests == nil ? [] : [.define("SPOOL_TESTS")])

func module(
    _ name: String, path: String? = nil, exclude: [String] = [], resources: [Resource] = [], _ dependencies: [Target.Dependency]
) -> Target {
    .target(name: name, dependencies: dependencies, path: path, exclude: exclude, resources: resources, swiftSettings: settings)
}

// The tests for the thread sanitizer, and the files that they need, by their targets.
let stressSources = [
    "RangeableTests": ["RangeableStressTests.swift"],
    "SpoolSystemTests": ["StressTests.swift"],
    "SpoolOriginTests": ["CurlStressTests.swift"],
    "SpoolTests": ["EngineStressTests.swift", "Bench.swift"],
    "SpoolServerTests": ["ServerStressTests.swift", "Client.swift", "TestRandom.swift", "TestServer.swift", "TestSources.swift"],
    "SpoolProxyTests": ["ProxyStressTests.swift", "CredentialStressTests.swift", "ManifestStressTests.swift", "Support"],
    "SpoolSimulationTests": ["Playback/PlaybackStressTests.swift"],
    "AVFoundationDoubleTests": ["RealQueueStressTests.swift", "LoadingTraceRecorder.swift", "Support"],
]

// The tests for the address sanitizer: who owns the memory that media flow through.
let memorySources = [
    "SpoolSystemTests": ["BufferPoolTests.swift", "OwnedBytesTests.swift"],
    "SpoolServerTests": ["BodyTests.swift", "Client.swift", "TestRandom.swift", "TestServer.swift", "TestSources.swift"],
    "SpoolProxyTests": ["ManifestStressTests.swift", "Support"],
]

// The tests for the address sanitizer at night: parsers of foreign bytes, on a million broken texts and files.
let fuzzSources = [
    "SpoolProxyTests": ["DASHFuzzTests", "FuzzTests", "FuzzedSession", "Fuzzer", "ManifestFuzzTests", "OfferFuzzTests"].map {
        "Fuzz/\($0).swift"
    },
    "SpoolAdoptionTests": ["AdoptionFuzzTests.swift"],
    "SpoolMediaTests": ["MediaFuzzTests.swift", "PlannerTests.swift", "Support"],
]

let sanitizedSources = ["StressTests": stressSources, "MemoryTests": memorySources, "FuzzTests": fuzzSources]

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    let sources = onlyTests.flatMap { sanitizedSources[$0]?[name] }
    return .testTarget(name: name, dependencies: dependencies, sources: sources, swiftSettings: settings)
}

#if os(Linux)
let sqlite: [Target.Dependency] = ["CSQLite"]
let cryptography: [Target.Dependency] = ["COpenSSL"]
let curl: [Target.Dependency] = ["CCurl"]
let compression: [Target.Dependency] = ["CZlib"]
let defaultTransport: [Target.Dependency] = ["SpoolOrigin"]
// The double, see below.
let avFoundation: [Target.Dependency] = ["AVFoundation"]
// A target with resources imports Foundation on Linux, where nothing reads this file.
let privacyFiles: (excluded: [String], resources: [Resource]) = (["PrivacyInfo.xcprivacy"], [])
#else
let privacyFiles: (excluded: [String], resources: [Resource]) = ([], [.copy("PrivacyInfo.xcprivacy")])
let sqlite: [Target.Dependency] = []
let cryptography: [Target.Dependency] = []
let curl: [Target.Dependency] = []
let compression: [Target.Dependency] = []
let defaultTransport: [Target.Dependency] = ["SpoolOrigin", "SpoolURLSession"]
let avFoundation: [Target.Dependency] = []
#endif

var targets: [Target] = [
    // Values
    module("Intervals", []),
    module("Rangeable", exclude: ["README.md"], ["Intervals"]),
    module("SpoolCore", ["Intervals"]),
    module("SpoolJSON", ["SpoolCore"]),
    module("SpoolMedia", ["SpoolCore"]),

    // System calls and threads
    module("SpoolLibc", []),
    .target(name: "CSpoolSystem"),
    .target(
        name: "SpoolSystem", dependencies: ["SpoolLibc", "CSpoolSystem", "SpoolCore"], exclude: privacyFiles.excluded,
        resources: privacyFiles.resources,
        swiftSettings: settings),

    // Engine
    module("SpoolStore", ["SpoolCore", "SpoolLibc", "SpoolSystem"] + sqlite + cryptography),
    module("SpoolOrigin", ["SpoolCore", "SpoolLibc", "SpoolSystem"] + curl),
    module("SpoolURLSession", ["SpoolCore", "SpoolSystem", "SpoolOrigin"]),
    module(
        "Spool",
        ["SpoolCore", "SpoolLibc", "SpoolMedia", "SpoolSystem", "SpoolStore", "SpoolManifests"] + defaultTransport),

    // Reads the manifests of players that Apple's systems do not have
    module("SpoolDASH", ["SpoolCore", "SpoolManifests", "Spool"]),

    // Keeps the bytes of a cache in a place of the app
    module("SpoolBlobs", ["SpoolCore", "SpoolJSON", "SpoolStore", "SpoolSystem"]),

    // Takes over the stores of other caches
    module("SpoolAdoption", ["SpoolCore", "SpoolJSON", "SpoolLibc", "SpoolSystem", "SpoolStore", "Spool", "SpoolDASH"]),

    // Servers that are asked before origins; for the program only
    module("SpoolTiers", ["SpoolCore", "SpoolSystem", "SpoolStore", "SpoolOrigin", "SpoolManifests", "Spool"]),

    // The HTTP door
    module("SpoolServer", ["SpoolCore", "SpoolLibc", "SpoolSystem"]),
    module("SpoolManifests", ["SpoolCore"] + compression),
    module("SpoolProxy", ["SpoolCore", "SpoolSystem", "SpoolServer", "SpoolManifests", "Spool"]),

    // The pages, reports and commands of a program that runs the HTTP door; apps do without
    module(
        "SpoolDashboard", resources: [.embedInCode("Pages/Status")],
        ["SpoolCore", "SpoolJSON", "SpoolSystem", "SpoolServer", "SpoolStore", "SpoolManifests", "Spool", "SpoolAdoption", "SpoolProxy"]),

    // The AVFoundation door
    module("SpoolAVFoundation", ["SpoolCore", "SpoolSystem", "SpoolStore", "SpoolOrigin", "Spool", "SpoolProxy"] + avFoundation),

    // Continues downloads while an app is suspended
    module("SpoolBackground", ["SpoolCore", "SpoolSystem", "SpoolOrigin", "Spool", "SpoolAVFoundation"] + avFoundation),

    // Fakes and contract suites for the tests of apps; imports no test framework
    module("SpoolTesting", ["SpoolCore", "SpoolLibc", "SpoolSystem", "SpoolStore", "SpoolBlobs", "SpoolOrigin", "Spool"] + sqlite),

    // Cases, worlds, a simulator and transports for our own tests; no product
    module(
        "SpoolTestSupport", path: "Tests/Support",
        ["SpoolCore", "SpoolLibc", "SpoolSystem", "SpoolStore", "SpoolOrigin", "Spool", "SpoolTesting"]),

    // The cases for a real player and a real origin. A target of its own, because three hosts run
    // them: a program, a suite of tests, and an app that somebody makes for a device. It lies among
    // the tests, and no app takes it.
    module(
        "SpoolDeviceChecks", path: "Tests/DeviceChecks",
        [
            "SpoolAVFoundation", "SpoolBackground", "SpoolProxy", "Spool", "SpoolOrigin", "SpoolStore", "SpoolSystem", "SpoolCore",
            "SpoolTesting",
        ] + avFoundation
    ),

    // Programs
    .executableTarget(
        name: "SpoolDeviceCheck", dependencies: ["SpoolDeviceChecks"], path: "Tests/DeviceCheckProgram", swiftSettings: settings),
    .executableTarget(
        name: "SpoolCommand",
        dependencies: [
            "Spool", "SpoolDASH", "SpoolTiers", "SpoolAdoption", "SpoolDashboard", "SpoolProxy", "SpoolServer", "SpoolManifests",
            "SpoolOrigin", "SpoolStore", "SpoolJSON", "SpoolCore", "SpoolLibc", "SpoolSystem",
        ],
        swiftSettings: settings),

    // Examples, compiled and run by the tests
    module("WAVLevels", path: "Examples/WAVLevels", ["Spool"]),
    module("BlobShelf", path: "Examples/BlobShelf", ["SpoolBlobs", "SpoolStore"]),

    // Tests
    tests("RangeableTests", ["Rangeable"]),
    tests("SpoolCoreTests", ["SpoolCore", "SpoolJSON"]),
    tests("SpoolMediaTests", ["SpoolMedia", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"]),
    tests(
        "SpoolAdoptionTests",
        ["SpoolAdoption", "Spool", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"]),
    tests("SpoolSystemTests", ["SpoolLibc", "SpoolSystem", "SpoolCore"]),
    tests("SpoolStoreTests", ["SpoolLibc", "SpoolStore", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"] + sqlite),
    tests(
        "SpoolOriginTests", ["SpoolLibc", "SpoolOrigin", "SpoolURLSession", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"]),
    tests(
        "SpoolTests",
        [
            "SpoolLibc", "Spool", "SpoolDASH", "SpoolMedia", "SpoolAdoption", "WAVLevels", "SpoolOrigin", "SpoolStore", "SpoolSystem",
            "SpoolCore", "SpoolTestSupport", "SpoolTesting",
        ]
            + cryptography),
    tests(
        "SpoolTiersTests",
        ["SpoolTiers", "Spool", "SpoolOrigin", "SpoolStore", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"]),
    tests(
        "SpoolSimulationTests",
        ["SpoolAVFoundation", "Spool", "SpoolOrigin", "SpoolStore", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"]
            + avFoundation),
    tests("SpoolServerTests", ["SpoolLibc", "SpoolServer", "SpoolSystem", "SpoolCore"]),
    tests("SpoolManifestsTests", ["SpoolDASH", "SpoolManifests", "SpoolCore"]),
    tests(
        "SpoolProxyTests",
        [
            "SpoolDashboard", "SpoolProxy", "SpoolServer", "SpoolDASH", "SpoolManifests", "Spool", "SpoolOrigin", "SpoolStore", "SpoolLibc",
            "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting",
        ]),
    tests(
        "SpoolDashboardTests",
        [
            "SpoolDashboard", "SpoolProxy", "SpoolServer", "SpoolDASH", "SpoolManifests", "Spool", "SpoolOrigin", "SpoolStore", "SpoolLibc",
            "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting",
        ]),
    tests(
        "SpoolCommandTests",
        ["SpoolCommand", "SpoolTiers", "SpoolLibc", "SpoolOrigin", "SpoolSystem", "SpoolJSON", "SpoolCore", "SpoolTesting"]),
    // Written as the tests of an app: they see the public declarations of the products only.
    .testTarget(
        name: "AppTests",
        dependencies: ["Rangeable", "Spool", "SpoolStore", "SpoolBlobs", "BlobShelf", "SpoolOrigin", "SpoolProxy", "SpoolTesting"],
        packageAccess: false, swiftSettings: settings),
    tests("DeviceCheckTests", ["SpoolDeviceChecks"]),
    tests("PackageTests", []),
]

#if os(Linux)
// On Apple's systems SQLite, zlib and CryptoKit come with the SDK and URLSession is the transport.
targets += [
    .systemLibrary(
        name: "CSQLite", pkgConfig: "sqlite3",
        providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
        name: "CCurl", pkgConfig: "libcurl",
        providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
        name: "COpenSSL", pkgConfig: "libcrypto",
        providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
        name: "CZlib", pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"])]),
    // A test double of the classes that the AVFoundation door uses; no product. It makes
    // `canImport(AVFoundation)` true.
    .target(
        name: "AVFoundation",
        dependencies: ["SpoolCore", "SpoolSystem"],
        path: "Tests/AVFoundationDouble",
        exclude: ["README.md"],
        swiftSettings: settings),
    tests("AVFoundationDoubleTests", ["AVFoundation", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"]),
    // They drive the double, so they cannot compile where AVFoundation is real.
    tests(
        "SpoolAVFoundationTests",
        [
            "SpoolAVFoundation", "SpoolBackground", "SpoolProxy", "Spool", "SpoolStore", "SpoolOrigin", "SpoolSystem", "SpoolCore",
            "SpoolTestSupport", "SpoolTesting",
        ] + avFoundation
    ),
    // Kills a process that plays and looks at what it left; no product.
    .executableTarget(
        name: "SpoolCrashTest",
        dependencies: ["SpoolLibc", "Spool", "SpoolOrigin", "SpoolStore", "SpoolSystem", "SpoolCore", "SpoolTestSupport", "SpoolTesting"],
        path: "Tests/SpoolCrashTest", swiftSettings: settings),
    // Drives programs from outside and reads what this kernel accounts for them; no product.
    .executableTarget(
        name: "SpoolBenchmarks",
        dependencies: [
            "Rangeable", "SpoolLibc", "CSpoolSystem", "SpoolAVFoundation", "Spool", "SpoolOrigin", "SpoolStore", "SpoolSystem", "SpoolCore",
            "SpoolTestSupport", "SpoolTesting",
        ] + avFoundation + cryptography,
        path: "Benchmarks",
        exclude: ["README.md", "thresholds.txt"],
        swiftSettings: settings),
]
#endif

var products: [Product] = [
    .library(name: "Rangeable", targets: ["Rangeable"]),
    .library(name: "Spool", targets: ["Spool"]),
    // For whoever writes a store or a transport; `Spool` exports what other apps need of them.
    .library(name: "SpoolStore", targets: ["SpoolStore"]),
    .library(name: "SpoolOrigin", targets: ["SpoolOrigin"]),
    .library(name: "SpoolBlobs", targets: ["SpoolBlobs"]),
    .library(name: "SpoolProxy", targets: ["SpoolProxy"]),
    .library(name: "SpoolDASH", targets: ["SpoolDASH"]),
    .library(name: "SpoolAdoption", targets: ["SpoolAdoption"]),
    .library(name: "SpoolTesting", targets: ["SpoolTesting"]),
]

#if os(Linux)
products.append(.executable(name: "spool", targets: ["SpoolCommand"]))
#else
// Xcode keeps the files of a target in a directory NAME.build, and APFS compares names without case.
// So the program may not have the name of the library.
products.append(.executable(name: "spool-cli", targets: ["SpoolCommand"]))
// On Linux its target stands on a test double of AVFoundation and is there for tests only.
products += ["SpoolAVFoundation", "SpoolBackground", "SpoolDeviceChecks"].map { .library(name: $0, targets: [$0]) }
products.append(.executable(name: "spool-device-check", targets: ["SpoolDeviceCheck"]))
#endif

// The programs go with the other tests, apart from two: the command stays beside its tests, and the
// crash test beside the simulations, whose build it shares. So does the
// AVFoundation door, where no kept test needs it.
if let onlyTests {
    let kept = sanitizedSources[onlyTests].map { Set($0.keys) } ?? [onlyTests]
    let names = Set(targets.filter { $0.type == .test }.map(\.name))
    precondition(!names.isDisjoint(with: kept), "SPOOL_ONLY_TESTS names no tests: \(onlyTests)")
    let companion = ["SpoolCommandTests": "SpoolCommand", "SpoolSimulationTests": "SpoolCrashTest"][onlyTests]
    let programs: [String] = ["SpoolCommand", "SpoolBenchmarks", "SpoolCrashTest", "SpoolDeviceCheck"].filter { $0 != companion }
    let unneeded = names.subtracting(kept).union(programs).union(onlyTests == "DeviceCheckTests" ? [] : ["SpoolDeviceChecks"]).union(
        ["MemoryTests", "FuzzTests"].contains(onlyTests) ? ["SpoolAVFoundation", "SpoolBackground", "AVFoundation"] : [])
    let programOfProduct = ["spool": "SpoolCommand", "spool-device-check": "SpoolDeviceCheck"]
    targets.removeAll { unneeded.contains($0.name) }
    products.removeAll { unneeded.contains(programOfProduct[$0.name] ?? $0.name) }
}

let package = Package(
    name: "Spool",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .visionOS(.v1)],
    products: products,
    targets: targets
)
