import SpoolCore
import SpoolOrigin

/// The way in which a reader has the origin asked. A fetch is made by that of the reader that it
/// serves, and a fetch without a reader by that of the last answer.
struct ReaderAsk: Sendable {
    /// The URL, the configured fields with those that the reader adds, and how the request is sent.
    var request: OriginRequest
    /// How long the origin may take.
    var patience: OriginPatience
    /// The networks that the reader named, or nil if it named none.
    var access: NetworkAccess?
    /// The name of the client whose share the request is part of. Nil for a program of this
    /// machine.
    var requester: [UInt8]?
    /// The client of a door; nil for a reader of the app.
    var client: ClientRequest?

    /// The parts by which the state machine compares the requests of two readers.
    var source: RequestSource {
        var source = RequestSource(fields: request.fields)
        source.url = request.url
        source.clientFields = client.map { $0.fields.fields.replacing(with: $0.offer) }
        source.followsRedirects = request.followsRedirects
        source.hasUserinfo = request.location?.userinfo != nil
        return source
    }

    /// The same for another URL.
    func to(_ url: MediaURL) -> ReaderAsk {
        var ask = self
        ask.request.setLocation(url)
        return ask
    }
}
