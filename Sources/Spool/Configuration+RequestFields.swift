import SpoolCore

extension Configuration {
    /// The fields of every request to `url`, besides those of the reader that causes it.
    package func fields(for url: String) -> HTTPFields {
        guard let own = requestFieldsForURL?(url), !own.lines.isEmpty else { return requestFields }
        return requestFields.replacing(with: own)
    }
}
