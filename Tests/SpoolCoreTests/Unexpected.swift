import Testing

/// Records a failure that shows the value in place of the expected one.
func unexpected<Value>(_ found: Value, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record("unexpected: \(found)", sourceLocation: sourceLocation)
}
