extension Representation {
    /// Whether the end of a connection determined `length`, so that the body may have been cut.
    ///
    /// Such a body is complete for the readers of its session (RFC 9112 §8). A later reader asks the
    /// origin once. The mark is stored among the fields, and never sent to a client. A representation
    /// that was stored without it has a length that the origin stated.
    package var endsByClose: Bool {
        get { fields.contains(Self.endField) }
        set { if newValue != endsByClose { fields[Self.endField] = newValue ? "close" : nil } }
    }

    static let endField: HTTPFields.Name = "Spool-End"
}
