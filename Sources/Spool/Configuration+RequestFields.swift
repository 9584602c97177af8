import SpoolCore

extension Configuration {
    /// What every request to `url` says besides the fields of the reader that causes it.
    package func fields(for url: String) -> HTTPFields {
        guard let own = requestFieldsForURL?(url), !own.lines.isEmpty else { return requestFields }
        return requestFields.replacing(with: own)
    }
}
