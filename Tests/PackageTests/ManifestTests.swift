import Foundation
import Testing

/// The guarantees of the manifest for packages that depend on it, on Linux and on Apple systems.
struct ManifestTests {
    /// The host's own branch and the other one, on every host.
    enum Platform: String, CaseIterable {
        case linux = "true"
        case apple = "false"
    }

    @Test(arguments: Platform.allCases)
    func `an app can depend on the package, which has no unsafe flags and no warning settings`(platform: Platform) throws {
        let manifest = try Manifest.dump(platform)
        #expect(manifest.settingKinds.isDisjoint(with: ["unsafeFlags", "treatAllWarnings", "treatWarning"]))
        #expect(manifest.settingKinds.contains("swiftLanguageMode"))
    }

    @Test(arguments: Platform.allCases)
    func `the package depends on no other package`(platform: Platform) throws {
        #expect(try Manifest.dump(platform).packageDependencyCount == 0)
    }

    @Test(arguments: Platform.allCases)
    func `the products are those of the design`(platform: Platform) throws {
        let products = try Manifest.dump(platform).products
        let everywhere = [
            "Rangeable", "Spool", "SpoolStore", "SpoolOrigin", "SpoolBlobs", "SpoolProxy", "SpoolDASH", "SpoolAdoption", "SpoolTesting",
        ]
        // Where AVFoundation is a double, the modules on top of it are no products.
        let onApple = ["spool-cli", "SpoolAVFoundation", "SpoolBackground", "SpoolDeviceChecks", "spool-device-check"]
        #expect(products == everywhere + (platform == .apple ? onApple : ["spool"]))
    }

    /// Xcode makes a directory for each name. On a disk that compares names without case, two builds in one directory
    /// fail.
    @Test func `on Apple systems no two products or targets have names that differ in case only`() throws {
        let manifest = try Manifest.dump(.apple)
        let names = Set(manifest.products + manifest.targetNames)
        #expect(Set(names.map { $0.lowercased() }).count == names.count)
    }

    @Test func `on Apple systems the manifest has no C library targets and no AVFoundation double`() throws {
        let manifest = try Manifest.dump(.apple)
        #expect(manifest.targets(ofType: "system").isEmpty)
        #expect(!manifest.targetNames.contains("AVFoundation"))
        for target in manifest.targetNames {
            #expect(manifest.closure(of: target).isDisjoint(with: ["CSQLite", "CCurl", "COpenSSL", "CZlib", "AVFoundation"]), "\(target)")
        }
    }

    @Test func `on Apple systems the transport of an app is URLSession`() throws {
        #expect(try Manifest.dump(.apple).closure(of: "Spool").contains("SpoolURLSession"))
    }

    /// App Review asks for the reasons of every call that reads file times or free space.
    @Test func `the privacy manifest has the reasons for the calls of the store`() throws {
        let path = "Sources/SpoolSystem/PrivacyInfo.xcprivacy"
        let data = try Data(contentsOf: PackageDirectory.url.appendingPathComponent(path))
        let root = try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
        let entries = root["NSPrivacyAccessedAPITypes"] as? [[String: Any]] ?? []
        let reasons = entries.flatMap { $0["NSPrivacyAccessedAPITypeReasons"] as? [String] ?? [] }
        #expect(reasons.sorted() == ["85F4.1", "C617.1", "E174.1"])
        #expect(root["NSPrivacyTracking"] as? Bool == false)
        let manifest = try String(contentsOf: PackageDirectory.url.appendingPathComponent("Package.swift"), encoding: .utf8)
        #expect(manifest.contains(".copy(\"PrivacyInfo.xcprivacy\")"))
    }

    /// No Xcode has opened the project here, so what it names is looked up.
    @Test func `the sample project has its objects, its folders and its product`() throws {
        let examples = PackageDirectory.url.appendingPathComponent("Examples")
        let text = try String(contentsOf: examples.appendingPathComponent("MusicPlayer.xcodeproj/project.pbxproj"), encoding: .utf8)
        let root = try #require(
            try PropertyListSerialization.propertyList(from: Data(text.utf8), format: nil) as? [String: Any], "it is a property list")
        let objects = try #require(root["objects"] as? [String: [String: Any]])
        let named = Set(text.matches(of: /\b5[0-9]{23}\b/).map { String($0.0) })
        #expect(named == Set(objects.keys))
        let places = objects.values.filter { $0["sourceTree"] as? String != "BUILT_PRODUCTS_DIR" }
        for path in places.compactMap({ ($0["path"] ?? $0["relativePath"]) as? String }) {
            #expect(FileManager.default.fileExists(atPath: examples.appendingPathComponent(path).path), "\(path)")
        }
        let product = objects.values.first { $0["isa"] as? String == "XCSwiftPackageProductDependency" }?["productName"] as? String
        #expect(try Manifest.dump(.apple).productTargets.contains(product ?? ""))
    }

    @Test func `on Linux no product depends on URLSession`() throws {
        let manifest = try Manifest.dump(.linux)
        for target in manifest.productTargets {
            #expect(!manifest.closure(of: target).contains("SpoolURLSession"), "\(target)")
        }
    }

    @Test func `on Linux the manifest has the four C library targets`() throws {
        let manifest = try Manifest.dump(.linux)
        #expect(manifest.targets(ofType: "system") == ["CCurl", "COpenSSL", "CSQLite", "CZlib"])
    }

    /// The build for the thread sanitizer has a list of files. A file that it lacks would never run
    /// there.
    @Test func `the build for the thread sanitizer has every file of stress tests`() throws {
        let manifest = try String(contentsOf: PackageDirectory.url.appendingPathComponent("Package.swift"), encoding: .utf8)
        let files = PackageDirectory.allSwift.map(\.path).filter { $0.hasSuffix("StressTests.swift") }
        #expect(!files.isEmpty)
        for file in files {
            let parts = file.split(separator: "/", maxSplits: 2)
            let entry = manifest.split(separator: "\n").first { $0.hasPrefix("    \"\(parts[1])\": [") }
            #expect(entry?.contains("\"\(parts[2])\"") == true, "\(file)")
        }
    }

    @Test(arguments: Platform.allCases)
    func `every dependency of a module points down`(platform: Platform) throws {
        let manifest = try Manifest.dump(platform)
        for target in ModuleMap.arrows.keys.sorted() {
            let upward = manifest.dependencies(of: target).subtracting(ModuleMap.reachable(from: target))
            #expect(upward.isEmpty, "\(target) may not depend on \(upward.sorted())")
        }
    }
}

/// A manifest as `swift package dump-package` prints it.
struct Manifest {
    private let root: [String: Any]

    /// Dumps a copy of the manifest in which `os(Linux)` is replaced by the value for `platform`.
    ///
    /// The copy has a directory of its own, because the test run holds the lock of the package's.
    static func dump(_ platform: ManifestTests.Platform) throws -> Manifest {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("spool-manifest-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }

        let original = try String(contentsOf: PackageDirectory.url.appendingPathComponent("Package.swift"), encoding: .utf8)
        try original.replacingOccurrences(of: "os(Linux)", with: platform.rawValue)
            .write(to: directory.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)

        let output = try run(
            "swift", "package", "--package-path", directory.path, "--scratch-path", directory.path + "/scratch",
            "--cache-path", directory.path + "/cache", "--disable-sandbox", "dump-package")
        let object = try JSONSerialization.jsonObject(with: output)
        return Manifest(root: try #require(object as? [String: Any]))
    }

    /// Runs a program from the search path to its end, and returns its standard output.
    private static func run(_ arguments: String...) throws -> Data {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        // A build of some tests alone leaves out products.
        process.environment = ProcessInfo.processInfo.environment.filter { $0.key != "SPOOL_ONLY_TESTS" }
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return data
    }

    private var targets: [[String: Any]] { root["targets"] as? [[String: Any]] ?? [] }
    private var productEntries: [[String: Any]] { root["products"] as? [[String: Any]] ?? [] }

    var products: [String] { productEntries.compactMap { $0["name"] as? String } }
    var productTargets: [String] { productEntries.flatMap { $0["targets"] as? [String] ?? [] } }
    var packageDependencyCount: Int { (root["dependencies"] as? [Any])?.count ?? 0 }
    var targetNames: [String] { targets.compactMap { $0["name"] as? String } }

    func targets(ofType type: String) -> [String] {
        targets.filter { $0["type"] as? String == type }.compactMap { $0["name"] as? String }.sorted()
    }

    /// The kinds of build settings that any target uses.
    var settingKinds: Set<String> {
        Set(
            targets.flatMap { $0["settings"] as? [[String: Any]] ?? [] }
                .compactMap { $0["kind"] as? [String: Any] }
                .flatMap(\.keys))
    }

    /// The targets that `target` names as its dependencies.
    func dependencies(of target: String) -> Set<String> {
        let entry = targets.first { $0["name"] as? String == target }
        let dependencies = entry?["dependencies"] as? [[String: [Any]]] ?? []
        return Set(dependencies.flatMap(\.values).compactMap { $0.first as? String })
    }

    /// The targets that `target` depends on, directly or not, with itself.
    func closure(of target: String) -> Set<String> {
        var found: Set<String> = []
        var open = [target]
        while let next = open.popLast() {
            if found.insert(next).inserted { open += dependencies(of: next).sorted() }
        }
        return found
    }
}
