import SpoolStore

/// The file of a past version.
struct PastFile {
    let file: any DataFile
    /// The checks of its bytes that no reader has used yet, as the index had them.
    var checks: [Piece]?
}
