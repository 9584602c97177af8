import SpoolCore

extension Configuration {
    /// Returns the fields of every request to `url`, before those of the reader that causes it.
    package func fields(for url: String) -> HTTPFields {
        guard let own = network.requestFieldsForURL?(url), !own.lines.isEmpty else { return network.requestFields }
        return network.requestFields.replacing(with: own)
    }
}
