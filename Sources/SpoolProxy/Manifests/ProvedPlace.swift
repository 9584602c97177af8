/// The place of an origin's URLs at this proxy, each with a proof of its own.
///
/// A long playlist has thousands of them, so the buffers of one URL serve for the next.
struct ProvedPlace {
    /// `/scheme/authority/`.
    private let authority: [UInt8]
    /// The beginning of the place, and the place.
    private let beginning: Int
    private var place: [UInt8]
    /// The beginning of the URL in `url`, without the last slash, and the URL.
    private let urlBeginning: Int
    private var url: [UInt8]

    /// Creates the place of the URLs that begin with `authority`, a text of the form
    /// `scheme/authority`.
    init(below beginning: String, authority: String) {
        self.authority = Array("/\(authority)/".utf8)
        (place, self.beginning) = (Array(beginning.utf8), beginning.utf8.count)
        (url, urlBeginning) = (Array(authority.utf8), authority.utf8.count)
    }

    /// Returns the beginning of a URL's place with the proof, up to the slash behind the authority.
    ///
    /// - Parameter covered: The beginning of the URL's path and query that the proof covers.
    mutating func text(covering covered: some Collection<UInt8>, _ proof: ChildProof.Digest) -> [UInt8] {
        url.removeLast(url.count - urlBeginning)
        url += covered
        place.removeLast(place.count - beginning)
        ChildProof(url, proof).append(to: &place)
        place += authority
        return place
    }
}
