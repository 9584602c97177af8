// swift-tools-version: 6.2
import PackageDescription

// Builds the examples as an app would: as a package that depends on Spool. They need an Apple SDK.
// `WAVLevels` is a target of the package above, which builds and tests it on Linux.

let spool: [Target.Dependency] = [.product(name: "SpoolAVFoundation", package: "Spool")]

func example(_ name: String, _ dependencies: [Target.Dependency] = spool) -> Target {
    .target(name: name, dependencies: dependencies, path: name, swiftSettings: [.swiftLanguageMode(.v6)])
}

let examples = [
    example("ThreeLines"), example("MusicPlayer"), example("VideoFeed"), example("PodcastPlayer"),
    // The recorder of traces stands beside the page that explains it (docs/traces).
    example("TraceRecorder", []),
]

let package = Package(
    name: "Examples",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .visionOS(.v1)],
    products: [.library(name: "Examples", targets: examples.map(\.name))],
    dependencies: [.package(name: "Spool", path: "..")],
    targets: examples
)
